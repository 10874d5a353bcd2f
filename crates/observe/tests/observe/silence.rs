//! A server that does not answer, ends, and comes back.

use crate::samples;
use crate::stage::Stage;

#[test]
fn a_silent_server_is_named_and_keys_work() {
    let mut stage = Stage::usual();
    stage.ask();
    stage.wait(1);
    assert!(!stage.text().contains("no answer"));
    stage.wait(6);
    assert!(stage.text().contains("no answer since 7s"), "{}", stage.text());
    // The known figures are still there, and keys do what they do.
    assert!(stage.text().contains("2000 requests/s"));
    stage.keys("?");
    assert!(stage.text().contains("Ctrl-Z") && stage.text().contains("no answer since 7s"));
}

#[test]
fn a_server_that_is_gone_comes_back() {
    let mut stage = Stage::usual();
    stage.fail("`/run/8080.sock` does not answer: refused; does the server run?");
    stage.wait(60);
    stage.fail("`/run/8080.sock` does not answer: refused; does the server run?");
    let line = stage.line("no server since");
    assert!(line.starts_with("no server since 1m 1s: `/run/8080.sock` does not answer"), "{line}");
    stage.answer(samples::snapshot(75));
    let text = stage.text();
    assert!(text.contains("the server answers again, after 1m 2s"), "{text}");
    assert!(!text.contains("no server"), "{text}");
    stage.keys("1");
    assert!(!stage.text().contains("answers again"));
}

#[test]
fn a_new_server_is_not_compared_with_the_old_one() {
    let mut stage = Stage::usual();
    stage.keys("f");
    let mut again = samples::snapshot(1);
    again.server.process = 4712;
    again.server.started += 100;
    stage.answer(again);
    let text = stage.text();
    assert!(text.contains("the server was started again: process 4711 is now 4712"), "{text}");
    assert!(text.contains("0 requests/s") && !text.contains("changes"), "{text}");
}

#[test]
fn before_the_first_answer_the_reason_is_shown() {
    let mut stage = Stage::new(80, 24, observe::Colours::On);
    assert!(stage.text().starts_with("velodrome top: waiting for the first answer"));
    stage.fail("`a\u{1b}b` does not answer");
    assert!(stage.text().contains(r"no server since 0s: `a\u{1b}b` does not answer"));
    stage.keys("2");
    stage.keys("k");
    assert!(stage.text().contains("nothing is selected"));
}
