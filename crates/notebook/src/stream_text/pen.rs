//! How text is drawn: colours, attributes and links, and the one way they are written down.
//!
//! Every line of the model stands alone, so its codes must not lean on the line before. A change of pen is
//! therefore always written as a whole state: `ESC[1;31m` from the reset state, `ESC[0;1;31m` from any other,
//! `ESC[0m` back to it. Two texts that look the same are the same bytes.

use std::fmt::Write as _;
use std::sync::Arc;

/// The longest link target kept, in bytes. Longer ones are shown as plain text.
const LINK_LIMIT: usize = 2048;

/// A colour as the stream named it; what it looks like is the page's business.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Colour {
    #[default]
    Default,
    /// 0–15 are the named colours, written in their short form; 16–255 the fixed palette.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// Attributes as bits; the position in [`ATTRIBUTES`] is the order in which they are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Attributes(u8);

const BOLD: u8 = 1;
const DIM: u8 = 1 << 1;
const ITALIC: u8 = 1 << 2;
const UNDERLINE: u8 = 1 << 3;
const INVERSE: u8 = 1 << 4;
const STRIKE: u8 = 1 << 5;
const ATTRIBUTES: [(u8, u8); 6] =
    [(BOLD, 1), (DIM, 2), (ITALIC, 3), (UNDERLINE, 4), (INVERSE, 7), (STRIKE, 9)];

/// The state that the next character is written with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pen {
    foreground: Colour,
    background: Colour,
    attributes: Attributes,
    /// `parameters;target` of OSC 8.
    link: Option<Arc<str>>,
}

impl Pen {
    pub(super) fn is_default(&self) -> bool {
        self.link.is_none() && self.is_unstyled()
    }

    fn is_unstyled(&self) -> bool {
        self.attributes.0 == 0 && self.foreground == Colour::Default && self.background == Colour::Default
    }

    fn same_style(&self, other: &Self) -> bool {
        self.attributes == other.attributes
            && self.foreground == other.foreground
            && self.background == other.background
    }

    /// Writes what turns `self` into `next`; nothing when they are equal.
    pub(super) fn write_change(&self, next: &Self, out: &mut String) {
        if self.link != next.link {
            if self.link.is_some() && next.link.is_none() {
                out.push_str("\x1b]8;;\x1b\\");
            }
            if let Some(link) = &next.link {
                out.push_str("\x1b]8;");
                out.push_str(link);
                out.push_str("\x1b\\");
            }
        }
        if !self.same_style(next) {
            next.write_style(!self.is_unstyled(), out);
        }
    }

    /// Writes what ends a line drawn with this pen.
    pub(super) fn write_close(&self, out: &mut String) {
        self.write_change(&Self::default(), out);
    }

    /// The length in bytes of what [`Pen::write_close`] writes.
    pub(super) fn close_len(&self) -> usize {
        let link = if self.link.is_some() { "\x1b]8;;\x1b\\".len() } else { 0 };
        let style = if self.is_unstyled() { 0 } else { "\x1b[0m".len() };
        link + style
    }

    fn write_style(&self, reset_first: bool, out: &mut String) {
        out.push_str("\x1b[");
        let mut separator = "";
        if reset_first || self.is_unstyled() {
            out.push('0');
            separator = ";";
        }
        for (bit, code) in ATTRIBUTES {
            if self.attributes.0 & bit != 0 {
                let _ = write!(out, "{separator}{code}");
                separator = ";";
            }
        }
        for (colour, base) in [(self.foreground, 30_u8), (self.background, 40)] {
            match colour {
                Colour::Default => continue,
                Colour::Indexed(n @ 0..8) => {
                    let _ = write!(out, "{separator}{}", base + n);
                }
                Colour::Indexed(n @ 8..16) => {
                    let _ = write!(out, "{separator}{}", base + 60 + n - 8);
                }
                Colour::Indexed(n) => {
                    let _ = write!(out, "{separator}{};5;{n}", base + 8);
                }
                Colour::Rgb(r, g, b) => {
                    let _ = write!(out, "{separator}{};2;{r};{g};{b}", base + 8);
                }
            }
            separator = ";";
        }
        out.push('m');
    }

