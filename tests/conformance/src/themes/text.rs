//! What code prints, while it runs and after.

use sandbook_sandbox::{Capability, EventKind};

use crate::{Stage, Verdict};

theme!("Text":
    text_comes_while_the_code_runs,
    a_part_of_a_line_comes_before_the_line_is_whole,
    the_two_streams_are_told_apart,
    what_is_redrawn_and_coloured_arrives_as_it_was_written,
    unicode_arrives_as_it_was_written,
    text_of_child_processes_comes_too,
    text_keeps_its_place_among_what_is_shown,
    text_after_the_end_is_marked_late,
);

async fn text_comes_while_the_code_runs(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let mut running = live.start("import time\nprint('first')\ntime.sleep(3)\nprint('second')").await;
    let first = running.until_text("first\n").await.at;
    let end = running.until(|kind| matches!(kind, EventKind::End(_))).await.at;
    assert!(end.duration_since(first).unwrap_or_default().as_secs() >= 2, "it was held back");
    Ok(())
}

async fn a_part_of_a_line_comes_before_the_line_is_whole(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let mut running = live.start("import time\nprint('.', end='')\ntime.sleep(3)\nprint('!')").await;
    let first = running.until_text(".").await.at;
    let end = running.until(|kind| matches!(kind, EventKind::End(_))).await.at;
    assert!(end.duration_since(first).unwrap_or_default().as_secs() >= 2, "it was held back");
    Ok(())
}

async fn the_two_streams_are_told_apart(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let outcome = live.run("import sys\nprint('out')\nprint('err', file=sys.stderr)").await;
    assert_eq!((outcome.stdout.text().as_str(), outcome.stderr.text().as_str()), ("out\n", "err\n"));
    Ok(())
}

async fn what_is_redrawn_and_coloured_arrives_as_it_was_written(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let outcome = live.run("print('10%\\r20%\\r\\x1b[31mred\\x1b[0m\\tx\\x08y')").await;
    assert_eq!(outcome.stdout.text(), "10%\r20%\r\u{1b}[31mred\u{1b}[0m\tx\u{8}y\n");
    Ok(())
}

async fn unicode_arrives_as_it_was_written(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let text = "ä→日本語 👩‍🚀 e\u{301} \u{202e}x";
    let outcome = live.run(&format!("größe = '{text}'\nprint(größe)\ngröße")).await;
    assert_eq!(outcome.stdout.text(), format!("{text}\n"));
    assert!(outcome.text().is_some_and(|shown| shown.contains("日本語 👩")), "{outcome:?}");
    Ok(())
}

async fn text_of_child_processes_comes_too(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let code = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import sys; print(1); print(2, file=sys.stderr)'])\nNone";
    let mut running = live.start(code).await;
    running.until_text("1\n").await;
    let outcome = running.finish().await;
    assert!(outcome.success(), "{outcome:?}");
    Ok(())
}

async fn text_keeps_its_place_among_what_is_shown(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::RichOutput)?;
    let mut running = live.start("for i in range(20):\n    print(i)\n    display(i)\n'end'").await;
    running.finish().await;
    let mut order = Vec::new();
    for event in &running.seen {
        match &event.kind {
            EventKind::Stream { text, .. } => order.extend(text.lines().map(str::to_owned)),
            EventKind::Display { data, .. } => order.push(data["text/plain"].get().to_owned()),
            EventKind::Result { .. } => order.push("result".to_owned()),
            _ => {}
        }
    }
    let expected = (0..20).flat_map(|i| [i.to_string(), format!("\"{i}\"")]);
    let expected: Vec<String> = expected.chain(["result".to_owned()]).collect();
    order.retain(|line| !line.is_empty());
    assert_eq!(order, expected);
    Ok(())
}

async fn text_after_the_end_is_marked_late(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let code = "import threading, time\ndef late():\n    time.sleep(1)\n    print('late')\nthreading.Thread(target=late).start()";
    let mut running = live.start(code).await;
    running.finish().await;
    assert!(running.until_text("late").await.late);
    Ok(())
}
