//! Turns of a scheduler with a small line-based service, in a quiet world.
//!
//! Tests what only the runtime does: a parked process is told when its output has been sent, a panic returns what
//! was lent, mail gets its turn, and a peer that floods takes turns with the others. `memory` has the thresholds of
//! the queues' memory, `bench` the scheduler and its service.

mod bench;
mod fast_peers;
mod filled;
mod grouped;
mod holders;
mod memory;

use runtime::limits::{
    ACCEPT_TICKS_PER_TURN, EVICTION_CANDIDATES, MESSAGES_PER_TURN, OUTBOX_HIGH_WATER_BYTES, TICK_MS,
};
use runtime::mailbox::Endpoint;
use runtime::scheduler::{SchedulerSettings, TurnWait};
use runtime::service::CloseReason;
use world::{ALWAYS, ClientId, ClientState, Faults, Random, Stall};

use crate::turns::bench::{Bench, LONG_ANSWER, RESUME, Ran, bench, bench_with};

#[test]
fn accepting_goes_on_in_the_next_turn_when_its_share_of_one_is_used() {
    let mut bench = bench(Faults::none());
    let watched = bench.connect();
    bench.scheduler.service().watched = Some((bench.world.clone(), watched));
    bench.turn();
    let clients: Vec<ClientId> = (0..8).map(|_| bench.connect()).collect();
    for client in &clients {
        // A millisecond passes while it is answered.
        bench.world.client_send(*client, b"slow\nanswer\n");
    }
    let accepted = |bench: &mut Bench| {
        let before = bench.scheduler.stats().accepts;
        bench.scheduler.turn(TurnWait::Forbidden).unwrap();
        bench.scheduler.stats().accepts - before
    };
    let most = ACCEPT_TICKS_PER_TURN / 1_000_000 + 1;
    assert_eq!((accepted(&mut bench), accepted(&mut bench)), (most, most));
    bench.turn();
    for client in clients {
        assert_eq!(bench.world.client_received(client), b"answer\n");
    }
}

#[test]
fn lines_are_answered_whatever_the_cut() {
    let mut bench = bench(Faults::none());
    let client = bench.connect();
    assert_eq!(bench.ask(client, b"one\ntwo\nth"), b"one\ntwo\n");
    assert!(bench.scheduler.stats().buffered_bytes > 0, "the rest is kept");
    assert_eq!(bench.ask(client, b"r"), b"");
    assert_eq!(bench.ask(client, b"ee\n"), b"three\n");
    assert_eq!(bench.scheduler.stats().buffered_bytes, 0, "an idle process owns no buffer");
}

#[test]
fn parked_process_resumes_when_output_left() {
    let mut bench = bench(Faults::none());
    let client = bench.connect();
    let count = 4 * OUTBOX_HIGH_WATER_BYTES / LONG_ANSWER;
    let mut received = bench.ask(client, &b"long\n".repeat(count));
    while received.len() < count * LONG_ANSWER {
        bench.turn();
        let more = bench.world.client_received(client);
        assert!(!more.is_empty(), "stopped after {} bytes", received.len());
        received.extend(more);
    }
    assert_eq!(bench.ask(client, b"still there\n"), b"still there\n");
    let most = bench.scheduler.stats().buffered_bytes_max;
    assert!(most < 2 * OUTBOX_HIGH_WATER_BYTES as u64, "output was bounded: {most}");
}

#[test]
fn parked_process_is_told_that_peer_finished() {
    let mut bench = bench(Faults::none());
    let (client, other) = (bench.connect(), bench.connect());
    // The rest of the input is left in the socket, and its end is known nevertheless.
    assert_eq!(bench.ask(client, b"park\nunread\n"), b"");
    assert_eq!(bench.ask(other, b"park\n"), b"");
    bench.world.client_end_output(client);
    while bench.scheduler.processes() > 1 {
        bench.turn();
    }
    assert_eq!(bench.world.client_received(client), b"nobody listens\n");
    assert_eq!(bench.world.client_received(other), b"", "the other one is not spoken to");
}

