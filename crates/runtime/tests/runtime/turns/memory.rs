//! When queues hold nearly all the memory they may: each threshold, and not one byte before it.

use runtime::limits::TICK_MS;
use runtime::mailbox::Endpoint;
use runtime::scheduler::Settings;
use runtime::service::CloseReason;
use world::{ClientId, ClientState, Faults, Stall};

use crate::turns::bench::{Bench, DRAIN, LONG_ANSWER, bench_with};

/// One percent is a thousand bytes.
const LIMIT: usize = 100_000;

const SECOND_NS: u64 = 1_000_000_000;

/// A scheduler whose queues hold this many bytes, and the clients that could release a part of them.
fn holding(parts: &[usize]) -> (Bench, Vec<ClientId>) {
    let settings = Settings { connections: 100, buffered_bytes: LIMIT, ..Settings::default() };
    let mut bench = bench_with(Faults::none(), settings);
    let holders = parts.iter().map(|bytes| hold(&mut bench, *bytes)).collect();
    (bench, holders)
}

/// Adds this many bytes: the beginning of a line.
fn hold(bench: &mut Bench, bytes: usize) -> ClientId {
    let client = bench.connect();
    let before = held(bench);
    assert_eq!(bench.ask(client, &vec![b'h'; bytes]), b"");
    assert_eq!(held(bench), before + bytes, "it is held, and not one byte more");
    client
}

fn held(bench: &Bench) -> usize {
    usize::try_from(bench.scheduler.stats().buffered_bytes).unwrap()
}

fn release(bench: &mut Bench, client: ClientId) {
    bench.world.client_reset(client);
    bench.turn();
}

fn closed(bench: &Bench, reason: CloseReason) -> u64 {
    bench.scheduler.stats().closed[reason as usize]
}

#[test]
fn from_ninety_percent_on_nobody_who_holds_bytes_is_read_until_there_is_room() {
    let (mut bench, holders) = holding(&[40_000, 44_997, 4_999, 2, 1]);
    assert_eq!(held(&bench), 89_999);
    let other = bench.connect();
    assert_eq!(bench.ask(holders[4], b"i\n"), b"hi\n", "one byte below the threshold");
    assert_eq!(bench.ask(holders[4], b"j"), b"");
    assert_eq!(held(&bench), 89_999);
    let last = hold(&mut bench, 1);
    assert_eq!(held(&bench), 90_000);
    assert_eq!(bench.ask(holders[4], b"k\n"), b"", "it is not read");
    assert_eq!(bench.ask(other, b"hello\n"), b"hello\n", "who holds nothing is");
    release(&mut bench, last);
    assert_eq!(held(&bench), 89_999);
    assert_eq!(bench.world.client_received(holders[4]), b"", "a byte is no room");
    release(&mut bench, holders[2]);
    assert_eq!(held(&bench), 85_000);
    bench.turn();
    assert_eq!(bench.world.client_received(holders[4]), b"");
    release(&mut bench, holders[3]);
    assert_eq!(held(&bench), 84_997, "two bytes less, and then the one that is answered");
    assert_eq!(bench.world.client_received(holders[4]), b"jk\n", "there is room again");
}

#[test]
fn who_does_not_take_its_answers_is_not_read_either() {
    let settings = Settings { connections: 100, buffered_bytes: LIMIT, ..Settings::default() };
    let mut bench = bench_with(Faults::none(), settings);
    let stalled = bench.connect();
    bench.world.client_stall(stalled, Stall::Reading);
    bench.ask(stalled, &b"long\n".repeat(2));
    let queued = held(&bench);
    assert!((1..90_000).contains(&queued), "{queued} bytes wait for it");
    let rest = 90_000 - queued;
    hold(&mut bench, rest / 2);
    hold(&mut bench, rest - rest / 2);
    let received = bench.scheduler.stats().received_bytes;
    bench.ask(stalled, b"long\n");
    assert_eq!(
        bench.scheduler.stats().received_bytes,
        received,
        "its requests stay where they are"
    );
    bench.world.client_stall(stalled, Stall::Nothing);
    bench.turn();
    // It holds nothing any more: no other has to release memory first.
    assert_eq!(bench.world.client_received(stalled).len(), 3 * LONG_ANSWER);
}

