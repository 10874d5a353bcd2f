//! Library calls with very much to do: they are done in pieces, between which others run, or refused. What they give is the same.

use std::time::Duration;

use script::engine::Settings;

use crate::stage::{Course, Stage};

/// Plays a page which is allowed to take as long as it takes.
fn played(code: &str) -> Course {
    let mut stage = Stage::with(Settings {
        cpu_budget: Duration::from_secs(3600),
        memory_bytes: 512 << 20,
        run_memory_bytes: 512 << 20,
        ..Settings::default()
    });
    let page = stage.load(code);
    stage.play(&page).unwrap()
}

/// The call of `code` is interrupted more often than what surrounds it could explain, and gives what is expected.
fn is_sliced(code: &str, expected: &str) {
    let course = played(code);
    assert_eq!(course.body, expected, "{code}");
    assert!(course.slices > 3, "{code}: {} slices", course.slices);
}

#[test]
fn long_texts_are_escaped_in_pieces() {
    is_sliced(
        "local text = html.escape(('\"'):rep(6000000)) _b:put(#text, text:sub(-7))",
        "36000000;&quot;",
    );
    // Pieces end anywhere: the same as in short texts.
    let code = "local short = ('<a href=\"x\">&amp;</a>\\n'):rep(10)
        local long = short:rep(1000)
        _b:put(tostring(html.escape(long) == html.escape(short):rep(1000)), tostring(_e(('x'):rep(1e6)) == ('x'):rep(1e6)))";
    assert_eq!(played(code).body, "truetrue");
}
