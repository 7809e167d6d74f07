//! Reading what only one runtime knows of a sandbox's settings.

use sandbook_sandbox::Problem;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads each setting by itself, so that everything that is wrong is told at once. What is wrong is left out. `not_kept`
/// says why something that other runtimes know cannot be set here.
pub(crate) fn examine<Settings: DeserializeOwned + Default>(
    runtime: &Value,
    not_kept: impl Fn(&str) -> Option<&'static str>,
) -> (Settings, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut sound = Map::new();
    match runtime {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                let alone = Map::from_iter([(name.clone(), value.clone())]);
                match serde_json::from_value::<Settings>(Value::Object(alone)) {
                    Ok(_) => drop(sound.insert(name.clone(), value.clone())),
                    Err(error) => {
                        let reason = not_kept(name).map_or_else(|| error.to_string(), str::to_owned);
                        problems.push(Problem::new(name, reason));
                    }
                }
            }
        }
        _ => problems.push(Problem::new("runtime", "it holds the settings by name")),
    }
    (serde_json::from_value(Value::Object(sound)).unwrap_or_default(), problems)
}
