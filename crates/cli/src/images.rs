//! Pictures that code shows, as files: a terminal shows none.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sandbook_sandbox::MimeBundle;
use serde_json::Value;

/// The forms that are saved, the best first, with the ends of their files' names.
const FORMS: [(&str, &str); 5] = [
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/jpeg", "jpg"),
    ("image/webp", "webp"),
    ("image/gif", "gif"),
];

/// How many pictures one session saves. Code that shows more in a loop must not fill a disk.
const MOST: usize = 500;

/// A folder into which pictures go. Nothing in it is written over.
pub(crate) struct Images {
    folder: PathBuf,
    saved: usize,
    next: usize,
}

impl Images {
    /// Saves into a folder.
    pub(crate) const fn into_folder(folder: PathBuf) -> Self {
        Self { folder, saved: 0, next: 1 }
    }

    /// Saves the best picture among the forms of an output, and says where, or why not. Nothing where there is none.
    pub(crate) fn save(&mut self, data: &MimeBundle) -> Option<String> {
        let (raw, end) = FORMS.iter().find_map(|(form, end)| Some((data.get(*form)?, *end)))?;
        if self.saved >= MOST {
            return (self.saved == MOST).then(|| {
                self.saved += 1;
                format!("[no more than {MOST} images are saved in one session]")
            });
        }
        let saved = bytes(raw.get(), end).and_then(|bytes| self.write(&bytes, end));
        Some(match saved {
            Ok(path) => {
                self.saved += 1;
                format!("[image saved: {}]", path.display())
            }
            Err(error) => format!("[the image could not be saved: {error}]"),
        })
    }

    fn write(&mut self, bytes: &[u8], end: &str) -> io::Result<PathBuf> {
        loop {
            let path = self.folder.join(format!("image-{}.{end}", self.next));
            match new_file(&path) {
                Ok(mut file) => {
                    file.write_all(bytes)?;
                    return Ok(path);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.next += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// The bytes of a picture: text for SVG, else in base 64, which kernels break into lines.
fn bytes(json: &str, end: &str) -> io::Result<Vec<u8>> {
    let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let text = match serde_json::from_str(json) {
        Ok(Value::String(text)) => text,
        Ok(Value::Array(parts)) => parts.iter().filter_map(Value::as_str).collect(),
        _ => return Err(bad("the kernel sent no text for it".into())),
    };
    if end == "svg" {
        return Ok(text.into_bytes());
    }
    let packed: String = text.split_whitespace().collect();
    STANDARD.decode(packed).map_err(|error| bad(format!("what the kernel sent is no base 64 ({error})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(json: &str) -> MimeBundle {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn the_best_picture_is_saved_under_a_name_that_nothing_has() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("image-1.png"), "mine").unwrap();
        let mut images = Images::into_folder(folder.path().to_owned());
        let both = bundle(r#"{"image/svg+xml":"<svg/>","image/png":"aGVs\nbG8=\n","text/plain":"<Figure>"}"#);
        let said = images.save(&both).unwrap();
        assert!(said.contains("image-2.png"), "{said}");
        assert_eq!(std::fs::read(folder.path().join("image-2.png")).unwrap(), b"hello");
        assert_eq!(std::fs::read(folder.path().join("image-1.png")).unwrap(), b"mine");
        let said = images.save(&bundle(r#"{"image/svg+xml":["<svg>","</svg>"]}"#)).unwrap();
        assert!(said.contains("image-2.svg"), "{said}");
        assert_eq!(std::fs::read(folder.path().join("image-2.svg")).unwrap(), b"<svg></svg>");
        assert!(images.save(&bundle(r#"{"text/plain":"1"}"#)).is_none());
    }

    #[test]
    fn a_picture_that_cannot_be_saved_says_why() {
        let mut images = Images::into_folder("/no/such/folder".into());
        for json in [r#"{"image/png":"aGVsbG8="}"#, r#"{"image/png":"!"}"#, r#"{"image/png":{}}"#] {
            let said = images.save(&bundle(json)).unwrap();
            assert!(said.contains("could not be saved"), "{said}");
        }
    }

    #[test]
    fn a_loop_of_pictures_does_not_fill_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let mut images = Images::into_folder(folder.path().to_owned());
        let picture = bundle(r#"{"image/png":"aGVsbG8="}"#);
        let said: Vec<_> = (0..MOST + 3).filter_map(|_| images.save(&picture)).collect();
        assert_eq!((said.len(), std::fs::read_dir(folder.path()).unwrap().count()), (MOST + 1, MOST));
        assert!(said.last().unwrap().contains("no more than"));
    }
}
