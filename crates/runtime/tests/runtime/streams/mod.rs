//! Processes without a socket, carried by a process that has one, in simulated worlds.
//!
//! `protocol` has the frames, `mux` the service, `client` its other side. Tests what the runtime promises: nothing is
//! lost, doubled or swapped, each side learns the end of the other, and nothing is left.

mod client;
mod memory;
mod mux;
mod protocol;
mod sharing;

use runtime::limits::STREAMS_PER_PROCESS;
use runtime::scheduler::SchedulerSettings;
use runtime::service::CloseReason;
use runtime::streams::NotOpened;
use world::{ClientState, Faults, Random};

use crate::streams::client::{Client, Seen, Stage, file_bytes, unread_file};
use crate::streams::protocol::{
    ACTS, Act, DATA, GREETING, LARGE, OUTPUT_WINDOW, PANIC, RESET, act_of, first_frame, frame,
};

/// The number of the first stream that does this.
fn number_of(act: Act) -> u16 {
    (0..).find(|number| act_of(*number) == act).unwrap()
}

/// The answer of a stream to a text, if all goes well.
fn expected(number: u16, text: &[u8]) -> (Vec<u8>, Seen) {
    match act_of(number) {
        Act::Echo | Act::ParkedEcho | Act::PostedEcho | Act::Collect => {
            (text.to_ascii_uppercase(), Seen::End)
        }
        Act::Large => (vec![b'L'; LARGE], Seen::End),
        Act::File => ([&*file_bytes(), b"after the file"].concat(), Seen::End),
        Act::Late => (b"LATE".to_vec(), Seen::End),
        Act::Linger if text.is_empty() => (Vec::new(), Seen::End),
        Act::Linger => (b"NO".to_vec(), Seen::End),
        Act::HeadAlone => (Vec::new(), Seen::End),
        Act::Panic | Act::Abort => (Vec::new(), Seen::Reset),
        Act::Refuse => (Vec::new(), Seen::Refused),
    }
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|at| b'a' + (at % 26) as u8).collect()
}

#[test]
fn each_stream_has_its_own_process_and_answers_and_ends_as_it_wants() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = stage.client().unwrap();
    stage.rest();
    assert_eq!(stage.scheduler.service().not_opened, Some(NotOpened::TooEarly));
    let text = text(1_000);
    for number in 0..2 * ACTS {
        client.open(&stage.world, number, &text);
    }
    stage.talk(&mut client, 300);
    for (number, dialog) in &client.dialogs {
        let (heard, seen) = expected(*number, &text);
        assert_eq!(dialog.seen, seen, "stream {number}, {:?}", act_of(*number));
        assert!(dialog.heard == heard, "stream {number}, {:?}", act_of(*number));
        let head = if seen == Seen::End { GREETING } else { &dialog.head };
        assert_eq!(dialog.head, head);
    }
    let stats = stage.scheduler.stats();
    assert_eq!((stats.streams, stats.streams_refused, stats.panics), (22, 2, 2));
    assert_eq!(stats.processes[..2], [1, 0]);
    assert_eq!((stats.buffered_bytes, stage.scheduler.extras()), (0, 1), "that of the carrier");
    stage.world.client_close(client.id);
    stage.rest();
    stage.assert_nothing_is_left();
}

#[test]
fn consumed_input_is_told_to_the_byte() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = stage.client().unwrap();
    let text = text(5_000);
    let numbers = [Act::Echo, Act::ParkedEcho, Act::Late].map(number_of);
    for number in numbers {
        client.open(&stage.world, number, &text);
    }
    // The end of an echo comes with its last byte, the window for that byte before it.
    stage.talk(&mut client, 200);
    for number in numbers {
        assert_eq!(client.dialogs[&number].consumed, 5_000, "{:?}", act_of(number));
    }
}

#[test]
fn a_stream_that_does_not_read_is_told_that_its_input_has_ended() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = stage.client().unwrap();
    let parked = number_of(Act::ParkedEcho);
    // It takes a half at a time, and reads nothing until it is resumed.
    client.open(&stage.world, parked, b"all of it comes before it reads on");
    client.step(&stage.world, 100);
    stage.rest();
    assert!(stage.scheduler.service().finished_unread > 0);
    client.step(&stage.world, 100);
    assert_eq!(client.dialogs[&parked].heard, b"ALL OF IT COMES BEFORE IT READS ON");
    assert_eq!(client.dialogs[&parked].seen, Seen::End);
}

