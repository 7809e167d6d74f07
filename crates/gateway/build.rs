//! Puts the built page into the program: every file of `ui/dist` becomes an entry of a table.
//!
//! Where the page was not built the table is empty, so that everything else can be compiled and tested without Node.

use std::{
    env,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name));
    let page = variable("CARGO_MANIFEST_DIR")?.join("../../ui/dist");
    println!("cargo:rerun-if-changed={}", page.display());
    let mut files = Vec::new();
    if page.is_dir() {
        gather(&page.canonicalize()?, "", &mut files)?;
    }
    files.sort();
    let mut table = String::from("pub(crate) static FILES: &[(&str, &[u8])] = &[\n");
    for (name, path) in files {
        // Writing to a string does not fail.
        let _ = writeln!(table, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    table.push_str("];\n");
    fs::write(variable("OUT_DIR")?.join("page.rs"), table)
}

fn gather(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            gather(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}
