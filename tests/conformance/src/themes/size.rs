//! Much output.

use sandbook_sandbox::Capability;

use crate::{Stage, Verdict};

theme!("Size":
    a_line_of_twenty_megabytes_arrives_whole,
    two_hundred_thousand_lines_arrive,
    a_thousand_displays_arrive,
    a_result_of_megabytes_arrives_whole,
    much_code_is_taken,
);

async fn a_line_of_twenty_megabytes_arrives_whole(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let outcome = live.run("print('x' * 20_000_000)").await;
    assert!(outcome.success(), "{:?}", outcome.infrastructure);
    assert_eq!(outcome.stdout.text().len(), 20_000_001);
    Ok(())
}

async fn two_hundred_thousand_lines_arrive(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let outcome = live.run("for i in range(200_000): print(i)").await;
    assert_eq!(outcome.stdout.len(), 200_000);
    let numbers = outcome.stdout.iter().enumerate();
    assert!(numbers.into_iter().all(|(number, line)| line.text == number.to_string()), "in order");
    Ok(())
}

async fn a_thousand_displays_arrive(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::RichOutput)?;
    let outcome = live.run("for i in range(1000): display('x' * 4000)").await;
    assert_eq!(outcome.results.len(), 1000);
    Ok(())
}

async fn a_result_of_megabytes_arrives_whole(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let outcome = live.run("'y' * 5_000_000").await;
    assert_eq!(outcome.text().map(|text| text.len()), Some(5_000_002));
    Ok(())
}

async fn much_code_is_taken(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    let code = format!("text = '''{}'''\nlen(text)", "ä".repeat(1_000_000));
    assert_eq!(live.run(&code).await.text().as_deref(), Some("1000000"));
    Ok(())
}
