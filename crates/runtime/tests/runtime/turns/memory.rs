//! When processes hold nearly all the memory they may: each threshold, and not one byte before it.

use runtime::limits::{LARGE_HOLDERS, TICK_MS};
use runtime::scheduler::SchedulerSettings;
use runtime::service::CloseReason;
use world::{ClientState, Faults, Stall};

use crate::turns::bench::{Bench, LONG_ANSWER, bench_with};
use crate::turns::filled::{
    LIMIT, LITTLE, closed, crowd, empty, fill, held, hold, hold_through, release, stalled, state,
};

#[test]
fn from_ninety_percent_on_nobody_for_whom_output_waits_is_read_until_there_is_room() {
    let mut bench = empty();
    let slow = stalled(&mut bench);
    let before = held(&bench);
    let first = fill(&mut bench, 339_999 - before);
    let second = fill(&mut bench, 20_000);
    assert_eq!(held(&bench), 359_999, "one byte below the threshold");
    let received = |bench: &Bench| bench.scheduler.stats().received_bytes;
    let so_far = received(&bench);
    bench.ask(slow, b"j");
    assert_eq!(received(&bench), so_far + 1, "it is read");
    assert_eq!(held(&bench), 360_000);
    bench.ask(slow, b"k\n");
    assert_eq!(received(&bench), so_far + 1, "it is not read");
    let other = bench.connect();
    assert_eq!(bench.ask(other, b"hello\n"), b"hello\n", "who holds nothing is");
    assert_eq!(
        bench.ask(first[0], b"i\n").len(),
        LITTLE + 2,
        "and who has begun a line may end it"
    );
    assert_eq!(bench.ask(first[0], &[b'h'; LITTLE]), b"");
    let so_far = received(&bench);
    release(&mut bench, &second[1..]);
    assert!(held(&bench) > 340_000, "{} bytes are held", held(&bench));
    assert_eq!(received(&bench), so_far, "that is not room enough");
    release(&mut bench, &first[1..3]);
    bench.turn();
    assert_eq!(received(&bench), so_far + 2, "there is room again");
}

#[test]
fn reading_resumes_when_answers_are_taken() {
    let mut bench = empty();
    let slow = stalled(&mut bench);
    let rest = 360_000 - held(&bench);
    fill(&mut bench, rest);
    let received = bench.scheduler.stats().received_bytes;
    bench.ask(slow, b"long\n");
    assert_eq!(
        bench.scheduler.stats().received_bytes,
        received,
        "its requests stay where they are"
    );
    bench.world.client_stall(slow, Stall::Nothing);
    bench.turn();
    // It holds nothing any more: no other has to release memory first.
    assert_eq!(bench.world.client_received(slow).len(), 3 * LONG_ANSWER);
}

#[test]
fn if_all_hold_little_the_largest_of_them_end_once_in_a_tick() {
    let mut bench = empty();
    let idle = bench.connect();
    assert_eq!(bench.ask(idle, b"hello\n"), b"hello\n");
    let clients = crowd(&mut bench);
    let (largest, others) = clients.split_at(2);
    for client in largest {
        bench.ask(*client, &[b'h'; LITTLE]);
    }
    hold_through(&mut bench, others, 379_999, LITTLE - 1);
    let mut last = others.iter().rev();
    assert_eq!(bench.scheduler.stats().ended_for_memory, 0, "one byte below the threshold");
    bench.ask(*last.next().unwrap(), b"h");
    let told = |bench: &Bench| {
        largest.iter().filter(|one| state(bench, **one) != ClientState::Open).count()
    };
    assert_eq!((told(&bench), held(&bench)), (1, 380_000 - LITTLE));
    bench.ask(*last.next().unwrap(), &[b'h'; LITTLE - 1]);
    bench.ask(*last.next().unwrap(), b"h");
    assert_eq!((told(&bench), held(&bench)), (1, 380_000), "not again in this tick");
    bench.world.advance(TICK_MS * 1_000_000);
    bench.turn();
    assert_eq!((told(&bench), held(&bench)), (2, 380_000 - LITTLE));
    assert_eq!(bench.scheduler.stats().ended_for_memory, 2);
    assert_eq!(bench.ask(idle, b"hello\n"), b"hello\n", "who holds nothing goes on");
}

#[test]
fn from_ninety_eight_percent_on_new_connections_are_told_so() {
    let mut bench = empty();
    let clients = crowd(&mut bench);
    let (last, others) = clients.split_at(1);
    hold_through(&mut bench, others, 391_999, LITTLE);
    let before = bench.connect();
    assert_eq!(bench.ask(before, b"hello\n"), b"hello\n", "one byte below the threshold");
    assert_eq!(bench.scheduler.stats().accepts_overloaded, 0);
    bench.ask(last[0], b"h");
    let turned_away = bench.connect();
    assert_eq!(bench.ask(turned_away, b"hello\n"), b"later\n");
    assert_eq!(state(&bench, turned_away), ClientState::EndedByServer);
    assert_eq!(held(&bench), 392_000, "and cost no memory");
    let stats = bench.scheduler.stats();
    assert_eq!((stats.accepts_overloaded, stats.accepts_refused), (1, 0));
    release(&mut bench, last);
    let after = bench.connect();
    assert_eq!(bench.ask(after, b"hello\n"), b"hello\n");
}

