//! The client that gives memory back when it is short: the one that holds most.

use runtime::Peer;
use runtime::scheduler::SchedulerSettings;
use runtime::service::CloseReason;
use world::{ClientId, ClientState, Faults, Stall};

use crate::turns::bench::{LONG_ANSWER, address, bench_with};
use crate::turns::filled::{LIMIT, closed, empty, fill, held, hold, release, state};

#[test]
fn from_ninety_five_percent_on_who_has_begun_most_is_told_so() {
    let mut bench = empty();
    let idle = bench.connect();
    assert_eq!(bench.ask(idle, b"hello\n"), b"hello\n");
    let less: Vec<ClientId> = (0..3).map(|_| hold(&mut bench, 50_000)).collect();
    let most = hold(&mut bench, 60_000);
    let rest = 380_000 - 1 - held(&bench);
    fill(&mut bench, rest);
    let last = bench.connect();
    bench.turn();
    assert_eq!(state(&bench, most), ClientState::Open, "one byte below the threshold");
    bench.ask(last, b"h");
    assert_eq!(bench.world.client_received(most), b"later\n");
    assert_eq!(state(&bench, most), ClientState::EndedByServer);
    assert_eq!(held(&bench), 320_000, "all of it is let go at once");
    for client in less {
        assert_eq!(bench.ask(client, b"\n").len(), 50_001, "who holds less goes on");
    }
    assert_eq!(bench.ask(idle, b"hello\n"), b"hello\n", "and so does who holds nothing");
    assert_eq!(bench.scheduler.stats().ended_for_memory, 1);
    assert_eq!(closed(&bench, CloseReason::Evicted), 0);
}

#[test]
fn largest_holder_that_does_not_end_is_closed() {
    let mut bench = empty();
    let stubborn = bench.connect();
    assert_eq!(bench.ask(stubborn, b"keep on\nhold 300000\n"), b"keep on\nheld\n");
    fill(&mut bench, 79_999);
    let last = bench.connect();
    bench.ask(last, b"h");
    assert_eq!(state(&bench, stubborn), ClientState::EndedByServer);
    assert_eq!(closed(&bench, CloseReason::Aborted), 1);
    assert_eq!(held(&bench), 80_000);
}

#[test]
fn state_of_process_is_charged_until_it_ends() {
    let mut bench = empty();
    let [first, second, third] = [(); 3].map(|()| bench.connect());
    assert_eq!(bench.ask(first, b"hold 50000\n"), b"held\n");
    assert_eq!(bench.ask(second, b"hold 70000\n"), b"held\n");
    assert_eq!(held(&bench), 120_000);
    assert_eq!(bench.ask(first, b"hold 20000\n"), b"held\n");
    assert_eq!(held(&bench), 90_000);
    assert_eq!(bench.ask(third, b"hold 30000\n"), b"held\n");
    release(&mut bench, &[second]);
    assert_eq!(held(&bench), 50_000);
    bench.ask(first, b"hold 1000\npanic\n");
    assert_eq!(bench.scheduler.stats().panics, 1);
    assert_eq!(held(&bench), 30_000, "also if it panics after a change");
    bench.ask(third, b"bye\n");
    assert_eq!(held(&bench), 0);
}

#[test]
fn connections_of_one_address_share_memory_account() {
    let mut bench = empty();
    let peer = |number: u8, port: u16| Peer { address: [192, 0, 2, number].into(), port };
    let line = |bytes: usize| format!("hold {bytes}\n").into_bytes();
    // The first has one connection that holds more than each of the second.
    let one = bench.world.connect_from(&address(), peer(1, 9)).unwrap();
    bench.ask(one, &line(90_000));
    let many: Vec<ClientId> = (0..7)
        .map(|port| {
            let client = bench.world.connect_from(&address(), peer(2, port)).unwrap();
            bench.ask(client, &line(40_000 + usize::from(port)));
            client
        })
        .collect();
    let last = bench.connect();
    bench.ask(last, &line(10_000));
    bench.turn();
    assert_eq!(state(&bench, one), ClientState::Open);
    assert_eq!(bench.world.client_received(many[6]), b"later\n", "the largest of them");
    let open = many.iter().filter(|client| state(&bench, **client) == ClientState::Open).count();
    assert_eq!(open, 6, "and no more than is necessary");
}

#[test]
fn from_ninety_five_percent_on_the_largest_outputs_are_reset_and_idle_connections_stay() {
    let mut bench = empty();
    let idle = bench.connect();
    assert_eq!(bench.ask(idle, b"hello\n"), b"hello\n");
    let [more, less] = [bench.connect(), bench.connect()];
    for (client, lines) in [(more, 4), (less, 3)] {
        bench.world.client_stall(client, Stall::Reading);
        bench.ask(client, &b"long\n".repeat(lines));
    }
    let rest = LIMIT * 95 / 100 - held(&bench);
    fill(&mut bench, rest - 1);
    let last = bench.connect();
    assert_eq!(state(&bench, more), ClientState::Open, "one byte below the threshold");
    bench.ask(last, b"h");
    bench.turn();
    assert_eq!(state(&bench, more), ClientState::Reset);
    assert_eq!(state(&bench, less), ClientState::Open, "there is room again");
    assert_eq!(bench.ask(idle, b"hello\n"), b"hello\n");
    let reasons = [CloseReason::OutboxFull, CloseReason::Evicted];
    assert_eq!(reasons.map(|reason| closed(&bench, reason)), [1, 0]);
}

#[test]
fn a_process_that_becomes_large_again_is_found_again() {
    const LIMIT: usize = 100_000;
    let settings = SchedulerSettings {
        connections: 100,
        buffered_bytes: LIMIT,
        ..SchedulerSettings::default()
    };
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
