#![allow(clippy::format_push_string, clippy::format_collect, reason = "streams are put together from parts")]

use std::time::Instant;

use proptest::prelude::*;

use super::model::{Model, bytes_of, tokens};
use super::*;

fn text_of(stream: &str) -> String {
    let mut text = StreamText::new();
    text.push(stream.as_bytes());
    text.text()
}

fn lines_of(text: &StreamText) -> Vec<&str> {
    text.lines(0..usize::MAX).collect()
}

#[test]
fn plain_text_stays_as_it_was_printed() {
    for plain in
        ["", "a", "a\n", "a\nb", "\n\n", "a\tb \n  c  \n", "größer 漢字 👩‍💻\n", "\u{feff}x\n", "\u{301}\n"]
    {
        assert_eq!(text_of(plain), plain);
    }
}

#[test]
fn a_line_that_was_begun_counts_and_an_empty_last_one_does_not() {
    let mut text = StreamText::new();
    assert_eq!((text.total_lines(), text.total_bytes(), text.line(0)), (0, 0, None));
    text.push(b"a\nb");
    assert_eq!((text.total_lines(), text.line(1), text.is_line_ended(1)), (2, Some("b"), false));
    text.push(b"\n");
    assert_eq!((text.total_lines(), text.line(2), text.is_line_ended(1)), (2, None, true));
    assert_eq!(text.total_bytes(), 4);
}

#[test]
fn a_carriage_return_writes_over_the_line_and_keeps_what_is_longer() {
    assert_eq!(text_of("12345\rab"), "ab345");
    assert_eq!(text_of("a\r\nb\r\n"), "a\nb\n");
    assert_eq!(text_of("a\tb\rxyz"), "xyz     b");
    assert_eq!(text_of("abcdefghijk\r\tX"), "abcdefghXjk");
}

#[test]
fn a_backspace_goes_back_and_erases_nothing() {
    assert_eq!(text_of("abc\x08\x08X"), "aXc");
    assert_eq!(text_of("\x08\x08a"), "a");
    assert_eq!(text_of("漢\x08X"), " X");
}

#[test]
fn nested_progress_bars_stay_in_place() {
    // What tqdm writes for an outer bar at 0 and an inner one at 1.
    let mut stream = String::from("outer:   0%");
    for step in 0..50 {
        stream.push_str(&format!("\n\rinner: {step:3}%\x1b[A"));
        stream.push_str(&format!("\router: {step:3}%"));
    }
    stream.push_str("\n\n");
    assert_eq!(text_of(&stream), "outer:  49%\ninner:  49%\n");
}

#[test]
fn the_cursor_reaches_two_hundred_lines_up_and_no_further() {
    let stream: String = (0..300).map(|line| format!("{line}\n")).collect();
    let mut text = StreamText::new();
    text.push(stream.as_bytes());
    text.push(b"\x1b[999AX");
    assert_eq!(text.line(100), Some("100"));
    assert_eq!(text.line(101), Some("X01"));
    text.push(b"\x1b[999B\rend");
    assert_eq!(text.line(300), Some("end"));
    assert_eq!(text.total_lines(), 301);
}

#[test]
fn each_line_carries_its_own_colours() {
    assert_eq!(text_of("\x1b[31mred\nstill\x1b[39m plain"), "\x1b[31mred\x1b[0m\n\x1b[31mstill\x1b[0m plain");
    assert_eq!(text_of("\x1b[1m\x1b[38;5;196mA\x1b[22mB"), "\x1b[1;38;5;196mA\x1b[0;38;5;196mB\x1b[0m");
    assert_eq!(text_of("\x1b[38;2;1;2;3;48:2::4:5:6mA"), "\x1b[38;2;1;2;3;48;2;4;5;6mA\x1b[0m");
    assert_eq!(text_of("\x1b[31mred\rR"), "\x1b[31mRed\x1b[0m");
    assert_eq!(text_of("red\r\x1b[31mR\x1b[0me"), "\x1b[31mR\x1b[0med");
}

#[test]
fn a_colour_that_was_set_but_not_used_leaves_no_code() {
    assert_eq!(text_of("\x1b[31m\x1b[0ma\x1b[32m\n\x1b[0m"), "a\n");
}

#[test]
fn links_are_kept_and_broken_ones_are_text() {
    let link = "\x1b]8;id=1;https://a.example/?a=1;b=2\x1b\\here\x1b]8;;\x1b\\ on";
    assert_eq!(text_of(link), link);
    assert_eq!(
        text_of("\x1b]8;;https://a.example\x07x\x1b]8;;\x07"),
        "\x1b]8;;https://a.example\x1b\\x\x1b]8;;\x1b\\"
    );
    let long = format!("\x1b]8;;https://a.example/{}\x1b\\x\x1b]8;;\x1b\\", "y".repeat(4000));
    assert_eq!(text_of(&long), "x");
    assert_eq!(text_of(&format!("\x1b]8;;a{}\x07x", ";".repeat(40))), "x");
}

