//! Pausing, freezing, and comparing with a minute ago.

use crate::samples;
use crate::stage::Stage;

/// From the given second on the server has twice as many requests.
fn busier(second: u64) -> live::ServerSnapshot {
    let mut snapshot = samples::with_connections(second);
    for scheduler in &mut snapshot.schedulers {
        scheduler.numbers.insert("http.requests".to_owned(), second * 2_000);
        scheduler.numbers.insert("connections".to_owned(), 10);
    }
    snapshot
}

#[test]
fn a_paused_screen_stays_and_goes_on() {
    let mut stage = Stage::usual();
    stage.keys(" ");
    stage.answer(samples::snapshot(99));
    assert!(stage.text().contains("up 11s") && stage.text().contains("paused"), "{}", stage.text());
    stage.keys(" ");
    assert!(stage.text().contains("up 1m 39s") && !stage.text().contains("paused"));
}

#[test]
fn frozen_snapshot_is_base_of_comparison() {
    let mut stage = Stage::usual();
    stage.keys("f");
    stage.answer(busier(12));
    stage.answer(busier(13));
    let text = stage.text();
    assert!(text.contains("20 open (-21)  4000 requests/s (+2000)"), "{text}");
    assert!(text.contains("changes in 2s"), "{text}");
    assert!(text.contains("\n  ' rrrhhhh"), "{text}");
    stage.keys("f");
    assert!(stage.text().contains("20 open  4000 requests/s  in"), "{}", stage.text());
}

#[test]
fn a_list_shows_changes() {
    let mut stage = Stage::usual();
    stage.keys("2");
    stage.answer(samples::with_connections(12));
    stage.answer(samples::with_connections(13));
    stage.keys("f");
    stage.answer(samples::with_connections(15));
    assert!(stage.line("192.0.2.40").contains("+2.0 s"), "{}", stage.text());
    assert!(stage.line("192.0.2.40").contains("+20 B"));
}

#[test]
fn a_minute_ago_is_compared_with() {
    let mut stage = Stage::usual();
    stage.keys("m");
    assert!(stage.text().contains("no earlier answer yet"), "{}", stage.text());
    for second in 12..100 {
        stage.answer(samples::snapshot(second));
    }
    // The pair of the oldest kept, of which the later one is what was shown then.
    assert!(stage.text().contains("changes in 59s"), "{}", stage.text());
    stage.keys("m");
    assert!(!stage.text().contains("changes"));
}
