//! Lists: order, filter, selection, one thing as a whole, its end.

use live::Info;
use observe::{Ask, AskError, Deed, List, PressedKey};

use crate::samples;
use crate::stage::Stage;

fn connections() -> Stage {
    let mut stage = Stage::usual();
    stage.keys("2");
    stage.answer(samples::with_connections(12));
    stage.answer(samples::with_connections(13));
    stage
}

fn info() -> Info {
    Info {
        id: "c-0-40".to_owned(),
        kind: "connection".to_owned(),
        facts: vec![("state".to_owned(), "waits for page /a".to_owned())],
        texts: vec![("back-trace".to_owned(), (0..40).map(|line| format!("a:{line}")).collect())],
    }
}

#[test]
fn a_list_shows_rates_and_what_was_left_out() {
    let text = connections().text();
    let lines: Vec<&str> = text.lines().skip(3).collect();
    assert_eq!(lines[0], "peer              kind  state     age  sent/s↓   CPU  queued", "{text}");
    assert_eq!(lines[1], "192.0.2.40:40040  http  waits  13.0 s   40.0 K  4.0%   130 B");
    assert_eq!(lines[19], "and 2 more, which the server left out");
}

#[test]
fn before_its_first_answer_a_list_waits() {
    let mut stage = Stage::usual();
    stage.keys("2");
    assert!(stage.view.take_hurry());
    assert_eq!(stage.view.wanted().list, Some(List::Connections));
    assert!(stage.text().contains("asked ..."));
    // Without an earlier list there are no rates yet.
    stage.answer(samples::with_connections(12));
    assert!(stage.line("192.0.2.40").contains("12.0 s        -    -   120 B"), "{}", stage.text());
}

#[test]
fn the_order_is_asked_of_the_server_and_kept_by_the_screen() {
    let mut stage = connections();
    stage.keys(">");
    assert_eq!(stage.view.wanted().sort, "cpu_us");
    assert!(stage.text().contains("CPU↓"));
    stage.keys("r");
    assert!(stage.text().contains("CPU↑"));
    assert!(stage.text().lines().nth(4).is_some_and(|line| line.starts_with("192.0.2.1:")));
    stage.keys("<<");
    assert_eq!(stage.view.wanted().sort, "age_ms");
    // Every list has an order of its own.
    stage.keys("6");
    assert_eq!(stage.view.wanted().sort, "");
}

#[test]
fn a_filter_is_sent_while_it_is_typed() {
    let mut stage = connections();
    stage.keys("/10.q");
    assert_eq!(stage.view.wanted().filter, "10.q");
    assert!(stage.text().contains("rows that contain: 10.q_"));
    stage.key(PressedKey::Backspace);
    stage.key(PressedKey::Enter);
    assert_eq!(stage.view.wanted().filter, "10.");
    assert!(stage.text().contains("contain `10.`"));
    // Escape keeps what was there.
    stage.keys("/x");
    stage.key(PressedKey::Escape);
    assert_eq!(stage.view.wanted().filter, "10.");
}

#[test]
fn enter_shows_one_thing_whole() {
    let mut stage = connections();
    stage.key(PressedKey::Enter);
    assert_eq!(stage.view.wanted_info(), Some(Ask::Info("c-0-40".to_owned())));
    stage.view.informed("c-0-40", Ok(info()));
    assert!(stage.text().contains("state  waits for page /a"), "{}", stage.text());
    assert!(!stage.text().contains("a:39"));
    stage.key(PressedKey::End);
    assert!(stage.text().contains("a:39"), "{}", stage.text());
    stage.view.informed("c-0-40", Err(AskError::Gone));
    stage.key(PressedKey::Home);
    assert!(stage.text().contains("192.0.2.40:40040: it has ended already"), "{}", stage.text());
    assert!(stage.text().contains("waits for page /a"));
    stage.key(PressedKey::Escape);
    assert_eq!(stage.view.wanted_info(), None);
    assert!(stage.text().contains("sent/s"));
}

#[test]
fn a_connection_ends_after_a_yes() {
    let mut stage = connections();
    stage.key(PressedKey::Down);
    assert_eq!(stage.keys("k"), None);
    assert!(stage.text().contains("end 192.0.2.39:40039? y for yes"));
    assert_eq!(stage.keys("n"), None);
    assert!(stage.text().contains("nothing was ended"));
    let deed = stage.keys("ky");
    assert_eq!(deed, Some(Deed::Ask(Ask::End("c-0-39".to_owned()))));
    stage.view.ended("c-0-39", &Ok(String::new()));
    assert!(stage.text().contains("c-0-39 was told to end"));
    stage.view.ended("c-0-39", &Err(AskError::Gone));
    assert!(stage.text().contains("c-0-39 has ended already, or cannot be ended"));
    stage.keys("1k");
    assert!(stage.text().contains("nothing is selected"));
}

#[test]
fn the_selected_row_is_marked() {
    let mut stage = connections();
    stage.key(PressedKey::Down);
    let cells = stage.cells();
    let is_marked = |y: &u16| cells[(0, *y)].modifier.contains(ratatui::style::Modifier::REVERSED);
    let marked: Vec<u16> = (3..24).filter(is_marked).collect();
    assert_eq!(marked, [5]);
}

#[test]
fn a_profile_is_made_of_the_process_that_answers() {
    let mut stage = connections();
    assert_eq!(stage.keys("P"), Some(Deed::Profile(4711)));
    assert!(stage.text().contains("profiling process 4711"));
    assert_eq!(stage.keys("P"), None);
    stage.view.profiled(Ok("into profile-4711-1.html\n 9.0 %  lj_vm\u{1b}[31m_call".to_owned()));
    let text = stage.text();
    assert!(text.contains("into profile-4711-1.html\n 9.0 %  lj_vm\\u{1b}[31m_call"), "{text}");
    assert_eq!(stage.keys("P"), Some(Deed::Profile(4711)));
    stage.view.profiled(Err("not allowed".to_owned()));
    assert!(stage.text().contains("no profile: not allowed"));
    assert!(stage.text().contains("lj_vm"), "the last one stays");
    stage.key(PressedKey::Escape);
    assert_eq!(stage.view.wanted().list, Some(List::Connections));
}

#[test]
fn keys_reach_all_screens() {
    let mut stage = Stage::usual();
    for (key, list) in "234567890-".chars().zip(List::ALL) {
        stage.keys(&key.to_string());
        assert_eq!(stage.view.wanted().list, Some(list));
        assert!(stage.text().contains(&format!(" {key} {}", list.name())), "{}", stage.text());
    }
    stage.key(PressedKey::Tab);
    assert_eq!(stage.view.wanted().list, None);
    stage.key(PressedKey::BackTab);
    assert_eq!(stage.view.wanted().list, Some(List::Store));
    assert_eq!(stage.keys("?"), None);
    assert!(stage.text().contains("Ctrl-Z"));
    stage.key(PressedKey::Escape);
    assert_eq!(stage.view.wanted().list, Some(List::Store));
    assert_eq!(stage.keys("q"), Some(Deed::Quit));
    assert_eq!(stage.key(PressedKey::Interrupt), Some(Deed::Quit));
    assert_eq!(stage.key(PressedKey::Suspend), Some(Deed::Suspend));
}
