//! The ring from outside: order, edges, drops, two threads.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use proptest::prelude::*;
use sys::ring::ring;

#[test]
fn full_and_empty_are_told_apart() {
    let (mut producer, mut consumer) = ring(4);
    assert_eq!(producer.capacity(), 4);
    for round in 0..3 {
        assert!(consumer.is_empty());
        assert_eq!(consumer.pop(), None);
        assert_eq!(producer.free(), 4);
        for message in 0..4 {
            assert_eq!(producer.push(round * 10 + message), Ok(()));
        }
        assert_eq!(producer.free(), 0);
        assert_eq!(producer.push(99), Err(99), "full gives back");
        assert!(!consumer.is_empty());
        assert_eq!(consumer.pop(), Some(round * 10));
        assert_eq!(producer.free(), 1);
        assert_eq!(producer.push(round * 10 + 4), Ok(()));
        for message in 1..5 {
            assert_eq!(consumer.pop(), Some(round * 10 + message));
        }
    }
}

#[test]
fn a_ring_of_one_works() {
    let (mut producer, mut consumer) = ring(1);
    for message in 0..5 {
        assert_eq!(producer.push(message), Ok(()));
        assert_eq!(producer.push(99), Err(99));
        assert_eq!(consumer.pop(), Some(message));
        assert_eq!(consumer.pop(), None);
    }
}

#[test]
#[should_panic(expected = "not a power of two")]
fn a_capacity_of_zero_is_refused() {
    let _ring = ring::<u8>(0);
}

#[test]
#[should_panic(expected = "not a power of two")]
fn a_capacity_of_three_is_refused() {
    let _ring = ring::<u8>(3);
}

#[test]
fn staged_messages_are_seen_together() {
    let (mut producer, mut consumer) = ring(4);
    assert_eq!(producer.publish(), 0);
    for message in 0..3 {
        assert_eq!(producer.stage(message), Ok(()));
    }
    assert_eq!(producer.free(), 1, "staged messages take room");
    assert!(consumer.is_empty());
    assert_eq!(consumer.pop(), None);
    assert_eq!(consumer.drain(9, |_| panic!("nothing is published")), 0);
    assert_eq!(producer.publish(), 3);
    assert_eq!(producer.publish(), 0);
    let mut received = Vec::new();
    assert_eq!(consumer.drain(9, |message| received.push(message)), 3);
    assert_eq!(received, [0, 1, 2]);
}

#[test]
fn staging_into_a_full_ring_gives_back_and_push_publishes_the_batch() {
    let (mut producer, mut consumer) = ring(2);
    assert_eq!(producer.stage(1), Ok(()));
    assert_eq!(producer.push(2), Ok(()));
    assert_eq!(producer.stage(3), Err(3));
    assert_eq!((consumer.pop(), consumer.pop(), consumer.pop()), (Some(1), Some(2), None));
}

#[test]
fn a_drain_stops_at_its_maximum() {
    let (mut producer, mut consumer) = ring(8);
    for message in 0..8 {
        producer.push(message).expect("eight fit");
    }
    let mut received = Vec::new();
    assert_eq!(consumer.drain(0, |message| received.push(message)), 0);
    assert_eq!(consumer.drain(5, |message| received.push(message)), 5);
    assert_eq!(producer.free(), 5);
    assert_eq!(consumer.drain(usize::MAX, |message| received.push(message)), 3);
    assert_eq!(received, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_panic_in_a_drain_loses_only_the_message_it_held() {
    let witness = Arc::new(());
    let (mut producer, mut consumer) = ring(4);
    for number in 0..4 {
        producer.push((number, Arc::clone(&witness))).expect("four fit");
    }
    let drained = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        consumer.drain(4, |(number, _)| assert_ne!(number, 1, "stop here"));
    }));
    assert!(drained.is_err());
    assert_eq!(Arc::strong_count(&witness), 3);
    assert_eq!(producer.free(), 2, "the slots of both were given back");
    assert_eq!(consumer.pop().map(|(number, _)| number), Some(2));
    drop((producer, consumer));
    assert_eq!(Arc::strong_count(&witness), 1);
}

#[test]
fn remaining_items_are_dropped_once() {
    for producer_first in [true, false] {
        let witness = Arc::new(());
        let (mut producer, mut consumer) = ring(8);
        for _ in 0..5 {
            producer.push(Arc::clone(&witness)).expect("eight fit");
        }
        producer.stage(Arc::clone(&witness)).expect("eight fit");
        drop(consumer.pop());
        assert_eq!(Arc::strong_count(&witness), 6);
        if producer_first {
            drop(producer);
            assert_eq!(Arc::strong_count(&witness), 6, "the consumer can still take them");
            assert_eq!(consumer.drain(9, drop), 5, "staged messages are not lost");
            drop(consumer);
        } else {
            drop(consumer);
            drop(producer);
        }
        assert_eq!(Arc::strong_count(&witness), 1);
    }
}

#[test]
fn messages_without_size_are_counted() {
    let (mut producer, mut consumer) = ring(2);
    assert_eq!(
        (producer.push(()), producer.push(()), producer.push(())),
        (Ok(()), Ok(()), Err(()))
    );
    assert_eq!((consumer.pop(), consumer.pop(), consumer.pop()), (Some(()), Some(()), None));
}

