//! Edits that are not in the file yet.
//!
//! Every operation on a document is appended here before it is acknowledged. After a crash they are applied again to
//! the file. The danger is doing that twice: a save puts them into the file, and a kill may fall between the save and
//! forgetting them. So a journal is a chain of *generations*, each naming by digest the file content it is based on:
//!
//! 1. Before a save takes effect, [`Journal::begin_save`] makes a new generation whose base is the content about to
//!    be written. Operations go there from now on; the old generations stay.
//! 2. The file is replaced.
//! 3. [`Journal::finish_save`] drops the old generations.
//!
//! On opening, the file's digest says where in the chain to begin: at the last generation based on it. If the save
//! did not happen, that is the old one, and its operations lead to the state that the next is based on; so they are
//! applied one after the other. A save that failed needs no undoing. A file that fits nowhere was changed by someone
//! else: the operations are handed over with the content that they belong to ([`Recovered::base`]), or, where that was not
//! kept, with [`Recovered::is_foreign`]; nothing is thrown away.

mod base;
mod reading;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::{Digest, Fingerprint};
use crate::folders::{create_private_folder, private_file};
use crate::sync::{SyncedFile, Synchroniser, sync_path};
use crate::{Error, Result, frame};
use reading::Generation;

pub use base::BaseCopy;
pub use reading::Recovered;

/// The journals of all documents.
#[derive(Debug)]
pub struct Journals {
    folder: PathBuf,
    synchroniser: Arc<Synchroniser>,
}

/// A journal that lies in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name under which it was opened.
    pub document: String,
    /// How many operations it holds; none after a clean close.
    pub operations: usize,
}

impl Journals {
    /// Keeps journals in `folder`, which is made if it is missing.
    pub fn open(folder: &Path, synchroniser: &Arc<Synchroniser>) -> Result<Self> {
        create_private_folder(folder)?;
        Ok(Self { folder: folder.to_owned(), synchroniser: Arc::clone(synchroniser) })
    }

    /// All journals, for offering what a crash left. One that can't be read at all is passed over.
    pub fn list(&self) -> Result<Vec<Listed>> {
        let mut listed: Vec<Listed> = Vec::new();
        for (_, path) in reading::generations_in(&self.folder, "")? {
            if let Some(generation) = Generation::read(&path)? {
                let operations = generation.operations.len();
                match listed.iter_mut().find(|journal| journal.document == generation.document) {
                    Some(journal) => journal.operations += operations,
                    None => listed.push(Listed { document: generation.document, operations }),
                }
            }
        }
        Ok(listed)
    }

    /// Opens the journal of `document`, a path or any other lasting name, whose file now has the content `base`.
    ///
    /// What it returns besides must be applied to that content, or to the one it names, in order; it is still in the
    /// journal.
    pub fn journal(&self, document: &str, base: Digest) -> Result<(Journal, Recovered)> {
        let stem = stem_of(document);
        let mut generations = Vec::new();
        let mut last_number = 0;
        for (number, path) in reading::generations_in(&self.folder, &stem)? {
            last_number = number;
            match Generation::read(&path)? {
                Some(generation) => generations.push((number, path, generation)),
                // Its header was never finished, so nothing in it was acknowledged.
                None => reading::remove_generation(&path)?,
            }
        }
        let mut begin = generations.iter().rposition(|(_, _, generation)| generation.base == base);
        let mut recovered = Recovered::from_chain(&generations, begin);
        if recovered.is_foreign
            && let Some((index, content)) = base::last_kept(&generations)
        {
            begin = Some(index);
            recovered = Recovered { base: Some(content), ..Recovered::from_chain(&generations, begin) };
        }
        let mut journal = Journal {
            folder: self.folder.clone(),
            document: document.to_owned(),
            stem,
            number: last_number,
            older: Vec::new(),
            file: None,
            base: Some(base),
            wants_copy: false,
            synchroniser: Arc::clone(&self.synchroniser),
            end: 0,
            header: 0,
        };
        if recovered.is_foreign {
            // The chain stays as it is until somebody decides.
            journal.base = None;
            journal.older = generations.into_iter().map(|(_, path, _)| path).collect();
            return Ok((journal, recovered));
        }
        let kept = generations.split_off(begin.unwrap_or(generations.len()));
        for (_, path, _) in generations {
            reading::remove_generation(&path)?;
        }
        journal.adopt(kept)?;
        journal.wants_copy &= recovered.base.is_none();
        Ok((journal, recovered))
    }

    /// Forgets everything about `document`.
    pub fn remove(&self, document: &str) -> Result<()> {
        for (_, path) in reading::generations_in(&self.folder, &stem_of(document))? {
            reading::remove_generation(&path)?;
        }
        sync_path(&self.folder)
    }
}

/// The journal of one open document. Not for two at the same time: one owner holds a document.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    document: String,
    stem: String,
    /// Number of the newest generation.
    number: u32,
    /// Files of the generations before it, oldest first.
    older: Vec<PathBuf>,
    /// The newest generation. It is made with the first operation: most documents are only looked at.
    file: Option<Arc<SyncedFile>>,
    /// What that generation will be based on; `None` after a foreign change until [`Journal::resolve`].
    base: Option<Digest>,
    /// Whether nobody has been asked yet to keep that content.
    wants_copy: bool,
    synchroniser: Arc<Synchroniser>,
    /// Length of the file up to the last whole record.
    end: u64,
    /// Length of the file's header.
    header: u64,
}

