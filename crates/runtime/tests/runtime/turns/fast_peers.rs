//! Which peers count as fast: more of their output may wait in the kernel.

use runtime::limits::{FAST_PEERS, TICK_MS};
use runtime::scheduler::SchedulerSettings;
use world::{ClientId, Faults, Stall};

use crate::turns::bench::{Bench, LONG_ANSWER, bench_with};

fn crowd() -> Bench {
    bench_with(
        Faults::none(),
        SchedulerSettings { connections: 1_000, ..SchedulerSettings::default() },
    )
}

/// Fills a client's socket; the client reads after this many milliseconds.
fn fill_and_read(bench: &mut Bench, client: ClientId, after_ms: u64) {
    let answers = 100_000 / LONG_ANSWER + 1;
    bench.world.client_stall(client, Stall::Reading);
    bench.world.client_send(client, &b"long\n".repeat(answers));
    bench.turn();
    assert!(bench.scheduler.stats().buffered_bytes > 0, "the socket is full");
    bench.world.advance(after_ms * 1_000_000);
    bench.world.client_stall(client, Stall::Nothing);
    bench.turn();
    assert_eq!(bench.world.client_received(client).len(), answers * LONG_ANSWER);
}

#[test]
fn a_peer_that_reads_at_once_is_fast_and_one_that_takes_its_time_is_not() {
    let mut bench = crowd();
    let (fast, slow) = (bench.connect(), bench.connect());
    fill_and_read(&mut bench, slow, 3 * TICK_MS);
    assert_eq!(bench.scheduler.stats().fast_peers, 0);
    fill_and_read(&mut bench, fast, 1);
    fill_and_read(&mut bench, fast, 1);
    assert_eq!(bench.scheduler.stats().fast_peers, 1, "it is counted once");
    bench.world.client_close(fast);
    bench.turn();
    assert_eq!(bench.scheduler.stats().fast_peers, 0, "its place is given back");
}

#[test]
fn so_many_peers_are_fast_and_no_more() {
    let mut bench = crowd();
    for _ in 0..FAST_PEERS + 3 {
        let client = bench.connect();
        fill_and_read(&mut bench, client, 1);
    }
    assert_eq!(bench.scheduler.stats().fast_peers, FAST_PEERS);
}
