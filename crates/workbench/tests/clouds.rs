//! Links to kernels of clouds' open pages: from a paste to a run, and on with a fresh link.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may stop")]

mod common;

use common::{Home, Page, ask};
use sandbook_protocol::{
    CellSelection, ClientKind, Command, ErrorCode, Push, Reply, RunState, RuntimeKind, SandboxChoice, Secret,
};
use sandbook_test_support::{PATIENCE, Server, StandIn, jupyter_server, rest};
use sandbook_workbench::Session;

/// Nowhere else, so that a test can look for it where no secret may be.
const SECRET: &str = "l1nk-s3cr3t-that-nobody-should-see-4716";
const FRESH: &str = "fr3sh-s3cr3t-that-nobody-should-see-4717";

struct Cloud {
    kind: RuntimeKind,
    server: Server,
    proxy: StandIn,
    kernel: String,
}

impl Cloud {
    async fn open(kind: RuntimeKind) -> Self {
        let server = jupyter_server().await;
        let kernel = rest("POST", &server.url, "api/kernels").await["id"].as_str().unwrap().to_owned();
        let proxy = match kind {
            RuntimeKind::Kaggle => StandIn::start("kaggle_proxy", &server, &["12345678", SECRET]),
            _ => StandIn::start("colab_proxy", &server, &[SECRET]),
        };
        Self { kind, server, proxy, kernel }
    }

    fn link(&self, secret: &str) -> String {
        let (address, kernel) = (self.proxy.url.as_str().replace("http://", "ws://"), &self.kernel);
        match self.kind {
            RuntimeKind::Kaggle => {
                format!("{address}k/12345678/{secret}/proxy/api/kernels/{kernel}/channels?session_id=s")
            }
            _ => format!(
                "{address}api/kernels/{kernel}/channels?session_id=s&colab-runtime-proxy-token={secret}"
            ),
        }
    }

    /// The link of before is refused from now on, and open connections end.
    async fn change_secret(&self) {
        if self.kind == RuntimeKind::Colab {
            self.proxy.ask("cut").await;
            self.proxy.ask(&format!("renew?token={FRESH}")).await;
        } else {
            self.proxy.ask(&format!("renew?secret={FRESH}")).await;
        }
    }
}

async fn paste(session: &Session, text: &str) -> sandbook_protocol::Recognised {
    match ask(session, Command::ReadPasted { text: Secret::new(text) }).await.unwrap() {
        Reply::Recognised { recognised } => recognised,
        other => panic!("{other:?}"),
    }
}

fn connect(pasted: sandbook_protocol::PastedId) -> Command {
    Command::Connect {
        pasted: Some(pasted),
        address: None,
        token: None,
        runtime: None,
        kernel: None,
        name: Some("page".into()),
        trust_fingerprint: None,
        plain_http: false,
    }
}

