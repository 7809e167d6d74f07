//! What stays between runs, and what a run comes to.

use sandbook_sandbox::{ExecuteRequest, SandboxError};

use crate::{Stage, Verdict};

theme!("State":
    variables_are_kept_between_runs,
    functions_and_imports_are_kept,
    the_last_expression_of_a_block_is_its_result,
    a_block_that_ends_with_a_statement_has_no_result,
    the_last_result_has_a_name,
    runs_are_counted,
    a_silent_run_has_no_result_and_is_not_counted,
    code_may_await_at_its_top,
    two_sandboxes_know_nothing_of_each_other,
);

async fn variables_are_kept_between_runs(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    assert!(live.run("x = 40").await.success());
    assert_eq!(live.run("x + 2").await.text().as_deref(), Some("42"));
    Ok(())
}

async fn functions_and_imports_are_kept(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    assert!(live.run("import math\ndef twice(x):\n    return math.floor(2 * x)").await.success());
    assert_eq!(live.run("twice(2.6)").await.text().as_deref(), Some("5"));
    Ok(())
}

async fn the_last_expression_of_a_block_is_its_result(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let outcome = live.run("y = 1\nfor i in range(3):\n    y += i\n(y,\n 'z')").await;
    assert_eq!(outcome.text().as_deref(), Some("(4, 'z')"));
    assert_eq!(outcome.results.len(), 1);
    Ok(())
}

async fn a_block_that_ends_with_a_statement_has_no_result(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    for code in ["1\nx = 2", "None", "", "# nothing", "3;"] {
        let outcome = live.run(code).await;
        assert!(outcome.success() && outcome.results.is_empty(), "{code}: {outcome:?}");
    }
    Ok(())
}

async fn the_last_result_has_a_name(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.run("6 * 7").await;
    assert_eq!(live.run("_ + 1").await.text().as_deref(), Some("43"));
    Ok(())
}

async fn runs_are_counted(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    for number in 1..=3 {
        assert_eq!(live.run("1").await.execution_count, Some(number));
    }
    Ok(())
}

async fn a_silent_run_has_no_result_and_is_not_counted(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.run("1").await;
    let silent = live.run_request(ExecuteRequest { silent: true, ..ExecuteRequest::new("x = 5\nx") }).await;
    assert!(silent.success() && silent.results.is_empty(), "{silent:?}");
    let next = live.run("x").await;
    assert_eq!((next.text().as_deref(), next.execution_count), (Some("5"), Some(2)));
    Ok(())
}

async fn code_may_await_at_its_top(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let code =
        "import asyncio\nasync def later(x):\n    await asyncio.sleep(0.01)\n    return x\nawait later(5)";
    assert_eq!(live.run(code).await.text().as_deref(), Some("5"));
    assert_eq!(live.run("y = await later(6)\ny").await.text().as_deref(), Some("6"));
    Ok(())
}

async fn two_sandboxes_know_nothing_of_each_other(stage: &Stage) -> Verdict {
    if stage.shared {
        let reason = "Every sandbox of one link is the same kernel.".into();
        return Err(SandboxError::Unsupported { reason });
    }
    let (one, other) = (stage.sandbox().await?, stage.sandbox().await?);
    one.run("secret = 1").await;
    let error = other.run("secret").await.code_error.expect("the name is not known");
    assert_eq!(error.name, "NameError");
    Ok(())
}
