//! Pictures whose bytes the page itself has to read, in the real window.

use anyhow::Result;
use sandbook_window_tests::{Home, Window};
use serde_json::json;

const SVG: &str = "<svg xmlns='http://www.w3.org/2000/svg' width='120' height='80' onload='parent.owned=1'>\
                   <script>parent.owned = 1</script><rect width='120' height='80' fill='teal'/></svg>";

#[tokio::test]
async fn an_svg_attached_to_a_text_cell_is_drawn_and_does_not_run() -> Result<()> {
    let home = Home::new()?;
    let cell = json!({
        "cell_type": "markdown",
        "id": "a",
        "metadata": {},
        "source": "![a square](attachment:square.svg)",
        "attachments": { "square.svg": { "image/svg+xml": SVG } },
    });
    let document = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    let path = home.notebooks().join("attached.ipynb");
    std::fs::write(&path, document.to_string())?;
    let window = Window::open(&home, Some(&path)).await?;

    let size = "const image = document.querySelector('.md img'); return image ? image.naturalWidth : 0";
    window.evaluates_to(size, |value| value == &json!(120)).await?;
    assert_eq!(window.evaluate("return 'owned' in window").await?, json!(false));
    window.close().await
}
