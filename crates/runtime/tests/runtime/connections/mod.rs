//! Connections that a service makes, in simulated worlds.
//!
//! Tests what the runtime adds to the pollset's contract: a process for each connection from its beginning, its
//! modes, its deadline, the limits, and one report of its end. `caller` has the service and its world.

mod caller;

use std::io::ErrorKind;

use runtime::limits::CONNECTS_PER_TURN;
use runtime::scheduler::SchedulerSettings;
use runtime::service::{CloseReason, Event, SchedulerCommand};
use world::{ALWAYS, ClientState, Faults, Random, Stall};

use crate::connections::caller::{Heard, Stage, call, quiet_stage, remote, stage};

const SECOND_NS: u64 = 1_000_000_000;

/// Connections take a while to be established.
fn late() -> Faults {
    Faults { connect_late: ALWAYS, delay_ns_maximum: 100_000_000, ..Faults::none() }
}

/// A stage on which one connection, with ticket 1, is not established yet.
fn pending_stage(faults: Faults) -> Stage {
    let mut stage = stage(1, faults, SchedulerSettings::default());
    stage.wish([call(1)]);
    stage.turn();
    assert_eq!(stage.take_heard(), [Heard::Begun(1)]);
    assert_eq!((stage.scheduler.processes(), stage.scheduler.stats().processes[0]), (1, 1));
    stage
}

#[test]
fn a_connection_that_stands_at_once_speaks_in_the_same_run() {
    let mut stage = quiet_stage();
    stage.wish([call(1)]);
    stage.turn_once();
    assert_eq!(stage.caller().starts, 1);
    let client = stage.accept();
    assert_eq!(stage.world.client_received(client), b"hello", "and nothing that came too early");
    assert_eq!(stage.scheduler.stats().sends, 1);
    assert_eq!(stage.take_heard(), [Heard::Begun(1), Heard::Of(1, Event::Connected)]);
    stage.world.client_send(client, b"answer");
    stage.turn();
    assert_eq!(stage.take_heard(), [Heard::Input(1, b"answer".to_vec())]);
    stage.world.client_close(client);
    stage.turn();
    let ended = [Heard::Of(1, Event::InputEnded), Heard::Closed(1, CloseReason::Finished)];
    assert_eq!(stage.take_heard(), ended);
    let stats = stage.scheduler.stats();
    assert_eq!((stats.connects, stats.connects_refused, stats.connects_failed), (1, 0, 0));
    assert_eq!((stage.caller().starts, stage.scheduler.processes()), (1, 0));
    assert_eq!(stage.world.open_descriptors(0), 0);
}

#[test]
fn a_connection_that_takes_its_time_speaks_when_it_stands() {
    let mut stage = pending_stage(late());
    stage.turn_for(SECOND_NS);
    let client = stage.accept();
    assert_eq!(stage.world.client_received(client), b"hello");
    assert_eq!(stage.take_heard(), [Heard::Of(1, Event::Connected)]);
    stage.world.client_send(client, b"answer");
    stage.turn_for(SECOND_NS);
    assert_eq!(stage.take_heard(), [Heard::Input(1, b"answer".to_vec())]);
    assert_eq!(stage.scheduler.stats().sends, 1);
}

#[test]
fn a_report_for_nothing_is_no_connection() {
    let mut stage = pending_stage(late());
    stage.world.set_faults(Faults { spurious: ALWAYS, ..late() });
    for _ in 0..10 {
        stage.turn_once();
    }
    assert!(stage.scheduler.stats().events >= 10, "it was reported");
    assert_eq!(stage.take_heard(), []);
    stage.world.set_faults(late());
    stage.turn_for(SECOND_NS);
    assert_eq!(stage.take_heard(), [Heard::Of(1, Event::Connected)]);
}

/// The result of a command may be the reason for the next one.
#[test]
fn the_service_is_asked_once_more_before_a_sleep() {
    let mut stage = quiet_stage();
    stage.wish([call(1)]);
    stage.turn();
    let id = stage.id(1);
    for wish in [SchedulerCommand::Run(id), call(2)] {
        stage.wish([wish]);
        stage.turn_once();
        assert_eq!(stage.scheduler.next_due_ns(), Some(0));
        stage.turn_once();
        assert_eq!(stage.scheduler.next_due_ns(), None);
    }
}

