//! Containers of a real engine, through the contract.

#![cfg(feature = "docker")]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests are not seen as tests

#[path = "support/containers.rs"]
mod containers;
mod support;

use std::{
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use containers::{PERSON, Place, container, on_engine, text};
use sandbook_runtimes::docker::{
    DockerSettings, FolderAccess, Handle, IMAGE, ImageState, Memory, Mount, NetworkPolicy, inputs,
};
use sandbook_sandbox::{
    Capability, DeathCause, ExecuteRequest, ImageSource, KernelStatus, OutcomeBuilder, Progress, Readiness,
    Runtime, SandboxError, SandboxSettings, StopChoice, StopReport,
};
use sandbook_test_support::{Container, PATIENCE, docker, docker_engine, docker_image};
use serde_json::json;
use support::{finish, is_busy, run};

#[tokio::test]
async fn code_runs_in_the_notebook_s_folder_keeps_its_state_and_leaves_nothing() {
    let place = Place::new();
    std::fs::write(place.notebooks().join("in.csv"), "a,b\n1,2\n").unwrap();
    let sandbox = place.create(on_engine()).await.unwrap();
    assert_eq!(run(&sandbox, "x = 40").await.text(), None);
    assert_eq!(run(&sandbox, "x + 2").await.text().as_deref(), Some("42"));
    let code = "import pandas\nf = pandas.read_csv('in.csv')\nopen('out.txt', 'w').write('ä')\nprint(f.b[0])";
    assert_eq!(text(&sandbox, code).await, "2");
    let written = place.notebooks().join("out.txt");
    let owner = std::fs::metadata(&written).unwrap();
    assert_eq!((owner.uid(), owner.gid()), (PERSON, PERSON), "what was written belongs to the person");
    assert_eq!(std::fs::read_to_string(written).unwrap(), "ä");
    assert!(sandbox.info().owned && sandbox.capabilities().has(Capability::Isolation));
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
    assert_eq!(place.containers(), Vec::<String>::new());
    assert_eq!(sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::WasGone);
}

#[tokio::test]
async fn a_container_has_no_rights_and_no_door_but_one_of_this_computer_and_its_token_is_out_of_sight() {
    let place = Place::new();
    let sandbox = place.create(DockerSettings { read_only: true, ..on_engine() }).await.unwrap();
    let code = "import os\nstatus = dict(l.split(':\\t', 1) for l in open('/proc/self/status').read().splitlines() if ':\\t' in l)\nprint(os.getuid(), status['CapEff'], status['CapBnd'], status['NoNewPrivs'])";
    assert_eq!(text(&sandbox, code).await, format!("{PERSON} 0000000000000000 0000000000000000 1"));
    let code = "try:\n    open('/opt/x', 'w')\nexcept OSError as error:\n    print(error.errno)\nopen('/tmp/x', 'w').write('1')";
    assert_eq!(text(&sandbox, code).await, "30", "read-only file system");
    let (_, ports) = docker(&["port", &container(&sandbox)]);
    assert!(ports.lines().all(|line| line.contains("127.0.0.1:")) && !ports.is_empty(), "{ports}");
    let (_, token) = docker(&["inspect", &container(&sandbox), "--format", "{{json .Config.Env}}"]);
    let token = token.split("\"TOKEN=").nth(1).unwrap().split('"').next().unwrap();
    assert!(token.len() >= 32, "long");
    let (_, arguments) = docker(&["top", &container(&sandbox), "-eo", "pid,args"]);
    assert!(arguments.contains("jupyter_server") && !arguments.contains(token), "{arguments}");
    assert!(!format!("{:?}", sandbox.info()).contains(token), "no record has it");
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn settings_reach_the_container() {
    let place = Place::new();
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("d.txt"), "data").unwrap();
    let settings = DockerSettings {
        cpu: Some(0.5),
        memory: Some(Memory::bytes(512 << 20)),
        processes: Some(200),
        folder: FolderAccess::Read,
        folder_at: Some("/home/sandbox/here".into()),
        mounts: vec![Mount { source: data.path().to_owned(), target: "/data".into(), read_only: true }],
        ..on_engine()
    };
    let mut request = place.request(&settings);
    request.settings.environment.insert("GREETING".into(), "grüß dich".into());
    let sandbox = place.runtime.create(request).await.unwrap();
    let code = "import os\nprint(os.environ['GREETING'], os.getcwd(), open('/data/d.txt').read())\nfor path in ('/data/x', 'x'):\n    try:\n        open(path, 'w')\n    except OSError as error:\n        print(error.errno)";
    assert_eq!(text(&sandbox, code).await, "grüß dich /home/sandbox/here data\n30\n30");
    let format = "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}} {{.HostConfig.MemorySwap}} {{.HostConfig.PidsLimit}}";
    let (_, limits) = docker(&["inspect", &container(&sandbox), "--format", format]);
    assert_eq!(limits, "500000000 536870912 536870912 200");
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn without_a_network_there_is_no_route_and_no_name_and_the_kernel_works_as_ever() {
    let place = Place::new();
    let settings = DockerSettings { network: NetworkPolicy::None, ..on_engine() };
    let sandbox = place.create(settings).await.unwrap();
    let code = "import socket\nprint(open('/proc/net/route').read().count('\\n'), [name for _, name in socket.if_nameindex()])\nfor target in (('1.1.1.1', 80), ('172.17.0.1', 80), ('example.org', 80)):\n    try:\n        socket.create_connection(target, timeout=5)\n        print('reached', target)\n    except OSError as error:\n        print(type(error).__name__, error.errno)";
    let said = text(&sandbox, code).await;
    assert_eq!(said, "1 ['lo']\nOSError 101\nOSError 101\ngaierror -3", "no route, no name");
    let execution = sandbox.execute(ExecuteRequest::new("import time; time.sleep(60)")).await.unwrap();
    is_busy(&sandbox).await;
    sandbox.interrupt().await.unwrap();
    let outcome = finish(execution, OutcomeBuilder::default()).await;
    assert_eq!(outcome.code_error.unwrap().name, "KeyboardInterrupt");
    let (_, ports) = docker(&["port", &container(&sandbox)]);
    assert_eq!(ports, "");
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
    assert_eq!(std::fs::read_dir(place.folder.path().join("run")).unwrap().count(), 0);
}

#[tokio::test]
async fn code_that_wants_too_much_memory_is_told_so_and_its_kernel_lives_again() {
    let place = Place::new();
    let settings = DockerSettings { memory: Some(Memory::bytes(256 << 20)), ..on_engine() };
    let sandbox = place.create(settings).await.unwrap();
    let outcome = run(&sandbox, "x = bytearray(1 << 30)").await;
    let told = match &outcome.infrastructure {
        Some(SandboxError::Died { cause }) => cause.contains("out of memory"),
        _ => false,
    };
    assert!(told && !outcome.success(), "{outcome:?}");
    assert_eq!(run(&sandbox, "6 * 7").await.text().as_deref(), Some("42"));
    let outcome = run(&sandbox, "import os; os._exit(1)").await;
    drop(outcome);
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
}

#[tokio::test]
async fn a_container_that_somebody_kills_is_a_dead_kernel_at_once_and_can_be_started_again() {
    let place = Place::new();
    let sandbox = place.create(on_engine()).await.unwrap();
    let execution = sandbox.execute(ExecuteRequest::new("import time; time.sleep(60)")).await.unwrap();
    is_busy(&sandbox).await;
    let mut status = sandbox.status();
    docker(&["kill", &container(&sandbox)]);
    let killed = std::time::Instant::now();
    let dead = status.wait_for(|status| *status == KernelStatus::Dead(DeathCause::Signal(9)));
    drop(tokio::time::timeout(PATIENCE, dead).await.unwrap().unwrap());
    let took = killed.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    let outcome = finish(execution, OutcomeBuilder::default()).await;
    assert!(matches!(outcome.infrastructure, Some(SandboxError::Died { .. })), "{outcome:?}");
    sandbox.restart().await.unwrap();
    assert_eq!(run(&sandbox, "6 * 7").await.text().as_deref(), Some("42"));
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
    assert_eq!(place.containers(), Vec::<String>::new());
}

#[tokio::test]
async fn interrupt_and_restart_work_in_a_container_and_code_that_does_not_end_is_killed_on_stop() {
    let place = Place::new();
    let sandbox = place.create(on_engine()).await.unwrap();
    run(&sandbox, "x = 1").await;
    let execution = sandbox.execute(ExecuteRequest::new("while True: pass")).await.unwrap();
    is_busy(&sandbox).await;
    sandbox.interrupt().await.unwrap();
    let outcome = finish(execution, OutcomeBuilder::default()).await;
    assert_eq!(outcome.code_error.unwrap().name, "KeyboardInterrupt");
    sandbox.restart().await.unwrap();
    assert_eq!(run(&sandbox, "x").await.code_error.unwrap().name, "NameError");
    let stubborn = "import signal, os\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])\nos.kill(os.getppid(), signal.SIGSTOP)";
    run(&sandbox, "1").await;
    drop(sandbox.execute(ExecuteRequest::new(stubborn)).await.unwrap());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(sandbox.stop(StopChoice::Default, Duration::from_secs(1)).await.unwrap(), StopReport::Killed);
    assert_eq!(place.containers(), Vec::<String>::new());
}

#[tokio::test]
async fn a_later_owner_finds_a_container_lists_it_and_goes_on_in_its_kernel() {
    for network in [NetworkPolicy::Inherit, NetworkPolicy::None] {
        let place = Place::new();
        let settings = DockerSettings { network, ..on_engine() };
        let sandbox = place.create(settings.clone()).await.unwrap();
        run(&sandbox, "x = 9").await;
        let (handle, name) = (sandbox.info().handle, container(&sandbox));
        assert_eq!(sandbox.stop(StopChoice::Keep, PATIENCE).await.unwrap(), StopReport::LeftRunning);
        drop(sandbox);
        let request = place.request(&settings);
        let listed = place.runtime.list(&request.settings, None).await.unwrap();
        let ours = listed.iter().find(|listed| Handle::read(&listed.handle).unwrap().container == name);
        let nameless = ours.unwrap().handle.clone();
        assert!(ours.unwrap().state.starts_with("Up"), "{ours:?}");
        let again = place.runtime.attach(handle, request.clone()).await.unwrap();
        assert_eq!(run(&again, "x").await.text().as_deref(), Some("9"));
        assert_eq!(again.stop(StopChoice::Keep, PATIENCE).await.unwrap(), StopReport::LeftRunning);
        drop(again);
        // what was listed names no kernel, as after a kill between container and record
        let again = place.runtime.attach(nameless.clone(), request.clone()).await.unwrap();
        assert_eq!(run(&again, "x").await.text().as_deref(), Some("9"));
        assert_eq!(again.stop(StopChoice::Default, PATIENCE).await.unwrap(), StopReport::Ended);
        let gone = place.runtime.attach(nameless, request).await.err();
        assert!(matches!(gone, Some(SandboxError::Gone { .. })), "{gone:?}");
    }
}

#[tokio::test]
async fn creation_that_is_given_up_at_any_stage_leaves_nothing() {
    let stages = ["Looking", "Creating", "Starting the container", "Waiting", "Starting a kernel"];
    for stage in stages {
        for by_dropping in [false, true] {
            let place = Place::new();
            let mut request = place.request(&DockerSettings { network: NetworkPolicy::None, ..on_engine() });
            let cancel = request.cancel.clone();
            let reached = Arc::new(tokio::sync::Notify::new());
            let tell = reached.clone();
            request.progress = Progress::new(move |message, _| {
                if message.starts_with(stage) {
                    if by_dropping { tell.notify_one() } else { cancel.cancel() }
                }
            });
            tokio::select! {
                made = place.runtime.create(request) => {
                    assert!(matches!(made.err(), Some(SandboxError::Cancelled)), "{stage}");
                }
                () = reached.notified() => {}
            }
            let start = std::time::Instant::now();
            let run_folder = place.folder.path().join("run");
            let is_clean = || {
                let left = std::fs::read_dir(&run_folder).map_or(0, Iterator::count);
                place.containers().is_empty() && left == 0
            };
            if by_dropping {
                // the task that cleans up has begun, and ends by itself
                tokio::time::sleep(Duration::from_secs(2)).await;
                while !is_clean() && start.elapsed() < PATIENCE {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
            assert!(is_clean(), "{stage}, by dropping: {by_dropping}: {:?}", place.containers());
        }
    }
}

#[tokio::test]
async fn what_is_in_the_way_is_told_with_the_next_step() {
    let place = Place::new();
    let silent = place.folder.path().join("silent.sock");
    drop(std::os::unix::net::UnixListener::bind(&silent).unwrap());
    let engine =
        |path: &Path| DockerSettings { engine: Some(format!("unix://{}", path.display())), ..on_engine() };
    let missing = DockerSettings { image: Some("sandbook/no-such-image".into()), ..on_engine() };
    for (settings, reason, next) in [
        (
            engine(Path::new("/nowhere/docker.sock")),
            "there is no socket at /nowhere/docker.sock",
            "Start the engine",
        ),
        (engine(&silent), "it is not running", "Start it"),
        (missing, "it is not on this computer", "docker pull sandbook/no-such-image"),
    ] {
        let error = place.create(settings.clone()).await.err().unwrap();
        assert!(error.code() == "not_ready" && error.to_string().contains(reason), "{error}");
        assert!(error.hint().contains(next), "{}", error.hint());
        let request = place.request(&settings);
        let readiness = place.runtime.readiness(&request.settings, None).await;
        assert!(matches!(&readiness, Readiness::NeedsSetup(why) if why.contains(reason)), "{readiness:?}");
    }
    let mut gone = place.request(&on_engine());
    gone.settings.working_directory = Some("/no/such/folder".into());
    let error = place.runtime.create(gone).await.err();
    assert!(matches!(error, Some(SandboxError::FolderMissing { .. })), "{error:?}");
    let readiness = place.runtime.readiness(&place.request(&on_engine()).settings, None).await;
    assert!(matches!(&readiness, Readiness::Ready(what) if what.contains(" CPU, ")), "{readiness:?}");
}

#[tokio::test]
async fn a_survey_tells_everything_that_is_wrong_at_once_and_makes_nothing() {
    let place = Place::new();
    let mut request = place.request(&on_engine());
    let look = async |settings: &SandboxSettings| place.runtime.survey(settings, None).await;
    let found = look(&request.settings).await;
    assert!(matches!(&found.readiness, Readiness::Ready(_)) && found.problems.is_empty(), "{found:?}");
    assert!(found.room.is_some_and(|room| room.cores >= 1.0 && room.memory > 1 << 28), "{found:?}");
    assert_eq!(found.image.unwrap().state, ImageState::Present);

    request.settings.runtime = json!({
        "engine": docker_engine(), "image": "sandbook/no-such-image", "cpu": 100_000, "memory": "lots",
        "mounts": [
            {"source": place.notebooks(), "target": "/data"},
            {"source": "/nowhere", "target": "/data2"},
            {"source": "/home/me/.ssh", "target": "/keys", "read_only": true},
        ],
    });
    let found = look(&request.settings).await;
    let told: Vec<_> = found.problems.iter().map(|problem| problem.setting.as_str()).collect();
    for setting in ["cpu", "memory", "mounts[1]", "mounts[2]"] {
        assert!(told.contains(&setting), "{setting}: {:?}", found.problems);
    }
    assert!(!told.contains(&"mounts[0]"), "{:?}", found.problems);
    let image = found.image.unwrap();
    assert_eq!((image.state, image.source), (ImageState::Missing, ImageSource::Pulled));

    std::fs::set_permissions(place.notebooks(), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::chown(place.notebooks(), Some(0), Some(0)).unwrap();
    request.settings.runtime = json!({"engine": "unix:///nowhere.sock", "image": "No Name"});
    let found = look(&request.settings).await;
    assert!(matches!(&found.readiness, Readiness::NeedsSetup(why) if why.contains("no socket")), "{found:?}");
    let told: Vec<_> = found.problems.iter().map(|problem| problem.setting.as_str()).collect();
    assert_eq!(told, ["image", "user"], "what can be told without an engine is told without one");
    assert_eq!(place.containers(), Vec::<String>::new());
}

#[tokio::test]
async fn an_image_that_does_not_start_a_server_is_told_with_its_last_words() {
    let place = Place::new();
    let settings = DockerSettings { kernel: Some("no-such-kernel".into()), ..on_engine() };
    let error = place.create(settings).await.err().unwrap();
    assert!(error.to_string().contains("it has python3"), "{error}");
    let hides_the_server = Mount { source: "/tmp".into(), target: "/opt/sandbook".into(), read_only: true };
    let settings = DockerSettings { mounts: vec![hides_the_server], ..on_engine() };
    let error = place.create(settings).await.err().unwrap();
    assert!(error.to_string().contains("No module named"), "{error}");
    assert_eq!(place.containers(), Vec::<String>::new());
}

/// A container of the tests' image that has ended.
fn stopped() -> Container {
    let image = docker_image();
    Container::run(&["-e", "TOKEN=t", &image, "true"])
}

#[tokio::test]
async fn a_container_of_somebody_else_is_not_touched() {
    let place = Place::new();
    let other = stopped();
    let handle = Handle { container: other.0.clone(), engine: docker_engine(), kernel: None, session: None };
    let settings = place.request(&on_engine()).settings;
    let refused = place.runtime.remove(&settings, None, &handle.keep()).await;
    assert!(matches!(refused, Err(SandboxError::Unsupported { .. })), "{refused:?}");
    assert!(docker(&["inspect", &other.0]).0, "it is still there");
}

#[tokio::test]
async fn a_kept_container_is_removed_when_asked() {
    let place = Place::new();
    let sandbox = place.create(on_engine()).await.unwrap();
    let handle = sandbox.info().handle;
    sandbox.stop(StopChoice::Keep, PATIENCE).await.unwrap();
    assert_eq!(place.containers().len(), 1);
    place.runtime.remove(&place.request(&on_engine()).settings, None, &handle).await.unwrap();
    assert_eq!(place.containers(), Vec::<String>::new());
}

#[tokio::test]
async fn the_tests_image_is_made_from_the_files_of_this_program_and_an_older_one_is_stale() {
    let place = Place::new();
    let image = docker_image();
    let format = "{{index .Config.Labels \"io.sandbook.inputs\"}}";
    assert_eq!(docker(&["image", "inspect", &image, "--format", format]).1, inputs());

    let ours = DockerSettings { image: None, ..on_engine() };
    let state = async || place.runtime.image(&place.request(&ours).settings).await.unwrap();
    docker(&["rmi", IMAGE]);
    assert_eq!(state().await, ImageState::Missing);
    docker(&["tag", &image, IMAGE]);
    assert_eq!(state().await, ImageState::Present);
    docker(&["commit", "--change", "LABEL io.sandbook.inputs=older", &stopped().0, IMAGE]);
    assert_eq!(state().await, ImageState::Stale);
    let reports = Arc::new(Mutex::new(Vec::new()));
    let kept = reports.clone();
    let mut request = place.request(&ours);
    request.progress = Progress::new(move |message, _| kept.lock().unwrap().push(message));
    let sandbox = place.runtime.create(request).await.unwrap();
    sandbox.stop(StopChoice::Default, PATIENCE).await.unwrap();
    docker(&["rmi", IMAGE]);
    assert!(reports.lock().unwrap().iter().any(|message| message.contains("older")), "{reports:?}");
}