#[test]
fn other_sequences_are_dropped() {
    assert_eq!(text_of("a\x1b[?25l\x1b[2;2Hb\x1b]0;title\x07c\x1bPq\x1b\\d\x07\x00\x7f\u{9b}e"), "abcde");
}

#[test]
fn a_sequence_that_never_ends_is_given_up_after_64_kib() {
    for start in ["\x1b]0;", "\x1bP", "\x1b_", "\x1b[<<"] {
        let text = text_of(&format!("a{start}{}\nafter\n", "1".repeat(70_000)));
        assert!(text.ends_with("\nafter\n"), "{start:?}");
        assert!(text.starts_with('a') && text.len() < 7_000, "{start:?}: {}", text.len());
    }
}

#[test]
fn a_long_parameter_list_or_number_does_no_harm() {
    assert_eq!(text_of(&format!("a\x1b[{}mb", "1;".repeat(100))), "ab");
    assert_eq!(text_of("a\x1b[99999999999999999999Cb").len(), super::screen::REACH + 1);
    assert_eq!(text_of("a\x1b[99999999999999999999D\x1b[99999999999999Ab"), "b");
}

#[test]
fn invalid_utf8_becomes_the_replacement_character() {
    let mut text = StreamText::new();
    text.push(b"a\xffb\xe2\x82\x1b[0mc\xf0\x9f");
    text.push(b"d\xe2");
    text.push(b"\x82\xac");
    assert_eq!(text.text(), "a\u{fffd}b\u{fffd}c\u{fffd}d€");
}

#[test]
fn a_mark_says_from_where_to_take_lines_again() {
    let mut text = StreamText::new();
    text.push(b"one\ntwo\nthree");
    assert_eq!(text.first_changed_since(Mark::default()), Some(0));
    let before = text.mark();
    assert_eq!(text.first_changed_since(before), None);
    text.push(b"!\nfour\n");
    let middle = text.mark();
    assert_eq!(text.first_changed_since(before), Some(2));
    text.push(b"five\x1b[3A\rONE");
    assert_eq!(lines_of(&text), ["one", "ONE", "three!", "four", "five"]);
    assert_eq!(text.first_changed_since(middle), Some(1));
    text.push(b"\x1b[2J");
    assert_eq!(text.first_changed_since(middle), Some(0));
    assert_eq!(text.total_lines(), 0);
}

#[test]
fn a_slice_of_a_line_carries_its_codes() {
    let line = "ab\x1b[31mcdé\x1b[0mf";
    assert_eq!(slice_line(line, 0..line.len()), line);
    assert_eq!(slice_line(line, 8..9), "\x1b[31md\x1b[0m");
    assert_eq!(slice_line("plain", 1..3), "la");
    assert_eq!(slice_line("é", 1..9), "");
}

#[test]
fn lines_of_every_length_are_found_again() {
    let mut text = StreamText::new();
    let mut expected = Vec::new();
    for size in [0, 1, 100_000, 131_071, 131_072, 262_143, 262_144, 600_000, 3, 0, 200_000, 70] {
        for count in 0..70 {
            let line = if count == 0 { "x".repeat(size) } else { format!("{size} {count}") };
            text.push(format!("{line}\n").as_bytes());
            expected.push(line);
        }
    }
    assert_eq!(lines_of(&text), expected);
    for (index, line) in expected.iter().enumerate() {
        assert_eq!(text.line(index), Some(line.as_str()));
    }
    assert_eq!(text.text(), expected.join("\n") + "\n");
    // All in one piece is stored the same.
    let mut whole = StreamText::new();
    whole.push(text.text().as_bytes());
    assert_eq!(lines_of(&whole), expected);
}

fn million_lines() -> String {
    (0..1_000_000).map(|line| format!("{line:07} a line of thirty bytes\n")).collect()
}

#[test]
fn a_million_lines_take_little_more_than_their_text() {
    let stream = million_lines();
    let started = Instant::now();
    let mut text = StreamText::new();
    stream.as_bytes().chunks(100_000).for_each(|chunk| text.push(chunk));
    let took = started.elapsed();
    assert_eq!(text.total_lines(), 1_000_000);
    assert!(text.allocated_bytes() * 100 < stream.len() * 105, "{} bytes", text.allocated_bytes());
    assert_eq!(text.line(654_321), Some("0654321 a line of thirty bytes"));
    assert_eq!(text.lines(999_990..2_000_000).count(), 10);
    // A release build takes 0.05 s, a debug build less than 1 s; the bound is for a busy machine.
    assert!(took.as_secs_f64() < 15.0, "{took:?}");
}

