//! The lines that are done, packed.
//!
//! A million lines of thirty characters must cost little more than their text, so there is no string per line:
//! lines lie end to end, each with its newline, in chunks of 256 KiB, and every chunk notes where each 32nd line
//! begins. A line of more than half a chunk gets a chunk of its own, of exactly its size.

/// Size of a chunk in bytes.
const CHUNK: usize = 256 * 1024;
/// How many lines lie between two noted offsets.
const STRIDE: usize = 32;

#[derive(Debug, Default)]
struct Chunk {
    /// Every line ends with `\n`.
    text: String,
    first_line: usize,
    lines: usize,
    /// Offset of the lines 0, 32, 64 … of this chunk.
    offsets: Vec<u32>,
}

impl Chunk {
    fn note_line_at(&mut self, offset: usize) {
        if self.lines.is_multiple_of(STRIDE) {
            // A chunk of several lines is at most 256 KiB; a larger one has its only line at 0.
            self.offsets.push(u32::try_from(offset).unwrap_or(0));
        }
        self.lines += 1;
    }

    /// Offset of line `index` of this chunk.
    fn offset_of(&self, index: usize) -> usize {
        let mut offset = self.offsets.get(index / STRIDE).map_or(0, |&offset| offset as usize);
        for _ in 0..index % STRIDE {
            offset = line_end(&self.text, offset) + 1;
        }
        offset
    }
}

/// Where the line that begins at `start` ends, its newline not counted.
fn line_end(text: &str, start: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |length| start + length)
}

/// Finished lines in the order they were written.
#[derive(Debug, Default)]
pub(super) struct FinishedLines {
    chunks: Vec<Chunk>,
    lines: usize,
    bytes: usize,
}

impl FinishedLines {
    pub(super) fn len(&self) -> usize {
        self.lines
    }

    /// Size of the text in bytes, newlines included.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Memory held, in bytes, as far as it was asked of the allocator.
    pub(super) fn allocated(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.text.capacity() + chunk.offsets.capacity() * 4).sum::<usize>()
            + self.chunks.capacity() * size_of::<Chunk>()
    }

    /// Appends one line; `line` has no newline.
    pub(super) fn push(&mut self, mut line: String) {
        let size = line.len() + 1;
        if size > CHUNK / 2 {
            line.push('\n');
            line.shrink_to_fit();
            self.begin_chunk(line);
        } else {
            self.make_room(size);
            if let Some(chunk) = self.chunks.last_mut() {
                chunk.note_line_at(chunk.text.len());
                chunk.text.push_str(&line);
                chunk.text.push('\n');
            }
            self.lines += 1;
        }
        self.bytes += size;
    }

    /// Appends a text of whole lines, the last one ended too.
    pub(super) fn push_block(&mut self, block: &str) {
        let mut rest = block;
        while let Some(length) = memchr::memchr(b'\n', rest.as_bytes()) {
            let size = length + 1;
            if size > CHUNK / 2 {
                self.push(rest[..length].to_owned());
                rest = &rest[size..];
                continue;
            }
            self.make_room(size);
            let Some(chunk) = self.chunks.last_mut() else { return };
            // As many lines as this chunk still takes are copied at once.
            let base = chunk.text.len();
            let room = (CHUNK - base).min(rest.len());
            let mut taken = 0;
            for end in memchr::memchr_iter(b'\n', &rest.as_bytes()[..room]) {
                chunk.note_line_at(base + taken);
                taken = end + 1;
                self.lines += 1;
            }
            chunk.text.push_str(&rest[..taken]);
            self.bytes += taken;
            rest = &rest[taken..];
        }
    }

    /// Takes the last line back, without its newline.
    pub(super) fn pop(&mut self) -> Option<String> {
        let chunk = self.chunks.last_mut()?;
        let body = chunk.text.len() - 1;
        let start = memchr::memrchr(b'\n', &chunk.text.as_bytes()[..body]).map_or(0, |newline| newline + 1);
        self.lines -= 1;
        self.bytes -= chunk.text.len() - start;
        chunk.lines -= 1;
        chunk.offsets.truncate(chunk.lines.div_ceil(STRIDE));
        let mut line = if chunk.lines == 0 {
            self.chunks.pop().map(|chunk| chunk.text).unwrap_or_default()
        } else {
            chunk.text.split_off(start)
        };
        line.pop();
        Some(line)
    }

    pub(super) fn line(&self, index: usize) -> Option<&str> {
        self.lines_from(index).next()
    }

    /// The lines from `index` on.
    pub(super) fn lines_from(&self, index: usize) -> impl Iterator<Item = &str> {
        let at = self.chunks.partition_point(|chunk| chunk.first_line + chunk.lines <= index);
        let chunks = self.chunks.get(at..).unwrap_or_default();
        let skipped = chunks.first().map_or(0, |chunk| chunk.offset_of(index - chunk.first_line));
        chunks.iter().enumerate().flat_map(move |(position, chunk)| {
            let mut start = if position == 0 { skipped } else { 0 };
            std::iter::from_fn(move || {
                if start >= chunk.text.len() {
                    return None;
                }
                let end = line_end(&chunk.text, start);
                let line = &chunk.text[start..end];
                start = end + 1;
                Some(line)
            })
        })
    }

    /// The text in large pieces.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &str> {
        self.chunks.iter().map(|chunk| chunk.text.as_str())
    }

    fn make_room(&mut self, size: usize) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.text.len() + size <= CHUNK => {}
            Some(chunk) => {
                if chunk.text.capacity() - chunk.text.len() > CHUNK / 16 {
                    chunk.text.shrink_to_fit();
                }
                self.begin_chunk(String::with_capacity(CHUNK));
            }
            // Most outputs are a few lines, so the first chunk grows as it needs.
            None => self.begin_chunk(String::new()),
        }
    }

    /// Begins a chunk with `text`, which is nothing or one line.
    fn begin_chunk(&mut self, text: String) {
        let mut chunk = Chunk { first_line: self.lines, ..Chunk::default() };
        if !text.is_empty() {
            chunk.note_line_at(0);
            self.lines += 1;
        }
        chunk.text = text;
        self.chunks.push(chunk);
    }
}