#[test]
fn at_the_limit_nobody_is_read() {
    let mut bench = empty();
    let clients = crowd(&mut bench);
    let (others, holders) = clients.split_at(2);
    hold_through(&mut bench, holders, LIMIT - 1, LITTLE);
    assert_eq!(bench.ask(others[0], b"hello\nh"), b"hello\n", "one byte is left");
    assert_eq!(held(&bench), LIMIT);
    assert_eq!(bench.ask(others[1], b"hello\n"), b"", "none is left");
    assert_eq!(held(&bench), LIMIT);
    assert_eq!(state(&bench, others[1]), ClientState::Open);
    release(&mut bench, &holders[..1_000]);
    bench.turn();
    assert_eq!(bench.world.client_received(others[1]), b"hello\n", "there is room again");
}

#[test]
fn closing_connection_returns_its_memory() {
    let mut bench = empty();
    let [first, second, third] = [50_000, 60_000, 40_000].map(|bytes| hold(&mut bench, bytes));
    bench.world.client_send(first, b"more");
    bench.turn();
    bench.world.client_close(first);
    bench.turn();
    assert_eq!(held(&bench), 100_000);
    bench.world.client_send(second, b"no end of it");
    bench.world.client_end_output(second);
    bench.turn();
    assert_eq!(held(&bench), 40_000);
    assert_eq!(closed(&bench, CloseReason::Finished), 2);
    assert_eq!(state(&bench, third), ClientState::Open);
}

#[test]
fn only_reader_that_takes_nothing_is_reset() {
    let mut bench = empty();
    fill(&mut bench, 350_000);
    let slow = bench.connect();
    bench.world.client_stall(slow, Stall::Reading);
    // As much as the socket takes, and as much as may wait.
    let other = bench.connect();
    for _ in 0..10 {
        bench.ask(slow, b"long\n");
        assert!(held(&bench) <= LIMIT, "{} bytes are held", held(&bench));
    }
    assert_eq!(closed(&bench, CloseReason::OutboxFull), 1);
    assert_eq!(held(&bench), 350_000, "what it held is free again");
    assert_eq!(state(&bench, slow), ClientState::Reset);
    assert_eq!(bench.ask(other, b"hello\n"), b"hello\n");
}

#[test]
fn process_without_growth_is_not_reset_for_others() {
    let mut bench = empty();
    let slow = stalled(&mut bench);
    let largest = bench.connect();
    assert_eq!(bench.ask(largest, b"hold 200000\n"), b"held\n");
    let others = crowd(&mut bench);
    hold_through(&mut bench, &others[250..], 379_000, LITTLE);
    // In one turn more is received than there is room for, and the slow one takes something.
    for other in &others[..250] {
        bench.world.client_send(*other, &[b'h'; LITTLE]);
    }
    assert_eq!(bench.world.client_read(slow, 50_000).len(), 50_000);
    bench.turn();
    let most = bench.scheduler.stats().buffered_bytes_max;
    assert!(most > LIMIT as u64, "{most} bytes were held");
    assert_eq!(closed(&bench, CloseReason::OutboxFull), 0);
    assert_eq!(bench.world.client_received(largest), b"later\n");
    bench.world.client_stall(slow, Stall::Nothing);
    bench.turn();
    assert_eq!(bench.world.client_received(slow).len(), 2 * LONG_ANSWER - 50_000);
}

#[test]
fn a_small_output_is_kept_when_others_hold_all_the_memory() {
    const MIB: usize = 1024 * 1024;
    let settings = SchedulerSettings {
        connections: 6_000,
        buffered_bytes: MIB,
        ..SchedulerSettings::default()
    };
    let mut bench = bench_with(Faults::none(), settings);
    // The longest idle is closed first.
    let idle = bench.connect();
    assert_eq!(bench.ask(idle, b"hello\n"), b"hello\n");
    let line = [[b'x'; 99].as_slice(), b"\n"].concat();
    bench.world.advance(TICK_MS * 1_000_000);
    let crowd = crowd(&mut bench);
    let [other, small] = [bench.connect(), bench.connect()];
    let mut lines = 0;
    bench.world.client_stall(other, Stall::Reading);
    while held(&bench) == 0 {
        bench.ask(other, &line);
        lines += 1;
    }
    release(&mut bench, &[other]);
    bench.world.client_stall(small, Stall::Reading);
    for _ in 1..lines {
        bench.ask(small, &line);
    }
    assert_eq!(held(&bench), 0, "its socket has no room for one more line, and nothing waits");
    hold_through(&mut bench, &crowd, MIB - 1, MIB / LARGE_HOLDERS - 1);
    bench.ask(small, &line);
    assert!(held(&bench) > MIB, "{} bytes are held", held(&bench));
    assert_eq!(bench.world.client_state(small), ClientState::Open);
    bench.world.client_stall(small, Stall::Nothing);
    bench.turn();
    assert_eq!(bench.world.client_received(small).len(), lines * line.len());
}
