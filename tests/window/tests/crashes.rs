//! The window holds nothing: what happens to it or to its page, the owner goes on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::signal::Signal;
use sandbook_window_tests::{Home, Key, Screen, Window, given, notebook};
use serde_json::json;

const FIRST: &str = "article.cell:nth-of-type(1)";
const COUNTING: &str = "import time\nfor number in range(60):\n    print('count', number, flush=True)\n    time.sleep(0.25)\nprint('end')";

/// Opens a notebook and starts its only cell, which counts for a quarter of a minute.
async fn counting(home: &Home) -> Result<(Window, PathBuf)> {
    let path = notebook(&home.notebooks(), "counting.ipynb", &[COUNTING])?;
    let window = Window::open(home, Some(&path)).await?;
    window.click(&format!("{FIRST} .cell__gutter")).await?;
    window.press(&[Key::Control, Key::Enter]).await?;
    window.text_where(&format!("{FIRST} .cell__out"), |text| text.contains("count 3")).await?;
    Ok((window, path))
}

/// Kills the window. It may be dying still when the next one is opened.
fn kill_window(home: &Home) -> Result<()> {
    assert!(home.signal("sandbook-window", Signal::SIGKILL)? > 0, "there is a window");
    Ok(())
}

/// Sees the run go on to its end, with every line once.
async fn sees_the_whole_run(window: &Window) -> Result<()> {
    let output = format!("{FIRST} .cell__out");
    let text = window.text_where(&output, |text| text.contains("end")).await?;
    for number in 0..60 {
        let line = format!("count {number}");
        assert_eq!(text.lines().filter(|shown| *shown == line).count(), 1, "{line} in {text}");
    }
    window.find(&format!("{FIRST}.is-done")).await?;
    Ok(())
}

#[tokio::test]
async fn killing_the_window_loses_nothing_and_a_new_one_shows_the_run_going_on() -> Result<()> {
    let home = Home::new()?;
    let (window, path) = counting(&home).await?;
    kill_window(&home)?;
    drop(window);

    let again = Window::open(&home, Some(&path)).await?;
    again.find(&format!("{FIRST}.is-running")).await?;
    sees_the_whole_run(&again).await?;
    again.close().await
}

/// The driver's session ends with the page's process, so a new window looks at what became of the run.
#[tokio::test]
async fn killing_the_page_s_process_in_the_middle_of_a_run_loses_nothing_of_it() -> Result<()> {
    let home = Home::new()?;
    let (window, path) = counting(&home).await?;
    assert_eq!(home.signal("WebKitWebProcess", Signal::SIGKILL)?, 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    kill_window(&home)?;
    drop(window);

    let again = Window::open(&home, Some(&path)).await?;
    again.find(&format!("{FIRST}.is-running")).await?;
    sees_the_whole_run(&again).await?;
    again.close().await
}

const SECOND: &str = "article.cell:nth-of-type(2)";
const FLOOD: &str = "import time\nend = time.time() + 8\nline = 0\nwhile time.time() < end:\n    print('line', line)\n    line += 1\nprint('end')";

/// Every line of the flood once, and nothing else.
fn is_whole(text: &str) -> bool {
    let mut lines = text.lines();
    let end = lines.next_back();
    end == Some("end") && lines.enumerate().all(|(number, line)| line == format!("line {number}"))
}

/// Waits until the file holds a text.
async fn saved_with(path: &Path, text: &str) -> Result<()> {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !std::fs::read_to_string(path)?.contains(text) {
        anyhow::ensure!(Instant::now() < deadline, "{text} is not saved");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

#[tokio::test]
async fn killing_the_window_in_a_flood_while_somebody_types_and_saves_loses_no_line_and_no_letter()
-> Result<()> {
    let home = Home::new()?;
    let path = notebook(&home.notebooks(), "flood.ipynb", &[FLOOD, "typed = 1"])?;
    let window = Window::open(&home, Some(&path)).await?;
    window.click(&format!("{FIRST} .cell__gutter")).await?;
    window.press(&[Key::Control, Key::Enter]).await?;
    window.text_where(&format!("{FIRST} .cell__out"), |text| text.contains("line 3")).await?;
    window.click(&format!("{SECOND} .cell__gutter")).await?;
    window.press(&[Key::Enter]).await?;
    window.press(&[Key::Control, Key::End]).await?;
    for word in [" # one", " two", " three"] {
        window.write(word).await?;
        window.press(&[Key::Control, Key::Letter('s')]).await?;
    }
    // An edit counts once the owner has it. The file shows which it has; what was typed last may be on its way still.
    saved_with(&path, "# one two three").await?;
    window.write(" four").await?;
    kill_window(&home)?;
    drop(window);

    let again = Window::open(&home, Some(&path)).await?;
    let typed = again.text_where(&format!("{SECOND} .cell__src"), |text| text.contains("three")).await?;
    let last = typed.trim_end().strip_prefix("typed = 1 # one two three");
    assert!(last.is_some_and(|last| " four".starts_with(last)), "{typed:?}");
    again.find(&format!("{FIRST}.is-done")).await?;
    again.press(&[Key::Control, Key::Letter('s')]).await?;
    again.text_where("footer.status", |text| text.contains("Saved")).await?;
    let saved: serde_json::Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    let text: String = saved["cells"][0]["outputs"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|output| output["text"].as_array().into_iter().flatten())
        .filter_map(serde_json::Value::as_str)
        .collect();
    assert!(is_whole(&text), "{} … {}", &text[..200], &text[text.len() - 200..]);
    again.close().await
}

/// A picture of one magenta point, drawn large.
const MAGENTA: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z/AfAAQAAf8iCjrwAAAAAElFTkSuQmCC";

/// So many points of it at least are on the screen while the notebook is shown.
const POINTS: usize = 20_000;

fn magenta_notebook(folder: &Path) -> Result<PathBuf> {
    let output = json!({
        "output_type": "display_data",
        "data": { "image/png": MAGENTA },
        "metadata": { "image/png": { "width": 300, "height": 200 } },
    });
    let cell = json!({
        "cell_type": "code", "id": "a", "metadata": {}, "execution_count": 1, "source": "", "outputs": [output],
    });
    let path = folder.join("magenta.ipynb");
    let document = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    std::fs::write(&path, document.to_string())?;
    Ok(path)
}

/// Waits until the picture is on the screen, or until it is not.
async fn wait_for_magenta(screen: &Screen, shown: bool) -> Result<()> {
    let deadline = Instant::now() + Duration::from_mins(1);
    while (screen.count(0x00ff_00ff)? >= POINTS) != shown {
        anyhow::ensure!(Instant::now() < deadline, "it never came to it that the picture is shown: {shown}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// The driver gives its session up when the page's process is killed, so this looks at the screen as a person would.
#[tokio::test]
async fn a_page_whose_process_was_killed_comes_back_as_it_was() -> Result<()> {
    let home = Home::new()?;
    let screen = Screen::open()?;
    let path = magenta_notebook(&home.notebooks())?;
    let mut window = home.command(&given("SANDBOOK_TEST_WINDOW")?)?.arg(path).spawn()?;
    wait_for_magenta(&screen, true).await?;

    assert_eq!(home.signal("WebKitWebProcess", Signal::SIGKILL)?, 1);
    wait_for_magenta(&screen, false).await?;
    wait_for_magenta(&screen, true).await?;
    assert!(window.try_wait()?.is_none(), "the window itself goes on");
    Ok(())
}
