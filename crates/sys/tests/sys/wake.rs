//! Waking: the descriptor, the mark, and that no wake-up is lost between two threads.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sys::ring::{Consumer, Producer, ring};
use sys::wake::{SleepMark, WakeSource, Waker, wake_pair};

/// Whether the source becomes readable within this many seconds.
fn wait(source: &WakeSource, seconds: i64) -> bool {
    let mut watched = [PollFd::from_borrowed_fd(source.as_fd(), PollFlags::IN)];
    let bound = Timespec { tv_sec: seconds, tv_nsec: 0 };
    poll(&mut watched, Some(&bound)).expect("poll of one open descriptor works") == 1
}

#[test]
fn many_wakes_are_one_until_drained() {
    let (waker, source) = wake_pair().expect("room for a descriptor");
    assert!(!source.drain());
    assert!(!wait(&source, 0));
    let second = waker.clone();
    waker.wake();
    second.wake();
    assert!(wait(&source, 0));
    assert!(source.drain());
    assert!(!wait(&source, 0));
    assert!(!source.drain());
}

#[test]
fn dropping_the_ends_closes_nothing() {
    let number = {
        let (waker, source) = wake_pair().expect("room for a descriptor");
        let second = waker.clone();
        assert_eq!(waker.as_raw_fd(), source.as_raw_fd());
        assert_eq!(second.as_raw_fd(), source.as_raw_fd());
        source.as_raw_fd()
    };
    assert!(sys::descriptor::borrow_inherited(number).is_ok());
}

#[test]
fn a_waker_works_from_a_thread_with_a_table_of_its_own() {
    let (waker, source) = wake_pair().expect("room for a descriptor");
    let sleeper = thread::spawn(move || {
        let table = sys::thread::part_descriptor_table().expect("parting needs no privilege");
        table.close_all_except(&[source.as_raw_fd()]).expect("closing works");
        wait(&source, 10) && source.drain()
    });
    waker.wake();
    assert!(sleeper.join().expect("the sleeper does not panic"));
}

#[test]
fn the_mark_is_taken_once_for_each_time_it_is_raised() {
    let mark = SleepMark::new();
    assert!(!mark.is_asleep_then_take());
    mark.raise();
    assert!(mark.is_asleep_then_take());
    assert!(!mark.is_asleep_then_take());
    mark.raise();
    mark.lower();
    assert!(!mark.is_asleep_then_take());
    assert!(align_of::<SleepMark>() >= 128);
}

/// Enough rounds that a protocol without its fences or without the second check fails in them.
const ROUNDS: u64 = if cfg!(miri) { 50 } else { 200_000 };

/// Some nanoseconds, different for each number and each side, so that the two sides meet at every step.
fn linger(number: u64, prime: u64) {
    for step in 0..number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % prime {
        std::hint::black_box(step);
    }
}

/// Waits until the counter is past the number: busy first, so that the waiting thread continues within nanoseconds.
/// False if that takes too long.
fn is_passed(counter: &AtomicU64, number: u64) -> bool {
    let begin_ns = sys::clock::monotonic_ns();
    for turn in 1_u64.. {
        if counter.load(Ordering::Acquire) > number {
            return true;
        }
        if turn.is_multiple_of(2_000) {
            thread::yield_now();
            if sys::clock::monotonic_ns() - begin_ns > 20_000_000_000 {
                return false;
            }
        }
        std::hint::spin_loop();
    }
    unreachable!("the loop has no end")
}