#[test]
fn from_ninety_five_percent_on_the_longest_idle_goes_one_in_a_tick() {
    let (mut bench, _) = holding(&[50_000, 44_999]);
    let mut idle = Vec::new();
    for _ in 0..4 {
        bench.world.advance(TICK_MS * 1_000_000);
        let client = bench.connect();
        assert_eq!(bench.ask(client, b"a\n"), b"a\n");
        idle.push(client);
    }
    idle.rotate_left(2);
    for client in &idle {
        bench.world.advance(TICK_MS * 1_000_000);
        assert_eq!(bench.ask(*client, b"b\n"), b"b\n");
    }
    assert_eq!(closed(&bench, CloseReason::Evicted), 0);
    let last = hold(&mut bench, 1);
    bench.turn();
    assert_eq!(closed(&bench, CloseReason::Evicted), 1, "one, however many turns there are");
    bench.world.advance(TICK_MS * 1_000_000);
    bench.turn();
    bench.turn();
    assert_eq!(closed(&bench, CloseReason::Evicted), 2);
    release(&mut bench, last);
    bench.world.advance(TICK_MS * 1_000_000);
    bench.turn();
    assert_eq!(closed(&bench, CloseReason::Evicted), 2, "there is room again");
    let open: Vec<bool> =
        idle.iter().map(|client| bench.world.client_state(*client) == ClientState::Open).collect();
    assert_eq!(open, [false, false, true, true], "the longest idle first");
}

#[test]
fn from_ninety_eight_percent_on_new_connections_are_told_so() {
    let (mut bench, _) = holding(&[50_000, 47_999]);
    let before = bench.connect();
    assert_eq!(bench.ask(before, b"hello\n"), b"hello\n", "one byte below the threshold");
    assert_eq!(bench.scheduler.stats().accepts_overloaded, 0);
    let last = hold(&mut bench, 1);
    let turned_away = bench.connect();
    assert_eq!(bench.ask(turned_away, b"hello\n"), b"later\n");
    assert_eq!(bench.world.client_state(turned_away), ClientState::EndedByServer);
    assert_eq!(held(&bench), 98_000, "and cost no memory");
    let stats = bench.scheduler.stats();
    assert_eq!((stats.accepts_overloaded, stats.accepts_refused), (1, 0));
    release(&mut bench, last);
    let after = bench.connect();
    assert_eq!(bench.ask(after, b"hello\n"), b"hello\n");
}

#[test]
fn at_the_limit_nobody_is_read() {
    let (mut bench, holders) = holding(&[40_000, 40_000, 9_999]);
    let clients: Vec<ClientId> = (0..5).map(|_| bench.connect()).collect();
    // The second and the third release memory in the meantime.
    bench.turn();
    assert_eq!(bench.ask(clients[0], &[b'h'; 10_000]), b"");
    assert_eq!(held(&bench), 99_999);
    assert_eq!(bench.ask(clients[3], b"hello\nh"), b"hello\n", "one byte is left");
    assert_eq!(held(&bench), LIMIT);
    assert_eq!(bench.ask(clients[4], b"hello\n"), b"", "none is left");
    bench.world.advance(TICK_MS * 1_000_000);
    bench.turn();
    assert_eq!(held(&bench), LIMIT);
    assert_eq!(bench.world.client_state(clients[4]), ClientState::Open);
    release(&mut bench, holders[0]);
    assert_eq!(bench.world.client_received(clients[4]), b"hello\n", "there is room again");
}

#[test]
fn who_leaves_gives_back_its_memory_however_short_it_is() {
    let (mut bench, holders) = holding(&[50_000, 40_000, 9_000]);
    bench.world.client_send(holders[0], b"more");
    bench.turn();
    bench.world.client_close(holders[0]);
    bench.turn();
    assert_eq!(held(&bench), 49_000);
    bench.world.client_send(holders[1], b"no end of it");
    bench.world.client_end_output(holders[1]);
    bench.turn();
    assert_eq!(held(&bench), 9_000);
    assert_eq!(closed(&bench, CloseReason::Finished), 2);
}

#[test]
fn who_does_not_take_what_has_no_room_is_reset_and_nobody_else_is() {
    let (mut bench, _holders) = holding(&[40_000, 40_000]);
    let stalled = bench.connect();
    bench.world.client_stall(stalled, Stall::Reading);
    // What the socket takes, and as much as may wait.
    let other = bench.connect();
    for _ in 0..10 {
        bench.ask(stalled, b"long\n");
        assert!(held(&bench) <= LIMIT, "{} bytes are held", held(&bench));
    }
    assert_eq!(closed(&bench, CloseReason::OutboxFull), 1);
    assert_eq!(held(&bench), 80_000, "what it held is free again");
    assert_eq!(bench.world.client_state(stalled), ClientState::Reset);
    assert_eq!(bench.ask(other, b"hello\n"), b"hello\n");
}