#[test]
fn output_that_has_no_room_leaves_however_the_connection_came_to_stand() {
    for faults in [Faults::none(), late()] {
        let mut stage = stage(1, faults, SchedulerSettings::default());
        stage.caller().hello = vec![b'x'; 500_000];
        stage.wish([call(1)]);
        let client = loop {
            stage.turn_once();
            if let Some((client, _)) = stage.world.accept_remote(&remote()) {
                break client;
            }
            stage.world.advance(1_000_000);
        };
        stage.turn_once();
        stage.world.client_stall(client, Stall::Reading);
        stage.turn_for(SECOND_NS);
        let mut received = stage.world.client_received(client);
        assert!(received.len() < 500_000, "it does not fit");
        assert!(stage.scheduler.stats().sends_blocked > 0);
        stage.world.client_stall(client, Stall::Nothing);
        while received.len() < 500_000 {
            stage.turn();
            let more = stage.world.client_received(client);
            assert!(!more.is_empty(), "stopped after {} bytes", received.len());
            received.extend(more);
        }
        assert!(stage.take_heard().contains(&Heard::Of(1, Event::OutputDrained)));
        // And once more: the next send that finds no room is reported, too.
        let id = stage.id(1);
        stage.wish([SchedulerCommand::Run(id)]);
        stage.turn();
        assert_eq!(stage.world.client_received(client), b"again");
        assert_eq!(stage.scheduler.stats().buffered_bytes, 0);
    }
}

#[test]
fn a_connection_refused_at_once_makes_no_process() {
    let mut stage = quiet_stage();
    stage.world.close_remote(&remote());
    stage.wish([call(1)]);
    stage.turn();
    assert_eq!(stage.take_heard(), [Heard::NotBegun(1, ErrorKind::ConnectionRefused)]);
    assert_eq!((stage.scheduler.processes(), stage.scheduler.stats().connects_refused), (0, 1));
}

#[test]
fn a_connection_that_comes_to_nothing_ends_whatever_it_wants() {
    let mut stage = pending_stage(Faults { refused: ALWAYS, ..late() });
    stage.turn_for(SECOND_NS);
    let failed = Event::ConnectFailed(ErrorKind::ConnectionRefused);
    assert_eq!(
        stage.take_heard(),
        [Heard::Of(1, failed), Heard::Closed(1, CloseReason::Failed)],
        "it wants to read on"
    );
    let stats = stage.scheduler.stats();
    assert_eq!((stats.connects, stats.connects_failed), (1, 1));
    assert_eq!(stage.world.open_descriptors(0), 0);
}

#[test]
fn a_connection_reset_before_anybody_looked_has_failed() {
    let mut stage = pending_stage(Faults { cut_connection: ALWAYS, ..late() });
    stage.turn_for(SECOND_NS);
    let failed = Event::ConnectFailed(ErrorKind::ConnectionReset);
    assert_eq!(stage.take_heard(), [Heard::Of(1, failed), Heard::Closed(1, CloseReason::Failed)]);
}

#[test]
fn a_connection_nobody_answers_meets_its_deadline() {
    let faults = Faults { unanswered: ALWAYS, ..Faults::none() };
    let mut stage = stage(1, faults, SchedulerSettings::default());
    stage.caller().deadline_ms = Some(2_000);
    stage.wish([call(1)]);
    stage.turn_for(SECOND_NS);
    assert_eq!(stage.take_heard(), [Heard::Begun(1)]);
    stage.turn_for(2 * SECOND_NS);
    let over = [Heard::Of(1, Event::DeadlineReached), Heard::Closed(1, CloseReason::Finished)];
    assert_eq!(stage.take_heard(), over);
    assert_eq!(stage.scheduler.stats().connects_failed, 1);
    assert_eq!(stage.world.open_descriptors(0), 0);
}