/// Dekker's pattern alone, without sleeping: in each round one side raises the mark and checks, the other
/// publishes and tries to take. They must never both miss each other. Each side first reads what the
/// other will write: with that line in its cache its load is quick, and without the fence would overtake its store.
#[test]
fn never_do_both_sides_miss_each_other() {
    let (mut producer, mut mailbox) = ring(64);
    let mark = SleepMark::new();
    let (begun, looked, sent) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let missed = thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut taken = Vec::new();
            for round in 0..ROUNDS {
                assert!(is_passed(&begun, round), "the sleeper stopped");
                let early = mark.is_asleep_then_take();
                linger(round, 61);
                producer.push(round).expect("the last round's message was taken");
                taken.push(mark.is_asleep_then_take() || early);
                sent.store(round + 1, Ordering::Release);
                assert!(is_passed(&looked, round), "the sleeper stopped");
            }
            taken
        });
        let mut saw = Vec::new();
        for round in 0..ROUNDS {
            mark.lower();
            begun.store(round + 1, Ordering::Release);
            linger(round, 251);
            std::hint::black_box(mailbox.is_empty());
            linger(round, 61);
            mark.raise();
            saw.push(!mailbox.is_empty());
            assert!(is_passed(&sent, round), "the sender stopped");
            assert_eq!(mailbox.pop(), Some(round));
            looked.store(round + 1, Ordering::Release);
        }
        let taken = sender.join().expect("the sender does not panic");
        saw.into_iter().zip(taken).filter(|(saw, taken)| !saw && !taken).count()
    });
    assert_eq!(missed, 0, "of {ROUNDS} messages nobody saw and nobody woke for");
}

/// A wait this long, while the sender waits for an answer, is a lost wake-up. Also limits the length of the test.
const LOST_AFTER_SECONDS: i64 = 5;

struct Sleeper {
    mailbox: Consumer<u64>,
    source: WakeSource,
    mark: Arc<SleepMark>,
    answered: Arc<AtomicU64>,
}

impl Sleeper {
    /// One turn like a scheduler's; returns how often it waited. An error reports a lost wake-up.
    fn run(mut self) -> Result<u64, String> {
        let (mut expected, mut raised) = (0, 0);
        while expected < ROUNDS {
            self.mailbox.drain(16, |message| {
                assert_eq!(message, expected);
                expected += 1;
            });
            self.answered.store(expected, Ordering::Release);
            if expected == ROUNDS {
                break;
            }
            linger(expected, 127);
            self.mark.raise();
            raised += 1;
            if self.mailbox.is_empty() && !wait(&self.source, LOST_AFTER_SECONDS) {
                return Err(format!("lost after {expected}: empty {}", self.mailbox.is_empty()));
            }
            self.mark.lower();
            self.source.drain();
        }
        Ok(raised)
    }
}

/// Sends one message at a time, waits for the answer, and then for a varying moment, so that the message arrives
/// sometimes while the sleeper goes to sleep, sometimes while it sleeps. Returns how often it woke.
fn send(mut mailbox: Producer<u64>, waker: &Waker, mark: &SleepMark, answered: &AtomicU64) -> u64 {
    let mut woken = 0;
    for number in 0..ROUNDS {
        mailbox.push(number).expect("the ring is empty after each answer");
        if mark.is_asleep_then_take() {
            waker.wake();
            woken += 1;
        }
        if !is_passed(answered, number) {
            break;
        }
        linger(number, 251);
    }
    woken
}

#[test]
fn no_wake_up_is_lost_and_none_is_doubled() {
    let (producer, mailbox) = ring(16);
    let (waker, source) = wake_pair().expect("room for a descriptor");
    let mark = Arc::new(SleepMark::new());
    let answered = Arc::new(AtomicU64::new(0));
    let sleeper =
        Sleeper { mailbox, source, mark: Arc::clone(&mark), answered: Arc::clone(&answered) };
    let sleeper = thread::spawn(move || sleeper.run());
    let woken = send(producer, &waker, &mark, &answered);
    let raised = sleeper.join().expect("the sleeper does not panic").expect("no wake-up is lost");
    assert!(woken <= raised, "{woken} wake-ups for {raised} sleeps");
    assert!(woken > 0, "the sleeper slept at least once");
}

#[test]
fn of_many_senders_one_takes_the_mark() {
    let mark = SleepMark::new();
    let rounds = if cfg!(miri) { 5 } else { 200 };
    for _ in 0..rounds {
        mark.raise();
        let taken: usize = thread::scope(|scope| {
            let senders: Vec<_> =
                (0..4).map(|_| scope.spawn(|| usize::from(mark.is_asleep_then_take()))).collect();
            senders.into_iter().map(|sender| sender.join().expect("no panic")).sum()
        });
        assert_eq!(taken, 1);
    }
}
