//! How long a notebook of 100 MB takes to open, to edit and to save, and how much memory.
//!
//! `cargo run --release -p sandbook-notebook --example large [MEGABYTES]`

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sandbook_notebook::{CellKey, Changes, Notebook, Operation, TextEdit};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let megabytes = std::env::args().nth(1).map_or(Ok(100), |text| text.parse())?;
    let text = generate(megabytes);
    let folder = std::env::temp_dir();
    let path = folder.join(format!("sandbook-large-{}.ipynb", std::process::id()));
    std::fs::write(&path, &text)?;
    drop(text);

    let before = resident();
    let (file, read) = timed(|| std::fs::read(&path));
    let file = Bytes::from(file?);
    let size = file.len();
    let (notebook, parsed) = timed(|| Notebook::parse(file, CellKey::sequence("c")));
    let mut notebook = notebook?;
    let count = notebook.cells().len();
    say("read the file", read);
    say(&format!("open {} MB, {count} cells", size >> 20), parsed);
    say_memory(before, size);

    let (length, sources) = timed(|| notebook.cells().map(|cell| cell.source().len()).sum::<usize>());
    say(&format!("read all sources ({length} bytes)"), sources);
    let (outputs, typed) = timed(|| notebook.cells().map(|cell| cell.outputs().len()).sum::<usize>());
    say(&format!("read all {outputs} outputs once"), typed);

    let middle = notebook.cells().nth(count / 2).ok_or("no cell")?;
    let (cell, base) = (middle.key().clone(), middle.revision());
    let length = middle.source().encode_utf16().count();
    let changes = vec![Changes::new(length, &[TextEdit { from: 0, to: 0, insert: "x".into() }])?];
    let (applied, edited) =
        timed(|| notebook.apply(Operation::EditSource { cell, base, author: String::new(), changes }));
    applied?;
    say("edit one character", edited);

    let (segments, prepared) =
        timed(|| notebook.segments(&mut |blob| Err(std::io::Error::other(blob.hash.clone()))));
    let segments = segments?;
    say(&format!("prepare the save, {} segments", segments.len()), prepared);
    let (again, prepared) =
        timed(|| notebook.segments(&mut |blob| Err(std::io::Error::other(blob.hash.clone()))));
    drop(again?);
    say("prepare the next save", prepared);
    let (written, wrote) = timed(|| {
        let mut out = std::fs::File::create(&path)?;
        for segment in &segments {
            out.write_all(segment)?;
        }
        out.sync_all()
    });
    written?;
    say("write and fsync", wrote);
    say_memory(before, size);
    std::fs::remove_file(&path)?;
    Ok(())
}

fn say(what: &str, took: Duration) {
    println!("{what:>40}  {:.1} ms", took.as_secs_f64() * 1000.0);
}

/// Memory since `before`, in percent of the file.
fn say_memory(before: u64, size: usize) {
    let grown = resident().saturating_sub(before) * 100 / size.max(1) as u64;
    println!("{:>40}  {grown} % of the file", "memory");
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let value = work();
    (value, start.elapsed())
}

/// Resident memory in bytes, where the system tells it.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or_default()
        << 10
}

/// A notebook of about this size, laid out as Jupyter does it: two thirds images, the rest stream lines and small cells.
fn generate(megabytes: usize) -> String {
    let size = megabytes << 20;
    let mut text = String::with_capacity(size + (4 << 20));
    text.push_str("{\n \"cells\": [");
    let image = "iVBORw0KGgo".repeat(180_000);
    let mut number = 0;
    while text.len() < size {
        if number > 0 {
            text.push(',');
        }
        let _ = write!(
            text,
            "\n  {{\n   \"cell_type\": \"code\",\n   \"execution_count\": {number},\n   \"id\": \"cell-{number}\",\n   \
             \"metadata\": {{}},\n   \"outputs\": ["
        );
        match number % 40 {
            0 => {
                let _ = write!(
                    text,
                    "\n    {{\n     \"data\": {{\n      \"image/png\": \"{image}\"\n     }},\n     \"metadata\": {{}},\n     \
                     \"output_type\": \"display_data\"\n    }}\n   "
                );
            }
            1..=10 => {
                text.push_str("\n    {\n     \"name\": \"stdout\",\n     \"output_type\": \"stream\",\n     \"text\": [");
                for line in 0..2000 {
                    let end = if line == 1999 { "" } else { "," };
                    let _ = write!(text, "\n      \"line {line} of what the cell printed\\n\"{end}");
                }
                text.push_str("\n     ]\n    }\n   ");
            }
            _ => {}
        }
        let _ = write!(
            text,
            "],\n   \"source\": [\n    \"value = compute({number})\\n\",\n    \"print(f\\\"{{value}} grün\\\")\"\n   ]\n  }}"
        );
        number += 1;
    }
    text.push_str("\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n");
    text
}
