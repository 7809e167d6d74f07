//! Finding a text in all outputs of a document, also in the parts that no page holds.

use regex::{Regex, RegexBuilder};
use sandbook_notebook::{CellKey, Output, stream_text::StreamText};
use sandbook_protocol::{ErrorCode, OutputId, OutputMatch, OutputSearch, ProtocolError};

use super::{
    Document,
    state::{State, outer},
    view,
};
use crate::outputs::LiveBody;

/// The most matches of one answer.
const MOST: usize = 1_000;
/// Characters of an excerpt around a match, on each side.
const AROUND: usize = 80;

impl Document {
    /// Matches in outputs, and whether there are more.
    pub(crate) fn search_outputs(
        &self,
        search: &OutputSearch,
    ) -> Result<(Vec<OutputMatch>, bool), ProtocolError> {
        let pattern = RegexBuilder::new(&regex::escape(&search.query))
            .case_insensitive(!search.case_sensitive)
            .build()
            .map_err(|_| {
                ProtocolError::new(
                    ErrorCode::BadRequest,
                    "This text is too long to look for.",
                    "Look for a shorter one.",
                )
            })?;
        let limit = (search.limit as usize).min(MOST);
        let mut finder = Finder { pattern, limit, matches: Vec::new(), more: false };
        if !search.query.is_empty() {
            self.state().search(search.output.as_ref(), &mut finder);
        }
        Ok((finder.matches, finder.more))
    }
}

struct Finder {
    pattern: Regex,
    limit: usize,
    matches: Vec<OutputMatch>,
    more: bool,
}

impl Finder {
    fn lines<'a>(&mut self, cell: &CellKey, output: &OutputId, lines: impl Iterator<Item = &'a str>) {
        for (number, line) in lines.enumerate() {
            if self.more {
                return;
            }
            let plain = without_codes(line);
            let found: Vec<(usize, usize)> =
                self.pattern.find_iter(&plain).map(|found| (found.start(), found.end())).collect();
            for (start, end) in found {
                if self.matches.len() == self.limit {
                    self.more = true;
                    return;
                }
                self.matches.push(OutputMatch {
                    cell: outer(cell),
                    output: output.clone(),
                    line: u32::try_from(number).unwrap_or(u32::MAX),
                    column: units(&plain[..start]),
                    length: units(&plain[start..end]),
                    excerpt: excerpt(&plain, start, end),
                });
            }
        }
    }
}

impl State {
    fn search(&self, only: Option<&OutputId>, finder: &mut Finder) {
        for cell in self.notebook.cells() {
            let key = cell.key();
            let wanted = |id: &OutputId| only.is_none_or(|only| only == id);
            if let Some(live) = self.live.get(key) {
                for output in live.outputs.iter().filter(|output| wanted(&output.id)) {
                    match &output.body {
                        LiveBody::Stream { text, .. } => finder.lines(key, &output.id, all_lines(text)),
                        LiveBody::Rich(rich) => finder.text(key, &output.id, plain_text(&rich.data)),
                        LiveBody::Error(error) => {
                            finder.lines(
                                key,
                                &output.id,
                                error.traceback.iter().flat_map(|entry| entry.split('\n')),
                            );
                        }
                    }
                }
                continue;
            }
            for index in 0..cell.output_count() {
                let id = view::file_output_id(cell, index);
                if !wanted(&id) {
                    continue;
                }
                match cell.output(index) {
                    Some(Output::Stream { text, .. }) => {
                        finder.lines(key, &id, all_lines(&view::lines_of(&text)));
                    }
                    Some(Output::Display { data, .. } | Output::Result { data, .. }) => {
                        finder.text(key, &id, plain_text(&data));
                    }
                    Some(Output::Error { traceback, .. }) => {
                        finder.lines(key, &id, traceback.iter().flat_map(|entry| entry.split('\n')));
                    }
                    _ => {}
                }
            }
        }
    }
}

impl Finder {
    fn text(&mut self, cell: &CellKey, output: &OutputId, text: Option<String>) {
        if let Some(text) = text {
            self.lines(cell, output, text.split('\n'));
        }
    }
}

fn all_lines(text: &StreamText) -> impl Iterator<Item = &str> {
    text.lines(0..text.total_lines())
}

fn plain_text(data: &sandbook_notebook::MimeBundle) -> Option<String> {
    match data.get("text/plain")?.payload("text/plain")? {
        sandbook_notebook::Payload::Text(text) => Some(text.into_owned()),
        _ => None,
    }
}

/// A line without its colour codes and links.
fn without_codes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\x1b') {
        plain.push_str(&rest[..at]);
        let code = &rest[at + 1..];
        let end = match code.as_bytes().first() {
            Some(b'[') => code.find('m').map(|end| end + 1),
            Some(b']') => code.find("\x1b\\").map(|end| end + 2),
            _ => Some(0),
        };
        rest = &code[end.unwrap_or(code.len())..];
    }
    plain.push_str(rest);
    plain
}

fn units(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}

fn excerpt(line: &str, start: usize, end: usize) -> String {
    let from = line.floor_char_boundary(start.saturating_sub(AROUND));
    let to = line.ceil_char_boundary((end + AROUND).min(line.len()).min(start + 3 * AROUND));
    line.get(from..to).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_links_are_not_part_of_what_is_searched() {
        assert_eq!(
            without_codes("\x1b[1;31mred\x1b[0m and \x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\"),
            "red and link"
        );
        assert_eq!(without_codes("cut \x1b[31"), "cut ");
    }

    #[test]
    fn an_excerpt_never_cuts_a_character() {
        let line = "é".repeat(500);
        let found = excerpt(&line, 300, 302);
        assert!(!found.is_empty() && found.chars().all(|character| character == 'é'));
    }
}