    /// Applies the parameters of one `CSI … m`. Unknown ones are passed over.
    pub(super) fn apply_sgr<'a>(&mut self, parameters: impl IntoIterator<Item = &'a [u16]>) {
        let mut parameters = parameters.into_iter();
        while let Some(parameter) = parameters.next() {
            let code = parameter.first().copied().unwrap_or(0);
            match code {
                38 | 48 | 58 => {
                    let colour = if parameter.len() > 1 {
                        colour_of_subparameters(&parameter[1..])
                    } else {
                        colour_of_parameters(&mut parameters)
                    };
                    match (code, colour) {
                        (38, Some(colour)) => self.foreground = colour,
                        (48, Some(colour)) => self.background = colour,
                        // 58 colours the underline, which the page draws in the text's colour.
                        _ => {}
                    }
                }
                4 if parameter.get(1) == Some(&0) => self.set(UNDERLINE, false),
                _ => self.apply_simple(code),
            }
        }
    }

    fn apply_simple(&mut self, code: u16) {
        match code {
            0 => {
                *self = Self { link: self.link.take(), ..Self::default() };
            }
            1 => self.set(BOLD, true),
            2 => self.set(DIM, true),
            3 => self.set(ITALIC, true),
            4 | 21 => self.set(UNDERLINE, true),
            7 => self.set(INVERSE, true),
            9 => self.set(STRIKE, true),
            22 => self.set(BOLD | DIM, false),
            23 => self.set(ITALIC, false),
            24 => self.set(UNDERLINE, false),
            27 => self.set(INVERSE, false),
            29 => self.set(STRIKE, false),
            30..=37 => self.foreground = named(code - 30),
            39 => self.foreground = Colour::Default,
            40..=47 => self.background = named(code - 40),
            49 => self.background = Colour::Default,
            90..=97 => self.foreground = named(code - 90 + 8),
            100..=107 => self.background = named(code - 100 + 8),
            _ => {}
        }
    }

    fn set(&mut self, bits: u8, on: bool) {
        if on {
            self.attributes.0 |= bits;
        } else {
            self.attributes.0 &= !bits;
        }
    }

    /// Opens the link `parameters;target`, or ends it when the target is empty. A target that could break out
    /// of its code, or is longer than 2 KiB, counts as none.
    pub(super) fn set_link(&mut self, parameters: &str, target: &str) {
        let fits = parameters.len() + target.len() <= LINK_LIMIT;
        let clean = !parameters.chars().chain(target.chars()).any(char::is_control);
        self.link = (!target.is_empty() && fits && clean).then(|| format!("{parameters};{target}").into());
    }

    /// Applies one code that [`Pen::write_change`] wrote.
    pub(super) fn apply_written(&mut self, code: &str) {
        if let Some(link) = code.strip_prefix("\x1b]8;").and_then(|code| code.strip_suffix("\x1b\\")) {
            if let Some((parameters, target)) = link.split_once(';') {
                self.set_link(parameters, target);
            }
        } else if let Some(codes) = code.strip_prefix("\x1b[").and_then(|code| code.strip_suffix('m')) {
            let parameters: Vec<u16> = codes.split(';').map(|code| code.parse().unwrap_or(0)).collect();
            self.apply_sgr(parameters.chunks(1));
        }
    }
}

fn named(index: u16) -> Colour {
    Colour::Indexed(u8::try_from(index).unwrap_or(0))
}

fn rgb(red: u16, green: u16, blue: u16) -> Option<Colour> {
    Some(Colour::Rgb(u8::try_from(red).ok()?, u8::try_from(green).ok()?, u8::try_from(blue).ok()?))
}

/// `38:5:n`, `38:2:r:g:b` and `38:2:space:r:g:b`, without the leading 38.
fn colour_of_subparameters(parameters: &[u16]) -> Option<Colour> {
    match *parameters {
        [5, index, ..] => Some(Colour::Indexed(u8::try_from(index).ok()?)),
        [2, red, green, blue] | [2, _, red, green, blue, ..] => rgb(red, green, blue),
        _ => None,
    }
}

/// `38;5;n` and `38;2;r;g;b`, without the leading 38.
fn colour_of_parameters<'a>(parameters: &mut impl Iterator<Item = &'a [u16]>) -> Option<Colour> {
    let mut next = || parameters.next().and_then(<[u16]>::first).copied();
    match next()? {
        5 => Some(Colour::Indexed(u8::try_from(next()?).ok()?)),
        2 => {
            let (red, green, blue) = (next()?, next()?, next()?);
            rgb(red, green, blue)
        }
        _ => None,
    }
}
