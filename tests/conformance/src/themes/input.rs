//! Code that asks.

use sandbook_sandbox::{Capability, Client, EventKind, ExecuteRequest};

use crate::{Stage, Verdict, live::Running};

theme!("Input":
    questions_are_answered,
    a_password_is_marked,
    text_before_a_question_comes_before_it_is_answered,
    an_end_of_input_is_told_to_the_code,
    where_nobody_answers_asking_is_an_error,
    a_question_can_be_interrupted,
);

async fn question(running: &mut Running) -> (String, bool) {
    match running.until(|kind| matches!(kind, EventKind::InputRequest { .. })).await.kind {
        EventKind::InputRequest { prompt, password } => (prompt, password),
        _ => unreachable!("it was looked for"),
    }
}

fn answer(running: &Running, text: &str) {
    running.execution.input().send(text.to_owned().into()).expect("the run listens");
}

async fn questions_are_answered(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::Input)?;
    let mut running =
        live.start("first = input('first? ')\nsecond = input('second? ')\nfirst + second").await;
    for (prompt, text) in [("first? ", "ä"), ("second? ", "b c")] {
        assert_eq!(question(&mut running).await, (prompt.to_owned(), false));
        answer(&running, text);
    }
    assert_eq!(running.finish().await.text().as_deref(), Some("'äb c'"));
    Ok(())
}

async fn a_password_is_marked(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::Input)?;
    let mut running = live.start("import getpass\nlen(getpass.getpass('secret? '))").await;
    assert_eq!(question(&mut running).await, ("secret? ".to_owned(), true));
    answer(&running, "1234");
    let outcome = running.finish().await;
    assert_eq!((outcome.text().as_deref(), outcome.stdout.text().as_str()), (Some("4"), ""));
    Ok(())
}

async fn text_before_a_question_comes_before_it_is_answered(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::Input)?;
    let mut running = live.start("print('read this')\ninput()").await;
    question(&mut running).await;
    // Text and questions come by two channels, and a server may pass on the question first.
    let told =
        |kind: &EventKind| matches!(kind, EventKind::Stream { text, .. } if text.contains("read this"));
    if !running.seen.iter().any(|event| told(&event.kind)) {
        running.until(told).await;
    }
    answer(&running, "");
    assert!(running.finish().await.success());
    Ok(())
}

async fn an_end_of_input_is_told_to_the_code(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::Input)?;
    let mut running = live.start("try:\n    input()\nexcept EOFError:\n    print('nobody')").await;
    question(&mut running).await;
    answer(&running, "\u{4}");
    assert_eq!(running.finish().await.stdout.text(), "nobody\n");
    Ok(())
}

async fn where_nobody_answers_asking_is_an_error(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::Input)?;
    let outcome = Client::new(live.0.clone()).run("input('?')").await?;
    let name = outcome.code_error.map(|error| error.name);
    assert_eq!(name.as_deref(), Some("StdinNotImplementedError"));
    Ok(())
}

async fn a_question_can_be_interrupted(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::Input)?;
    let mut running = live.begin(ExecuteRequest::new("input('?')")).await?;
    question(&mut running).await;
    live.interrupt().await?;
    let outcome = running.finish().await;
    assert!(outcome.interrupted && !outcome.success(), "{outcome:?}");
    assert!(live.run("1").await.success());
    Ok(())
}
