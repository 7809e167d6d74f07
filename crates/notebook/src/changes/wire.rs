//! Changes as JSON, the way CodeMirror's `ChangeSet.toJSON` writes them: a number for what is kept, a list of a length and
//! lines for what is replaced.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Changes, Section};
use crate::utf16;

impl Serialize for Changes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.sections.iter().map(|section| match section.insert {
            None => serde_json::Value::from(section.length),
            Some(0) => vec![serde_json::Value::from(section.length)].into(),
            Some(_) => {
                let lines = section.text.split('\n').map(serde_json::Value::from);
                std::iter::once(serde_json::Value::from(section.length)).chain(lines).collect()
            }
        }))
    }
}

impl<'de> Deserialize<'de> for Changes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Part {
            Keep(u32),
            Replace(Vec<Piece>),
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Piece {
            Length(u32),
            Line(String),
        }
        let mut sections = Vec::new();
        for part in Vec::<Part>::deserialize(deserializer)? {
            match part {
                Part::Keep(length) => {
                    sections.push(Section { length: length as usize, insert: None, text: String::new() });
                }
                Part::Replace(pieces) => {
                    let mut pieces = pieces.into_iter();
                    let Some(Piece::Length(length)) = pieces.next() else {
                        return Err(D::Error::custom("a replaced stretch begins with its length"));
                    };
                    let lines = pieces.map(|piece| match piece {
                        Piece::Line(line) if !line.contains(['\n', '\r']) => Ok(line),
                        _ => Err(D::Error::custom("inserted text is a list of lines")),
                    });
                    let text = lines.collect::<Result<Vec<_>, _>>()?.join("\n");
                    sections.push(Section {
                        length: length as usize,
                        insert: Some(utf16::length(&text)),
                        text,
                    });
                }
            }
        }
        Ok(Self { sections })
    }
}
