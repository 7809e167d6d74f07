//! What is shown beside text.

use sandbook_sandbox::{Capability, EventKind};

use crate::{Stage, Verdict};

theme!("Rich output":
    a_value_shows_itself_in_all_its_forms,
    a_value_may_make_its_own_bundle,
    data_that_is_json_stays_json,
    what_is_shown_beside_the_result_comes_first,
    a_form_that_fails_leaves_the_others,
    a_figure_of_matplotlib_is_an_image,
    what_is_shown_can_be_updated_later,
    outputs_can_be_cleared,
    a_data_frame_is_a_table,
);

async fn a_value_shows_itself_in_all_its_forms(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::RichOutput)?;
    let code = "class Both:\n    def _repr_html_(self): return '<b>x</b>'\n    def _repr_png_(self): return b'\\x89PNG'\n    def __repr__(self): return 'x'\nBoth()";
    let outcome = live.run(code).await;
    let result = outcome.results.last().expect("a result");
    assert_eq!(result.text_of("text/html").as_deref(), Some("<b>x</b>"));
    assert_eq!(result.text_of("image/png").map(|image| image.trim().to_owned()).as_deref(), Some("iVBORw=="));
    assert_eq!(result.text_of("text/plain").as_deref(), Some("x"));
    Ok(())
}

async fn a_value_may_make_its_own_bundle(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::RichOutput)?;
    let code = "class Own:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n        return {'text/plain': 'own', 'application/x-own': 'o'}, {'application/x-own': {'n': 1}}\nOwn()";
    let outcome = live.run(code).await;
    let result = outcome.results.last().expect("a result");
    assert_eq!(result.text_of("application/x-own").as_deref(), Some("o"));
    assert_eq!(outcome.text().as_deref(), Some("own"));
    let metadata: serde_json::Value = serde_json::from_str(result.metadata.get()).expect("JSON");
    assert_eq!(metadata["application/x-own"]["n"], 1);
    Ok(())
}

async fn data_that_is_json_stays_json(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::RichOutput)?;
    let code = "display({'application/json': {'a': [1, None, 'b']}, 'text/plain': ''}, raw=True)";
    let outcome = live.run(code).await;
    let json = outcome.results.last().expect("something shown").data["application/json"].get().to_owned();
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value, serde_json::json!({"a": [1, null, "b"]}));
    Ok(())
}

async fn what_is_shown_beside_the_result_comes_first(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::RichOutput)?;
    let outcome = live.run("display('shown')\n'result'").await;
    let main: Vec<bool> = outcome.results.iter().map(|result| result.main).collect();
    assert_eq!(main, [false, true]);
    assert_eq!(outcome.text().as_deref(), Some("'result'"));
    Ok(())
}

async fn a_form_that_fails_leaves_the_others(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::RichOutput)?;
    let code = "class Bad:\n    def _repr_html_(self): raise ValueError('no')\n    def __repr__(self): return 'plain'\nBad()";
    let outcome = live.run(code).await;
    assert_eq!(outcome.text().as_deref(), Some("plain"));
    Ok(())
}

async fn a_figure_of_matplotlib_is_an_image(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::RichOutput)?;
    for code in ["import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", "plt.plot([2, 1]);"] {
        let outcome = live.run(code).await;
        let images: Vec<String> =
            outcome.results.iter().filter_map(|result| result.text_of("image/png")).collect();
        assert_eq!(images.len(), 1, "{code}: {outcome:?}");
        assert!(images[0].starts_with("iVBOR"));
    }
    Ok(())
}

async fn what_is_shown_can_be_updated_later(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::RichOutput)?;
    let mut first = live.start("handle = display('a', display_id='d')\nhandle.update('b')").await;
    let outcome = first.finish().await;
    assert_eq!(outcome.results[0].text_of("text/plain").as_deref(), Some("'b'"));
    assert_eq!(outcome.results[0].display_id.as_deref(), Some("d"));
    let mut second = live.start("handle.update('c')").await;
    let update =
        |kind: &EventKind| matches!(kind, EventKind::DisplayUpdate { display_id, .. } if display_id == "d");
    second.until(update).await;
    Ok(())
}

async fn outputs_can_be_cleared(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::RichOutput)?;
    let code = "from IPython.display import clear_output\nprint('old')\nclear_output(wait=True)\nprint('new')\nclear_output()\nprint('newest')";
    let mut running = live.start(code).await;
    let outcome = running.finish().await;
    let waits: Vec<bool> = running
        .seen
        .iter()
        .filter_map(|event| if let EventKind::Clear { wait } = event.kind { Some(wait) } else { None })
        .collect();
    assert_eq!((waits, outcome.stdout.text().as_str()), (vec![true, false], "newest\n"));
    Ok(())
}

async fn a_data_frame_is_a_table(stage: &Stage) -> Verdict {
    let live = stage.sandbox().await?;
    live.needs(Capability::RichOutput)?;
    let outcome = live.run("import pandas\npandas.DataFrame({'a': [1, 2]})").await;
    let html = outcome.results.last().and_then(|result| result.text_of("text/html")).expect("HTML");
    assert!(html.contains("<table"), "{html}");
    Ok(())
}