/// Names a save that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a save that took effect must be finished, or the old operations are kept for nothing"]
pub struct Save(u32);

impl Journal {
    /// Appends one operation. When this returns, a kill of the process no longer loses it; a power cut may, for up
    /// to a second, unless [`Journal::sync`] follows.
    pub fn append(&mut self, operation: &[u8]) -> Result<()> {
        let header = frame::header(&[operation])?;
        let file = self.generation()?;
        file.check()?;
        let mut record = Vec::with_capacity(header.len() + operation.len());
        record.extend_from_slice(&header);
        record.extend_from_slice(operation);
        if let Err(source) = (&file.file).write_all(&record) {
            // Half a record would hide all that follow it.
            let _ = file.file.set_len(self.end);
            return Err(Error::io(&file.path, source));
        }
        self.end += record.len() as u64;
        file.touch();
        Ok(())
    }

    /// What has to be copied from a file that is `known` so that the operations of the newest generation can be shown
    /// even where someone else replaces it. Once for each generation, and not before there is an operation.
    pub fn take_base_copy(&mut self, known: &Fingerprint) -> Option<BaseCopy> {
        let file = self.file.as_ref().filter(|_| self.base == Some(known.digest))?;
        let wanted = std::mem::take(&mut self.wants_copy);
        wanted.then(|| BaseCopy { journal: file.path.clone(), known: known.clone() })
    }

    /// Waits until all operations are on the disk.
    pub fn sync(&self) -> Result<()> {
        self.file.as_ref().map_or(Ok(()), |file| file.sync())
    }

    /// Says that a content with the digest `next` is about to replace the file and holds everything appended so far.
    /// On the disk when it returns. If the save then fails, nothing needs to be done.
    pub fn begin_save(&mut self, next: Digest) -> Result<Save> {
        // The chain must not have a gap: what leads to the new base has to be on the disk before it.
        self.generation()?.sync()?;
        self.base_on(next)?;
        Ok(Save(self.number))
    }

    /// Says that the save is durable: operations from before it are forgotten.
    pub fn finish_save(&mut self, save: Save) -> Result<()> {
        let current = path_of(&self.folder, &self.stem, save.0);
        let keep = self.older.iter().position(|path| *path == current).unwrap_or(self.older.len());
        for path in self.older.drain(..keep) {
            reading::remove_generation(&path)?;
        }
        Ok(())
    }

    /// Forgets all operations: edits are based on the file as it is, with the digest `base`. This ends a foreign change,
    /// and takes over somebody else's content. Recovered operations that were taken over must be appended again.
    pub fn resolve(&mut self, base: Digest) -> Result<()> {
        self.base_on(base)?;
        // The new generation is the last, so it wins over the others if the process dies here.
        for path in self.older.drain(..) {
            reading::remove_generation(&path)?;
        }
        Ok(())
    }

    /// Ends the journal of a document that is closed. Operations that are not saved stay for the next time.
    pub fn close(self) -> Result<()> {
        match self.file {
            Some(file) if self.older.is_empty() && self.end == self.header => {
                reading::remove_generation(&file.path)
            }
            Some(file) => file.sync(),
            None => Ok(()),
        }
    }

    /// Begins a new generation.
    fn base_on(&mut self, base: Digest) -> Result<()> {
        let number = self.number + 1;
        let path = path_of(&self.folder, &self.stem, number);
        let mut options = private_file();
        let file =
            options.append(true).create_new(true).open(&path).map_err(|source| Error::io(&path, source))?;
        let header = reading::header(base, &self.document)?;
        let written = (&file).write_all(&header).and_then(|()| file.sync_data());
        if let Err(source) = written {
            let _ = fs::remove_file(&path);
            return Err(Error::io(&path, source));
        }
        sync_path(&self.folder)?;
        if let Some(previous) = self.file.take() {
            self.older.push(previous.path.clone());
        }
        self.number = number;
        self.end = header.len() as u64;
        self.header = self.end;
        self.base = Some(base);
        self.wants_copy = true;
        self.file = Some(self.synchroniser.watch(file, path));
        Ok(())
    }

    /// Goes on with generations that were found.
    fn adopt(&mut self, mut generations: Vec<(u32, PathBuf, Generation)>) -> Result<()> {
        let Some((number, path, generation)) = generations.pop() else { return Ok(()) };
        self.older = generations.into_iter().map(|(_, path, _)| path).collect();
        let file = fs::OpenOptions::new().append(true).open(&path);
        let file = file.map_err(|source| Error::io(&path, source))?;
        // A record that was cut would hide all that follow it.
        file.set_len(generation.end).map_err(|source| Error::io(&path, source))?;
        self.number = number;
        self.end = generation.end;
        self.header = generation.header;
        self.base = Some(generation.base);
        self.wants_copy = true;
        self.file = Some(self.synchroniser.watch(file, path));
        Ok(())
    }

    /// The newest generation, made if there is none yet.
    fn generation(&mut self) -> Result<Arc<SyncedFile>> {
        if self.file.is_none() {
            let base = self.base.ok_or_else(|| Error::Undecided { document: self.document.clone() })?;
            self.base_on(base)?;
        }
        self.file.clone().ok_or_else(|| Error::Undecided { document: self.document.clone() })
    }
}

/// What all generations of a document are named after.
fn stem_of(document: &str) -> String {
    blake3::hash(document.as_bytes()).to_hex()[..32].to_owned()
}

fn path_of(folder: &Path, stem: &str, number: u32) -> PathBuf {
    folder.join(format!("{stem}.{number:08x}.journal"))
}
