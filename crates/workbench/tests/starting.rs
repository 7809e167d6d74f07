//! Kernels that start, do not start, or are given up while they do, and what becomes of the cells that wait for them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod common;

use common::{Home, Page};
use sandbook_protocol::{CellSelection, Command, ErrorCode, ProtocolError, RunState, SandboxChoice};

fn python() -> SandboxChoice {
    SandboxChoice::KernelHere { kernel: format!("python:{}", sandbook_test_support::python().display()) }
}

/// What a cell says that was not run because of an error.
fn told(error: &ProtocolError) -> String {
    format!("{} {}", error.message, error.hint)
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_while_the_kernel_starts_takes_back_every_cell_that_waits() {
    let home = Home::new();
    let path = home.notebook("run.ipynb", &["print(1)"; 60]);
    let workbench = home.open().await;
    let mut page = Page::open(&workbench, &path).await;
    let document = page.document.clone();
    let starting = page.ask(Command::ChooseSandbox { document: document.clone(), choice: python() });
    let stopping = async {
        // No kernel yet, so these only wait for the one that is starting.
        let run = Command::Run { document: document.clone(), selection: CellSelection::All };
        let run = page.ask(run);
        let stop = async {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            page.ask(Command::Interrupt { document: document.clone() }).await
        };
        let (run, stopped) = tokio::join!(run, stop);
        (run.unwrap(), stopped.unwrap())
    };
    let (started, _) = tokio::join!(starting, stopping);
    started.unwrap();
    page.settle().await;
    assert!(page.view().cells.iter().all(|cell| cell.run.state == RunState::New), "{:?}", page.view().queue);
    assert!(page.view().queue.waiting.is_empty());
    workbench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_cannot_start_says_why_and_leaves_nothing_waiting() {
    let home = Home::new();
    std::fs::create_dir(home.path("gone")).unwrap();
    let path = home.notebook("gone/run.ipynb", &["1"]);
    let workbench = home.open().await;
    let mut page = Page::open(&workbench, &path).await;
    std::fs::remove_dir_all(home.path("gone")).unwrap();
    let run = Command::Run { document: page.document.clone(), selection: CellSelection::All };
    // Where this computer has a kernel of its own, that one fails for the same reason.
    page.ask(run).await.unwrap_err();
    let choose = Command::ChooseSandbox { document: page.document.clone(), choice: python() };
    let error = page.ask(choose).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::KernelStartFailed);
    assert!(error.message.contains("notebooks/gone does not exist any more"), "{error}");
    page.settle().await;
    assert!(page.view().queue.waiting.is_empty(), "{:?}", page.view().queue);
    let run = &page.cell(0).run;
    assert_eq!((run.state, run.not_run.as_ref()), (RunState::New, Some(&told(&error))));
    page.ask(Command::Quit { force: false }).await.unwrap();
    workbench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_is_not_there_ends_the_queue_and_each_cell_says_why_until_it_is_run() {
    for kernel in ["no-such-kernel", "python:/no/such/python"] {
        let home = Home::new();
        let path = home.notebook("run.ipynb", &["1", "2", ""]);
        // A language that no kernel here speaks, so that the cells wait for a choice.
        let text = std::fs::read_to_string(&path).unwrap();
        let elsewhere = r#""metadata": { "language_info": { "name": "no language" } }, "nbformat": 4"#;
        let (head, _) = text.rsplit_once(r#""metadata""#).unwrap();
        std::fs::write(&path, format!("{head}{elsewhere}, \"nbformat_minor\": 4}}")).unwrap();
        let workbench = home.open().await;
        let mut page = Page::open(&workbench, &path).await;
        let document = page.document.clone();
        let run = Command::Run { document: document.clone(), selection: CellSelection::All };
        assert_eq!(page.ask(run.clone()).await.unwrap_err().code, ErrorCode::NoSandbox);
        page.until(|view| view.queue.waiting.len() == 2).await;

        let choice = SandboxChoice::KernelHere { kernel: kernel.into() };
        let choose = Command::ChooseSandbox { document: document.clone(), choice };
        let error = page.ask(choose).await.unwrap_err();
        page.until(|view| view.queue.waiting.is_empty()).await;
        let why: Vec<Option<String>> =
            page.view().cells.iter().map(|cell| cell.run.not_run.clone()).collect();
        assert_eq!(why, [Some(told(&error)), Some(told(&error)), None], "{kernel}");
        assert!(page.view().cells.iter().all(|cell| cell.run.state == RunState::New), "{kernel}");

        page.ask(run).await.unwrap_err();
        page.until(|view| view.cells.iter().all(|cell| cell.run.not_run.is_none())).await;
        page.ask(Command::ChooseSandbox { document, choice: python() }).await.unwrap();
        page.until(|view| view.cells[1].run.state == RunState::Done).await;
        workbench.shut_down().await;
    }
}
