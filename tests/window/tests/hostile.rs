//! Nothing that a notebook brought along reaches the page, the window's commands, another service of this computer, or
//! another address.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use sandbook_window_tests::{Home, Listener, Window, notebook};
use serde_json::{Value, json};

struct HostileNotebook {
    path: PathBuf,
    markdown: usize,
    outputs: Vec<String>,
}

fn write_hostile_notebook(folder: &Path, port: u16) -> Result<HostileNotebook> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hostile/attacks.json");
    let text = std::fs::read_to_string(file)?.replace("PORT", &port.to_string());
    let attacks: Value = serde_json::from_str(&text)?;
    let list = |name: &str| attacks[name].as_array().cloned().context("the attacks are lists");
    let (markdown, outputs) = (list("markdown")?, list("outputs")?);
    let texts = markdown.iter().enumerate().map(|(index, attack)| {
        json!({ "cell_type": "markdown", "id": format!("m{index}"), "metadata": {}, "source": attack["content"] })
    });
    let codes = outputs.iter().enumerate().map(|(index, attack)| {
        let media_type = attack["media_type"].as_str().unwrap_or_default();
        json!({
            "cell_type": "code", "id": format!("c{index}"), "metadata": {}, "execution_count": 1, "source": "",
            "outputs": [{
                "output_type": "display_data", "metadata": {},
                "data": { media_type: attack["content"], "text/plain": attack["name"] },
            }],
        })
    });
    let cells: Vec<Value> = texts.chain(codes).collect();
    let path = folder.join("hostile.ipynb");
    let document = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    std::fs::write(&path, document.to_string())?;
    let names = outputs.iter().map(|attack| attack["name"].as_str().unwrap_or_default().to_owned()).collect();
    Ok(HostileNotebook { path, markdown: markdown.len(), outputs: names })
}

/// What an attack would have left in the page.
const LEFT_IN_PAGE: &str = "return [window.owned, ...[...document.querySelectorAll('[data-owned]')]\
    .map((element) => element.dataset.owned)].filter((mark) => mark !== undefined && mark !== null)";

/// Brings a cell into view and tells how high its frame is.
fn frame_height(index: usize) -> String {
    format!(
        "const cell = document.querySelectorAll('article.cell')[{index}]; cell?.scrollIntoView();\
         return cell?.querySelector('iframe[sandbox=\"allow-scripts\"]')?.clientHeight ?? 0"
    )
}

#[tokio::test]
async fn no_output_and_no_markdown_of_a_hostile_notebook_gets_out() -> Result<()> {
    let home = Home::new()?;
    let listener = Listener::start().await?;
    let notebook = write_hostile_notebook(&home.notebooks(), listener.port())?;
    let window = Window::open(&home, Some(&notebook.path)).await?;
    window.find("article.cell").await?;
    let address = window.evaluate("return location.href").await?;

    for (index, name) in notebook.outputs.iter().enumerate() {
        let height = frame_height(notebook.markdown + index);
        let ran = |value: &Value| value.as_u64().is_some_and(|height| height >= 300);
        window
            .evaluates_to(&height, ran)
            .await
            .with_context(|| format!("the code of an output that {name} has run"))?;
        // A little longer for what an attack does after it has run.
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!(window.evaluate(LEFT_IN_PAGE).await?, json!([]), "{name}");
        assert_eq!(listener.heard(), [""; 0], "{name}");
        assert_eq!(home.opened(), [""; 0], "{name}");
    }
    for index in 0..notebook.markdown {
        let press = format!(
            "const cell = document.querySelectorAll('article.cell')[{index}]; cell.scrollIntoView();\
             for (const thing of cell.querySelectorAll('.md a, .md button')) thing.click()"
        );
        window.evaluate(&press).await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(window.evaluate(LEFT_IN_PAGE).await?, json!([]), "Markdown {index}");
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(listener.heard(), [""; 0]);
    assert_eq!(home.opened(), [""; 0]);
    assert_eq!(window.evaluate("return location.href").await?, address);
    window.close().await
}

#[tokio::test]
async fn the_page_itself_cannot_reach_beyond_its_own_commands() -> Result<()> {
    let home = Home::new()?;
    let listener = Listener::start().await?;
    let window = Window::open(&home, None).await?;
    window.find("#app > *").await?;
    let tries = format!(
        "const done = arguments[0]; const at = 'http://127.0.0.1:{}/'; const results = {{}};\
         const attempt = (name, promise) => promise.then(() => (results[name] = 'allowed'), () => (results[name] = 'refused'));\
         const invoke = window.__TAURI_INTERNALS__.invoke;\
         Promise.all([\
           attempt('fetch', fetch(at)),\
           attempt('eval', (async () => (0, eval)('1'))()),\
           attempt('shell', invoke('plugin:shell|execute', {{}})),\
           attempt('window', invoke('plugin:window|create', {{}})),\
           attempt('webview', invoke('plugin:webview|create_webview_window', {{}})),\
           attempt('path', invoke('plugin:path|resolve', {{ paths: ['/'] }})),\
           attempt('file address', invoke('open_external', {{ url: 'file:///etc/passwd' }})),\
         ]).then(() => done(results))",
        listener.port()
    );
    let results = window.evaluate_later(&tries).await?;
    for (name, result) in results.as_object().context("a list of results")? {
        assert_eq!(result, "refused", "{name}");
    }
    assert_eq!(results.as_object().map(serde_json::Map::len), Some(7));
    assert_eq!(listener.heard(), [""; 0]);
    window.close().await
}

#[tokio::test]
async fn the_window_has_no_webrtc_that_a_frame_could_send_with() -> Result<()> {
    let home = Home::new()?;
    let path = notebook(&home.notebooks(), "plain.ipynb", &["1"])?;
    let window = Window::open(&home, Some(&path)).await?;
    window.find("article.cell").await?;
    assert_eq!(window.evaluate("return typeof RTCPeerConnection").await?, json!("undefined"));
    window.close().await
}