#[test]
fn who_adds_nothing_is_not_reset_for_what_others_hold() {
    let (mut bench, _holders) = holding(&[]);
    let (stalled, other) = (bench.connect(), bench.connect());
    bench.world.client_stall(stalled, Stall::Reading);
    bench.ask(stalled, &b"long\n".repeat(2));
    let queued = held(&bench);
    assert!((1..80_000).contains(&queued), "{queued} bytes wait for it");
    hold(&mut bench, 85_000 - queued);
    // Input is read while there is room for a byte, and more may arrive than that.
    assert_eq!(bench.ask(other, &[b'h'; 30_000]), b"");
    assert!(held(&bench) > LIMIT, "{} bytes are held", held(&bench));
    // All run because reading was stopped for long enough, and output nothing.
    bench.sender.send(Endpoint(0), DRAIN).unwrap();
    bench.turn();
    bench.world.advance(SECOND_NS);
    bench.turn();
    assert_eq!(closed(&bench, CloseReason::OutboxFull), 0);
    bench.world.client_stall(stalled, Stall::Nothing);
    bench.turn();
    assert_eq!(bench.world.client_received(stalled).len(), 2 * LONG_ANSWER);
}

#[test]
fn from_ninety_five_percent_on_the_largest_outputs_are_reset_and_idle_connections_stay() {
    let (mut bench, _) = holding(&[]);
    let idle = bench.connect();
    assert_eq!(bench.ask(idle, b"hello\n"), b"hello\n");
    let [more, less] = [bench.connect(), bench.connect()];
    for (client, line) in [(more, 40_000), (less, 20_000)] {
        bench.world.client_stall(client, Stall::Reading);
        bench.ask(client, &[vec![b'x'; line].as_slice(), b"\nlong\n"].concat());
    }
    let rest = LIMIT * 95 / 100 - held(&bench);
    assert!(rest < LIMIT / 2, "most of it is output");
    hold(&mut bench, rest - 1);
    let last = bench.connect();
    assert_eq!(bench.world.client_state(more), ClientState::Open, "one byte below the threshold");
    bench.ask(last, b"h");
    bench.turn();
    assert_eq!(bench.world.client_state(more), ClientState::Reset);
    assert_eq!(bench.world.client_state(less), ClientState::Open, "there is room again");
    assert_eq!(bench.ask(idle, b"hello\n"), b"hello\n");
    let reasons = [CloseReason::OutboxFull, CloseReason::Evicted];
    assert_eq!(reasons.map(|reason| closed(&bench, reason)), [1, 0]);
}

#[test]
fn a_process_that_becomes_large_again_is_found_again() {
    let settings = Settings { connections: 100, buffered_bytes: LIMIT, ..Settings::default() };
    let mut bench = bench_with(Faults::none(), settings);
    let client = bench.connect();
    for _ in 0..3 {
        bench.world.client_stall(client, Stall::Reading);
        bench.ask(client, &b"long\n".repeat(2));
        assert!(held(&bench) > LIMIT / 2, "{} bytes wait for it", held(&bench));
        bench.world.client_stall(client, Stall::Nothing);
        bench.turn();
        assert_eq!(bench.world.client_received(client).len(), 2 * LONG_ANSWER);
        assert_eq!(held(&bench), 0);
    }
    bench.world.client_stall(client, Stall::Reading);
    bench.ask(client, &b"long\n".repeat(2));
    let rest = LIMIT * 95 / 100 - held(&bench);
    hold(&mut bench, rest - 1);
    let last = bench.connect();
    assert_eq!(bench.world.client_state(client), ClientState::Open, "one byte below the threshold");
    bench.ask(last, b"h");
    bench.turn();
    assert_eq!(bench.world.client_state(client), ClientState::Reset);
}

#[test]
fn a_small_output_is_kept_when_others_hold_all_the_memory() {
    const MIB: usize = 1024 * 1024;
    let settings = Settings { connections: 100, buffered_bytes: MIB, ..Settings::default() };
    let mut bench = bench_with(Faults::none(), settings);
    // The longest idle is closed first.
    let idle = bench.connect();
    assert_eq!(bench.ask(idle, b"hello\n"), b"hello\n");
    let line = [[b'x'; 99].as_slice(), b"\n"].concat();
    let [other, small] = [bench.connect(), bench.connect()];
    let mut lines = 0;
    bench.world.client_stall(other, Stall::Reading);
    while held(&bench) == 0 {
        bench.ask(other, &line);
        lines += 1;
    }
    release(&mut bench, other);
    bench.world.client_stall(small, Stall::Reading);
    for _ in 1..lines {
        bench.ask(small, &line);
    }
    assert_eq!(held(&bench), 0, "its socket has no room for one more line, and nothing waits");
    for _ in 0..20 {
        hold(&mut bench, 50_000);
    }
    let rest = MIB - 1 - held(&bench);
    hold(&mut bench, rest);
    bench.ask(small, &line);
    assert!(held(&bench) > MIB, "{} bytes are held", held(&bench));
    assert_eq!(bench.world.client_state(small), ClientState::Open);
    bench.world.client_stall(small, Stall::Nothing);
    bench.turn();
    assert_eq!(bench.world.client_received(small).len(), lines * line.len());
}