#[test]
fn a_reader_that_stalls_stops_the_reading_of_its_own_input_alone() {
    let mut bench = bench(Faults::none());
    let (stalled, other) = (bench.connect(), bench.connect());
    bench.world.client_stall(stalled, Stall::Reading);
    let line = [[b'y'; 5_000].as_slice(), b"\n"].concat();
    bench.world.client_send(stalled, &line.repeat(400));
    assert_eq!(bench.ask(other, b"hello\n"), b"hello\n");
    assert!(bench.world.client_unsent(stalled) > 0, "the rest waits with the client");
    let held = bench.scheduler.stats().buffered_bytes;
    assert!(held < 2 * OUTBOX_HIGH_WATER_BYTES as u64, "{held}");
    bench.world.client_stall(stalled, Stall::Nothing);
    let before = bench.scheduler.stats().sent_bytes;
    bench.turn();
    assert!(bench.scheduler.stats().sent_bytes > before, "it goes on");
    assert_eq!(bench.world.client_received(stalled).len(), 400 * line.len());
    bench.world.client_stall(stalled, Stall::Reading);
    bench.world.client_send(stalled, &line.repeat(400));
    bench.turn();
    assert!(bench.scheduler.stats().buffered_bytes > 0);
    bench.world.client_reset(stalled);
    bench.turn();
    assert_eq!(bench.scheduler.processes(), 1);
    assert_eq!(bench.scheduler.stats().buffered_bytes, 0);
}

#[test]
fn a_panic_gives_back_what_was_lent() {
    let mut bench = bench(Faults::none());
    let (unlucky, other) = (bench.connect(), bench.connect());
    assert_eq!(bench.ask(other, b"before\nhal"), b"before\n");
    // Its inbox is lent to the handler that panics.
    bench.ask(unlucky, b"pan");
    bench.ask(unlucky, b"ic\nmore\n");
    assert_eq!(bench.world.client_state(unlucky), ClientState::Reset);
    assert_eq!(bench.ask(other, b"f\n"), b"half\n", "others go on");
    bench.world.client_close(other);
    bench.turn();
    let stats = bench.scheduler.stats();
    assert_eq!((stats.panics, stats.closed[CloseReason::Panicked as usize]), (1, 1));
    assert_eq!(stats.buffered_bytes, 0, "the lent bytes are given back");
}

#[test]
fn a_panicking_message_ends_nothing() {
    let mut bench = bench(Faults::none());
    let client = bench.connect();
    assert_eq!(bench.ask(client, b"a\n"), b"a\n");
    for message in [1, 13, 2] {
        bench.sender.send(Endpoint(0), message).unwrap();
    }
    bench.turn();
    assert_eq!(bench.scheduler.service().messages, 2);
    assert_eq!(bench.scheduler.stats().panics, 1);
    assert_eq!(bench.ask(client, b"b\n"), b"b\n");
}

#[test]
fn a_resumed_process_runs_once_and_before_the_events_of_the_turn() {
    let mut bench = bench(Faults::none());
    let (waiting, other) = (bench.connect(), bench.connect());
    assert_eq!(bench.ask(other, b"hello\n"), b"hello\n");
    assert_eq!(bench.ask(waiting, b"park\n"), b"");
    bench.scheduler.service().ran.clear();
    for client in [other, waiting] {
        bench.world.client_send(client, b"again\n");
    }
    for _ in 0..2 {
        bench.sender.send(Endpoint(0), RESUME).unwrap();
    }
    bench.scheduler.turn(TurnWait::Forbidden).unwrap();
    let ran = [Ran::Resumed, Ran::WithInput, Ran::WithInput];
    assert_eq!(bench.scheduler.service().ran, ran);
}

#[test]
fn mail_beyond_a_turn_waits_for_the_next() {
    let mut bench = bench(Faults::none());
    for message in 0..MESSAGES_PER_TURN as u32 {
        bench.sender.send(Endpoint(0), 100 + message).unwrap();
    }
    assert_eq!(bench.sender.send(Endpoint(0), 1), Err(1), "the ring is full");
    bench.scheduler.turn(TurnWait::Forbidden).unwrap();
    bench.sender.send(Endpoint(0), 1).unwrap();
    bench.turn();
    assert_eq!(bench.scheduler.service().messages, MESSAGES_PER_TURN as u64 + 1);
    assert_eq!(bench.scheduler.stats().mail.taken_max, MESSAGES_PER_TURN as u64);
}

