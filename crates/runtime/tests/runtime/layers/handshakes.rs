//! Handshakes that fail, and plain connections beside those that have one.

use runtime::limits::{HANDSHAKES_MAX, LINGER_MS};
use runtime::scheduler::TurnWait;
use runtime::transport::{Transport, Violation};
use world::{ClientState, Faults, World};

use crate::layers::client::Client;
use crate::layers::scramble::{NAME, Scramble};
use crate::layers::{GREETING, Shout, Stage, address};

#[test]
fn a_handshake_that_fails_says_why_to_both_sides() {
    let mut stage = Stage::new(1, Faults::none());
    let (name, protocols): (_, &[&str]) = ("other.example", &["quiet"]);
    let strangers = [(name, protocols), (NAME, &["strange"])];
    let mut refused = Vec::new();
    for (name, protocols) in strangers {
        let id = stage.world.connect(&address(8443)).unwrap();
        let mut transport = Scramble::client(name, protocols);
        let (mut plain, mut wire) = (Vec::new(), Vec::new());
        transport.open(&mut [], &mut plain, &mut wire).unwrap();
        stage.world.client_send(id, &wire);
        stage.rest();
        refused.push(transport.open(&mut stage.world.client_received(id), &mut plain, &mut wire));
    }
    let gone = stage.world.connect(&address(8443)).unwrap();
    stage.rest();
    stage.world.client_end_output(gone);
    stage.rest();
    assert_eq!(refused, [Err(Violation::Alert(112)), Ok(())], "an alert arrives if there is one");
    let failures = [Violation::UnknownName, Violation::NothingInCommon, Violation::Cut];
    assert_eq!(stage.scheduler.service().failures, failures);
    assert_eq!(stage.scheduler.stats().handshakes_failed, 3);
    // One that was told has this long to read it.
    stage.world.advance(LINGER_MS * 1_000_000 + 100_000_000);
    stage.rest();
    stage.assert_nothing_is_left();
}

#[test]
fn a_client_that_sends_more_than_the_refused_handshake_still_reads_why() {
    let mut stage = Stage::new(1, Faults::none());
    let id = stage.world.connect(&address(8443)).unwrap();
    let mut transport = Scramble::client("other.example", &["quiet"]);
    let (mut plain, mut wire) = (Vec::new(), Vec::new());
    transport.open(&mut [], &mut plain, &mut wire).unwrap();
    stage.world.client_send(id, &wire);
    stage.rest();
    stage.world.client_send(id, b"a request behind it");
    stage.rest();
    assert_eq!(stage.world.client_state(id), ClientState::EndedByServer, "nothing is reset");
    let told = transport.open(&mut stage.world.client_received(id), &mut plain, &mut wire);
    assert_eq!(told, Err(Violation::Alert(112)));
    stage.world.client_close(id);
    stage.rest();
    assert_eq!(stage.scheduler.stats().handshakes_under_way, 0);
    stage.assert_nothing_is_left();
}

#[test]
fn plain_connections_beside_one_with_a_transport_keep_groups_and_single_sends() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = Client::enter(&stage.world, 443).unwrap();
    stage.talk(&mut client);
    let plain: Vec<_> = (0..5).filter_map(|_| stage.world.connect(&address(80))).collect();
    stage.rest();
    for id in &plain {
        assert_eq!(stage.world.client_received(*id), GREETING);
        stage.world.client_send(*id, if *id == plain[4] { b"?" } else { b"all" });
    }
    client.say(&stage.world, b"one");
    stage.scheduler.service().watched = Some((stage.world.clone(), plain[0]));
    let before = stage.scheduler.stats().sends;
    stage.scheduler.turn(TurnWait::Forbidden).unwrap();
    assert_eq!(stage.scheduler.stats().sends - before, 6, "one for each");
    for id in &plain[..4] {
        assert_eq!(stage.world.client_received(*id), b"ALL");
    }
    let seen = stage.world.client_received(plain[4]);
    assert_eq!(seen, b"0 bytes?", "no answer is sent before the last one has run");
    client.step(&stage.world);
    assert_eq!(client.heard, b"welcome\nONE");
}

#[test]
fn so_many_handshakes_hold_up_further_connections_unless_this_side_began_them() {
    let shout = Shout { calls: HANDSHAKES_MAX, ..Shout::default() };
    let mut stage = Stage::of(World::new(1, Faults::none()), shout, 3_000);
    stage.rest();
    assert_eq!(stage.scheduler.stats().handshakes_under_way, HANDSHAKES_MAX);
    let mut client = Client::enter(&stage.world, 8443).unwrap();
    stage.talk(&mut client);
    assert!(client.transport.is_ready());
    let mut silent = Vec::new();
    for _ in 0..HANDSHAKES_MAX {
        silent.push(stage.world.connect(&address(8443)).unwrap());
        stage.rest();
    }
    let mut late = Client::enter(&stage.world, 8443).unwrap();
    stage.talk(&mut late);
    assert!(!late.transport.is_ready());
    stage.world.client_reset(silent[7]);
    stage.talk(&mut late);
    assert!(late.transport.is_ready(), "there is room for one");
}
