//! Notebooks for tests.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Writes a notebook with code cells that ran nowhere yet, for the kernel `python3`.
///
/// # Errors
/// When the file cannot be written.
pub fn notebook(folder: &Path, name: &str, sources: &[&str]) -> Result<PathBuf> {
    let cells: Vec<Value> =
        sources.iter().enumerate().map(|(index, source)| code_cell(index, source)).collect();
    let document = json!({
        "cells": cells,
        "metadata": { "kernelspec": { "display_name": "Python 3", "language": "python", "name": "python3" } },
        "nbformat": 4,
        "nbformat_minor": 5,
    });
    let path = folder.join(name);
    let text = serde_json::to_string_pretty(&document).context("a notebook is JSON")?;
    std::fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn code_cell(index: usize, source: &str) -> Value {
    json!({
        "cell_type": "code",
        "execution_count": null,
        "id": format!("cell-{index}"),
        "metadata": {},
        "outputs": [],
        "source": source.split_inclusive('\n').collect::<Vec<_>>(),
    })
}
