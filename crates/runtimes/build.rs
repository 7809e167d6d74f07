//! Makes the messages of Modal's services from `proto/modal`. No `protoc` has to be installed: protox is one.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "modal")]
    modal()?;
    Ok(())
}

#[cfg(feature = "modal")]
fn modal() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto/modal");
    let mut compiler = protox::Compiler::new(["proto/modal"])?;
    compiler.open_files(["control.proto", "router.proto"])?;
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("modal.bin"), compiler.encode_file_descriptor_set())?;
    // what is read from a sandbox is not copied, and the calls are made by name
    prost_build::Config::new()
        .bytes([".modal.task_command_router"])
        .compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
