//! The window holds nothing: what happens to it or to its page, the owner goes on.

use anyhow::Result;
use nix::sys::signal::Signal;
use sandbook_window_tests::{Home, Key, Window, notebook};

const FIRST: &str = "article.cell:nth-of-type(1)";
const COUNTING: &str = "import time\nfor number in range(60):\n    print('count', number, flush=True)\n    time.sleep(0.25)\nprint('end')";

/// Opens a notebook and starts its only cell, which counts for a quarter of a minute.
async fn counting(home: &Home) -> Result<(Window, std::path::PathBuf)> {
    let path = notebook(&home.notebooks(), "counting.ipynb", &[COUNTING])?;
    let window = Window::open(home, Some(&path)).await?;
    window.click(&format!("{FIRST} .cell__gutter")).await?;
    window.press(&[Key::Control, Key::Enter]).await?;
    window.text_where(&format!("{FIRST} .cell__out"), |text| text.contains("count 3")).await?;
    Ok((window, path))
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
    assert!(home.signal("sandbook-window", Signal::SIGKILL)? > 0);
    drop(window);

    let again = Window::open(&home, Some(&path)).await?;
    again.find(&format!("{FIRST}.is-running")).await?;
    sees_the_whole_run(&again).await?;
    again.close().await
}

#[tokio::test]
async fn a_page_whose_process_was_killed_comes_back_and_shows_the_run_going_on() -> Result<()> {
    let home = Home::new()?;
    let (window, _) = counting(&home).await?;
    assert!(home.signal("WebKitWebProcess", Signal::SIGKILL)? > 0);

    window.find(&format!("{FIRST}.is-running")).await?;
    sees_the_whole_run(&window).await?;
    window.close().await
}