/// Not under Miri, which has no /proc and no lazy memory.
#[cfg(not(miri))]
#[test]
fn storage_is_not_touched_before_use() {
    let (mut producer, mut consumer) = ring::<[u8; 4096]>(1 << 16);
    let before = sys::accounting::resident_bytes().expect("/proc is mounted");
    producer.push([7; 4096]).expect("an empty ring has room");
    assert_eq!(consumer.pop().map(|page| page[4095]), Some(7));
    let grown = sys::accounting::resident_bytes().expect("/proc is mounted").saturating_sub(before);
    assert!(before < 128 << 20, "{before} bytes resident after making a ring of 256 MiB");
    assert!(grown < 64 << 20, "{grown} bytes more after one message");
}

/// How many messages cross between two threads.
const MESSAGES: u64 = if cfg!(miri) { 300 } else { 3_000_000 };

/// The same where every few messages one side waits for the other.
const MESSAGES_WAITED_FOR: u64 = if cfg!(miri) { 100 } else { 50_000 };

/// An order-sensitive checksum.
fn mix(sum: u64, message: u64) -> u64 {
    sum.rotate_left(5) ^ message.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Sends in batches of varying size from one thread, receives in another; both ways of taking are used. The
/// messages own memory, so a message that is seen before it was written, or taken twice, is noticed.
fn cross(capacity: usize, messages: u64) {
    let (mut producer, mut consumer) = ring::<Box<u64>>(capacity);
    let sender = thread::spawn(move || {
        let mut sum = 0;
        for number in 0..messages {
            let mut message = Box::new(number);
            while let Err(back) = producer.stage(message) {
                producer.publish();
                message = back;
                thread::yield_now();
            }
            sum = mix(sum, number);
            if number % 7 == 0 || number % 64 > 60 {
                producer.publish();
            }
        }
        sum
    });
    let (mut sum, mut expected) = (0, 0);
    let mut receive = |message: Box<u64>| {
        assert_eq!(*message, expected, "in order, none lost, none twice");
        expected += 1;
        sum = mix(sum, *message);
    };
    let mut received = 0;
    while received < messages {
        let batch = if received.is_multiple_of(3) {
            consumer.pop().map_or(0, |message| {
                receive(message);
                1
            })
        } else {
            consumer.drain(32, &mut receive) as u64
        };
        if batch == 0 {
            thread::yield_now();
        }
        received += batch;
    }
    assert_eq!(consumer.pop(), None);
    assert_eq!(sender.join().expect("the sender does not panic"), sum);
}

#[test]
fn millions_cross_two_threads_in_order() {
    cross(1024, MESSAGES);
}

#[test]
fn thousands_cross_a_ring_that_is_always_full_or_empty() {
    cross(2, MESSAGES_WAITED_FOR);
}

/// Maximum number of acts in one case of the model.
const ACTS_MAX: usize = if cfg!(miri) { 30 } else { 200 };

/// One act on the ring and its model.
#[derive(Clone, Debug)]
enum Act {
    Stage,
    Publish,
    Push,
    Pop,
    Drain(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => Just(Act::Stage),
        1 => Just(Act::Publish),
        2 => Just(Act::Push),
        2 => Just(Act::Pop),
        1 => (0..6_usize).prop_map(Act::Drain),
    ];
    prop::collection::vec(act, 0..ACTS_MAX)
}

thread_local! {
    static ALIVE: Cell<i64> = const { Cell::new(0) };
}

/// A message that counts how many of its kind are alive in this thread.
#[derive(Debug)]
struct Counted(u32);

impl Counted {
    fn new(number: u32) -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self(number)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 512 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// The ring behaves like two queues: one of staged and one of published messages.
    #[test]
    fn the_ring_is_a_bounded_queue(power in 0..5_u32, acts in acts()) {
        let capacity = 1_usize << power;
        let (mut producer, mut consumer) = ring(capacity);
        let (mut staged, mut published) = (VecDeque::new(), VecDeque::new());
        for (act, number) in acts.iter().zip(0_u32..) {
            let has_room = staged.len() + published.len() < capacity;
            match act {
                Act::Stage => {
                    let given_back = producer.stage(Counted::new(number)).err().map(|back| back.0);
                    prop_assert_eq!(given_back, (!has_room).then_some(number));
                    staged.extend(has_room.then_some(number));
                }
                Act::Publish => {
                    prop_assert_eq!(producer.publish(), staged.len());
                    published.append(&mut staged);
                }
                Act::Push => {
                    let given_back = producer.push(Counted::new(number)).err().map(|back| back.0);
                    prop_assert_eq!(given_back, (!has_room).then_some(number));
                    if has_room {
                        published.append(&mut staged);
                        published.push_back(number);
                    }
                }
                Act::Pop => {
                    let popped = consumer.pop().map(|message| message.0);
                    prop_assert_eq!(popped, published.pop_front());
                }
                Act::Drain(maximum) => {
                    let expected: Vec<u32> =
                        published.drain(..published.len().min(*maximum)).collect();
                    let mut received = Vec::new();
                    let count = consumer.drain(*maximum, |message| received.push(message.0));
                    prop_assert_eq!(count, expected.len());
                    prop_assert_eq!(received, expected);
                }
            }
            let inside = staged.len() + published.len();
            prop_assert_eq!(producer.free(), capacity - inside);
            prop_assert_eq!(consumer.is_empty(), published.is_empty());
            prop_assert_eq!(ALIVE.get(), i64::try_from(inside).expect("a few"));
        }
        drop((producer, consumer));
        prop_assert_eq!(ALIVE.get(), 0);
    }
}

/// The sides move between threads; their messages only have to be Send.
#[test]
fn both_sides_are_send() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let (producer, consumer) = ring::<Cell<u8>>(2);
    let (mut producer, mut consumer) = (is_send(producer), is_send(consumer));
    producer.push(Cell::new(3)).expect("an empty ring has room");
    assert_eq!(consumer.pop(), Some(Cell::new(3)));
}
