//! Signals, each test in a separate process. The test blocks the signals before it starts that process: the
//! mask is inherited, so every thread of the test program has them blocked, like the threads of a server.

mod child;

use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use sys::signal::{
    Inbox, Signal, SignalArrival, SignalSet, block_all, ignore_broken_pipe, send, send_to_self,
    unblock_in, wait_timeout,
};

const LONG: Duration = Duration::from_secs(10);

fn in_child_with_blocked_signals(test: &str, body: impl FnOnce()) {
    block_all();
    child::in_child(test, body);
}

/// A thread that waits at an inbox for each of these signals once.
struct Waiting {
    directory: String,
    thread: JoinHandle<Vec<Signal>>,
}

impl Waiting {
    /// Returns when it sleeps.
    fn start(signals: &'static [Signal]) -> Self {
        let (sender, receiver) = channel();
        let thread = spawn(move || {
            let inbox = Inbox::new(signals.iter().copied().collect()).expect("handlers can be set");
            sender.send(rustix::thread::gettid()).expect("somebody waits for it");
            let arrivals = signals.iter().map(|_| inbox.wait(None, None).expect("waiting works"));
            let signal_of = |arrival| match arrival {
                SignalArrival::Signal(signal) => signal,
                other => panic!("{other:?}"),
            };
            arrivals.map(signal_of).collect()
        });
        let number = receiver.recv().expect("it begins").as_raw_nonzero();
        let waiting = Self { directory: format!("/proc/self/task/{number}"), thread };
        while waiting.told("State:") != "S (sleeping)" {
            std::thread::yield_now();
        }
        waiting
    }

    /// A field of its status in /proc.
    fn told(&self, name: &str) -> String {
        let status = std::fs::read_to_string(format!("{}/status", self.directory));
        let status = status.expect("it is there");
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        value.expect("the kernel tells it").trim().to_owned()
    }
}

#[test]
fn every_signal_is_received_as_what_it_is() {
    in_child_with_blocked_signals("every_signal_is_received_as_what_it_is", || {
        for signal in Signal::ALL {
            send_to_self(signal).expect("a process may signal itself");
            let received = wait_timeout(&SignalSet::all(), LONG).expect("waiting works");
            assert_eq!(received, Some(signal));
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
fn an_inbox_has_signals_first_and_then_what_there_is_to_read() {
    in_child_with_blocked_signals(
        "an_inbox_has_signals_first_and_then_what_there_is_to_read",
        || {
            let wanted = [Signal::Hangup, Signal::Terminate];
            let inbox = Inbox::new(wanted.into_iter().collect()).expect("handlers can be set");
            let (reader, writer) = rustix::pipe::pipe().expect("room for a pipe");
            let wait = |timeout| inbox.wait(Some(reader.as_fd()), timeout).expect("waiting works");
            assert_eq!(wait(Some(Duration::ZERO)), SignalArrival::Nothing);
            rustix::io::write(&writer, b"x").expect("there is room in it");
            for signal in [Signal::Terminate, Signal::User1, Signal::Hangup] {
                send_to_self(signal).expect("a process may signal itself");
            }
            let mut arrived = [wait(None), wait(None)];
            arrived.sort_by_key(|arrival| *arrival == SignalArrival::Signal(Signal::Terminate));
            assert_eq!(arrived, wanted.map(SignalArrival::Signal));
            assert_eq!(wait(None), SignalArrival::Readable);
            assert_eq!(wait(Some(Duration::ZERO)), SignalArrival::Readable, "nobody has read it");
            let rest = wait_timeout(&SignalSet::all(), Duration::ZERO).expect("waiting works");
            assert_eq!(rest, Some(Signal::User1), "it stayed blocked");
        },
    );
}

#[test]
fn an_inbox_that_waits_already_gets_every_signal() {
    in_child_with_blocked_signals("an_inbox_that_waits_already_gets_every_signal", || {
        let waiting = Waiting::start(&Signal::ALL);
        for signal in Signal::ALL {
            send_to_self(signal).expect("a process may signal itself");
        }
        let mut arrived = waiting.thread.join().expect("no panic");
        arrived.sort_by_key(|signal| Signal::ALL.iter().position(|known| known == signal));
        assert_eq!(arrived, Signal::ALL);
    });
}

#[test]
fn signals_of_others_do_not_wake_who_waits_at_an_inbox() {
    in_child_with_blocked_signals("signals_of_others_do_not_wake_who_waits_at_an_inbox", || {
        let waiting = Waiting::start(&[Signal::Quit]);
        let before = waiting.told("voluntary_ctxt_switches:");
        let other = SignalSet::from_iter([Signal::User2]);
        for _ in 0..200 {
            send_to_self(Signal::User2).expect("a process may signal itself");
            assert_eq!(wait_timeout(&other, LONG).expect("waiting works"), Some(Signal::User2));
        }
        assert_eq!(waiting.told("voluntary_ctxt_switches:"), before);
        send_to_self(Signal::Quit).expect("a process may signal itself");
        assert_eq!(waiting.thread.join().expect("no panic"), [Signal::Quit]);
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
fn signal_without_process_reaches_no_process() {
    // For the kernel zero is the whole process group, and numbers beyond i32 are negative, so groups too.
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
