//! Answers that are sent together: the processes of a turn run one after the other, then their answers are sent.

use runtime::limits::{GROUP_ANSWER_BYTES, GROUP_PROCESSES};
use runtime::scheduler::SchedulerSettings;
use world::{ClientId, ClientState, Faults, Stall};

use crate::turns::bench::{Bench, LONG_ANSWER, bench_with};

/// Clients that have sent a line each before the scheduler runs.
fn crowd(count: usize, line: impl Fn(usize) -> Vec<u8>) -> (Bench, Vec<ClientId>) {
    let settings = SchedulerSettings { connections: 1_000, ..SchedulerSettings::default() };
    let mut bench = bench_with(Faults::none(), settings);
    let clients: Vec<ClientId> = (0..count).map(|_| bench.connect()).collect();
    for client in &clients {
        assert_eq!(bench.ask(*client, b"first\n"), b"first\n");
    }
    for (number, client) in clients.iter().enumerate() {
        bench.world.client_send(*client, &line(number));
    }
    (bench, clients)
}

#[test]
fn each_of_a_crowd_gets_its_own_answer() {
    for count in 1..3 * GROUP_PROCESSES {
        let (mut bench, clients) = crowd(count, |number| format!("line {number}\n").into_bytes());
        let before = bench.scheduler.stats().sends;
        bench.turn();
        for (number, client) in clients.iter().enumerate() {
            let received = bench.world.client_received(*client);
            assert_eq!(received, format!("line {number}\n").as_bytes(), "of {count}");
        }
        assert_eq!(bench.scheduler.stats().sends - before, count as u64, "one write for each");
    }
}

#[test]
fn a_panic_loses_no_answer_of_others() {
    let line = |number| if number == 2 { b"panic\n".to_vec() } else { b"hello\n".to_vec() };
    let (mut bench, clients) = crowd(5, line);
    bench.turn();
    for (number, client) in clients.iter().enumerate() {
        if number == 2 {
            assert_eq!(bench.world.client_state(*client), ClientState::Reset);
        } else {
            assert_eq!(bench.world.client_received(*client), b"hello\n", "client {number}");
        }
    }
}

#[test]
fn a_reader_that_stalls_and_one_that_resets_hold_up_nobody() {
    let (mut bench, clients) = crowd(6, |_| b"hello\n".to_vec());
    bench.world.client_stall(clients[1], Stall::Reading);
    bench.world.client_send(clients[1], &b"long\n".repeat(GROUP_ANSWER_BYTES / LONG_ANSWER));
    bench.world.client_reset(clients[3]);
    bench.turn();
    for client in [0, 2, 4, 5] {
        assert_eq!(bench.world.client_received(clients[client]), b"hello\n", "client {client}");
    }
    bench.world.client_stall(clients[1], Stall::Nothing);
    bench.turn();
    assert!(bench.world.client_received(clients[1]).starts_with(b"hello\n"));
    assert_eq!(bench.scheduler.processes(), 5);
}

#[test]
fn behind_a_long_run_the_answers_that_wait_leave_before_anybody_else_runs() {
    for (second, seen) in [("fast\n", "0 bytes\n"), ("slow\n", "6 bytes\n")] {
        let lines = ["hello\n", second, "look\n"];
        let (mut bench, clients) = crowd(3, |number| lines[number].into());
        let watched = (bench.world.clone(), clients[0]);
        bench.scheduler.service().watched = Some(watched);
        bench.turn();
        assert_eq!(bench.world.client_received(clients[2]), seen.as_bytes(), "behind {second}");
    }
}

#[test]
fn a_crowd_that_connects_and_asks_at_once_is_answered() {
    let settings = SchedulerSettings { connections: 1_000, ..SchedulerSettings::default() };
    let mut bench = bench_with(Faults::none(), settings);
    let clients: Vec<ClientId> = (0..50).map(|_| bench.connect()).collect();
    for client in &clients {
        bench.world.client_send(*client, b"hello\n");
    }
    bench.turn();
    for client in &clients {
        assert_eq!(bench.world.client_received(*client), b"hello\n");
    }
}

#[test]
fn an_answer_and_the_end_behind_it_arrive_in_this_order() {
    let (mut bench, clients) = crowd(4, |_| b"hello\n".to_vec());
    bench.world.client_end_output(clients[0]);
    bench.world.client_end_output(clients[2]);
    while bench.scheduler.processes() > 2 {
        bench.turn();
    }
    for client in &clients {
        assert_eq!(bench.world.client_received(*client), b"hello\n");
    }
}
