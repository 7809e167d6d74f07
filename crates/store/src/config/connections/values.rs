//! Values of a connection's settings, from TOML and into it.

use serde_json::{Map, Value as Json};
use toml_edit::{Array, InlineTable, Item, TableLike, Value};

pub(super) fn json_of_table(table: &dyn TableLike) -> Map<String, Json> {
    table.iter().map(|(name, item)| (name.to_owned(), json_of_item(item))).collect()
}

pub(super) fn json_of_item(item: &Item) -> Json {
    if let Some(table) = item.as_table_like() {
        return Json::Object(json_of_table(table));
    }
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|table| Json::Object(json_of_table(table))).collect();
    }
    item.as_value().map_or(Json::Null, json_of_value)
}

fn json_of_value(value: &Value) -> Json {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Float(number) => (*number.value()).into(),
        Value::Boolean(is_true) => (*is_true.value()).into(),
        Value::Datetime(time) => time.value().to_string().into(),
        Value::Array(array) => array.iter().map(json_of_value).collect(),
        Value::InlineTable(table) => Json::Object(json_of_table(table)),
    }
}

/// `None` for null, which TOML does not have.
pub(super) fn toml_of_json(value: &Json) -> Option<Value> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(is_true) => (*is_true).into(),
        Json::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.as_f64()?.into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(values) => Value::Array(values.iter().filter_map(toml_of_json).collect::<Array>()),
        Json::Object(object) => {
            let mut table = InlineTable::new();
            for (name, value) in object {
                if let Some(value) = toml_of_json(value) {
                    table.insert(name, value);
                }
            }
            Value::InlineTable(table)
        }
    })
}
