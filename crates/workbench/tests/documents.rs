//! Documents without a kernel: edits, saving, what survives a kill, views that stay equal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod common;

use common::{Home, Page};
use sandbook_protocol::{CellKind, ClientKind, Command, ErrorCode, NewSource, Reply, SaveChoice, SourceEdit};

fn typed(page: &Page, index: usize, at: u32, text: &str) -> Command {
    Command::EditSource {
        document: page.document.clone(),
        cell: page.key(index),
        base_revision: page.cell(index).revision,
        edits: vec![SourceEdit { from: at, to: at, insert: text.into() }],
    }
}

fn save(page: &Page, choice: SaveChoice) -> Command {
    Command::Save { document: page.document.clone(), path: None, choice }
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_and_saving_an_unchanged_notebook_writes_nothing() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["1", "2"]);
    let before = (std::fs::read(&path).unwrap(), std::fs::metadata(&path).unwrap().modified().unwrap());
    let page = Page::open(&home.open().await, &path).await;
    page.ask(save(&page, SaveChoice::Ask)).await.unwrap();
    assert_eq!(
        (std::fs::read(&path).unwrap(), std::fs::metadata(&path).unwrap().modified().unwrap()),
        before
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_is_gone_writes_no_file_any_more() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["first"]);
    let before = std::fs::read_to_string(&path).unwrap();
    {
        let page = Page::open(&home.open().await, &path).await;
        let settings =
            sandbook_protocol::Settings { autosave: false, ..sandbook_protocol::Settings::default() };
        page.ask(Command::ChangeSettings { settings }).await.unwrap();
        page.ask(typed(&page, 0, 0, "more ")).await.unwrap();
    }
    // Longer than the pause after which a change is saved where nobody said otherwise.
    tokio::time::sleep(std::time::Duration::from_millis(2_800)).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_edit_changes_only_that_cell_in_the_file() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["first", "second"]);
    let before = std::fs::read_to_string(&path).unwrap();
    let page = Page::open(&home.open().await, &path).await;
    page.ask(typed(&page, 1, 0, "new ")).await.unwrap();
    page.ask(save(&page, SaveChoice::Ask)).await.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before.replace("\"second\"", "\"new second\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_that_were_acknowledged_come_back_after_the_owner_is_gone() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["x"]);
    {
        let page = Page::open(&home.open().await, &path).await;
        page.ask(typed(&page, 0, 1, " = 1")).await.unwrap();
        page.ask(Command::InsertCell {
            document: page.document.clone(),
            index: 1,
            kind: CellKind::Markdown,
            source: "# hi".into(),
        })
        .await
        .unwrap();
    }
    let page = Page::open(&home.open().await, &path).await;
    assert_eq!(page.cell(0).source, "x = 1");
    assert_eq!((page.cell(1).source.as_str(), page.cell(1).kind), ("# hi", CellKind::Markdown));
    assert!(page.view().status.dirty);
    assert_eq!(page.view().status.notices, ["Restored what was not saved: 2 changes."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_after_a_save_come_back_too_and_none_comes_twice() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["x"]);
    {
        let mut page = Page::open(&home.open().await, &path).await;
        page.ask(Command::InsertCell {
            document: page.document.clone(),
            index: 0,
            kind: CellKind::Code,
            source: "new".into(),
        })
        .await
        .unwrap();
        page.ask(save(&page, SaveChoice::Ask)).await.unwrap();
        page.until(|view| view.cells.len() == 2).await;
        page.ask(typed(&page, 0, 3, "er")).await.unwrap();
    }
    let page = Page::open(&home.open().await, &path).await;
    let sources: Vec<&str> = page.view().cells.iter().map(|cell| cell.source.as_str()).collect();
    assert_eq!(sources, ["newer", "x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notebook_without_a_file_comes_back_with_the_next_owner() {
    let home = Home::new();
    {
        let workbench = home.open().await;
        let session = workbench.connect(ClientKind::Browser);
        let Reply::Document { document, .. } = common::ask(&session, Command::NewDocument).await.unwrap()
        else {
            panic!()
        };
        let page = Page::join(session, document).await;
        page.ask(typed(&page, 0, 0, "kept")).await.unwrap();
    }
    let workbench = home.open().await;
    let session = workbench.connect(ClientKind::Browser);
    let Reply::Documents { documents } = common::ask(&session, Command::ListDocuments).await.unwrap() else {
        panic!()
    };
    let page = Page::join(session, documents[0].0.clone()).await;
    assert_eq!(page.cell(0).source, "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notebook_that_gets_its_file_is_among_the_recent_ones() {
    let home = Home::new();
    let workbench = home.open().await;
    let session = workbench.connect(ClientKind::Browser);
    let Reply::Document { document, .. } = common::ask(&session, Command::NewDocument).await.unwrap() else {
        panic!()
    };
    let path = home.path("named.ipynb").display().to_string();
    let save = Command::Save { document, path: Some(path.clone()), choice: SaveChoice::Ask };
    common::ask(&session, save).await.unwrap();
    let Reply::Workspace { workspace } = common::ask(&session, Command::WatchWorkspace).await.unwrap() else {
        panic!()
    };
    let recent: Vec<&str> = workspace.recent.iter().map(|recent| recent.path.as_str()).collect();
    assert_eq!(recent, [path.as_str()]);
    workbench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_another_program_is_noticed_before_it_is_overwritten() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["mine"]);
    let mut page = Page::open(&home.open().await, &path).await;
    page.ask(typed(&page, 0, 4, " too")).await.unwrap();
    let theirs = std::fs::read_to_string(&path).unwrap().replace("mine", "theirs");
    std::fs::write(&path, &theirs).unwrap();
    let error = page.ask(save(&page, SaveChoice::Ask)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ChangedOnDisk);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), theirs, "it is untouched");
    let Reply::Comparison { theirs, mine } =
        page.ask(Command::CompareWithDisk { document: page.document.clone() }).await.unwrap()
    else {
        panic!()
    };
    assert_eq!((theirs, mine), (vec!["theirs".to_owned()], vec!["mine too".to_owned()]));
    page.ask(save(&page, SaveChoice::TakeTheirs)).await.unwrap();
    page.until(|view| view.cells[0].source == "theirs" && !view.status.dirty).await;
    page.ask(save(&page, SaveChoice::Ask)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn keep_mine_overwrites_what_another_program_wrote() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["mine"]);
    let page = Page::open(&home.open().await, &path).await;
    page.ask(typed(&page, 0, 4, " too")).await.unwrap();
    std::fs::write(&path, "not even json").unwrap();
    page.ask(save(&page, SaveChoice::KeepMine)).await.unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().contains("mine too"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_notebook_is_refused_and_stays_untouched() {
    let home = Home::new();
    let workbench = home.open().await;
    let session = workbench.connect(ClientKind::Browser);
    for (name, content) in [("a.ipynb", "hello"), ("b.ipynb", ""), ("c.ipynb", "{\"x\": 1}")] {
        let path = home.path(name);
        std::fs::write(&path, content).unwrap();
        let error = common::ask(&session, Command::OpenDocument { path: path.display().to_string() })
            .await
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::NotANotebook, "{content}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
    let missing =
        common::ask(&session, Command::OpenDocument { path: "/no/such.ipynb".into() }).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::FileUnreadable);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_file_is_one_document_whatever_way_it_is_named() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["x"]);
    let workbench = home.open().await;
    let session = workbench.connect(ClientKind::Browser);
    let first = common::open_document(&session, &path).await;
    let link = home.path("link.ipynb");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(common::open_document(&session, &link).await, first);
    assert_eq!(common::open_document(&session, &home.path("../notebooks/a.ipynb")).await, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_pages_that_edit_one_cell_at_once_end_with_one_text() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["middle"]);
    let workbench = home.open().await;
    let (mut left, mut right) = (Page::open(&workbench, &path).await, Page::open(&workbench, &path).await);
    left.ask(typed(&left, 0, 0, "left ")).await.unwrap();
    right.ask(typed(&right, 0, 6, " right")).await.unwrap();
    left.settle().await;
    right.settle().await;
    assert_eq!(left.cell(0).source, "left middle right");
    assert_eq!(left.view().cells, right.view().cells);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_cell_operation_can_be_undone_and_done_again() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["one\ntwo", "three", "four"]);
    let mut page = Page::open(&home.open().await, &path).await;
    let document = page.document.clone();
    let keys: Vec<_> = (0..3).map(|index| page.key(index)).collect();
    let operations = [
        Command::DeleteCells { document: document.clone(), cells: vec![keys[1].clone()] },
        Command::MoveCells { document: document.clone(), cells: vec![keys[2].clone()], index: 0 },
        Command::SplitCell { document: document.clone(), cell: keys[0].clone(), position: 4 },
        Command::MergeCells { document: document.clone(), cells: keys.clone() },
        Command::ChangeKind { document: document.clone(), cells: keys.clone(), kind: CellKind::Markdown },
        Command::PasteCells { document: document.clone(), index: 1, text: "pasted".into() },
    ];
    for operation in operations {
        page.settle().await;
        let contents = |page: &Page| {
            page.view().cells.iter().map(|cell| (cell.source.clone(), cell.kind)).collect::<Vec<_>>()
        };
        let before = contents(&page);
        page.ask(operation.clone()).await.unwrap();
        page.settle().await;
        let after = contents(&page);
        assert_ne!(before, after, "{operation:?}");
        page.ask(Command::Undo { document: document.clone() }).await.unwrap();
        page.settle().await;
        assert_eq!(contents(&page), before, "{operation:?} taken back");
        page.ask(Command::Redo { document: document.clone() }).await.unwrap();
        page.settle().await;
        assert_eq!(contents(&page), after, "{operation:?} done again");
        page.ask(Command::Undo { document: document.clone() }).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_are_replaced_as_one_change_that_one_undo_takes_back() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["A", "B", "D B B"]);
    let mut page = Page::open(&home.open().await, &path).await;
    let document = page.document.clone();
    page.ask(Command::MoveCells { document: document.clone(), cells: vec![page.key(0)], index: 2 })
        .await
        .unwrap();
    page.settle().await;
    let sources = |page: &Page| page.view().cells.iter().map(|cell| cell.source.clone()).collect::<Vec<_>>();
    let replaced = |page: &Page, index: usize, source: &str| NewSource {
        cell: page.key(index),
        base_revision: page.cell(index).revision,
        source: source.into(),
    };
    let all = vec![replaced(&page, 0, "X"), replaced(&page, 1, "D X X")];
    page.ask(Command::ReplaceSources { document: document.clone(), sources: all.clone() }).await.unwrap();
    page.settle().await;
    assert_eq!(sources(&page), ["X", "D X X", "A"]);

    let late = vec![replaced(&page, 2, "never"), all[0].clone()];
    let command = Command::ReplaceSources { document: document.clone(), sources: late };
    assert_eq!(page.ask(command).await.unwrap_err().code, ErrorCode::StaleRevision);

    page.ask(Command::Undo { document: document.clone() }).await.unwrap();
    page.settle().await;
    assert_eq!(sources(&page), ["B", "D B B", "A"]);
    page.ask(Command::Redo { document }).await.unwrap();
    page.settle().await;
    assert_eq!(sources(&page), ["X", "D X X", "A"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_file_is_replaced_only_when_the_person_says_so_and_never_one_that_is_open() {
    let home = Home::new();
    let (path, victim) = (home.notebook("a.ipynb", &["mine"]), home.notebook("victim.ipynb", &["theirs"]));
    let before = std::fs::read(&victim).unwrap();
    let workbench = home.open().await;
    let page = Page::open(&workbench, &path).await;
    let save_as = |choice| Command::Save {
        document: page.document.clone(),
        path: Some(victim.display().to_string()),
        choice,
    };
    assert_eq!(page.ask(save_as(SaveChoice::Ask)).await.unwrap_err().code, ErrorCode::ChangedOnDisk);
    let other = Page::open(&workbench, &victim).await;
    assert_eq!(page.ask(save_as(SaveChoice::KeepMine)).await.unwrap_err().code, ErrorCode::FileUnwritable);
    assert_eq!(std::fs::read(&victim).unwrap(), before);
    other.ask(Command::CloseDocument { document: other.document.clone(), discard: true }).await.unwrap();
    page.ask(save_as(SaveChoice::KeepMine)).await.unwrap();
    assert!(std::fs::read_to_string(&victim).unwrap().contains("mine"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_that_was_folded_and_unfolded_is_the_bytes_that_it_was() {
    let home = Home::new();
    let path = home.notebook("fold.ipynb", &["1", "2"]);
    let before = std::fs::read_to_string(&path).unwrap();
    let workbench = home.open().await;
    let page = Page::open(&workbench, &path).await;
    let document = || page.document.clone();
    let fold = |source_hidden, outputs_hidden| Command::Fold {
        document: document(),
        cells: vec![page.key(0)],
        source_hidden,
        outputs_hidden,
    };
    let save = || Command::Save { document: document(), path: None, choice: SaveChoice::Ask };
    for steps in [
        vec![(Some(true), None), (Some(false), None)],
        vec![(Some(true), Some(true)), (None, Some(false)), (Some(false), None)],
        vec![(Some(true), Some(true)), (Some(false), Some(false))],
    ] {
        for (source, outputs) in steps {
            page.ask(fold(source, outputs)).await.unwrap();
            page.ask(save()).await.unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    }
    workbench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_whose_content_is_gone_are_counted_and_the_notice_says_where_they_are() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["1"]);
    let workbench = home.open().await;
    let mut page = Page::open(&workbench, &path).await;
    let settings = sandbook_protocol::Settings { autosave: false, ..sandbook_protocol::Settings::default() };
    page.ask(Command::ChangeSettings { settings }).await.unwrap();
    for _ in 0..2 {
        page.ask(typed(&page, 0, 0, "x")).await.unwrap();
        page.settle().await;
    }
    let killed = home.as_a_kill_would_leave_it();
    // As if the kill had come before the content was kept.
    for file in killed.files().iter().filter(|file| file.extension().is_some_and(|kind| kind == "base")) {
        std::fs::remove_file(file).unwrap();
    }
    home.notebook("a.ipynb", &["theirs"]);
    let restored = Page::open(&killed.open().await, &path).await;
    assert_eq!(restored.cell(0).source, "theirs");
    let notice = &restored.view().status.notices[0];
    let kept = killed.files().into_iter().find(|file| file.extension().is_some_and(|kind| kind == "jsonl"));
    let kept = kept.expect("the file of changes");
    assert!(notice.starts_with("2 changes were not saved"), "{notice}");
    assert!(notice.contains(kept.file_name().unwrap().to_str().unwrap()), "{notice}");
    assert_eq!(std::fs::read_to_string(kept).unwrap().lines().count(), 2);
    workbench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_that_failed_is_tried_again_without_a_further_edit() {
    let home = Home::new();
    std::fs::create_dir(home.path("folder")).unwrap();
    let path = home.notebook("folder/a.ipynb", &["1"]);
    let workbench = home.open().await;
    let mut page = Page::open(&workbench, &path).await;
    std::fs::rename(home.path("folder"), home.path("away")).unwrap();
    page.ask(typed(&page, 0, 0, "later = ")).await.unwrap();
    page.settle().await;
    // Longer than the first try waits for quiet.
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    std::fs::rename(home.path("away"), home.path("folder")).unwrap();
    page.until(|view| !view.status.dirty).await;
    assert!(std::fs::read_to_string(&path).unwrap().contains("later = 1"));
    workbench.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_restored_is_saved_as_any_change_is() {
    let home = Home::new();
    let path = home.notebook("a.ipynb", &["1"]);
    let workbench = home.open().await;
    let settings = |autosave| Command::ChangeSettings {
        settings: sandbook_protocol::Settings { autosave, ..sandbook_protocol::Settings::default() },
    };
    let page = Page::open(&workbench, &path).await;
    page.ask(settings(false)).await.unwrap();
    page.ask(typed(&page, 0, 0, "kept = ")).await.unwrap();
    let killed = home.as_a_kill_would_leave_it();
    let after = killed.open().await;
    common::ask(&after.connect(ClientKind::Browser), settings(true)).await.unwrap();
    let mut page = Page::open(&after, &path).await;
    assert!(page.view().status.dirty);
    assert!(!std::fs::read_to_string(&path).unwrap().contains("kept"));
    page.until(|view| !view.status.dirty).await;
    assert!(std::fs::read_to_string(&path).unwrap().contains("kept = 1"));
    workbench.shut_down().await;
    after.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cells_are_copied_into_another_notebook_with_their_outputs_and_one_undo_takes_them_back() {
    let home = Home::new();
    let from = home.path("from.ipynb");
    let text = r#"{"cells":[{"cell_type":"code","execution_count":7,"metadata":{"tags":["kept"]},"outputs":[{"name":"stdout","output_type":"stream","text":["said\n"]}],"source":["first"]},{"cell_type":"markdown","metadata":{},"source":["*second*"]}],"metadata":{},"nbformat":4,"nbformat_minor":4}"#;
    std::fs::write(&from, text).unwrap();
    let workbench = home.open().await;
    let from = Page::open(&workbench, &from).await;
    let mut to = Page::open(&workbench, &home.notebook("to.ipynb", &["there"])).await;
    let cells = vec![from.key(0), from.key(1)];
    let copied = from.ask(Command::CopyCells { document: from.document.clone(), cells }).await.unwrap();
    let Reply::Text { text } = copied else { panic!("{copied:?}") };
    to.ask(Command::PasteCells { document: to.document.clone(), index: 1, text }).await.unwrap();
    to.until(|view| view.cells.len() == 3).await;
    let sources: Vec<&str> = to.view().cells.iter().map(|cell| cell.source.as_str()).collect();
    assert_eq!(sources, ["there", "first", "*second*"]);
    assert_eq!((to.cell(1).kind, to.cell(2).kind), (CellKind::Code, CellKind::Markdown));
    assert_eq!(to.text(1), "said\n");
    to.ask(save(&to, SaveChoice::Ask)).await.unwrap();
    assert!(std::fs::read_to_string(home.path("to.ipynb")).unwrap().contains("kept"));
    to.ask(Command::Undo { document: to.document.clone() }).await.unwrap();
    to.until(|view| view.cells.len() == 1).await;
}
