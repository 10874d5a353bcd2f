//! The first screen, and that every screen fits every terminal.

use observe::{Colours, PressedKey};
use ratatui::style::Color;

use crate::samples;
use crate::stage::Stage;

#[test]
fn the_overview_fits_the_smallest_usual_terminal() {
    let text = Stage::usual().text();
    let expected = "\
velodrome 0.1.0  process 4711  serving  up 11s  127.0.0.1:8080
41 open  2000 requests/s  in 200.0 K/s  out 1.0 M/s  memory 84.0 M  busy 50%
 1 overview  2 connections  3 routes  4 pages  5 processes  6 channels  7 keys ›
schedulers                     turns/s ev/turn   longest what ran in it
  0 rrrhhhhhhssss.............     800     1.2   12.3 ms page /slow.page.html
  1 rrrhhhhhhssss.............     800     1.2   12.3 ms page /slow.page.html
  . wait 50%  h handler 25%  s send 15%  r receive 10%

times                         per s      p50      p99    p99.9   p99.99      max
  2xx                          2000  50.0 us  50.0 us   2.0 ms   2.0 ms   2.0 ms
  5xx                             1  50.0 us  50.0 us  50.0 us  50.0 us  50.0 us
  route /                      1990  50.0 us  50.0 us   2.0 ms   2.0 ms   2.0 ms
  route /api/*                   10  50.0 us  50.0 us  50.0 us  50.0 us  50.0 us
memory  pages 6.0 M  buffers 128.0 K
processes  http 40  admin 2
last events
  11s ago scheduler 1 long slice: /slow.page.html ran 12 ms






? help  1-9 0 - screens  e events  f freeze  m minute ago  P profile  q quit
";
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn a_large_terminal_shows_all_of_it() {
    let mut stage = Stage::new(200, 60, Colours::Off);
    let crowd = |second| {
        let mut snapshot = samples::snapshot(second);
        let first = snapshot.schedulers[0].clone();
        snapshot.schedulers =
            (0..16).map(|number| live::SchedulerInfo { number, ..first.clone() }).collect();
        snapshot
    };
    stage.answer(crowd(1));
    stage.answer(crowd(2));
    let text = stage.text();
    for part in [" 15 rrr", "page /slow.page.html", "- store", "route /api/*", "long slice"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    // On the small one the last are behind the arrow.
    let mut stage = Stage::new(80, 24, Colours::Off);
    stage.answer(crowd(1));
    stage.answer(crowd(2));
    assert!(!stage.text().contains("\n 15 rrr"));
    stage.key(PressedKey::End);
    assert!(stage.text().contains("\n 15 rrr"), "{}", stage.text());
}

#[test]
fn a_scheduler_that_does_not_answer_is_named() {
    let mut stage = Stage::usual();
    let mut snapshot = samples::snapshot(12);
    snapshot.schedulers[1].answers = false;
    stage.answer(snapshot);
    assert_eq!(stage.line("does not answer"), "  1 does not answer: its turn does not end");
}

#[test]
fn colours_are_used_only_where_they_are_wanted() {
    let coloured = |colours| {
        let mut stage = Stage::new(80, 24, colours);
        stage.answer(samples::snapshot(1));
        stage.answer(samples::snapshot(2));
        stage.fail("`x.sock` does not answer");
        let cells = stage.cells();
        let is_coloured =
            |cell: &&ratatui::buffer::Cell| cell.fg != Color::Reset || cell.bg != Color::Reset;
        cells.content.iter().filter(is_coloured).count()
    };
    assert_eq!(coloured(Colours::Off), 0);
    assert!(coloured(Colours::On) > 20);
}

#[test]
fn events_have_a_screen_with_their_causes() {
    let mut stage = Stage::usual();
    stage.keys("e");
    assert!(stage.text().contains("      slow.page.html:7: in function 'sum'"), "{}", stage.text());
    stage.keys("e");
    assert!(stage.text().contains("schedulers"));
}

/// A terminal may have any size, and be made smaller at any time.
#[test]
fn every_screen_fits_every_terminal() {
    for (columns, rows) in [(1, 1), (3, 2), (10, 5), (20, 8), (40, 12), (79, 23), (200, 60)] {
        let mut stage = Stage::new(columns, rows, Colours::On);
        stage.text();
        for key in "1234567890-e?fm k".chars() {
            stage.answer(samples::with_connections(stage_second(key)));
            stage.keys(&key.to_string());
            stage.text();
            for key in [
                PressedKey::Down,
                PressedKey::PageDown,
                PressedKey::End,
                PressedKey::Enter,
                PressedKey::Up,
                PressedKey::Home,
                PressedKey::Escape,
            ] {
                stage.key(key);
                stage.text();
            }
        }
    }
}

fn stage_second(key: char) -> u64 {
    u64::from(u32::from(key))
}

/// A stranger's name for a connection, a path or a channel must not reach the terminal as commands.
#[test]
fn texts_of_strangers_are_harmless_everywhere() {
    let evil = "\u{1b}]0;x\u{7}\u{9b}2J\u{202e}";
    let mut snapshot = samples::with_connections(11);
    snapshot.schedulers[0].longest_turn_ran = evil.to_owned();
    snapshot.schedulers[0].processes.insert(evil.to_owned(), 1);
    snapshot.server.listeners.push(evil.to_owned());
    snapshot.latencies[0].name = evil.to_owned();
    snapshot.events[0].text = evil.to_owned();
    snapshot.events[0].cause.push(evil.to_owned());
    snapshot.list.rows[0] = snapshot.list.rows[0].clone().text("peer", evil);
    snapshot.list.rows[0].id = format!("c-{evil}");
    let mut stage = Stage::new(200, 60, Colours::Off);
    for screen in ["1", "2", "e"] {
        stage.keys(screen);
        stage.answer(snapshot.clone());
        let text = stage.text();
        assert!(text.contains(r"\u{202e}"), "{text}");
        let is_bad = |character: char| {
            (character.is_control() && character != '\n') || character == '\u{202e}'
        };
        assert!(!text.chars().any(is_bad), "{text:?}");
    }
    stage.keys("2k");
    assert!(stage.line("end ").contains(r"\u{1b}]0;x"));
}
