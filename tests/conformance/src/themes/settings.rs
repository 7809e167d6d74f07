//! What a person asks of a sandbox. None of it is ignored.

use sandbook_sandbox::{Capability, SandboxError};
use serde_json::json;

use crate::{Stage, Verdict};

theme!("Settings":
    a_sandbox_has_the_name_that_it_was_given,
    environment_variables_reach_the_code,
    code_runs_in_the_working_directory,
    a_setting_that_nobody_knows_is_refused,
    a_working_directory_that_is_not_there_is_told,
    what_a_sandbox_can_do_is_on_record,
    magics_work,
);

async fn a_sandbox_has_the_name_that_it_was_given(stage: &Stage) -> Verdict {
    let live = stage.sandbox_with(|settings| settings.name = Some("mine".into())).await?;
    assert_eq!(live.info().title, "mine");
    assert_eq!(live.info().variant, stage.runtime.variant());
    Ok(())
}

async fn environment_variables_reach_the_code(stage: &Stage) -> Verdict {
    let live = stage
        .sandbox_with(|settings| {
            settings.environment.insert("SB_GIVEN".into(), "ä b=c".into());
        })
        .await?;
    assert_eq!(live.run("import os\nos.environ['SB_GIVEN']").await.text().as_deref(), Some("'ä b=c'"));
    Ok(())
}

async fn code_runs_in_the_working_directory(stage: &Stage) -> Verdict {
    let live = stage.sandbox_with(|settings| settings.working_directory = Some(stage.work.clone())).await?;
    let outcome = live.run("import os\nprint(os.getcwd())").await;
    assert_eq!(outcome.stdout.text().trim(), stage.real_work().display().to_string());
    std::fs::write(stage.real_work().join("beside.py"), "answer = 42").expect("the folder is there");
    assert_eq!(live.run("import beside\nbeside.answer").await.text().as_deref(), Some("42"));
    Ok(())
}

async fn a_setting_that_nobody_knows_is_refused(stage: &Stage) -> Verdict {
    let mut own = stage.settings.runtime.clone();
    own["no_such_setting"] = json!(1);
    let refused = stage.sandbox_with(|settings| settings.runtime = own).await.err();
    assert!(matches!(refused, Some(SandboxError::Setting { .. })), "{refused:?}");
    Ok(())
}

async fn a_working_directory_that_is_not_there_is_told(stage: &Stage) -> Verdict {
    let gone = stage.work.join("gone");
    let refused = stage.sandbox_with(|settings| settings.working_directory = Some(gone)).await.err();
    match refused {
        Some(SandboxError::FolderMissing { folder }) => assert!(folder.ends_with("gone"), "{folder}"),
        Some(error @ (SandboxError::Unsupported { .. } | SandboxError::Setting { .. })) => return Err(error),
        other => panic!("{other:?}"),
    }
    Ok(())
}

async fn what_a_sandbox_can_do_is_on_record(stage: &Stage) -> Verdict {
    let before = stage.runtime.capabilities(&stage.settings)?;
    let live = stage.sandbox().await?;
    let capabilities = live.capabilities();
    assert_eq!(capabilities, before, "it is known before it starts");
    assert!(capabilities.has(Capability::Execute));
    let isolation = capabilities.get(Capability::Isolation);
    assert!(isolation.is_some(), "how far its code is kept away is always said");
    Ok(())
}

async fn magics_work(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs_all_of_python()?;
    let outcome = live.run("%env SB_MAGIC=1\nimport os\nos.environ['SB_MAGIC']").await;
    if let Some(error) = &outcome.code_error {
        return Err(SandboxError::Unsupported { reason: error.traceback.join("\n") });
    }
    assert_eq!(outcome.text().as_deref(), Some("'1'"));
    Ok(())
}