#[test]
fn a_line_of_twenty_megabytes_is_not_quadratic() {
    let started = Instant::now();
    let mut text = StreamText::new();
    let line = "x".repeat(20_000_000);
    line.as_bytes().chunks(10_000).for_each(|chunk| text.push(chunk));
    for step in 0..2000 {
        text.push(format!("\r{step}").as_bytes());
        text.push(b"\x08.");
    }
    text.push("\x1b[19999999Gé\n".as_bytes());
    assert_eq!(text.total_bytes(), 20_000_002);
    // A debug build takes 2 s; walking the line once for every update would take an hour.
    assert!(started.elapsed().as_secs_f64() < 30.0, "{:?}", started.elapsed());
}

/// `cargo test --release -p sandbook-notebook -- --ignored --nocapture figures`
#[test]
#[ignore = "prints figures; for a release build"]
fn figures() {
    let time = |name: &str, stream: &[u8], chunk: usize| {
        let started = Instant::now();
        let mut text = StreamText::new();
        stream.chunks(chunk).for_each(|chunk| text.push(chunk));
        println!("{name}: {:?}, {} lines", started.elapsed(), text.total_lines());
    };
    let lines = million_lines();
    time("1,000,000 lines", lines.as_bytes(), 100_000);
    time("1,000,000 lines by line", lines.as_bytes(), 31);
    time("1,000,000 lines, CRLF", lines.replace('\n', "\r\n").as_bytes(), 100_000);
    let coloured: String =
        (0..1_000_000).map(|line| format!("\x1b[3{}m{line:07}\x1b[0m of\n", line % 8)).collect();
    time("1,000,000 coloured lines", coloured.as_bytes(), 100_000);
    time("20 MB in one line", "x".repeat(20_000_000).as_bytes(), usize::MAX);
    time("20 MB in one line, not ASCII", "é".repeat(10_000_000).as_bytes(), usize::MAX);
    time("20 MB over 20 MB", format!("{0}\r{0}", "y".repeat(20_000_000)).as_bytes(), usize::MAX);
    let bars: String = (0..2000).map(|step| format!("\r{step:4}|{:60}|", "█".repeat(step / 34))).collect();
    time("2,000 redrawn bars", bars.as_bytes(), 100);
}

proptest! {
    #[test]
    fn the_text_is_what_a_naive_emulator_shows(tokens in tokens()) {
        let mut text = StreamText::new();
        text.push(&bytes_of(&tokens));
        prop_assert_eq!(text.text(), Model::text_of(&tokens));
        prop_assert_eq!(text.total_bytes(), text.text().len());
    }

    #[test]
    fn how_the_stream_is_cut_never_matters(tokens in tokens(), cuts in prop::collection::vec(1usize..40, 1..40)) {
        let bytes = bytes_of(&tokens);
        let mut whole = StreamText::new();
        whole.push(&bytes);
        let mut cut = StreamText::new();
        let mut rest = bytes.as_slice();
        for size in cuts.iter().cycle() {
            let (chunk, after) = rest.split_at((*size).min(rest.len()));
            cut.push(chunk);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(cut.text(), whole.text());
    }

    #[test]
    fn any_bytes_cut_anywhere_give_the_same_text(
        bytes in prop::collection::vec(prop_oneof![
            prop::sample::select(b"\x1b[]0;8m\r\n\x08AKJ".to_vec()), any::<u8>(), Just(0xe2), Just(0x82), Just(0xac)
        ], 0..200),
        cut in 0usize..200,
    ) {
        let mut whole = StreamText::new();
        whole.push(&bytes);
        let (first, second) = bytes.split_at(cut.min(bytes.len()));
        let mut halves = StreamText::new();
        halves.push(first);
        halves.push(second);
        prop_assert_eq!(halves.text(), whole.text());
        let mut single = StreamText::new();
        for byte in &bytes {
            single.push(std::slice::from_ref(byte));
        }
        prop_assert_eq!(single.text(), whole.text());
    }

    #[test]
    fn a_view_that_takes_only_what_changed_shows_the_whole(batches in prop::collection::vec(tokens(), 1..8)) {
        let mut text = StreamText::new();
        let mut mark = Mark::default();
        let mut view: Vec<String> = Vec::new();
        for batch in &batches {
            text.push(&bytes_of(batch));
            if let Some(first) = text.first_changed_since(mark) {
                view.truncate(first);
                view.extend(text.lines(first..usize::MAX).map(str::to_owned));
            }
            mark = text.mark();
            prop_assert_eq!(&view, &lines_of(&text));
        }
    }

    #[test]
    fn the_text_pushed_again_is_itself(tokens in tokens()) {
        let mut text = StreamText::new();
        text.push(&bytes_of(&tokens));
        prop_assert_eq!(text_of(&text.text()), text.text());
    }

    #[test]
    fn slices_that_meet_join(tokens in tokens(), at in 0usize..100) {
        let mut text = StreamText::new();
        text.push(&bytes_of(&tokens));
        for line in lines_of(&text) {
            let joined = slice_line(line, 0..at) + &slice_line(line, at..line.len());
            prop_assert_eq!(text_of(&joined), line);
        }
    }
}