#[test]
fn answers_of_many_streams_in_a_turn_are_one_write_and_their_carrier_is_told_once() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = stage.client().unwrap();
    stage.rest();
    for number in 0..20 {
        client.open(&stage.world, number * ACTS, b"hello");
    }
    client.step(&stage.world, 100);
    let before = stage.scheduler.stats().sends;
    stage.turn();
    let told = stage.scheduler.service().told;
    client.step(&stage.world, 100);
    assert_eq!(client.dialogs.values().filter(|dialog| dialog.heard == b"HELLO").count(), 20);
    assert_eq!(stage.scheduler.stats().sends - before, 1);
    assert_eq!(told, 1);
    stage.rest();
    assert_eq!(stage.scheduler.stats().processes[..2], [1, 0]);
}

#[test]
fn streams_take_turns_frame_by_frame() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = stage.client().unwrap();
    let numbers = [0, 1].map(|more| number_of(Act::Large) + ACTS * more);
    for number in numbers {
        client.open(&stage.world, number, b"");
    }
    client.step(&stage.world, 100);
    stage.rest();
    let wire = stage.world.client_received(client.id);
    let (mut order, mut rest) = (Vec::new(), &*wire);
    while let Some((kind, number, _, length)) = first_frame(rest) {
        if kind == DATA {
            order.push(number);
        }
        rest = &rest[length..];
    }
    // Until their windows are closed.
    assert_eq!(order, numbers.repeat(4));
}

#[test]
fn a_reset_ends_its_stream_and_the_end_of_a_carrier_ends_all() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = stage.client().unwrap();
    let late = number_of(Act::Late);
    for number in [late, late + ACTS, late + 2 * ACTS] {
        client.open(&stage.world, number, b"hello");
    }
    stage.rest();
    client.step(&stage.world, 100);
    stage.rest();
    assert_eq!(stage.scheduler.stats().processes[..2], [1, 3]);
    client.reset(&stage.world, late);
    stage.rest();
    assert_eq!(stage.scheduler.stats().processes[..2], [1, 2]);
    assert_eq!(stage.scheduler.service().streams_closed, [CloseReason::Failed]);
    stage.world.client_reset(client.id);
    stage.rest();
    assert_eq!(stage.scheduler.service().streams_closed, [CloseReason::Failed; 3]);
    stage.assert_nothing_is_left();
}

#[test]
fn a_panic_of_a_carrier_ends_its_streams_and_nobody_elses() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = stage.client().unwrap();
    let mut other = stage.client().unwrap();
    let (late, large) = (number_of(Act::Late), number_of(Act::Large));
    client.open(&stage.world, late, b"hello");
    client.open(&stage.world, large, b"");
    other.open(&stage.world, late, b"hello");
    stage.talk(&mut client, 2);
    assert!(stage.scheduler.stats().buffered_bytes > 0, "output of a stream waits");
    let mut wire = Vec::new();
    frame(PANIC, late, b"", &mut wire);
    stage.world.client_send(client.id, &wire);
    stage.rest();
    assert_eq!(stage.world.client_state(client.id), ClientState::Reset);
    assert_eq!(stage.scheduler.service().streams_closed, [CloseReason::Failed; 2]);
    assert_eq!((stage.closed(CloseReason::Panicked), stage.scheduler.stats().panics), (1, 1));
    assert_eq!(stage.scheduler.stats().buffered_bytes, 0);
    stage.talk(&mut other, 100);
    assert_eq!(other.dialogs[&late].heard, b"LATE");
    stage.world.client_close(other.id);
    stage.rest();
    stage.assert_nothing_is_left();
}

