//! A scheduler whose processes hold as many bytes as a test needs.

use runtime::limits::LARGE_HOLDERS;
use runtime::scheduler::SchedulerSettings;
use runtime::service::CloseReason;
use world::{ClientId, ClientState, Faults, Stall};

use crate::turns::bench::{Bench, bench_with};

/// One percent is four thousand bytes, and a process that holds 98 bytes holds much.
pub(crate) const LIMIT: usize = 400_000;

/// As many bytes as a process may hold without holding much.
pub(crate) const LITTLE: usize = LIMIT / LARGE_HOLDERS - 1;

/// A scheduler whose processes hold nothing.
pub(crate) fn empty() -> Bench {
    let settings = SchedulerSettings {
        connections: 10_000,
        buffered_bytes: LIMIT,
        ..SchedulerSettings::default()
    };
    bench_with(Faults::none(), settings)
}

/// Adds this many bytes, the beginning of one line.
pub(crate) fn hold(bench: &mut Bench, bytes: usize) -> ClientId {
    let client = bench.connect();
    let before = held(bench);
    assert_eq!(bench.ask(client, &vec![b'h'; bytes]), b"");
    assert_eq!(held(bench), before + bytes, "it is held, and not one byte more");
    client
}

/// Adds this many bytes, the beginnings of many lines of clients that hold little each.
pub(crate) fn fill(bench: &mut Bench, bytes: usize) -> Vec<ClientId> {
    let whole = (0..bytes / LITTLE).map(|_| LITTLE);
    let rest = Some(bytes % LITTLE).filter(|rest| *rest > 0);
    whole.chain(rest).map(|bytes| hold(bench, bytes)).collect()
}

/// More clients than may hold much.
pub(crate) fn crowd(bench: &mut Bench) -> Vec<ClientId> {
    let connect = |_| {
        let client = bench.connect();
        bench.turn();
        client
    };
    (0..LARGE_HOLDERS + 100).map(connect).collect()
}

/// Lets these clients hold little each until so many bytes are held.
pub(crate) fn hold_through(bench: &mut Bench, clients: &[ClientId], all: usize, little: usize) {
    for client in clients {
        let rest = all - held(bench);
        bench.ask(*client, &vec![b'h'; rest.min(little)]);
    }
    assert_eq!(held(bench), all);
}

pub(crate) fn held(bench: &Bench) -> usize {
    usize::try_from(bench.scheduler.stats().buffered_bytes).unwrap()
}

pub(crate) fn release(bench: &mut Bench, clients: &[ClientId]) {
    for client in clients {
        bench.world.client_reset(*client);
    }
    bench.turn();
}

pub(crate) fn closed(bench: &Bench, reason: CloseReason) -> u64 {
    bench.scheduler.stats().closed[reason as usize]
}

pub(crate) fn state(bench: &Bench, client: ClientId) -> ClientState {
    bench.world.client_state(client)
}

/// A client that reads nothing, and for which bytes are queued.
pub(crate) fn stalled(bench: &mut Bench) -> ClientId {
    let client = bench.connect();
    bench.world.client_stall(client, Stall::Reading);
    let before = held(bench);
    bench.ask(client, &b"long\n".repeat(2));
    assert!(held(bench) > before, "something waits for it");
    client
}
