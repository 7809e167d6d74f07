//! A naive emulator to compare with: every line is a vector of columns, nothing is packed, nothing is clever. It takes
//! tokens, so it shares no parser with the real one either.

#![allow(clippy::format_push_string, clippy::needless_for_each, reason = "naive on purpose")]

use proptest::prelude::*;
use unicode_width::UnicodeWidthChar as _;

#[derive(Clone, Debug)]
pub(super) enum Token {
    Text(&'static str),
    Lines(usize),
    CarriageReturn,
    Backspace,
    LineFeed,
    Up(usize),
    Down(usize),
    Left(usize),
    Right(usize),
    Column(usize),
    EraseLine(u8),
    EraseDisplay(u8),
    /// What the code is in a stream, and what is then in effect: attributes, foreground, background.
    Style(&'static str, [&'static str; 3]),
    Link(&'static str),
    Nothing(&'static str),
}

pub(super) fn tokens() -> impl Strategy<Value = Vec<Token>> {
    use Token::*;
    let text = prop::sample::select(vec![
        "a",
        "hello ",
        "漢字",
        "é",
        "e\u{301}",
        "\u{301}",
        "👩",
        "\t",
        "x\ty",
        " 45%|███▌ ",
        "\u{200d}",
        "\u{a0}",
    ]);
    let style = prop::sample::select(vec![
        Style("\x1b[0m", ["", "", ""]),
        Style("\x1b[m", ["", "", ""]),
        Style("\x1b[0;1;31m", ["1", "31", ""]),
        Style("\x1b[0;3;4;7;9;38;5;200;48;2;1;2;3m", ["3;4;7;9", "38;5;200", "48;2;1;2;3"]),
        Style("\x1b[0;2;38:2::9:8:7;105m", ["2", "38;2;9;8;7", "105"]),
        Style("\x1b[0;38;5;9;48:5:1m", ["", "91", "41"]),
    ]);
    let nothing = prop::sample::select(vec![
        "\x07",
        "\x1b[?25l",
        "\x1b[?25h",
        "\x1b[5n",
        "\x1b]0;title\x07",
        "\x1b]133;A\x1b\\",
        "\x1b(B",
        "\x1b=",
        "\x1bPq#0;2\x1b\\",
        "\x1b[2;3H",
        "\x1b_Gf=100\x1b\\",
        "\x1b[>4;1m",
        "\x1b[1;2?3m",
        "\u{85}",
        "\x7f",
        "\x1b[3J",
        "\x0c",
        "\x1b[s",
        "\x1b[12\x18",
    ]);
    let token = prop_oneof![
        12 => text.prop_map(Text),
        1 => (1usize..260).prop_map(Lines),
        4 => Just(CarriageReturn),
        2 => Just(Backspace),
        5 => Just(LineFeed),
        3 => (0usize..5).prop_map(Up),
        1 => (0usize..300).prop_map(Up),
        2 => (0usize..5).prop_map(Down),
        2 => (0usize..20).prop_map(Left),
        2 => (0usize..20).prop_map(Right),
        1 => Just(Right(60_000)),
        2 => (0usize..40).prop_map(Column),
        2 => (0u8..4).prop_map(EraseLine),
        1 => (0u8..3).prop_map(EraseDisplay),
        3 => style,
        1 => prop::sample::select(vec!["", "https://a.example/?q=1;2", "file:///tmp/x"]).prop_map(Link),
        2 => nothing.prop_map(Nothing),
    ];
    prop::collection::vec(token, 0..60)
}

pub(super) fn bytes_of(tokens: &[Token]) -> Vec<u8> {
    let mut out = String::new();
    for token in tokens {
        match token {
            Token::Text(text) | Token::Nothing(text) | Token::Style(text, _) => out.push_str(text),
            Token::Lines(count) => (0..*count).for_each(|line| out.push_str(&format!("line {line}\n"))),
            Token::CarriageReturn => out.push('\r'),
            Token::Backspace => out.push('\x08'),
            Token::LineFeed => out.push('\n'),
            Token::Up(count) => out.push_str(&format!("\x1b[{count}A")),
            Token::Down(count) => out.push_str(&format!("\x1b[{count}B")),
            Token::Right(count) => out.push_str(&format!("\x1b[{count}C")),
            Token::Left(count) => out.push_str(&format!("\x1b[{count}D")),
            Token::Column(column) => out.push_str(&format!("\x1b[{column}G")),
            Token::EraseLine(part) => out.push_str(&format!("\x1b[{part}K")),
            Token::EraseDisplay(part) => out.push_str(&format!("\x1b[{part}J")),
            Token::Link(target) => out.push_str(&format!("\x1b]8;;{target}\x1b\\")),
        }
    }
    out.into_bytes()
}

#[derive(Clone, Default, PartialEq)]
struct Look {
    style: [&'static str; 3],
    link: &'static str,
}

#[derive(Clone)]
struct Column {
    /// Empty in all columns of a wide character but the first.
    text: String,
    look: Look,
}

#[derive(Default)]
pub(super) struct Model {
    lines: Vec<Vec<Column>>,
    line: usize,
    column: usize,
    look: Look,
}

impl Model {
    pub(super) fn text_of(tokens: &[Token]) -> String {
        let mut model = Self { lines: vec![vec![]], ..Self::default() };
        tokens.iter().for_each(|token| model.run(token));
        model.lines.iter().map(|line| render(line)).collect::<Vec<_>>().join("\n")
    }

    fn run(&mut self, token: &Token) {
        let top = self.lines.len().saturating_sub(200);
        let here = &mut self.lines[self.line];
        match *token {
            Token::Text(text) => text.chars().for_each(|character| self.put(character)),
            Token::Lines(count) => {
                for line in 0..count {
                    format!("line {line}").chars().for_each(|character| self.put(character));
                    self.line_feed();
                }
            }
            Token::CarriageReturn => self.column = 0,
            Token::Backspace => self.column = self.column.saturating_sub(1),
            Token::LineFeed => self.line_feed(),
            Token::Up(count) => self.line = self.line.saturating_sub(count.max(1)).max(top.min(self.line)),
            Token::Down(count) => self.line = (self.line + count.max(1)).min(self.lines.len() - 1),
            Token::Left(count) => self.column = self.column.saturating_sub(count.max(1)),
            Token::Right(count) => self.column = (self.column + count.max(1)).min(here.len().max(1000)),
            Token::Column(column) => self.column = column.max(1) - 1,
            Token::EraseLine(part) => self.erase_line(part),
            Token::EraseDisplay(0) => {
                self.lines.truncate(self.line + 1);
                self.erase_line(0);
            }
            Token::EraseDisplay(1) => {
                self.lines[top.min(self.line)..self.line].fill(vec![]);
                self.erase_line(1);
            }
            Token::EraseDisplay(_) => {
                self.lines.truncate(top);
                self.lines.push(vec![]);
                (self.line, self.column) = (top, 0);
            }
            Token::Style(_, style) => self.look.style = style,
            Token::Link(target) => self.look.link = target,
            Token::Nothing(_) => {}
        }
    }

    fn line_feed(&mut self) {
        self.line += 1;
        self.column = 0;
        if self.line == self.lines.len() {
            self.lines.push(vec![]);
        }
    }

    fn erase_line(&mut self, part: u8) {
        let line = &mut self.lines[self.line];
        match part {
            0 => {
                break_glyph(line, self.column);
                line.truncate(self.column);
            }
            1 => {
                break_glyph(line, self.column + 1);
                if line.len() <= self.column + 1 {
                    line.clear();
                } else {
                    line[..=self.column].fill(space(&Look::default()));
                }
            }
            2 => line.clear(),
            _ => {}
        }
    }

    fn put(&mut self, character: char) {
        let line = &mut self.lines[self.line];
        let width = match character {
            '\t' if self.column < line.len() || self.column > line.len() => {
                self.column += 8 - self.column % 8;
                return;
            }
            '\t' => 8 - self.column % 8,
            _ => character.width().unwrap_or(0),
        };
        let needed = if width == 0 { self.column } else { self.column + width };
        let old = line.len();
        if width == 0 && self.column > 0 {
            while line.len() < needed {
                line.push(space(&Look::default()));
            }
            let glyph = line[..self.column].iter().rposition(|column| !column.text.is_empty()).unwrap();
            line[glyph].text.push(character);
            return;
        }
        let width = width.max(1);
        break_glyph(line, self.column);
        break_glyph(line, self.column + width);
        while line.len() < self.column + width {
            line.push(space(&Look::default()));
        }
        debug_assert!(line.len() >= old);
        line[self.column] = Column { text: character.into(), look: self.look.clone() };
        for column in &mut line[self.column + 1..self.column + width] {
            *column = Column { text: String::new(), look: self.look.clone() };
        }
        self.column += width;
    }
}

fn space(look: &Look) -> Column {
    Column { text: " ".into(), look: look.clone() }
}

/// A glyph that lies on both sides of `at` becomes spaces.
fn break_glyph(line: &mut [Column], at: usize) {
    if at >= line.len() || !line[at].text.is_empty() {
        return;
    }
    let start = line[..at].iter().rposition(|column| !column.text.is_empty()).unwrap();
    let end = (at..line.len()).find(|&column| !line[column].text.is_empty()).unwrap_or(line.len());
    for column in &mut line[start..end] {
        *column = space(&column.look.clone());
    }
}

fn render(line: &[Column]) -> String {
    let mut out = String::new();
    let mut now = Look::default();
    let plain = Look::default();
    let end = Column { text: String::new(), look: plain.clone() };
    for (at, column) in line.iter().chain([&end]).enumerate() {
        if column.text.is_empty() && at < line.len() {
            continue;
        }
        if column.look.link != now.link {
            match column.look.link {
                "" => out.push_str("\x1b]8;;\x1b\\"),
                target => out.push_str(&format!("\x1b]8;;{target}\x1b\\")),
            }
        }
        if column.look.style != now.style {
            let reset = now.style != plain.style || column.look.style == plain.style;
            let codes = reset.then_some("0").into_iter().chain(column.look.style);
            let codes: Vec<_> = codes.filter(|code| !code.is_empty()).collect();
            out.push_str(&format!("\x1b[{}m", codes.join(";")));
        }
        now = column.look.clone();
        out.push_str(&column.text);
    }
    out
}