#[test]
fn a_stream_waits_for_its_file_and_the_others_do_not() {
    let mut stage = Stage::new(1, Faults::none());
    // A file system in memory has all files there. To ask about a file may begin to read it, so it is written again.
    let is_cold = !unread_file(&text(3_000)).0.file.read_ready(0, 3_000);
    let (region, path) = unread_file(&text(3_000));
    stage.scheduler.service().file = Some(region);
    let mut client = stage.client().unwrap();
    let (file, echo) = (number_of(Act::File), number_of(Act::Echo));
    client.open(&stage.world, file, b"");
    client.step(&stage.world, 100);
    stage.rest();
    let asked = u64::from(is_cold);
    assert_eq!(stage.scheduler.stats().files_cold, asked, "its service was asked for it, once");
    client.open(&stage.world, echo, b"meanwhile");
    for _ in 0..5 {
        client.step(&stage.world, 100);
        stage.rest();
    }
    assert_eq!(client.dialogs[&echo].heard, b"MEANWHILE");
    let waiting = &client.dialogs[&file];
    assert_eq!((&*waiting.head, waiting.heard.is_empty()), (GREETING, is_cold));
    let content = std::fs::read(&path).unwrap();
    stage.talk(&mut client, 50);
    assert!(client.dialogs[&file].heard == [&*content, b"after the file"].concat());
    assert_eq!(client.dialogs[&file].seen, Seen::End);
    stage.world.client_close(client.id);
    stage.rest();
    stage.assert_nothing_is_left();
}

#[test]
fn a_stream_whose_output_nobody_takes_is_closed_like_a_slow_reader_and_counted_meanwhile() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = stage.client().unwrap();
    let (large, echo) = (number_of(Act::Large), number_of(Act::Echo));
    client.open(&stage.world, large, b"");
    stage.talk(&mut client, 1);
    // From now on the window of the stream stays closed, while the connection is read.
    let dialog = client.dialogs.remove(&large).unwrap();
    assert!(dialog.heard.len() <= OUTPUT_WINDOW);
    stage.rest();
    assert!(stage.scheduler.stats().buffered_bytes > 0, "its output is counted");
    stage.world.advance(20_000_000_000);
    stage.rest();
    client.open(&stage.world, echo, b"still here");
    stage.talk(&mut client, 10);
    assert_eq!(client.dialogs[&echo].heard, b"STILL HERE");
    for _ in 0..50 {
        stage.world.advance(1_000_000_000);
        stage.rest();
    }
    assert_eq!(stage.closed(CloseReason::SlowReader), 1);
    let wire = stage.world.client_received(client.id);
    let (kind, number, _, length) = first_frame(&wire).unwrap();
    assert_eq!((kind, number, length), (RESET, large, wire.len()), "what was not taken is lost");
    assert_eq!(stage.scheduler.stats().processes[..2], [1, 0]);
    stage.world.client_close(client.id);
    stage.rest();
    stage.assert_nothing_is_left();
}

#[test]
fn streams_have_bounds_of_the_process_and_of_the_scheduler() {
    let mut stage = Stage::with(
        1,
        Faults::none(),
        SchedulerSettings { connections: 3, ..SchedulerSettings::default() },
    );
    let mut client = stage.client().unwrap();
    let late = number_of(Act::Late);
    for number in 0..4 {
        client.open(&stage.world, late + ACTS * number, b"");
    }
    stage.talk(&mut client, 1);
    let refused = client.dialogs.values().filter(|dialog| dialog.seen == Seen::Refused).count();
    assert_eq!((refused, stage.scheduler.processes()), (2, 3), "the table is full");
    stage.world.client_close(client.id);
    stage.rest();
    stage.assert_nothing_is_left();
    let settings = SchedulerSettings { connections: 2_000, ..SchedulerSettings::default() };
    let mut stage = Stage::with(1, Faults::none(), settings);
    let mut client = stage.client().unwrap();
    stage.rest();
    let most = u16::try_from(STREAMS_PER_PROCESS).unwrap();
    for number in 0..=most {
        client.open(&stage.world, late + ACTS * number, b"");
    }
    stage.rest();
    assert_eq!(stage.scheduler.stats().processes[..2], [1, u64::from(most)]);
    assert_eq!(stage.scheduler.service().not_opened, Some(NotOpened::TooMany));
}

