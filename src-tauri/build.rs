//! Declares the window's commands, so that none can be called unless a capability names it.

const COMMANDS: &[&str] = &["converse", "say", "end_conversation", "open_external", "read_resource"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let manifest = tauri_build::AppManifest::new().commands(COMMANDS);
    Ok(tauri_build::try_build(tauri_build::Attributes::new().app_manifest(manifest))?)
}
