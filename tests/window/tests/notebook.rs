//! The main job in the real window: a notebook that somebody else wrote is opened, run, stopped, edited and saved.

use anyhow::Result;
use sandbook_window_tests::{Home, Key, Window, notebook};
use serde_json::Value;

const FIRST: &str = "article.cell:nth-of-type(1)";

fn saved(path: &std::path::Path) -> Result<Value> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

#[tokio::test]
async fn a_notebook_is_opened_run_edited_and_saved() -> Result<()> {
    let home = Home::new()?;
    let lines =
        "import time\nfor number in range(3):\n    print('line', number, flush=True)\n    time.sleep(0.5)";
    let path = notebook(&home.notebooks(), "given.ipynb", &[lines, "untouched = 1"])?;
    let before = saved(&path)?;
    let window = Window::open(&home, Some(&path)).await?;

    window.click(&format!("{FIRST} .cell__gutter")).await?;
    window.press(&[Key::Control, Key::Enter]).await?;
    window.text_where(&format!("{FIRST} .cell__out"), |text| text.contains("line 0")).await?;
    window.find(&format!("{FIRST}.is-running")).await?;
    window.text_where(&format!("{FIRST} .cell__out"), |text| text.contains("line 2")).await?;
    window.find(&format!("{FIRST}.is-done")).await?;
    window.text_where(&format!("{FIRST} .cell__gutter"), |text| text.contains("[1]")).await?;

    window.press(&[Key::Enter]).await?;
    window.press(&[Key::Control, Key::End]).await?;
    window.write(" # edited").await?;
    window.press(&[Key::Control, Key::Letter('s')]).await?;
    window.text_where("footer.status", |text| text.contains("Saved")).await?;

    let after = saved(&path)?;
    let source: String =
        after["cells"][0]["source"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert_eq!(source, format!("{lines} # edited"));
    assert_eq!(after["cells"][0]["execution_count"], 1);
    assert_eq!(after["cells"][0]["outputs"][0]["output_type"], "stream");
    assert_eq!(after["cells"][1], before["cells"][1], "a cell nobody touched stays as it was");
    window.close().await
}

#[tokio::test]
async fn a_running_cell_is_stopped_and_its_text_is_kept() -> Result<()> {
    let home = Home::new()?;
    let path = notebook(
        &home.notebooks(),
        "given.ipynb",
        &["import time\nprint('begun', flush=True)\ntime.sleep(600)"],
    )?;
    let window = Window::open(&home, Some(&path)).await?;

    window.click(&format!("{FIRST} .cell__gutter")).await?;
    window.press(&[Key::Control, Key::Enter]).await?;
    window.text_where(&format!("{FIRST} .cell__out"), |text| text.contains("begun")).await?;
    window.press(&[Key::Letter('i')]).await?;
    window.press(&[Key::Letter('i')]).await?;
    window.find(&format!("{FIRST}.is-stopped")).await?;
    window.text_where(&format!("{FIRST} .cell__out"), |text| text.contains("begun")).await?;
    window.close().await
}
