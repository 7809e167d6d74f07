//! Code that fails, and code that calls for an exit.

use crate::{Stage, Verdict};

theme!("Errors":
    an_error_has_a_name_a_value_and_a_traceback_that_shows_the_cells_line,
    code_that_raises_runs_once,
    what_was_printed_before_an_error_stays,
    state_is_kept_after_an_error,
    code_that_is_no_code_is_an_error,
    the_cause_of_an_error_is_in_its_traceback,
    a_value_that_cannot_be_shown_is_no_end_of_the_kernel,
    an_exit_code_is_told_and_is_no_error,
    endless_recursion_is_an_error,
);

async fn an_error_has_a_name_a_value_and_a_traceback_that_shows_the_cells_line(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let outcome = live.run("def divide(x):\n    return x / 0  # here\ndivide(1)").await;
    let error = outcome.code_error.clone().expect("an error");
    assert_eq!((error.name.as_str(), error.value.as_str()), ("ZeroDivisionError", "division by zero"));
    assert!(!outcome.success() && outcome.infrastructure.is_none());
    let traceback = error.traceback.join("\n");
    assert!(traceback.contains("Traceback"), "{traceback}");
    assert!(without_colours(&traceback).contains("# here"), "{traceback}");
    Ok(())
}

/// A traceback without the codes that colour it.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain += part.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain
}

async fn code_that_raises_runs_once(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    live.run("count = 0\ndef raise_once():\n    global count\n    count += 1\n    raise ValueError(count)")
        .await;
    assert_eq!(live.run("raise_once()").await.code_error.map(|error| error.value).as_deref(), Some("1"));
    assert_eq!(live.run("count").await.text().as_deref(), Some("1"));
    Ok(())
}

async fn what_was_printed_before_an_error_stays(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let outcome = live.run("print('before')\n1/0\nprint('after')").await;
    assert_eq!(outcome.stdout.text(), "before\n");
    Ok(())
}

async fn state_is_kept_after_an_error(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.run("x = 1\nraise KeyError('k')").await;
    assert_eq!(live.run("x").await.text().as_deref(), Some("1"));
    Ok(())
}

async fn code_that_is_no_code_is_an_error(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    for code in ["for", "x = (", "print('a'"] {
        let outcome = live.run(code).await;
        let name = outcome.code_error.map(|error| error.name).unwrap_or_default();
        assert!(name.contains("SyntaxError") || name.contains("IncompleteInput"), "{code}: {name}");
        assert!(outcome.stdout.is_empty());
    }
    Ok(())
}

async fn the_cause_of_an_error_is_in_its_traceback(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let code =
        "try:\n    {}['missing']\nexcept KeyError as error:\n    raise RuntimeError('outer') from error";
    let error = live.run(code).await.code_error.expect("an error");
    let traceback = without_colours(&error.traceback.join("\n"));
    assert_eq!(error.name, "RuntimeError");
    assert!(traceback.contains("KeyError") && traceback.contains("direct cause"), "{traceback}");
    Ok(())
}

async fn a_value_that_cannot_be_shown_is_no_end_of_the_kernel(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.run("class Bad:\n    def __repr__(self): raise ValueError('no text')\nBad()").await;
    assert_eq!(live.run("1").await.text().as_deref(), Some("1"));
    Ok(())
}

async fn an_exit_code_is_told_and_is_no_error(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    for (code, exit_code, success) in [
        ("import sys; sys.exit(3)", 3, false),
        ("import sys; sys.exit()", 0, true),
        ("raise SystemExit('no')", 1, false),
        ("raise SystemExit(None)", 0, true),
    ] {
        let outcome = live.run(code).await;
        assert_eq!(
            (outcome.exit_code, outcome.success(), &outcome.code_error),
            (Some(exit_code), success, &None),
            "{code}"
        );
    }
    assert!(live.run("1").await.success(), "the kernel is still there");
    Ok(())
}

async fn endless_recursion_is_an_error(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let outcome = live.run("def again(): return again()\nagain()").await;
    assert_eq!(outcome.code_error.map(|error| error.name).as_deref(), Some("RecursionError"));
    assert!(live.run("1").await.success());
    Ok(())
}