#[test]
fn a_connection_can_be_closed_before_it_stands() {
    let mut stage = pending_stage(late());
    let id = stage.id(1);
    stage.wish([SchedulerCommand::Close(id)]);
    stage.turn();
    assert_eq!(stage.take_heard(), [Heard::Closed(1, CloseReason::Aborted)]);
    stage.turn_for(SECOND_NS);
    assert_eq!(stage.take_heard(), []);
    assert!(stage.world.accept_remote(&remote()).is_none(), "the remote never heard of it");
}

#[test]
fn the_limits_of_connections_descriptors_and_ports_are_told_apart_from_failures() {
    let mut crowded = stage(
        1,
        Faults::none(),
        SchedulerSettings { connections: 10, ..SchedulerSettings::default() },
    );
    crowded.wish((0..15).map(call));
    crowded.turn();
    let refused = |ticket| Heard::NotBegun(ticket, ErrorKind::QuotaExceeded);
    let heard = crowded.take_heard();
    let last: Vec<_> = heard.iter().rev().take(5).rev().cloned().collect();
    assert_eq!(last, (10..15).map(refused).collect::<Vec<_>>());
    assert_eq!(crowded.scheduler.processes(), 10, "nobody was closed to make room");

    let mut poor = quiet_stage();
    poor.world.set_descriptor_limit(0, 1);
    poor.wish([call(1), call(2)]);
    poor.turn();
    assert_eq!(poor.take_heard().last(), Some(&refused(2)));

    let portless = Faults { no_port: ALWAYS, ..Faults::none() };
    let mut portless = stage(1, portless, SchedulerSettings::default());
    portless.wish([call(1)]);
    portless.turn();
    assert_eq!(portless.take_heard(), [Heard::NotBegun(1, ErrorKind::AddrNotAvailable)]);
}

#[test]
fn many_are_begun_over_several_turns_in_order() {
    let count = 3 * CONNECTS_PER_TURN as u64 + 1;
    let mut stage = stage(1, Faults::none(), SchedulerSettings::default());
    stage.wish((0..count).map(call));
    for turns in 1..=3 {
        stage.turn_once();
        assert_eq!(stage.scheduler.processes(), turns * CONNECTS_PER_TURN);
        assert_eq!(stage.scheduler.next_due_ns(), Some(0), "it does not sleep now");
    }
    stage.turn();
    let begun: Vec<_> = stage.caller().ids.iter().map(|(ticket, _)| *ticket).collect();
    assert_eq!(begun, (0..count).collect::<Vec<_>>());
    for _ in 0..count {
        let client = stage.accept();
        assert_eq!(stage.world.client_received(client), b"hello");
    }
    assert_eq!(stage.scheduler.next_due_ns(), None, "nothing is left to do");
}

#[test]
fn declined_or_failing_connection_ends_alone() {
    let mut stage = quiet_stage();
    (stage.caller().declined, stage.caller().cursed) = (Some(2), Some(3));
    stage.wish((1..=4).map(call));
    stage.turn();
    let [first, declined, cursed, last] = [(); 4].map(|()| stage.accept());
    assert_eq!(stage.world.client_received(first), b"hello");
    assert_eq!(stage.world.client_state(declined), ClientState::EndedByServer);
    assert_eq!(stage.world.client_state(cursed), ClientState::Reset);
    assert_eq!(stage.world.client_received(last), b"hello");
    let stats = stage.scheduler.stats();
    assert_eq!((stats.connects, stats.connects_refused, stats.panics), (3, 1, 1));
    assert_eq!((stage.scheduler.processes(), stage.world.open_descriptors(0)), (2, 2));
}

#[test]
fn a_process_is_run_whatever_it_waits_for() {
    let mut stage = quiet_stage();
    stage.wish([call(1)]);
    stage.turn();
    let (client, id) = (stage.accept(), stage.id(1));
    assert_eq!(stage.world.client_received(client), b"hello");
    let sends = stage.scheduler.stats().sends;
    stage.wish([SchedulerCommand::Run(id), SchedulerCommand::Run(id)]);
    stage.turn_once();
    assert_eq!(stage.world.client_received(client), b"againagain", "at the end of this turn");
    assert_eq!(stage.scheduler.stats().sends, sends + 2);
    stage.wish([SchedulerCommand::Close(id), SchedulerCommand::Run(id)]);
    stage.turn();
    assert_eq!(stage.take_heard().last(), Some(&Heard::Closed(1, CloseReason::Aborted)));

    let mut stage = pending_stage(late());
    let id = stage.id(1);
    stage.wish([SchedulerCommand::Run(id)]);
    stage.turn();
    assert_eq!(stage.take_heard(), [Heard::Of(1, Event::Resumed)]);
    stage.turn_for(SECOND_NS);
    let client = stage.accept();
    assert_eq!(stage.world.client_received(client), b"hello", "what came too early is not sent");
}

