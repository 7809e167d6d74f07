//! Runs on a real ipykernel: output as it comes, errors, input, interrupt, death, what comes back after a kill.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod common;

use std::time::Duration;

use common::{Home, Page};
use sandbook_protocol::{
    CapabilityState, CellSelection, ClientKind, Command, DeathOfKernel, ErrorCode, OutputBody, OutputSearch,
    OutputView, PillState, Push, Reply, RunState, RuntimeKind, SandboxChoice, Secret, StreamName,
};
use sandbook_workbench::Workbench;

fn python() -> SandboxChoice {
    let python = sandbook_test_support::python();
    SandboxChoice::KernelHere { kernel: format!("python:{}", python.display()) }
}

struct Bench {
    home: Home,
    workbench: Workbench,
    page: Page,
}

impl Bench {
    async fn with(sources: &[&str]) -> Self {
        let home = Home::new();
        let path = home.notebook("run.ipynb", sources);
        let workbench = home.open().await;
        let page = Page::open(&workbench, &path).await;
        page.ask(Command::ChooseSandbox { document: page.document.clone(), choice: python() }).await.unwrap();
        Self { home, workbench, page }
    }

    async fn run(&mut self, index: usize) {
        let cells = vec![self.page.key(index)];
        self.ask_run(CellSelection::Cells { cells }).await;
        self.page.until(|view| view.cells[index].run.state != RunState::New).await;
        self.page.until_ended(index).await;
    }

    async fn ask_run(&self, selection: CellSelection) {
        self.page.ask(Command::Run { document: self.page.document.clone(), selection }).await.unwrap();
    }

