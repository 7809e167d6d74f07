//! Replaces, adds and removes members of an object without touching the others.

use std::borrow::Cow;

use super::scan::{self, Member};
use super::string;
use super::style::{Style, indent_of, newline_of, white};

/// One change of an object: the member's name, and its new value, or `None` to remove it.
pub(crate) type MemberEdit<'a> = (&'a str, Option<Vec<u8>>);

/// The indent of the members of the object `text`, where it has any on lines of their own.
pub(crate) fn member_indent(text: &[u8]) -> Option<String> {
    let contents = scan::members(text, 0).ok()?;
    let first = contents.items.first()?;
    let lead = white(&text[first.lead..first.key.start]);
    newline_of(lead).map(|_| indent_of(lead).to_owned())
}

/// The object `text` with `edits` made. `indent` is the indent of the line it begins on, for an object without members.
/// A text that is not an object counts as an empty one.
pub(crate) fn edit_object(text: &[u8], edits: &[MemberEdit<'_>], style: &Style, indent: &str) -> Vec<u8> {
    let text = if scan::members(text, 0).is_ok() { text } else { b"{}" };
    let Ok(contents) = scan::members(text, 0) else { return text.to_vec() };
    let mut members = present(text, &contents.items, contents.tail);
    for (name, value) in edits {
        let held = members.iter_mut().rfind(|member| member.name == *name);
        match (held, value) {
            (Some(member), Some(value)) => member.value = value.into(),
            (None, Some(value)) => insert(&mut members, name, value, style, indent),
            (_, None) => members.retain(|member| member.name != *name),
        }
    }
    let mut out = Vec::with_capacity(text.len());
    out.push(b'{');
    let first_lead = contents.items.first().map(|member| &text[member.lead..member.key.start]);
    let count = members.len();
    for (index, member) in members.into_iter().enumerate() {
        let lead = if index == 0 { first_lead.unwrap_or(&member.lead) } else { &member.lead };
        out.extend_from_slice(lead);
        out.extend_from_slice(&member.key);
        out.extend_from_slice(&member.colon);
        out.extend_from_slice(&member.value);
        if index + 1 < count {
            out.extend_from_slice(member.trail);
            out.push(b',');
        }
    }
    if count > 0 {
        if contents.items.is_empty() {
            out.extend_from_slice(style.line(indent).as_bytes());
        } else {
            out.extend_from_slice(&text[contents.tail..contents.end - 1]);
        }
    }
    out.push(b'}');
    out
}

/// A member in pieces that can be written again as they were.
struct Pieces<'a> {
    name: Cow<'a, str>,
    lead: Cow<'a, [u8]>,
    key: Cow<'a, [u8]>,
    colon: Cow<'a, [u8]>,
    value: Cow<'a, [u8]>,
    trail: &'a [u8],
}

fn present<'a>(text: &'a [u8], members: &[Member], tail: usize) -> Vec<Pieces<'a>> {
    let ends = members.iter().skip(1).map(|next| next.lead - 1).chain([tail]);
    let pieces = members.iter().zip(ends).map(|(member, end)| Pieces {
        name: string::decode(&text[member.key.clone()]).unwrap_or_default(),
        lead: text[member.lead..member.key.start].into(),
        key: text[member.key.clone()].into(),
        colon: text[member.key.end..member.value.start].into(),
        value: text[member.value.clone()].into(),
        trail: &text[member.value.end..end],
    });
    pieces.collect()
}

/// Adds a member: in its place where the names are sorted (as Jupyter writes them), else at the end.
fn insert<'a>(members: &mut Vec<Pieces<'a>>, name: &'a str, value: &'a [u8], style: &Style, indent: &str) {
    let mut key = Vec::new();
    string::encode(name, style.ascii, &mut key);
    let sorted = members.is_sorted_by(|left, right| left.name <= right.name);
    let at = if sorted { members.partition_point(|member| *member.name < *name) } else { members.len() };
    let model = members.get(1).or(members.first());
    let (lead, colon) = model.map_or_else(
        || {
            let line = style.line(&format!("{indent}{}", style.indent));
            (Cow::Owned(line.into_bytes()), Cow::Owned(style.colon.clone().into_bytes()))
        },
        |member| (member.lead.clone(), member.colon.clone()),
    );
    let lead = if model.is_some() && members.len() == 1 && newline_of(white(&lead)).is_none() {
        Cow::Owned(style.comma.as_bytes()[1..].to_vec())
    } else {
        lead
    };
    let new = Pieces { name: name.into(), lead, key: key.into(), colon, value: value.into(), trail: b"" };
    members.insert(at, new);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, edits: &[(&str, Option<&str>)]) -> String {
        let edits: Vec<_> = edits.iter().map(|(name, value)| (*name, value.map(Into::into))).collect();
        String::from_utf8(edit_object(text.as_bytes(), &edits, &Style::default(), " ")).unwrap()
    }

    #[test]
    fn a_replaced_member_leaves_the_others_as_they_were() {
        assert_eq!(
            edited("{\n\t\"a\" :1 ,\"b\":  [1, 2]}", &[("a", Some("2"))]),
            "{\n\t\"a\" :2 ,\"b\":  [1, 2]}"
        );
    }

    #[test]
    fn a_new_member_goes_where_the_order_says() {
        assert_eq!(
            edited("{\n \"a\": 1,\n \"c\": 3\n}", &[("b", Some("2"))]),
            "{\n \"a\": 1,\n \"b\": 2,\n \"c\": 3\n}"
        );
        assert_eq!(edited("{\"c\":1,\"a\":2}", &[("b", Some("3"))]), "{\"c\":1,\"a\":2,\"b\":3}");
        assert_eq!(edited("{}", &[("b", Some("3"))]), "{\n  \"b\": 3\n }");
        assert_eq!(edited("{ }", &[]), "{}");
    }

    #[test]
    fn a_removed_member_takes_its_comma_along() {
        assert_eq!(edited("{\"a\": 1, \"b\": 2, \"c\": 3}", &[("a", None)]), "{\"b\": 2, \"c\": 3}");
        assert_eq!(edited("{\"a\": 1, \"b\": 2}", &[("b", None)]), "{\"a\": 1}");
        assert_eq!(edited("{\n \"a\": 1\n}", &[("a", None)]), "{}");
    }
}
