//! What can be asked of a kernel beside running code.

use sandbook_sandbox::{Capability, Completeness, CompletionReply, SandboxError};

use crate::{Live, Stage, Verdict};

theme!("Questions":
    names_and_attributes_are_completed,
    positions_are_counted_in_characters,
    things_are_described,
    what_is_not_known_is_not_described,
    whether_code_is_complete_is_told,
    history_is_told,
    the_kernel_says_what_it_is,
);

async fn names_and_attributes_are_completed(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::Completion)?;
    live.run("zebra_function = lambda: 1\nimport os").await;
    let reply = completed(&live, "x = zebra_", 10).await?;
    assert!(reply.matches.iter().any(|found| found.text == "zebra_function"), "{reply:?}");
    assert_eq!((reply.start, reply.end), (4, 10));
    let reply = completed(&live, "os.getcw", 8).await?;
    assert!(reply.matches.iter().any(|found| found.text.ends_with("getcwd")), "{reply:?}");
    Ok(())
}

/// What a kernel suggests. It gives its completer little time, and the first answer needs the most.
async fn completed(live: &Live, code: &str, position: usize) -> Result<CompletionReply, SandboxError> {
    for _ in 0..20 {
        let reply = live.complete(code, position).await?;
        if !reply.matches.is_empty() {
            return Ok(reply);
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    live.complete(code, position).await
}

async fn positions_are_counted_in_characters(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::Completion)?;
    live.run("zebra = 1").await;
    let reply = completed(&live, "'👩ä'; zebr", 10).await?;
    assert!(reply.matches.iter().any(|found| found.text == "zebra"), "{reply:?}");
    assert_eq!((reply.start, reply.end), (6, 10));
    Ok(())
}

async fn things_are_described(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::Completion)?;
    live.run("def area(width, height=2):\n    \"\"\"How much it covers.\"\"\"\n    return width * height")
        .await;
    let reply = live.inspect("area", 4, 0).await?;
    let text = reply.data.get("text/plain").map(|text| text.get().to_owned()).unwrap_or_default();
    assert!(reply.found && text.contains("How much it covers") && text.contains("height"), "{text}");
    Ok(())
}

async fn what_is_not_known_is_not_described(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    assert!(!live.inspect("no_such_name", 5, 0).await?.found);
    Ok(())
}

async fn whether_code_is_complete_is_told(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::Completion)?;
    assert_eq!(live.is_complete("x = 1").await?, Completeness::Complete);
    assert_eq!(live.is_complete("for i in x:").await?, Completeness::Incomplete("    ".into()));
    assert_eq!(live.is_complete("x = )").await?, Completeness::Invalid);
    Ok(())
}

async fn history_is_told(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    for code in ["first = 1", "second = 2"] {
        live.run(code).await;
    }
    let sources: Vec<String> = live.history(2).await?.into_iter().map(|entry| entry.source).collect();
    assert!(sources.contains(&"second = 2".to_owned()), "{sources:?}");
    Ok(())
}

async fn the_kernel_says_what_it_is(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let info = live.kernel_info().await?;
    assert_eq!(info.language, "python");
    assert!(info.language_version.starts_with("3."), "{info:?}");
    let language_info: serde_json::Value =
        serde_json::from_str(&info.language_info.unwrap_or_default()).expect("JSON");
    assert_eq!(language_info["name"], "python");
    Ok(())
}
