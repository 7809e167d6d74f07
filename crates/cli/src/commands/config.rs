//! `sandbook config`: where the settings are, what is in force, what is wrong.

use std::{collections::BTreeMap, path::Path};

use sandbook_store::{
    config::{self, POLICIES, SETTINGS, Schema, SettingsFile},
    folders::ENVIRONMENT,
};
use serde_json::{Value, json};

use crate::{Ended, error::USAGE, home, output};

/// Variables beside the folders' that change what Sandbook does.
const OTHER_VARIABLES: [(&str, &str); 5] = [
    ("SANDBOOK_TOKEN", "token of the Jupyter server that --server names"),
    ("SANDBOOK_LEAVE_AFTER", "seconds after which an owner process that nobody needs ends"),
    ("SANDBOOK_PAGE", "folder from which the page's files are served, for work on the page"),
    ("JUPYTER_PATH", "where kernelspecs are looked for, before the usual places"),
    ("RUST_LOG", "what is logged, such as `debug` or `sandbook_jupyter=trace`"),
];

/// Folders, files and variables.
pub(crate) fn path(json: bool) -> Ended {
    let folders = home::folders()?;
    let places: [(&str, &Path); 4] = [
        ("config", &folders.config),
        ("data", &folders.data),
        ("state", &folders.state),
        ("runtime", &folders.runtime),
    ];
    let files = [
        ("settings", folders.settings_file()),
        ("connections", folders.connections_file()),
        ("policies", folders.policies_file()),
        ("logs", folders.program_logs()),
    ];
    let variables = || ENVIRONMENT.iter().chain(&OTHER_VARIABLES);
    if json {
        let folders: BTreeMap<_, _> = places.into_iter().collect();
        let files: BTreeMap<_, _> = files.into_iter().collect();
        let value = json!({
            "type": "paths",
            "folders": folders,
            "files": files,
            "environment": variables().map(|(name, meaning)| variable(name, meaning)).collect::<Vec<_>>(),
        });
        output::line(&value);
        return Ok(0);
    }
    let named = places
        .iter()
        .map(|(name, path)| (*name, *path))
        .chain(files.iter().map(|(name, path)| (*name, path.as_path())));
    for (name, path) in named {
        let missing = if path.exists() { "" } else { "  (not made yet)" };
        println!("{name:<12} {}{missing}", path.display());
    }
    println!("\nVariables of the environment:");
    for (name, meaning) in variables() {
        let set = if std::env::var_os(name).is_some() { " (set)" } else { "" };
        println!("{name:<21} {meaning}{set}");
    }
    Ok(0)
}

/// Whether a variable is set; its value may be a secret.
fn variable(name: &str, meaning: &str) -> Value {
    json!({ "name": name, "meaning": meaning, "set": std::env::var_os(name).is_some() })
}

/// Every setting and policy, and where its value comes from.
pub(crate) fn show(json: bool) -> Ended {
    let folders = home::folders()?;
    let files: [(&str, std::path::PathBuf, &'static Schema); 2] =
        [("settings", folders.settings_file(), &SETTINGS), ("policies", folders.policies_file(), &POLICIES)];
    for (name, path, schema) in files {
        let file = SettingsFile::open(&path, schema)?;
        if json {
            for shown in file.shown() {
                output::line(&json!({
                    "type": "setting", "file": name, "key": shown.key, "value": plain(&shown.value),
                    "is_set": shown.is_set, "explanation": shown.explanation,
                }));
            }
        } else {
            println!("# {}", path.display());
            for shown in file.shown() {
                let origin = if shown.is_set { "" } else { "  # default" };
                println!("{} = {}{origin}", shown.key, shown.value);
            }
            println!();
        }
    }
    Ok(0)
}

/// A value as JSON: switches, numbers and texts are written alike in TOML.
fn plain(toml: &str) -> Value {
    serde_json::from_str(toml).unwrap_or_else(|_| Value::from(toml))
}

/// What is wrong in the three files. The status is 2 where something is.
pub(crate) fn check(json: bool) -> Ended {
    let folders = home::folders()?;
    let problems = config::check(&folders)?;
    if json {
        let problems: Vec<Value> = problems
            .iter()
            .map(|problem| {
                json!({
                    "file": problem.file, "line": problem.line, "key": problem.key, "message": problem.message,
                    "nearest": problem.nearest,
                })
            })
            .collect();
        output::line(&json!({ "type": "check", "good": problems.is_empty(), "problems": problems }));
    } else if problems.is_empty() {
        println!("The settings, connections and policies are good.");
    } else {
        for problem in &problems {
            eprintln!("error: {problem}");
        }
        eprintln!("hint: Correct the lines above. `sandbook config show` lists every setting.");
    }
    Ok(if problems.is_empty() { 0 } else { USAGE })
}