#[test]
fn a_drain_tells_streams_and_closes_those_that_are_not_done_in_time() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = stage.client().unwrap();
    let late = number_of(Act::Late);
    client.open(&stage.world, late, b"");
    stage.talk(&mut client, 1);
    stage.scheduler.service().drains = true;
    client.open(&stage.world, late + ACTS, b"");
    client.step(&stage.world, 100);
    stage.rest();
    stage.world.advance(200_000_000);
    stage.rest();
    assert_eq!(stage.scheduler.service().draining, 3, "the carrier and its streams");
    stage.world.advance(2_000_000_000);
    stage.rest();
    let service = stage.scheduler.service();
    let done = service.streams_closed.iter().filter(|why| **why == CloseReason::Finished).count();
    assert_eq!((done, service.streams_closed.len()), (2, 2), "what was begun is done");
    stage.world.advance(20_000_000_000);
    stage.rest();
    assert_eq!(stage.closed(CloseReason::Stopped), 1, "the carrier did not want to end");
    stage.assert_nothing_is_left();
}

#[test]
fn at_the_end_of_a_drain_streams_are_stopped_with_their_carrier() {
    let mut stage = Stage::new(1, Faults::none());
    let mut client = stage.client().unwrap();
    client.open(&stage.world, number_of(Act::Large), b"");
    stage.talk(&mut client, 1);
    // Its window stays closed.
    client.dialogs.clear();
    stage.scheduler.service().drains = true;
    client.open(&stage.world, number_of(Act::Echo), b"");
    client.step(&stage.world, 100);
    stage.rest();
    stage.world.advance(11_000_000_000);
    stage.rest();
    let streams = &stage.scheduler.service().streams_closed;
    assert_eq!(streams[..], [CloseReason::Finished, CloseReason::Stopped]);
    assert_eq!(stage.closed(CloseReason::Stopped), 2, "the carrier, too");
    stage.assert_nothing_is_left();
}

#[test]
fn everything_comes_through_whatever_the_network_does() {
    let mut whole = 0;
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let mut stage = Stage::new(seed, Faults::drawn(&mut random));
        let mut clients: Vec<Client> = (0..3).filter_map(|_| stage.client()).collect();
        let said = text(1 + random.index(2_000));
        for turn in 0..1_500_u16 {
            stage.world.advance(random.below(3_000_000));
            stage.turn();
            for client in &mut clients {
                if turn % 50 == 0 {
                    let number = turn / 5 + random.index(10) as u16;
                    client.open(&stage.world, number, &said);
                }
                if random.below(100) == 0
                    && let Some(number) = client.dialogs.keys().next_back().copied()
                {
                    client.reset(&stage.world, number);
                }
                let piece = 1 + random.index(200);
                client.step(&stage.world, piece);
            }
        }
        for _ in 0..1_000 {
            stage.world.advance(50_000_000);
            stage.rest();
            clients.iter_mut().for_each(|client| client.step(&stage.world, 200));
        }
        let mut cut = 0;
        for client in &clients {
            let is_open = stage.world.client_state(client.id) == ClientState::Open;
            for (number, dialog) in &client.dialogs {
                let (heard, seen) = expected(*number, &said);
                assert!(heard.starts_with(&dialog.heard), "seed {seed}, stream {number}");
                if dialog.seen == Seen::End {
                    assert!(dialog.heard == heard, "seed {seed}, stream {number} is cut");
                    whole += 1;
                }
                if is_open {
                    let got = dialog.heard.len();
                    // A network may be too slow for the minimum rate.
                    let is_cut = dialog.seen == Seen::Reset && seen == Seen::End;
                    cut += u64::from(is_cut);
                    let place = || format!("seed {seed}, stream {number}: {got} bytes");
                    assert!(is_cut || dialog.seen == seen, "{}, {:?}", place(), dialog.seen);
                }
            }
            stage.world.client_close(client.id);
        }
        assert!(cut <= stage.closed(CloseReason::SlowReader), "seed {seed}: {cut} were cut");
        for _ in 0..300 {
            stage.world.advance(1_000_000_000);
            stage.rest();
        }
        stage.assert_nothing_is_left();
    }
    assert!(whole > 1_000, "{whole} streams came to their end");
}