#[test]
fn a_drain_ends_what_does_not_stand_and_begins_nothing_when_it_is_over() {
    let mut stage = pending_stage(late());
    stage.wish([SchedulerCommand::Drain { deadline_ms: 1_000, idle_grace_ms: 500 }, call(2)]);
    stage.turn();
    assert_eq!(
        stage.take_heard(),
        [Heard::Of(1, Event::Draining), Heard::Closed(1, CloseReason::Finished), Heard::Begun(2)]
    );
    // A process that runs may wait for a connection to end; the deadline ends that, too.
    stage.turn_for(SECOND_NS);
    stage.take_heard();
    assert!(stage.scheduler.is_finished());
    stage.wish([call(3)]);
    stage.turn();
    assert_eq!(stage.take_heard(), [Heard::NotBegun(3, ErrorKind::Interrupted)]);
}

#[test]
fn a_drain_without_time_ends_everything_in_its_turn() {
    let mut stage = quiet_stage();
    stage.wish((0..50).map(call));
    stage.turn();
    stage.wish([SchedulerCommand::Drain { deadline_ms: 0, idle_grace_ms: 0 }]);
    stage.turn_once();
    assert!(stage.scheduler.is_finished());
    assert_eq!(stage.world.open_descriptors(0), 0);
}

/// Remotes that echo, in a world with all faults: every requested connection
/// ends once, and is counted once.
#[test]
fn whatever_goes_wrong_each_is_told_its_end_once() {
    const CALLS: u64 = 100;
    for seed in 0..60 {
        let faults = Faults::drawn(&mut Random::new(seed));
        let mut stage = stage(
            seed,
            faults,
            SchedulerSettings { connections: 40, ..SchedulerSettings::default() },
        );
        stage.caller().deadline_ms = Some(3_000);
        let mut clients = Vec::new();
        for ticket in 0..CALLS {
            stage.wish([call(ticket)]);
            stage.turn_for(SECOND_NS / 20);
            while let Some((client, _)) = stage.world.accept_remote(&remote()) {
                clients.push(client);
            }
            for client in &clients {
                let bytes = stage.world.client_received(*client);
                stage.world.client_send(*client, &bytes);
            }
        }
        stage.turn_for(10 * SECOND_NS);
        assert_eq!(stage.scheduler.processes(), 0, "seed {seed}");
        assert_eq!(stage.world.open_descriptors(0), 0, "seed {seed}");
        check_ends(seed, &mut stage, CALLS);
    }
}

fn check_ends(seed: u64, stage: &mut Stage, calls: u64) {
    let heard = stage.take_heard();
    let count = |wanted: &dyn Fn(&Heard) -> bool| heard.iter().filter(|one| wanted(one)).count();
    let mut stood = 0;
    for ticket in 0..calls {
        let begun = count(&|one| *one == Heard::Begun(ticket));
        let refused = count(&|one| matches!(one, Heard::NotBegun(other, _) if *other == ticket));
        let closed = count(&|one| matches!(one, Heard::Closed(other, _) if *other == ticket));
        let connected = count(&|one| *one == Heard::Of(ticket, Event::Connected));
        assert_eq!((begun + refused, begun), (1, closed), "seed {seed}, ticket {ticket}");
        assert!(connected <= begun, "seed {seed}, ticket {ticket}");
        stood += connected as u64;
    }
    let stats = stage.scheduler.stats();
    assert_eq!(stats.connects + stats.connects_refused, calls, "seed {seed}");
    assert_eq!(stats.connects, stood + stats.connects_failed, "seed {seed}");
    assert_eq!(stats.panics, 0, "seed {seed}");
    assert!(seed > 0 || stood > 0, "some stand");
}
