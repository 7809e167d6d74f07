//! From bytes to what they mean.
//!
//! Text is taken in whole runs and only an escape sequence goes through `vte`, byte by byte, until it is certain to
//! be over. A sequence that never ends (a program that printed a binary file) is given up after 64 KiB, or all
//! later output would be lost in it.

use vte::{Params, Parser, Perform};

use super::screen::{Part, Screen};

/// The longest escape sequence waited for, in bytes.
const SEQUENCE_LIMIT: usize = 64 * 1024;

/// What is still open at the end of a chunk.
#[derive(Default)]
pub(super) struct Input {
    parser: Parser,
    /// Bytes that the parser took since it was last known to be outside a sequence; `None` outside.
    sequence: Option<usize>,
    /// The beginning of a UTF-8 character that the last chunk cut.
    partial: Vec<u8>,
}

impl Input {
    pub(super) fn push(&mut self, screen: &mut Screen, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match self.sequence {
                Some(taken) => self.push_sequence(screen, bytes, taken),
                None if !self.partial.is_empty() => self.push_partial(screen, bytes),
                None => self.push_text(screen, bytes),
            };
        }
    }

    fn push_sequence<'a>(&mut self, screen: &mut Screen, bytes: &'a [u8], mut taken: usize) -> &'a [u8] {
        let mut performer = Performer { screen, is_over: false };
        for (at, byte) in bytes.iter().enumerate() {
            self.parser.advance(&mut performer, std::slice::from_ref(byte));
            taken += 1;
            if performer.is_over || taken >= SEQUENCE_LIMIT {
                if !performer.is_over {
                    self.parser = Parser::new();
                }
                self.sequence = None;
                return &bytes[at + 1..];
            }
        }
        self.sequence = Some(taken);
        &[]
    }

    /// Completes the character that was cut. Its first byte says how many it needs.
    fn push_partial<'a>(&mut self, screen: &mut Screen, bytes: &'a [u8]) -> &'a [u8] {
        let had = self.partial.len();
        let mut character = std::mem::take(&mut self.partial);
        for (at, &byte) in bytes.iter().enumerate() {
            character.push(byte);
            match std::str::from_utf8(&character) {
                Ok(text) => {
                    write_text(screen, text);
                    return &bytes[at + 1..];
                }
                Err(error) => {
                    if let Some(length) = error.error_len() {
                        write_text(screen, "\u{fffd}");
                        return &bytes[length - had..];
                    }
                }
            }
        }
        self.partial = character;
        &[]
    }

    fn push_text<'a>(&mut self, screen: &mut Screen, bytes: &'a [u8]) -> &'a [u8] {
        let end = memchr::memchr(0x1b, bytes);
        let mut text = &bytes[..end.unwrap_or(bytes.len())];
        while !text.is_empty() {
            match std::str::from_utf8(text) {
                Ok(valid) => {
                    write_text(screen, valid);
                    break;
                }
                Err(error) => {
                    let (valid, rest) = text.split_at(error.valid_up_to());
                    write_text(screen, std::str::from_utf8(valid).unwrap_or_default());
                    let Some(length) = error.error_len() else {
                        if end.is_some() {
                            write_text(screen, "\u{fffd}");
                        } else {
                            self.partial = rest.to_vec();
                        }
                        break;
                    };
                    write_text(screen, "\u{fffd}");
                    text = &rest[length..];
                }
            }
        }
        match end {
            Some(escape) => {
                self.sequence = Some(0);
                &bytes[escape..]
            }
            None => &[],
        }
    }
}

/// Writes text that may hold control characters, but no escape.
fn write_text(screen: &mut Screen, mut text: &str) {
    while !text.is_empty() {
        let plain = plain_prefix(text.as_bytes());
        screen.write(&text[..plain]);
        let mut rest = text[plain..].chars();
        match rest.next() {
            Some('\r') => screen.carriage_return(),
            Some('\u{8}') => screen.backspace(),
            _ => {}
        }
        text = rest.as_str();
    }
}

/// Length of what [`Screen::write`] takes as it is: everything up to a C0 control but `\n` and `\t`, a DEL or a C1
/// control.
fn plain_prefix(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    let is_suspect =
        |byte: u8| (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2;
    let mut start = 0;
    for block in bytes.chunks(BLOCK) {
        // Without an early exit, so that it is compiled to vector instructions.
        if block.iter().fold(false, |any, &byte| any | is_suspect(byte)) {
            for (at, &byte) in block.iter().enumerate() {
                let is_c1 = || matches!(bytes.get(start + at + 1), Some(0x80..=0x9f));
                if is_suspect(byte) && (byte != 0xc2 || is_c1()) {
                    return start + at;
                }
            }
        }
        start += block.len();
    }
    bytes.len()
}

/// What `vte` found, done to the screen.
struct Performer<'a> {
    screen: &'a mut Screen,
    /// Set by everything after which the parser is certain to be outside a sequence.
    is_over: bool,
}

impl Perform for Performer<'_> {
    fn print(&mut self, character: char) {
        self.is_over = true;
        write_text(self.screen, character.encode_utf8(&mut [0; 4]));
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' => self.screen.write("\n"),
            b'\t' => self.screen.write("\t"),
            b'\r' => self.screen.carriage_return(),
            0x08 => self.screen.backspace(),
            // Cancel and substitute end any sequence.
            0x18 | 0x1a => self.is_over = true,
            _ => {}
        }
    }

    fn osc_dispatch(&mut self, parameters: &[&[u8]], bell_terminated: bool) {
        // An escape that ends the string still waits for its backslash.
        self.is_over = bell_terminated;
        if let [b"8", link, target @ ..] = parameters
            && target.len() < 14
        {
            // The parser cut the target at its semicolons, and keeps at most sixteen parts.
            let target = target.join(&b';');
            match (std::str::from_utf8(link), std::str::from_utf8(&target)) {
                (Ok(link), Ok(target)) => self.screen.pen.set_link(link, target),
                _ => self.screen.pen.set_link("", ""),
            }
        }
    }

    fn csi_dispatch(&mut self, parameters: &Params, intermediates: &[u8], ignore: bool, action: char) {
        self.is_over = true;
        if ignore || !intermediates.is_empty() {
            return;
        }
        let first = parameters.iter().next().and_then(<[u16]>::first).copied().unwrap_or(0);
        let count = usize::from(first.max(1));
        let screen = &mut *self.screen;
        match action {
            'A' => screen.move_up(count),
            'B' => screen.move_down(count),
            'C' | 'a' => screen.move_right(count),
            'D' => screen.move_left(count),
            'E' => {
                screen.move_down(count);
                screen.carriage_return();
            }
            'F' => {
                screen.move_up(count);
                screen.carriage_return();
            }
            'G' | '`' => screen.move_to_column(count - 1),
            'J' | 'K' => {
                let part = match first {
                    0 => Part::AfterCursor,
                    1 => Part::BeforeCursor,
                    2 => Part::All,
                    _ => return,
                };
                if action == 'J' {
                    screen.erase_in_display(part);
                } else {
                    screen.erase_in_line(part);
                }
            }
            'm' => screen.pen.apply_sgr(parameters),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, _intermediates: &[u8], _ignore: bool, _byte: u8) {
        self.is_over = true;
    }
}
