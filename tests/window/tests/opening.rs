//! How notebooks get into the window.

use anyhow::Result;
use sandbook_window_tests::{Home, Window, given, notebook};

#[tokio::test]
async fn a_second_start_hands_its_notebook_to_the_window_that_is_open() -> Result<()> {
    let home = Home::new()?;
    let first = notebook(&home.notebooks(), "first.ipynb", &["'the first'"])?;
    notebook(&home.notebooks(), "second.ipynb", &["'the second'"])?;
    let window = Window::open(&home, Some(&first)).await?;
    window.text_where("article.cell", |text| text.contains("the first")).await?;

    // A path that is relative means the folder of the second start, not of the first.
    let second = home.command(&given("SANDBOOK_TEST_WINDOW")?)?.arg("second.ipynb").status().await?;
    assert!(second.success(), "the second start ends at once, and well: {second}");
    window.text_where("article.cell", |text| text.contains("the second")).await?;
    window.close().await
}

#[tokio::test]
async fn a_figure_is_drawn_from_its_own_address() -> Result<()> {
    let home = Home::new()?;
    let path = notebook(
        &home.notebooks(),
        "figure.ipynb",
        &["import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()"],
    )?;
    let window = Window::open(&home, Some(&path)).await?;
    window.click("article.cell .cell__gutter").await?;
    window.press(&[sandbook_window_tests::Key::Control, sandbook_window_tests::Key::Enter]).await?;
    window.find("article.cell img.fig").await?;
    let width = "return document.querySelector('article.cell img.fig')?.naturalWidth ?? 0";
    window.evaluates_to(width, |width| width.as_u64().is_some_and(|width| width > 100)).await?;
    let address = window.evaluate("return document.querySelector('article.cell img.fig').src").await?;
    assert!(address.as_str().is_some_and(|address| address.starts_with("out://localhost/")), "{address}");
    window.close().await
}
