use proptest::prelude::*;

use super::*;
use crate::source::History;

#[derive(Deserialize)]
struct Oracle {
    pairs: Vec<Pair>,
    rebases: Vec<Rebase>,
}

#[derive(Deserialize)]
struct Pair {
    doc: String,
    a: Changes,
    b: Changes,
    applied: String,
    inverse: Changes,
    after: Changes,
    before: Changes,
    positions: Vec<(usize, usize)>,
}

#[derive(Deserialize)]
struct Rebase {
    updates: Vec<Changes>,
    over: Vec<(String, Changes)>,
    rebased: Vec<Changes>,
}

fn oracle() -> Oracle {
    serde_json::from_str(include_str!("../../tests/codemirror.json")).unwrap()
}

#[test]
fn changes_mean_what_they_mean_in_codemirror() {
    let pairs = oracle().pairs;
    assert!(pairs.len() > 200);
    for Pair { doc, a, b, applied, inverse, after, before, positions } in pairs {
        let case = format!(
            "{doc:?}: {} and {}",
            serde_json::to_string(&a).unwrap(),
            serde_json::to_string(&b).unwrap()
        );
        assert_eq!(a.apply(&doc).unwrap(), applied, "{case}");
        assert_eq!(a.invert(&doc).unwrap(), inverse, "{case}");
        assert_eq!(a.map(&b, false).unwrap(), after, "{case}");
        assert_eq!(a.map(&b, true).unwrap(), before, "{case}");
        for (at, (left, right)) in positions.into_iter().enumerate() {
            assert_eq!(
                (b.map_position(at, false), b.map_position(at, true)),
                (left, right),
                "{case} at {at}"
            );
        }
    }
}

#[test]
fn late_updates_are_rebased_as_codemirrors_authority_does() {
    for Rebase { updates, over, rebased } in oracle().rebases {
        let mut history = History::default();
        for (author, changes) in over {
            history.accept(&author, changes);
        }
        assert_eq!(history.rebase(0, "me", &updates).unwrap(), rebased);
    }
}

#[test]
fn changes_cross_the_wire_as_codemirror_writes_them() {
    let text = r#"[3,[2],[0,"a","b"],1]"#;
    let changes: Changes = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&changes).unwrap(), text);
    assert_eq!(changes.apply("xyzABw").unwrap(), "xyza\nbw");
    for wrong in ["[-1]", "[[\"a\"]]", "[[1,2]]", "[[1,\"a\\nb\"]]", "{}"] {
        assert!(serde_json::from_str::<Changes>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn ranges_that_do_not_fit_are_refused() {
    let edit = |from, to| TextEdit { from, to, insert: String::new() };
    assert!(Changes::new(3, &[edit(2, 4)]).is_err());
    assert!(Changes::new(3, &[edit(2, 1)]).is_err());
    assert!(Changes::new(3, &[edit(1, 2), edit(0, 1)]).is_err());
    let inside = Changes::new(2, &[edit(1, 2)]).unwrap();
    assert_eq!(inside.apply("😀"), Err(EditError::Position { position: 1 }));
    assert_eq!(inside.apply("abc"), Err(EditError::Length { expected: 2 }));
    assert!(inside.map(&Changes::new(3, &[edit(0, 1)]).unwrap(), false).is_err());
}

/// Raw numbers that [`edits_of`] makes fit any text.
pub(crate) fn wishes() -> impl Strategy<Value = Vec<(usize, usize, String)>> {
    let insert = prop_oneof!["[ab\n]{0,3}", Just("é".to_owned()), Just("😀".to_owned())];
    prop::collection::vec((0..20_usize, 0..6_usize, insert), 1..4)
}

/// Changes of `text` whose ends lie between characters.
pub(crate) fn edits_of(text: &str, wishes: &[(usize, usize, String)]) -> Changes {
    let stops: Vec<usize> =
        (0..=utf16::length(text)).filter(|at| utf16::byte_at(text, *at).is_some()).collect();
    let mut edits = Vec::new();
    let mut least = 0;
    for (from, width, insert) in wishes {
        let from = (least + from % 4).min(stops.len() - 1);
        let to = (from + width).min(stops.len() - 1);
        edits.push(TextEdit { from: stops[from], to: stops[to], insert: insert.clone() });
        least = to;
    }
    Changes::new(utf16::length(text), &edits).unwrap()
}

/// An editor as `@codemirror/collab` is one: optimistic, with its own changes unconfirmed until they come back.
struct Editor {
    name: &'static str,
    text: String,
    version: usize,
    unconfirmed: Vec<Changes>,
}

impl Editor {
    fn type_in(&mut self, wishes: &[(usize, usize, String)]) {
        let changes = edits_of(&self.text, wishes);
        self.text = changes.apply(&self.text).unwrap();
        self.unconfirmed.push(changes);
    }

    fn receive(&mut self, log: &[(&'static str, Changes)]) {
        for (author, changes) in &log[self.version..] {
            self.version += 1;
            if *author == self.name {
                self.unconfirmed.remove(0);
                continue;
            }
            let mut changes = changes.clone();
            for mine in &mut self.unconfirmed {
                let mapped = mine.map(&changes, false).unwrap();
                changes = changes.map(mine, true).unwrap();
                *mine = mapped;
            }
            self.text = changes.apply(&self.text).unwrap();
        }
    }
}

proptest! {
    #[test]
    fn the_difference_of_two_texts_leads_from_one_to_the_other(old in "[ab\u{e9}\u{1f600}]{0,8}", new in "[ab\u{e9}\u{1f600}]{0,8}") {
        let changes = Changes::between(&old, &new);
        prop_assert_eq!(changes.apply(&old).unwrap(), new);
        prop_assert!(changes.edits().len() <= 1);
    }

    #[test]
    fn an_inverse_leads_back(text in "[ab\n\u{1f600}]{0,12}", wishes in wishes()) {
        let changes = edits_of(&text, &wishes);
        let after = changes.apply(&text).unwrap();
        prop_assert_eq!(changes.invert(&text).unwrap().apply(&after).unwrap(), text.as_str());
        prop_assert_eq!(Changes::new(utf16::length(&text), &changes.edits()).unwrap(), changes);
    }

    #[test]
    fn editors_that_type_at_once_end_with_the_same_text(
        start in "[ab\n\u{1f600}]{0,12}",
        script in prop::collection::vec((0..3_usize, 0..3_usize, wishes()), 1..25),
    ) {
        let mut authority = (start.clone(), History::default());
        let mut log: Vec<(&'static str, Changes)> = Vec::new();
        let mut editors = ["a", "b", "c"]
            .map(|name| Editor { name, text: start.clone(), version: 0, unconfirmed: Vec::new() });
        let mut push = |editor: &Editor, log: &mut Vec<(&'static str, Changes)>| {
            let rebased = authority.1.rebase(editor.version as u64, editor.name, &editor.unconfirmed).unwrap();
            for changes in rebased {
                authority.0 = changes.apply(&authority.0).unwrap();
                authority.1.accept(editor.name, changes.clone());
                log.push((editor.name, changes));
            }
            authority.0.clone()
        };
        for (who, what, wishes) in script {
            match what {
                0 => editors[who].type_in(&wishes),
                1 => { push(&editors[who], &mut log); }
                _ => editors[who].receive(&log),
            }
        }
        let mut text = start;
        for editor in &mut editors {
            editor.receive(&log);
            text = push(editor, &mut log);
        }
        for editor in &mut editors {
            editor.receive(&log);
            prop_assert_eq!(&editor.text, &text);
        }
    }
}
