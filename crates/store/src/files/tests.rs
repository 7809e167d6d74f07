use super::*;

fn write(path: &Path, content: &str) -> Result<Fingerprint> {
    write_atomically(path, [content.as_bytes()])
}

fn only_file_in(folder: &Path) -> PathBuf {
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.into_iter().next().unwrap()
}

#[test]
fn segments_are_joined_and_nothing_else_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let written = write_atomically(&path, ["one ".as_bytes(), b"", b"two"]).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "one two");
    assert_eq!(written, Fingerprint::of_file(&path).unwrap());
    assert_eq!(only_file_in(folder.path()), path);
}

#[test]
fn until_it_is_committed_the_old_file_is_there_and_dropping_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write(&path, "old").unwrap();
    let replacement = Replacement::prepare(&path, [b"new".as_slice()]).unwrap();
    assert_eq!(replacement.digest(), Digest::of(b"new"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    drop(replacement);
    assert_eq!(only_file_in(folder.path()), path);
}

#[test]
fn a_digest_that_is_known_is_taken_over_and_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let known = Digest::of(b"told");
    let written = Replacement::prepare_hashed(&path, [b"one".as_slice(), b"two"], known).unwrap();
    assert_eq!(written.commit().unwrap().digest, known);
    assert_eq!(fs::read_to_string(&path).unwrap(), "onetwo");
}

#[cfg(unix)]
#[test]
fn mode_is_kept_and_a_link_leads_to_its_target() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let (target, link, second) = (inner.join("a"), folder.path().join("b"), folder.path().join("c"));
    write(&target, "old").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("inner/a", &link).unwrap();
    symlink(&link, &second).unwrap();
    write(&second, "new").unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    // A link to what is not there yet makes it.
    fs::remove_file(&target).unwrap();
    write(&second, "again").unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "again");
    // A circle is an error.
    symlink("x", folder.path().join("y")).unwrap();
    symlink("y", folder.path().join("x")).unwrap();
    assert!(write(&folder.path().join("x"), "").is_err());
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_never_replaced() {
    use std::os::unix::fs::{FileTypeExt as _, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (pipe, link, late) =
        (folder.path().join("pipe"), folder.path().join("link"), folder.path().join("late"));
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    symlink("pipe", &link).unwrap();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for path in [&pipe, &link, &socket] {
        assert!(matches!(write(path, "new"), Err(Error::NotRegular { .. })), "{path:?}");
    }
    // One that came while the new content was written is safe too.
    let replacement = Replacement::prepare(&late, [b"new".as_slice()]).unwrap();
    nix::unistd::mkfifo(&late, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(matches!(replacement.commit(), Err(Error::NotRegular { .. })));
    for path in [&pipe, &late] {
        assert!(fs::symlink_metadata(path).unwrap().file_type().is_fifo(), "{path:?}");
    }
    assert!(fs::symlink_metadata(&socket).unwrap().file_type().is_socket());
}

#[cfg(unix)]
#[test]
fn a_new_file_gets_the_mode_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    fs::write(folder.path().join("plain"), "").unwrap();
    write(&folder.path().join("ours"), "").unwrap();
    assert_eq!(mode("ours"), mode("plain"));
}

#[test]
fn failures_are_told_apart_and_leave_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write(&path, "old").unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    assert!(matches!(write(&path, "new"), Err(Error::ReadOnly { .. })));
    assert!(matches!(write(folder.path(), "new"), Err(Error::IsFolder { .. })));
    let gone = folder.path().join("gone/a");
    assert!(matches!(write(&gone, "new"), Err(Error::FolderGone { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(only_file_in(folder.path()), path);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_and_nothing_is_half_written() {
    // Writing to this device always fails with "no space left".
    let Ok(mut full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let source = full.write_all(b"x").unwrap_err();
    let error = Error::io(Path::new("/some/file"), source);
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
}

#[test]
fn a_change_by_someone_else_is_noticed_and_a_mere_touch_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let fingerprint = write(&path, "same").unwrap();
    assert!(fingerprint.is_current(&path).unwrap());
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(&path, "same").unwrap();
    assert!(fingerprint.is_current(&path).unwrap());
    fs::write(&path, "othr").unwrap();
    assert!(!fingerprint.is_current(&path).unwrap());
    fs::remove_file(&path).unwrap();
    assert!(!fingerprint.is_current(&path).unwrap());
}