    fn state(&self, index: usize) -> RunState {
        self.page.cell(index).run.state
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let workbench = self.workbench.clone();
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(workbench.shut_down()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notebook_runs_in_a_plain_python_which_says_that_it_is_not_isolated() {
    let home = Home::new();
    let path = home.notebook("plain.ipynb", &["x = 40\nprint('on')\nx + 2"]);
    let workbench = home.open().await;
    let page = Page::open(&workbench, &path).await;
    let choice = SandboxChoice::New {
        runtime: RuntimeKind::Eval,
        settings: serde_json::json!({ "python": sandbook_test_support::python() }),
        connection: None,
    };
    page.ask(Command::ChooseSandbox { document: page.document.clone(), choice }).await.unwrap();
    let mut bench = Bench { home, workbench, page };
    bench.run(0).await;
    assert_eq!(bench.state(0), RunState::Done);
    assert!(bench.page.text(0).starts_with("on"));
    let Reply::Workspace { workspace } = bench.page.ask(Command::WatchWorkspace).await.unwrap() else {
        panic!("no workspace")
    };
    let sandbox = &workspace.sandboxes[0];
    assert_eq!((sandbox.kind, sandbox.mark.as_str()), (RuntimeKind::Eval, "Ev"));
    let isolation = sandbox.capabilities.iter().find(|capability| capability.name == "isolation").unwrap();
    assert_eq!(isolation.state, CapabilityState::No);
    let offered = workspace.runtimes.iter().find(|runtime| runtime.kind == RuntimeKind::Eval).unwrap();
    assert_eq!(offered.isolation.as_ref(), Some(isolation), "it is known before it is chosen");
}

#[tokio::test(flavor = "multi_thread")]
async fn state_is_kept_between_cells_and_the_last_expression_is_the_result() {
    let mut bench = Bench::with(&["x = 40", "x + 2"]).await;
    bench.ask_run(CellSelection::All).await;
    bench.page.until(|view| view.cells[1].run.state == RunState::Done).await;
    let OutputBody::Rich { execution_count, result: true, representations } =
        &bench.page.cell(1).outputs[0].body
    else {
        panic!("{:?}", bench.page.cell(1))
    };
    assert_eq!((*execution_count, bench.page.cell(1).execution_count), (Some(2), Some(2)));
    assert_eq!(representations[0].text.as_deref(), Some("42"));
}

#[tokio::test(flavor = "multi_thread")]
async fn text_appears_while_the_cell_still_runs() {
    let mut bench = Bench::with(&["import time\nprint('now', flush=True)\ntime.sleep(3)"]).await;
    bench.ask_run(CellSelection::All).await;
    bench.page.until(|view| !view.cells[0].outputs.is_empty()).await;
    bench.page.until(|view| matches!(&view.cells[0].outputs[0].body, OutputBody::Text { text, .. } if text.total_lines == 1)).await;
    assert_eq!(bench.state(0), RunState::Running);
    bench.page.until_ended(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_holds_the_rest_and_continue_runs_it() {
    let mut bench = Bench::with(&["1/0", "print('after')"]).await;
    bench.ask_run(CellSelection::All).await;
    bench.page.until(|view| view.cells[1].run.state == RunState::Held).await;
    assert_eq!(bench.state(0), RunState::Failed);
    assert!(
        matches!(&bench.page.cell(0).outputs[0].body, OutputBody::Error(error) if error.name == "ZeroDivisionError")
    );
    bench.page.ask(Command::ContinueQueue { document: bench.page.document.clone() }).await.unwrap();
    bench.page.until(|view| view.cells[1].run.state == RunState::Done).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_that_a_failure_held_are_let_go_when_another_cell_is_run() {
    let mut bench = Bench::with(&["1/0", "print('after')", "1"]).await;
    bench.ask_run(CellSelection::All).await;
    bench.page.until(|view| view.cells[1].run.state == RunState::Held).await;
    let cells = vec![bench.page.key(2)];
    bench.ask_run(CellSelection::Cells { cells }).await;
    bench.page.until(|view| view.cells[2].run.state == RunState::Done).await;
    bench.page.until(|view| view.cells[1].run.state == RunState::New).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_fetched_by_its_name_and_not_sent_in_the_patch() {
    let code = "import matplotlib\nmatplotlib.use('module://matplotlib_inline.backend_inline')\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()";
    let mut bench = Bench::with(&[code]).await;
    bench.run(0).await;
    let image = bench.page.cell(0).outputs.iter().find_map(|output| match &output.body {
        OutputBody::Rich { representations, .. } => {
            representations.iter().find(|form| form.media_type == "image/png")
        }
        _ => None,
    });
    let image = image.expect("there is a figure");
    assert_eq!(image.text, None);
    let content = bench.workbench.resource(&image.resource).await.unwrap();
    assert!(content.bytes.starts_with(b"\x89PNG") && content.bytes.len() as u64 == image.size);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_table_does_not_come_with_the_output_and_is_given_when_a_page_asks() {
    let code = "import pandas as pd\npd.set_option('display.max_columns', None)\npd.DataFrame([[f'{r}:{c}' * 6 for c in range(40)] for r in range(60)])";
    let mut bench =
        Bench::with(&[code, "from IPython.display import HTML\nHTML('<b>' + 'x' * 600000)"]).await;
    bench.ask_run(CellSelection::All).await;
    bench.page.until(|view| view.cells[1].run.state == RunState::Done).await;
    let html = |index: usize| match &bench.page.cell(index).outputs[0].body {
        OutputBody::Rich { representations, .. } => {
            representations.iter().find(|form| form.media_type == "text/html").unwrap().clone()
        }
        other => panic!("{other:?}"),
    };
    let (table, long) = (html(0), html(1));
    assert!(table.size > 64 * 1024 && table.size < 512 * 1024, "{}", table.size);
    assert_eq!((table.text, table.table, long.table), (None, true, false));
    let Reply::Text { text } =
        bench.page.ask(Command::ResourceText { resource: table.resource }).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(text.len() as u64, table.size);
    assert!(text.contains("59:39"));
    let refused = bench.page.ask(Command::ResourceText { resource: long.resource }).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::BadRequest);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_is_written_over_a_file_only_when_the_person_agreed() {
    let mut bench = Bench::with(&["print('theirs')"]).await;
    bench.run(0).await;
    bench.page.settle().await;
    let (document, output) = (bench.page.document.clone(), bench.page.cell(0).outputs[0].id.clone());
    let whole = bench.page.ask(Command::OutputText { document, output }).await.unwrap();
    let Reply::Resource { resource, .. } = whole else { panic!() };
    let path = bench.home.path("notes.txt");
    std::fs::write(&path, "mine").unwrap();
    let save = |replace| Command::SaveResource {
        resource: resource.clone(),
        path: path.display().to_string(),
        replace,
    };
    assert_eq!(bench.page.ask(save(false)).await.unwrap_err().code, ErrorCode::FileExists);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    bench.page.ask(save(true)).await.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn input_is_asked_for_and_answered() {
    let mut bench =
        Bench::with(&["import getpass\nprint('hello', input('name? '), len(getpass.getpass('key? ')))"])
            .await;
    bench.ask_run(CellSelection::All).await;
    bench
        .page
        .until(|view| view.input.as_ref().is_some_and(|input| input.prompt == "name? " && !input.password))
        .await;
    assert_eq!(bench.state(0), RunState::Input);
    let Reply::Workspace { workspace } = bench.page.ask(Command::WatchWorkspace).await.unwrap() else {
        panic!()
    };
    assert_eq!(workspace.sandboxes[0].kernel.state, PillState::Input);
    let answer = |value: &str| Command::AnswerInput {
        document: bench.page.document.clone(),
        value: Secret::new(value),
    };
    bench.page.ask(answer("Ada")).await.unwrap();
    let second = answer("secret");
    bench.page.until(|view| view.input.as_ref().is_some_and(|input| input.password)).await;
    bench.page.ask(second).await.unwrap();
    bench.page.until_ended(0).await;
    assert!(bench.page.text(0).contains("hello Ada 6"), "{}", bench.page.text(0));
    assert_eq!(bench.page.view().input, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_stays_with_its_question_in_every_page_and_in_the_file_and_a_password_does_not() {
    let code =
        "import getpass, time\nprint('hello', input('name? '))\ngetpass.getpass('key?')\ntime.sleep(1)";
    let mut bench = Bench::with(&[code]).await;
    bench.ask_run(CellSelection::All).await;
    let answer = |value: &str| Command::AnswerInput {
        document: bench.page.document.clone(),
        value: Secret::new(value),
    };
    let (name, key) = (answer("Ada"), answer("hunter2"));
    bench.page.until(|view| view.input.as_ref().is_some_and(|input| !input.password)).await;
    bench.page.ask(name).await.unwrap();
    bench.page.until(|view| view.input.as_ref().is_some_and(|input| input.password)).await;
    bench.page.ask(key).await.unwrap();

    let kept = "name? Ada\nhello Ada\nkey? ········\n";
    let session = bench.workbench.connect(sandbook_protocol::ClientKind::Window);
    let mut later = Page::join(session, bench.page.document.clone()).await;
    later.until(|view| view.cells[0].outputs.len() == 3).await;
    assert_eq!(later.cell(0).run.state, RunState::Running, "this page comes while the run goes on");
    bench.page.until_ended(0).await;
    for page in [&mut bench.page, &mut later] {
        page.settle().await;
        assert_eq!(page.text(0), kept);
    }

    let document = bench.page.document.clone();
    let save = Command::Save { document, path: None, choice: sandbook_protocol::SaveChoice::Ask };
    let Reply::Saved { path, .. } = bench.page.ask(save).await.unwrap() else { panic!() };
    let file = std::fs::read_to_string(path).unwrap();
    let notebook: serde_json::Value = serde_json::from_str(&file).unwrap();
    let first = &notebook["cells"][0]["outputs"][0];
    assert_eq!((&first["name"], &first["text"]), (&"stdin".into(), &"name? Ada\n".into()));
    assert!(!file.contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_comes_back_from_the_log_of_a_killed_owner_and_no_password_is_on_the_disk() {
    let home = Home::new();
    let code = "import getpass\ninput('name? '), getpass.getpass('key? '), input('and? ')";
    let path = home.notebook("run.ipynb", &[code]);
    let workbench = home.open().await;
    let mut page = Page::open(&workbench, &path).await;
    let document = page.document.clone();
    let settings = sandbook_protocol::Settings { autosave: false, ..sandbook_protocol::Settings::default() };
    page.ask(Command::ChangeSettings { settings }).await.unwrap();
    page.ask(Command::ChooseSandbox { document: document.clone(), choice: python() }).await.unwrap();
    page.ask(Command::Run { document: document.clone(), selection: CellSelection::All }).await.unwrap();
    for (prompt, value) in [("name? ", "Ada"), ("key? ", "hunter2")] {
        page.until(|view| view.input.as_ref().is_some_and(|input| input.prompt == prompt)).await;
        let answer = Command::AnswerInput { document: document.clone(), value: Secret::new(value) };
        page.ask(answer).await.unwrap();
    }
    page.until(|view| view.input.as_ref().is_some_and(|input| input.prompt == "and? ")).await;

    let killed = home.as_a_kill_would_leave_it();
    for file in killed.files() {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!bytes.windows(7).any(|part| part == b"hunter2"), "{}", file.display());
    }
    let restored = Page::open(&killed.open().await, &path).await;
    assert_eq!(restored.text(0), "name? Ada\nkey? ········\n");
    workbench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_stops_the_cell_and_keeps_what_it_said() {
    let mut bench = Bench::with(&["import time\nprint('before', flush=True)\ntime.sleep(600)", "1"]).await;
    bench.ask_run(CellSelection::All).await;
    bench.page.until(|view| !view.cells[0].outputs.is_empty()).await;
    bench.page.ask(Command::Interrupt { document: bench.page.document.clone() }).await.unwrap();
    bench.page.until_ended(0).await;
    assert_eq!(bench.state(0), RunState::Stopped);
    assert!(bench.page.text(0).contains("before"));
    bench.page.until(|view| view.cells[1].run.state == RunState::Held).await;
}

/// Who wrote a text output, and its first line.
fn said_by(output: &OutputView) -> (StreamName, String) {
    match &output.body {
        OutputBody::Text { stream, text } => (*stream, text.head[0].text.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_dies_is_told_with_its_cause_and_can_be_restarted_up_to_there() {
    let mut bench = Bench::with(&[
        "x = 1",
        // The kernel's own sender needs a moment: what it has not sent dies with it.
        "import os, signal, sys, time\nprint('[The kernel died?]', file=sys.stderr, flush=True)\ntime.sleep(0.5)\nos.kill(os.getpid(), signal.SIGKILL) if x == 1 else print('alive')",
        "3",
    ])
    .await;
    bench.ask_run(CellSelection::All).await;
    bench.page.until(|view| view.cells[1].run.state == RunState::Failed).await;
    bench.page.until(|view| view.cells[0].run.state == RunState::Lost && view.queue.waiting.is_empty()).await;
    bench.page.settle().await;
    let said: Vec<_> = bench.page.cell(1).outputs.iter().map(said_by).collect();
    let [(StreamName::Stderr, code), (StreamName::Owner, owner)] = said.as_slice() else {
        panic!("{said:?}")
    };
    assert_eq!(code, "[The kernel died?]");
    assert!(owner.starts_with("[The kernel died (signal 9)"), "{owner}");
    let Reply::Workspace { workspace } = bench.page.ask(Command::WatchWorkspace).await.unwrap() else {
        panic!()
    };
    let kernel = &workspace.sandboxes[0].kernel;
    assert_eq!((kernel.state, kernel.cause.as_deref()), (PillState::Died, Some("signal 9")));
    let refused = bench
        .page
        .ask(Command::Run { document: bench.page.document.clone(), selection: CellSelection::All })
        .await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::KernelDied);
    bench.page.ask(Command::ClearQueue { document: bench.page.document.clone() }).await.unwrap();
    bench
        .page
        .ask(Command::EditSource {
            document: bench.page.document.clone(),
            cell: bench.page.key(0),
            base_revision: 0,
            edits: vec![sandbook_protocol::SourceEdit { from: 4, to: 5, insert: "2".into() }],
        })
        .await
        .unwrap();
    bench
        .page
        .ask(Command::AfterDeath {
            document: bench.page.document.clone(),
            choice: DeathOfKernel::RestartAndRun,
        })
        .await
        .unwrap();
    bench.page.until(|view| view.cells[1].run.state == RunState::Done).await;
    assert!(bench.page.text(1).contains("alive"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_output_is_folded_for_the_page_and_complete_in_file_search_and_lines() {
    let mut bench = Bench::with(&["for i in range(20000): print('line', i)"]).await;
    bench.run(0).await;
    bench.page.settle().await;
    let output = bench.page.cell(0).outputs[0].clone();
    let OutputBody::Text { text, .. } = &output.body else { panic!() };
    assert_eq!((text.total_lines, text.head.len(), text.tail.len()), (20_000, 4, 3));
    assert_eq!(text.tail[2].text, "line 19999");
    let document = bench.page.document.clone();
    let lines = Command::OutputLines {
        document: document.clone(),
        output: output.id.clone(),
        from: 10_000,
        count: 2,
        offset: 0,
    };
    let Reply::Lines { slice } = bench.page.ask(lines).await.unwrap() else { panic!() };
    assert_eq!(slice.lines[1].text, "line 10001");
    let search = OutputSearch { query: "LINE 1234".into(), case_sensitive: false, output: None, limit: 5 };
    let Reply::Matches { matches, more } =
        bench.page.ask(Command::SearchOutputs { document: document.clone(), search }).await.unwrap()
    else {
        panic!()
    };
    assert_eq!((matches.len(), matches[0].line, more), (5, 1_234, true));
    let Reply::Saved { path, .. } = bench
        .page
        .ask(Command::Save { document, path: None, choice: sandbook_protocol::SaveChoice::Ask })
        .await
        .unwrap()
    else {
        panic!()
    };
    assert!(std::fs::read_to_string(path).unwrap().contains("line 15000\\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn displays_are_updated_and_outputs_cleared_as_the_code_says() {
    let code = "from IPython.display import display, clear_output\nh = display('one', display_id=True)\nh.update('two')\nprint('gone')\nclear_output(wait=True)\nprint('stays')";
    let mut bench = Bench::with(&[
        "from IPython.display import display\nd = display('first', display_id='d')",
        "display('second', display_id='d', update=True)",
        code,
    ])
    .await;
    bench.ask_run(CellSelection::All).await;
    bench.page.until(|view| view.cells[2].run.state == RunState::Done).await;
    bench.page.settle().await;
    let shown = |index: usize| match &bench.page.cell(index).outputs[0].body {
        OutputBody::Rich { representations, .. } => representations[0].text.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(shown(0), "'second'", "an update reaches the cell that showed it");
    assert_eq!((bench.page.cell(2).outputs.len(), bench.page.text(2).as_str()), (1, "stays\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_page_that_comes_in_the_middle_of_a_run_ends_equal_to_the_first() {
    let mut bench = Bench::with(&[
        "import time\nfor i in range(300):\n  print('tick', i, flush=True)\n  time.sleep(0.005)",
    ])
    .await;
    bench.ask_run(CellSelection::All).await;
    bench.page.until(|view| !view.cells[0].outputs.is_empty()).await;
    let session = bench.workbench.connect(sandbook_protocol::ClientKind::Window);
    let mut second = Page::join(session, bench.page.document.clone()).await;
    bench.page.until_ended(0).await;
    second.until_ended(0).await;
    bench.page.settle().await;
    second.settle().await;
    assert_eq!(bench.page.view().cells, second.view().cells);
    assert!(bench.page.text(0).contains("tick 299"));
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_that_were_not_saved_come_back_from_the_log() {
    let home = Home::new();
    let path = home.notebook("run.ipynb", &["print('kept')", "for i in range(5): print(i)"]);
    let workbench = home.open().await;
    let mut page = Page::open(&workbench, &path).await;
    let settings = sandbook_protocol::Settings { autosave: false, ..sandbook_protocol::Settings::default() };
    page.ask(Command::ChangeSettings { settings }).await.unwrap();
    page.ask(Command::ChooseSandbox { document: page.document.clone(), choice: python() }).await.unwrap();
    page.ask(Command::Run { document: page.document.clone(), selection: CellSelection::All }).await.unwrap();
    page.until(|view| view.cells[1].run.state == RunState::Done).await;
    page.settle().await;
    let before: Vec<String> = (0..2).map(|index| page.text(index)).collect();
    for sandbox in match page.ask(Command::WatchWorkspace).await.unwrap() {
        Reply::Workspace { workspace } => workspace.sandboxes,
        other => panic!("{other:?}"),
    } {
        page.ask(Command::StopSandbox { sandbox: sandbox.id }).await.unwrap();
    }
    while let Ok(push) =
        tokio::time::timeout(std::time::Duration::from_secs(20), page.session.next_push()).await
    {
        if matches!(&push, Push::Workspace { workspace } if workspace.sandboxes.is_empty()) {
            break;
        }
    }
    drop((page, workbench));
    let page = Page::open(&home.open().await, &path).await;
    assert_eq!((0..2).map(|index| page.text(index)).collect::<Vec<_>>(), before);
    assert_eq!(page.cell(0).run.state, RunState::Lost, "its value went with the kernel");
    assert_eq!(page.cell(1).execution_count, Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_watches_the_workspace_sees_a_kernel_busy_while_it_is_and_idle_after() {
    let bench = Bench::with(&["import time; time.sleep(0.7)"]).await;
    let watching = bench.workbench.connect(ClientKind::Browser);
    common::ask(&watching, Command::WatchWorkspace).await.unwrap();

    let cells = vec![bench.page.key(0)];
    bench.ask_run(CellSelection::Cells { cells }).await;
    for wanted in [PillState::Busy, PillState::Idle] {
        let told = async {
            loop {
                let Push::Workspace { workspace } = watching.next_push().await else { continue };
                if workspace.sandboxes.iter().any(|sandbox| sandbox.kernel.state == wanted) {
                    break;
                }
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), told)
            .await
            .expect("the kernel's state is told");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_comes_with_its_size_in_pixels_and_what_is_none_comes_without() {
    let source = "from IPython.display import display\nimport base64\n\
        gif = base64.b64decode('R0lGODdhBAADAIAAAP///////ywAAAAABAADAAACAwxWWQA7')\n\
        display({'image/gif': gif, 'image/png': b'not a picture'}, raw=True)";
    let mut bench = Bench::with(&[source]).await;
    bench.run(0).await;
    let OutputBody::Rich { representations, .. } = &bench.page.cell(0).outputs[0].body else {
        panic!("no picture")
    };
    let pixels = |media_type: &str| {
        representations.iter().find(|form| form.media_type == media_type).expect("the form is there").pixels
    };
    assert_eq!(pixels("image/gif"), Some((4, 3)));
    assert_eq!(pixels("image/png"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_that_the_person_asked_for_stops_the_cell_and_is_no_death() {
    let mut bench = Bench::with(&["name = input('who? ')", "1"]).await;
    bench.ask_run(CellSelection::All).await;
    bench.page.until(|view| view.input.is_some()).await;
    let document = bench.page.document.clone();
    bench.page.ask(Command::Restart { document, run_all: false }).await.unwrap();
    bench.page.until_ended(0).await;
    bench.page.settle().await;
    assert_eq!((bench.state(0), bench.state(1)), (RunState::Stopped, RunState::New));
    let text = bench.page.text(0);
    assert!(text.contains("[The kernel was restarted.]") && !text.contains("died"), "{text}");
    bench.run(1).await;
    assert_eq!(bench.state(1), RunState::Done);
}

/// The same cell thrice: it counts up from nothing.
const COUNTING: &str = "n = globals().get('n', 0) + 1\nn";

async fn counted() -> Bench {
    Bench::with(&[COUNTING, COUNTING, COUNTING]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cells_above_one_run_without_it_and_those_below_with_it() {
    let mut bench = counted().await;
    let middle = bench.page.key(1);
    bench.ask_run(CellSelection::Above { cell: middle.clone() }).await;
    bench.page.until_ended(0).await;
    bench.page.settle().await;
    assert_eq!(
        [bench.state(0), bench.state(1), bench.state(2)],
        [RunState::Done, RunState::New, RunState::New]
    );
    bench.ask_run(CellSelection::Below { cell: middle }).await;
    bench.page.until_ended(2).await;
    let counts = [0, 1, 2].map(|index| bench.page.cell(index).execution_count);
    assert_eq!(counts, [Some(1), Some(2), Some(3)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_that_runs_all_begins_with_a_new_kernel() {
    let mut bench = counted().await;
    bench.run(2).await;
    let document = bench.page.document.clone();
    bench.page.ask(Command::Restart { document, run_all: true }).await.unwrap();
    bench.page.until(|view| view.cells[2].execution_count == Some(3)).await;
    bench.page.until_ended(2).await;
    let shown = format!("{:?}", bench.page.cell(2).outputs);
    assert!(shown.contains(r#"text: Some("3")"#), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_for_during_a_restart_runs_in_the_new_kernel() {
    let endless = "import time\nwhile 'n' in globals(): time.sleep(0.01)";
    let mut bench = Bench::with(&[COUNTING, COUNTING, endless]).await;
    bench.run(0).await;
    let last = bench.page.key(2);
    bench.ask_run(CellSelection::Cells { cells: vec![last] }).await;
    bench.page.until(|view| view.cells[2].run.state == RunState::Running).await;
    let document = bench.page.document.clone();
    let both = [bench.page.key(0), bench.page.key(1)].to_vec();
    let restart = bench.page.ask(Command::Restart { document: document.clone(), run_all: false });
    let run = async {
        // A kernel takes longer than this to start.
        tokio::time::sleep(Duration::from_millis(20)).await;
        bench.page.ask(Command::Run { document, selection: CellSelection::Cells { cells: both } }).await
    };
    let (restarted, asked) = tokio::join!(restart, run);
    assert!(restarted.is_ok() && asked.is_ok(), "{restarted:?} {asked:?}");
    bench.page.until(|view| view.cells[1].run.state == RunState::Done).await;
    assert_eq!([0, 1].map(|index| bench.page.cell(index).execution_count), [Some(1), Some(2)]);
    assert_eq!(bench.state(2), RunState::Stopped);
    assert!(bench.page.text(2).contains("[The kernel was restarted.]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_the_page_has_no_time_limit_but_the_one_that_is_set() {
    let mut bench = Bench::with(&["while True: pass"]).await;
    let settings = |page_timeout_ms| Command::ChangeSettings {
        settings: sandbook_protocol::Settings { page_timeout_ms, ..sandbook_protocol::Settings::default() },
    };
    assert_eq!(sandbook_protocol::Settings::default().page_timeout_ms, 0, "no limit");
    bench.page.ask(settings(1_000)).await.unwrap();
    bench.run(0).await;
    assert_eq!(bench.state(0), RunState::TimedOut);
    let text = format!("{:?}", bench.page.cell(0));
    assert!(text.contains("KeyboardInterrupt"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bars_within_bars_are_shown_as_they_end_and_not_as_every_step_of_them() {
    let code = "from tqdm import tqdm\nfor outer in tqdm(range(3), desc='outer', ncols=60):\n    for inner in tqdm(range(50), desc='inner', ncols=60, leave=False): pass";
    let mut bench = Bench::with(&[code]).await;
    bench.run(0).await;
    let text = bench.page.text(0);
    let shown: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(shown.len(), 1, "{text}");
    assert!(shown[0].starts_with("outer: 100%") && shown[0].contains("3/3"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_that_is_to_be_kept_goes_on_after_its_notebook_is_closed_and_answers_in_the_next() {
    let mut bench = Bench::with(&["import os\nkept = 41\nos.getpid()", "kept + 1"]).await;
    bench.run(0).await;
    let Reply::Workspace { workspace } = bench.page.ask(Command::WatchWorkspace).await.unwrap() else {
        panic!()
    };
    let sandbox = workspace.sandboxes[0].id.clone();
    bench.page.ask(Command::KeepSandbox { sandbox: sandbox.clone(), keep: true }).await.unwrap();
    let document = bench.page.document.clone();
    bench.page.ask(Command::CloseDocument { document, discard: true }).await.unwrap();

    let path = bench.home.path("run.ipynb");
    bench.page = Page::open(&bench.workbench, &path).await;
    let choice = SandboxChoice::Existing { sandbox: sandbox.clone() };
    bench.page.ask(Command::ChooseSandbox { document: bench.page.document.clone(), choice }).await.unwrap();
    bench.run(1).await;
    let shown = format!("{:?}", bench.page.cell(1).outputs);
    assert!(shown.contains(r#"text: Some("42")"#), "{shown}");
    bench.page.ask(Command::KeepSandbox { sandbox, keep: false }).await.unwrap();
}
