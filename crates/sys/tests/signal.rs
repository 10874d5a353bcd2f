//! Signals, each test in a process of its own. The test blocks the signals before it starts that process: the
//! mask is inherited, so every thread of the test program there has them blocked, as threads of a server do.

mod child;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use sys::signal::{
    Signal, SignalSet, block_all, ignore_broken_pipe, send, send_to_self, unblock_in, wait,
    wait_timeout,
};

const LONG: Duration = Duration::from_secs(10);

fn in_child_with_blocked_signals(test: &str, body: impl FnOnce()) {
    block_all();
    child::in_child(test, body);
}

#[test]
fn every_signal_is_received_as_what_it_is() {
    in_child_with_blocked_signals("every_signal_is_received_as_what_it_is", || {
        for signal in Signal::ALL {
            send_to_self(signal).expect("a process may signal itself");
            assert_eq!(wait(&SignalSet::all()).expect("waiting works"), signal);
        }
    });
}

#[test]
fn only_the_wanted_signals_end_a_wait() {
    in_child_with_blocked_signals("only_the_wanted_signals_end_a_wait", || {
        let wanted: SignalSet = [Signal::Hangup, Signal::User1].into_iter().collect();
        assert_eq!(format!("{wanted:?}"), "{Hangup, User1}");
        send_to_self(Signal::Terminate).expect("a process may signal itself");
        assert_eq!(wait_timeout(&wanted, Duration::ZERO).expect("waiting works"), None);
        send_to_self(Signal::User1).expect("a process may signal itself");
        assert_eq!(wait_timeout(&wanted, LONG).expect("waiting works"), Some(Signal::User1));
        let rest = wait_timeout(&SignalSet::all(), LONG).expect("waiting works");
        assert_eq!(rest, Some(Signal::Terminate), "it was kept");
    });
}

#[test]
fn a_wait_with_a_bound_ends() {
    in_child_with_blocked_signals("a_wait_with_a_bound_ends", || {
        let bound = Duration::from_millis(20);
        let begin_ns = sys::clock::monotonic_ns();
        assert_eq!(wait_timeout(&SignalSet::all(), bound).expect("waiting works"), None);
        assert!(sys::clock::monotonic_ns() - begin_ns >= 20_000_000);
    });
}

#[test]
fn a_signal_reaches_a_thread_that_already_waits() {
    in_child_with_blocked_signals("a_signal_reaches_a_thread_that_already_waits", || {
        let waiting = std::thread::spawn(|| wait_timeout(&SignalSet::all(), LONG));
        send_to_self(Signal::Interrupt).expect("a process may signal itself");
        let received = waiting.join().expect("no panic").expect("waiting works");
        assert_eq!(received, Some(Signal::Interrupt));
    });
}

#[test]
fn a_program_that_begins_unblocked_is_ended_by_a_signal() {
    in_child_with_blocked_signals("a_program_that_begins_unblocked_is_ended_by_a_signal", || {
        let mut command = Command::new("sleep");
        let mut sleeper = unblock_in(command.arg("10")).spawn().expect("sleep is there");
        send(sleeper.id(), Signal::Terminate).expect("a child may be signalled");
        let status = sleeper.wait().expect("it ends");
        assert_eq!(status.signal(), Some(15), "{status}");
    });
}

#[test]
fn nobody_is_not_everybody() {
    // To the kernel zero is the whole process group, and numbers beyond i32 are negative: groups too.
    for process in [0, u32::MAX, 1 << 31] {
        assert!(send(process, Signal::Hangup).is_err(), "{process}");
    }
}

#[test]
fn a_broken_pipe_is_an_error_and_not_the_end() {
    child::in_child("a_broken_pipe_is_an_error_and_not_the_end", || {
        ignore_broken_pipe();
        let (reader, writer) = rustix::pipe::pipe().expect("room for a pipe");
        drop(reader);
        let error = rustix::io::write(&writer, b"x").expect_err("nobody reads");
        assert_eq!(error, rustix::io::Errno::PIPE);
    });
}