/// Receives until a toast says this.
async fn until_told(page: &mut Page, words: &str) {
    let told = tokio::time::timeout(PATIENCE, async {
        loop {
            match page.session.next_push().await {
                Push::Toast { toast } if toast.message.contains(words) => return,
                other => page.take(other),
            }
        }
    });
    told.await.expect("a person is told");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pasted_link_becomes_a_run_and_a_fresh_one_goes_on_in_the_same_kernel() {
    for kind in [RuntimeKind::Colab, RuntimeKind::Kaggle] {
        let (home, cloud) = (Home::new(), Cloud::open(kind).await);
        let code = "import time\nfor i in range(40):\n    print(i, flush=True)\n    time.sleep(0.1)";
        let path = home.notebook("page.ipynb", &[code, "print(i)"]);
        let workbench = home.open().await;
        let mut page = Page::open(&workbench, &path).await;

        let recognised = paste(&page.session, &cloud.link(SECRET)).await;
        assert_eq!((recognised.kind, recognised.complete), (Some(kind), true), "{recognised:?}");
        let answer = page.ask(connect(recognised.pasted.clone())).await.unwrap();
        let Reply::Connection { connection } = answer else { panic!("{answer:?}") };
        assert_eq!(connection.kind, kind);
        let listed =
            page.ask(Command::ListServerKernels { connection: connection.id.clone() }).await.unwrap();
        let Reply::ServerKernels { running, .. } = &listed else { panic!("{listed:?}") };
        assert_eq!(running.iter().map(|kernel| kernel.id.as_str()).collect::<Vec<_>>(), [&cloud.kernel]);

        let choice = SandboxChoice::AttachOnServer {
            connection: connection.id.clone(),
            kernel: cloud.kernel.clone(),
            shared: true,
        };
        page.ask(Command::ChooseSandbox { document: page.document.clone(), choice }).await.unwrap();
        page.ask(Command::Run { document: page.document.clone(), selection: CellSelection::All })
            .await
            .unwrap();
        page.until(|view| view.cells[0].run.state == RunState::Running).await;
        cloud.change_secret().await;
        until_told(&mut page, "is not taken any more").await;

        let renew = |text: &str| Command::StoreCredential {
            connection: connection.id.clone(),
            secret: Secret::new(text),
        };
        let stale = page.ask(renew(&cloud.link(SECRET))).await.unwrap_err();
        assert_eq!(stale.code, ErrorCode::CredentialRefused, "{stale:?}");
        let other = page.ask(renew(&cloud.link(FRESH).replace(&cloud.kernel, "0f-0"))).await.unwrap_err();
        assert_eq!(other.code, ErrorCode::NotRecognised, "{other:?}");
        let Reply::Workspace { workspace } = page.ask(Command::WatchWorkspace).await.unwrap() else {
            panic!()
        };
        let link = workspace.sandboxes[0].link.clone();
        assert!(link.is_some_and(|link| link.refused), "{workspace:?}");
        let fresh = paste(&page.session, &cloud.link(FRESH)).await;
        let renewed = Command::RenewLink { connection: connection.id.clone(), pasted: fresh.pasted };
        page.ask(renewed).await.unwrap();
        page.until(|view| view.cells[1].run.state == RunState::Done).await;
        page.settle().await;
        assert!(page.text(0).ends_with("38\n39\n"), "{}", page.text(0));
        assert_eq!(page.text(1), "39\n");

        let Reply::Workspace { workspace } = page.ask(Command::WatchWorkspace).await.unwrap() else {
            panic!()
        };
        let shown = format!("{recognised:?} {connection:?} {listed:?} {workspace:?} {stale:?} {other:?}");
        assert!(!shown.contains(SECRET) && !shown.contains(FRESH), "{shown}");
        workbench.shut_down().await;
        assert_eq!(cloud.server.kernels().unwrap().len(), 1, "the kernel of the page stays");
        for file in home.files() {
            let bytes = std::fs::read(&file).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(SECRET) && !text.contains(FRESH), "{}", file.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_does_not_work_is_not_saved_and_what_it_lacks_is_told() {
    let (home, cloud) = (Home::new(), Cloud::open(RuntimeKind::Colab).await);
    let workbench = home.open().await;
    let session = workbench.connect(ClientKind::Browser);
    let wrong = paste(&session, &cloud.link("wr0ng")).await;
    let error = ask(&session, connect(wrong.pasted)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::CredentialRefused, "{error:?}");
    let no_token = cloud.link("");
    assert!(!paste(&session, &no_token).await.complete);
    let page = Secret::new("https://colab.research.google.com/drive/1AbC");
    let error = ask(&session, Command::ReadPasted { text: page }).await.unwrap_err();
    assert!(error.code == ErrorCode::NotRecognised && error.hint.contains("3. "), "{error:?}");
    let Reply::Workspace { workspace } = ask(&session, Command::WatchWorkspace).await.unwrap() else {
        panic!()
    };
    assert!(workspace.connections.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn address_kernel_and_token_written_by_hand_lead_to_the_same_kernel_as_the_link() {
    let (home, cloud) = (Home::new(), Cloud::open(RuntimeKind::Colab).await);
    let workbench = home.open().await;
    let session = workbench.connect(ClientKind::Browser);
    let by_hand = |runtime, kernel: Option<&str>| Command::Connect {
        pasted: None,
        address: Some(cloud.proxy.url.to_string()),
        token: Some(Secret::new(SECRET)),
        runtime: Some(runtime),
        kernel: kernel.map(str::to_owned),
        name: None,
        trust_fingerprint: None,
        plain_http: false,
    };
    let lacking = ask(&session, by_hand(RuntimeKind::Colab, None)).await.unwrap_err();
    assert!(lacking.code == ErrorCode::BadSetting && lacking.message.contains("kernel"), "{lacking:?}");
    assert!(cloud.proxy.seen().await.is_empty(), "nothing was sent");
    let answer = ask(&session, by_hand(RuntimeKind::Colab, Some(&cloud.kernel))).await.unwrap();
    let Reply::Connection { connection } = answer else { panic!("{answer:?}") };
    assert_eq!((connection.kind, connection.kernel_id.as_ref()), (RuntimeKind::Colab, Some(&cloud.kernel)));
}