#[test]
fn last_words_arrive_though_input_is_left_unread_behind_them() {
    let mut bench = bench(Faults::none());
    let client = bench.connect();
    assert_eq!(bench.ask(client, b"park\n"), b"");
    bench.world.client_send(client, b"nobody reads this\n");
    bench.world.client_end_output(client);
    bench.turn();
    assert_eq!(bench.world.client_received(client), b"nobody listens\n");
    assert_eq!(bench.scheduler.stats().closed[CloseReason::Finished as usize], 1);
}

#[test]
fn the_ways_to_end_a_connection() {
    let mut bench = bench(Faults::none());
    let [finished, aborted, lingering] = [(); 3].map(|()| bench.connect());
    assert_eq!(bench.ask(finished, b"a\nbye\n"), b"a\n");
    assert_eq!(bench.world.client_state(finished), ClientState::EndedByServer);
    assert_eq!(bench.ask(aborted, b"a\nabort\n"), b"", "what is queued is not sent");
    assert_eq!(bench.world.client_state(aborted), ClientState::Reset);
    assert_eq!(bench.ask(lingering, b"linger\nunread"), b"last words\n");
    assert_eq!(bench.world.client_state(lingering), ClientState::EndedByServer);
    assert_eq!(bench.ask(lingering, b"more that nobody reads"), b"");
    assert_eq!(bench.scheduler.processes(), 1, "it is still being listened to");
    bench.world.client_close(lingering);
    bench.turn();
    let closed = bench.scheduler.stats().closed;
    assert_eq!(closed[CloseReason::Finished as usize], 2);
    assert_eq!(closed[CloseReason::Aborted as usize], 1);
    assert_eq!(bench.scheduler.processes(), 0);
    assert_eq!(bench.scheduler.stats().buffered_bytes, 0);
}

#[test]
fn a_socket_that_cannot_be_watched_is_closed() {
    let mut bench = bench(Faults::none());
    bench.world.set_faults(Faults { watch_refused: ALWAYS, ..Faults::none() });
    let client = bench.connect();
    bench.turn();
    assert_ne!(bench.world.client_state(client), ClientState::Open);
    bench.world.set_faults(Faults::none());
    let client = bench.connect();
    assert_eq!(bench.ask(client, b"a\n"), b"a\n");
    assert_eq!(bench.scheduler.stats().closed[CloseReason::Failed as usize], 1);
}

/// The service sets no deadline, as for connections that are kept for ever: none is in the timer wheel.
#[test]
fn room_is_made_by_the_longest_idle_whatever_the_order_they_came_in() {
    const CONNECTIONS: usize = 2 * EVICTION_CANDIDATES + 500;
    let settings = SchedulerSettings { connections: CONNECTIONS, ..SchedulerSettings::default() };
    let mut bench = bench_with(Faults::none(), settings);
    let mut connected = || {
        let client = bench.connect();
        bench.turn();
        client
    };
    let mut clients: Vec<ClientId> = (0..CONNECTIONS).map(|_| connected()).collect();
    // Their last activity has nothing to do with the order in which they connected.
    Random::new(7).shuffle(&mut clients);
    for client in &clients {
        bench.world.advance(TICK_MS * 1_000_000);
        assert_eq!(bench.ask(*client, b"a\n"), b"a\n");
    }
    for (number, longest_idle) in clients.iter().enumerate().take(EVICTION_CANDIDATES + 200) {
        bench.world.advance(TICK_MS * 1_000_000);
        if number == 100 {
            // Found by the sweep, and active again: it is not among the longest idle any more.
            assert_eq!(bench.ask(clients[101], b"b\n"), b"b\n");
        }
        if number == 101 {
            continue;
        }
        let newcomer = bench.connect();
        assert_eq!(bench.ask(newcomer, b"hello\n"), b"hello\n");
        assert_eq!(bench.world.client_state(*longest_idle), ClientState::EndedByServer, "{number}");
    }
    let evicted = EVICTION_CANDIDATES + 199;
    assert_eq!(bench.scheduler.stats().closed[CloseReason::Evicted as usize], evicted as u64);
    assert_eq!(bench.world.client_state(clients[101]), ClientState::Open);
    assert_eq!(bench.scheduler.stats().accept_pauses, 0);
}
