//! Subscriptions to patterns: active everywhere when they are confirmed, within their limits, and never the work of a
//! whole turn.

use std::time::Duration;

use crate::stage::{Lines, stage};
use channels::{ChannelRefusal, Rulebook, limits};
use runtime::scheduler::TurnWait;
use world::Stage;

fn published(stage: &mut Stage<Lines>) -> u64 {
    let schedulers = stage.schedulers().iter_mut();
    schedulers.map(|scheduler| scheduler.service().channels.stats().published).sum()
}

/// After each turn of any scheduler, a message is published on another. Once the subscriber has been told, it gets all
/// of them.
#[test]
fn a_pattern_is_confirmed_when_all_schedulers_know_it() {
    for schedulers in 1..=3 {
        let mut stage = stage(schedulers, Rulebook::default());
        let clients: Vec<_> = (0..6).map(|_| stage.connect()).collect();
        stage.world().client_send(clients[0], b"confirm a*\n");
        let (mut told, mut sent, mut got) = (false, Vec::new(), String::new());
        for round in 0..40 {
            let scheduler = round % usize::from(schedulers);
            stage.schedulers()[scheduler].turn(TurnWait::Forbidden).expect("it does not fail");
            let news =
                String::from_utf8_lossy(&stage.world().client_received(clients[0])).into_owned();
            got.push_str(&news);
            told |= got.contains("active");
            if told {
                sent.push(format!("m{round}."));
                let line = format!("pub a{round} m{round}.\n");
                stage.world().client_send(clients[1 + round % 5], line.as_bytes());
            }
        }
        got.push_str(&stage.received(clients[0]));
        assert!(sent.len() > 20, "it was told");
        for message in sent {
            assert!(got.contains(&message), "{message} with {schedulers} schedulers");
        }
    }
}

/// A pattern whose comparison takes as many steps as any.
fn costly(number: usize) -> String {
    format!("*{}{number:03}*", "?".repeat(110))
}

#[test]
fn patterns_that_cost_too_much_together_are_refused() {
    let mut stage = stage(2, Rulebook::default());
    let clients: Vec<_> = (0..2).map(|_| stage.connect()).collect();
    let mut active = 0;
    for number in 0..1_000 {
        let told = stage.exchange(clients[number % 2], &format!("confirm {}\n", costly(number)));
        if told.contains("refused") {
            assert!(told.contains(ChannelRefusal::Full.as_str()), "{told}");
            break;
        }
        assert!(told.contains("active"));
        active += 1;
    }
    assert!((10..500).contains(&active), "{active} patterns");
    // Cheap ones still fit, and a message is compared with all of them.
    assert!(stage.exchange(clients[0], "confirm a*\n").contains("active"));
    stage.send(clients[1], b"pub abc hello\n");
    assert!(stage.received(clients[0]).contains("hello"));
}

/// Both schedulers give away the last room at the same time: then at most one of them may keep it.
#[test]
fn the_limit_holds_for_all_schedulers_together() {
    let mut stage = stage(2, Rulebook::default());
    let clients: Vec<_> = (0..8).map(|_| stage.connect()).collect();
    let mut number = 0;
    let refused = loop {
        for client in &clients {
            number += 1;
            stage.world().client_send(*client, format!("confirm {}\n", costly(number)).as_bytes());
        }
        let told: Vec<_> = clients.iter().map(|client| stage.received(*client)).collect();
        let refused = told.iter().filter(|told| told.contains("refused")).count();
        assert!(told.iter().all(|told| told.contains("refused") != told.contains("active")));
        if refused > 0 {
            break refused;
        }
    };
    assert!(refused > 0);
    for client in clients {
        stage.world().client_close(client);
    }
    stage.rest();
    let client = stage.connect();
    assert!(stage.exchange(client, "confirm a*\n").contains("active"), "there is room again");
}

#[test]
fn a_pipeline_of_costly_messages_takes_many_turns() {
    let mut stage = stage(1, Rulebook::default());
    let (wild, publisher) = (stage.connect(), stage.connect());
    for number in 0..10 {
        stage.send(wild, format!("confirm {}\n", costly(number)).as_bytes());
    }
    stage.received(wild);
    let before = published(&mut stage);
    let name = "a".repeat(limits::NAME_SIZE);
    let line = format!("pub {name} m\n");
    stage.world().client_send(publisher, line.repeat(100).as_bytes());
    stage.schedulers()[0].turn(TurnWait::Forbidden).expect("it does not fail");
    let first = published(&mut stage) - before;
    assert!((1..20).contains(&first), "{first} messages in a turn");
    stage.pass(Duration::from_secs(1));
    assert_eq!(published(&mut stage) - before, 100, "none is lost");
    assert_eq!(stage.received(publisher), "", "none is refused");
}

#[test]
fn patterns_are_compared_only_with_names_that_begin_like_them() {
    let mut stage = stage(1, Rulebook::default());
    let (wild, publisher) = (stage.connect(), stage.connect());
    let lines: String = (0..limits::PATTERNS).map(|number| format!("psub {number}.*\n")).collect();
    for piece in lines.as_bytes().chunks(8_000) {
        stage.send(wild, piece);
    }
    assert_eq!(stage.received(wild), "", "none is refused");
    assert!(stage.exchange(wild, "psub one.more\n").contains("refused"));
    let before = published(&mut stage);
    stage.world().client_send(publisher, "pub 7.x hello\n".repeat(1_000).as_bytes());
    stage.schedulers()[0].turn(TurnWait::Forbidden).expect("it does not fail");
    assert_eq!(published(&mut stage) - before, 1_000, "in one turn");
    assert_eq!(stage.received(wild).matches("hello").count(), 1_000);
}
