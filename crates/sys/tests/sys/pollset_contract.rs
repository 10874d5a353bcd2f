//! The pollset contract, clause by clause, for every pollset.
//!
//! Each test is written once and run with the kernel, with a simulated network that delivers at once, and with
//! one that is slow and splits what is sent. Owns which test runs with which pollset; the clauses are in the modules.

mod accepting;
mod connecting;
mod endings;
mod harness;
mod receiving;
mod reporting;
mod sending;
mod simulated_world;
mod steps;
mod time;

use std::io::ErrorKind;
use std::net::IpAddr;
use std::num::NonZeroU64;

use sys::pollset::epoll::Epoll;
use sys::pollset::{AcceptError, ConnectOptions, Pollset, Token, WaitLimit};
use world::{ALWAYS, Faults};

use accepting::no_descriptor_leaves_the_connection_waiting;
use connecting::without_a_descriptor_none_is_begun;
use harness::{Harness, Kernel};
use simulated_world::Simulated;
use steps::connected;

macro_rules! contract {
    ($($clause:ident: { $($test:ident),* $(,)? }),* $(,)?) => {
        mod kernel {
            $($(#[test] fn $test() { super::$clause::$test(super::Kernel::new()); })*)*
        }
        mod simulated {
            $($(#[test] fn $test() { super::$clause::$test(super::at_once()); })*)*
        }
        mod simulated_slowly {
            $($(#[test] fn $test() { super::$clause::$test(super::slowly()); })*)*
        }
    };
}

contract! {
    reporting: {
        an_event_carries_the_token_of_its_socket,
        a_dropped_socket_is_stale_in_its_batch_and_never_after,
        a_socket_dropped_before_the_wait_is_not_reported,
        bytes_are_reported_once_and_new_ones_again,
        bytes_before_the_watch_are_reported_after_it,
        a_watch_without_bytes_reports_nothing,
    },
    receiving: {
        a_short_receive_emptied_the_socket,
        a_full_buffer_says_that_more_may_come,
    },
    sending: {
        a_send_without_room_is_partial_and_room_is_reported,
        what_the_peer_has_not_taken_is_outstanding,
        a_peer_that_does_not_read_is_sent_little,
        room_is_not_reported_to_who_only_reads,
        asking_for_room_that_is_there_reports_it,
        pieces_are_sent_in_order,
        more_is_sent_with_what_follows,
        a_region_of_a_file_is_sent,
        a_file_that_became_shorter_fails,
    },
    endings: {
        an_end_comes_after_all_bytes,
        an_ended_peer_can_still_be_sent_to,
        a_reset_fails_and_is_no_end,
        dropping_a_socket_ends_the_connection,
        dropping_a_socket_with_unread_bytes_resets,
        reset_on_close_resets,
        ending_our_output_leaves_the_input,
        what_is_held_back_goes_with_the_end,
    },
    accepting: {
        accepting_from_an_empty_queue_is_blocked,
        a_listener_is_reported_while_a_connection_waits,
        a_paused_listener_is_not_reported,
        a_dropped_listener_refuses_what_waits,
        a_silent_client_is_not_accepted_before_it_speaks,
        a_silent_client_is_accepted_in_the_end,
    },
    time: {
        monotonic_time_never_goes_back,
        a_wait_keeps_its_bound,
        an_exact_wait_ends_at_its_time_and_not_before,
    },
    connecting: {
        a_connection_that_stands_is_like_an_accepted_one,
        the_local_address_is_the_one_asked_for,
        the_sixth_version_connects_too,
        a_unix_socket_stands_at_once_or_not_at_all,
        a_refused_connection_says_so,
        a_pending_connection_is_told_of_when_it_stands,
        who_was_pending_is_told_of_room,
        a_pending_connection_is_told_of_when_it_fails,
        a_pending_connection_that_is_dropped_is_given_up,
        many_are_begun_at_once,
    },
}

fn at_once() -> Simulated {
    Simulated::new(Faults::none())
}

fn slowly() -> Simulated {
    Simulated::new(Faults { latency_ns_maximum: 2_000_000, split: 500_000, ..Faults::none() })
}

#[test]
fn simulated_no_descriptor_leaves_the_connection_waiting() {
    no_descriptor_leaves_the_connection_waiting(at_once());
}

#[test]
fn simulated_without_a_descriptor_none_is_begun() {
    without_a_descriptor_none_is_begun(at_once());
}

#[test]
fn simulated_without_a_port_none_is_begun() {
    let mut harness = Simulated::new(Faults { no_port: ALWAYS, ..Faults::none() });
    let to = harness.remote();
    let refused = harness.pollset().connect(&ConnectOptions { to, from: None }, Token(1));
    assert_eq!(refused.map(drop), Err(ErrorKind::AddrNotAvailable));
}

/// 192.0.2.0/24 is reserved for documentation (RFC 5737), so no host has it.
#[test]
fn kernel_an_address_of_somebody_else_is_no_local_one() {
    let mut harness = Kernel::new();
    let to = harness.remote();
    let from = Some(IpAddr::from([192, 0, 2, 1]));
    let refused = harness.pollset().connect(&ConnectOptions { to, from }, Token(1));
    assert_eq!(refused.map(drop), Err(ErrorKind::AddrNotAvailable));
}

/// Waits that are tried until one is exact: half a minute.
const MANY: usize = 50_000;

/// One of many waits is exact: a loaded machine delays most of them, a clock in milliseconds all.
#[test]
fn kernel_an_exact_wait_is_exact() {
    let is_one_exact = |slack: Option<NonZeroU64>, late_most_ns: u64| {
        std::thread::spawn(move || {
            if let Some(slack) = slack {
                sys::thread::set_timer_slack_ns(slack).unwrap();
            }
            let mut epoll = Epoll::new(None).unwrap();
            (0..MANY).any(|_| {
                let bound_ns = epoll.monotonic_ns() + 300_000;
                assert_eq!(epoll.wait(WaitLimit::UntilExactly(bound_ns)).unwrap(), 0);
                epoll.monotonic_ns() - bound_ns < late_most_ns
            })
        })
        .join()
        .unwrap()
    };
    assert!(is_one_exact(None, 400_000), "in milliseconds each is 700,000 ns late");
    assert!(is_one_exact(Some(NonZeroU64::MIN), 50_000), "the usual slack alone is 50,000 ns");
}

/// The limit applies to the process, so the kernel's part runs in a separate process: this test, started again.
#[test]
fn kernel_no_descriptor_leaves_the_connection_waiting() {
    apart(|| {
        no_descriptor_leaves_the_connection_waiting(Kernel::new());
    });
}

#[test]
fn kernel_without_a_descriptor_none_is_begun() {
    apart(|| {
        without_a_descriptor_none_is_begun(Kernel::new());
    });
}

/// Runs a test in a separate process.
fn apart(test: impl FnOnce()) {
    const CHILD: &str = "VELODROME_TEST_WITHOUT_DESCRIPTORS";
    if std::env::var_os(CHILD).is_some() {
        test();
        return;
    }
    let thread = std::thread::current();
    let name = thread.name().expect("a test runs in a thread of its name");
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
}

#[test]
fn kernel_a_listener_that_does_not_listen_is_broken() {
    let mut harness = Kernel::new();
    let (listener, _socket, _client) = connected(&mut harness);
    rustix::net::shutdown(&listener, rustix::net::Shutdown::Both).unwrap();
    let refused = harness.pollset().accept(&listener);
    assert!(matches!(refused, Err(AcceptError::Listener(ErrorKind::InvalidInput))), "{refused:?}");
}

#[test]
fn kernel_a_wake_ends_a_wait_without_bound() {
    let (waker, source) = sys::wake::wake_pair().unwrap();
    let mut epoll = Epoll::new(Some(source)).unwrap();
    assert_eq!(epoll.wait(WaitLimit::None).unwrap(), 0);
    let other = std::thread::spawn(move || waker.wake());
    assert_eq!(epoll.wait(WaitLimit::Unbounded).unwrap(), 1);
    assert_eq!(epoll.event(0).token, Token::WAKE);
    other.join().unwrap();
    assert_eq!(epoll.wait(WaitLimit::None).unwrap(), 0, "one wake, one event");
}
