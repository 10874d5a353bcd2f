//! A bounded ring with one producer and one consumer: the path of messages from one scheduler to another.
//!
//! Owns its slots and the two counters. Never waits and never wakes a thread ([`crate::wake`] does), and never
//! touches a slot before a message is put into it, so an unused ring costs address space but no memory.
//!
//! Messages are published in batches: [`Producer::stage`] puts a message into its slot, where only the producer
//! sees it; [`Producer::publish`] shows all staged messages with one store. The consumer's side is
//! [`Consumer::drain`], which also returns the slots with one store. [`Producer::push`] and
//! [`Consumer::pop`] are batches of one.
//!
//! Memory order: the producer stores `tail` with Release after it wrote the slots, and the consumer loads it with
//! Acquire before it reads them; `head` does the same in the other direction for free slots. Each
//! side keeps the last value it saw of the other's counter and loads it again only if that value is not
//! enough, so while the ring is neither full nor empty the two sides do not touch each other's cache line.
#![allow(unsafe_code, reason = "as in the whole crate; `crates/model` compiles this file, too")]

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::atomic::{AtomicUsize, Ordering};

/// Alone on its cache line: twice 64 bytes, because processors fetch lines in pairs.
#[repr(align(128))]
struct OwnLine<T>(T);

/// The part that both sides share. Counters wrap; a slot's index is the counter modulo the capacity.
struct Shared<T> {
    slots: Box<[MaybeUninit<UnsafeCell<T>>]>,
    /// Written only by the consumer: the next counter value to be taken.
    head: OwnLine<AtomicUsize>,
    /// Written only by the producer: one past the last published message.
    tail: OwnLine<AtomicUsize>,
}

// SAFETY: the slots are the only part that is not Sync by itself. A slot is written by the one producer while
// its counter lies outside head..tail and read by the one consumer while it lies inside; the Release/Acquire
// pairs on the counters order the two. Neither side hands out a reference into a slot, so T: Send is enough.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The address of the message with this counter value.
    fn slot(&self, counter: usize) -> *mut T {
        // The length is a power of two, so the masked counter is always inside.
        let index = counter & (self.slots.len() - 1);
        UnsafeCell::raw_get(self.slots[index].as_ptr())
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // Both sides are gone, so nobody writes the counters any more.
        let tail = self.tail.0.load(Ordering::Relaxed);
        let mut head = self.head.0.load(Ordering::Relaxed);
        while head != tail {
            // SAFETY: both sides are gone (this is the last reference), and every slot in head..tail holds a
            // published message that nobody took.
            unsafe { self.slot(head).drop_in_place() };
            head = head.wrapping_add(1);
        }
    }
}

/// Creates a ring for up to `capacity` messages.
///
/// # Panics
/// If `capacity` is not a power of two (zero is not).
pub fn ring<T: Send>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    starting_at(capacity, 0)
}

/// The counters start at `start`, so that tests can make them wrap.
fn starting_at<T: Send>(capacity: usize, start: usize) -> (Producer<T>, Consumer<T>) {
    assert!(capacity.is_power_of_two(), "ring capacity {capacity} is not a power of two");
    let shared = Arc::new(Shared {
        slots: uninitialised(capacity),
        head: OwnLine(AtomicUsize::new(start)),
        tail: OwnLine(AtomicUsize::new(start)),
    });
    let producer =
        Producer { shared: Arc::clone(&shared), tail: start, published: start, head_seen: start };
    (producer, Consumer { shared, head: start, tail_seen: start })
}

fn uninitialised<T>(capacity: usize) -> Box<[MaybeUninit<UnsafeCell<T>>]> {
    Box::new_uninit_slice(capacity)
}

/// The sending side. It can move to another thread but cannot be cloned.
pub struct Producer<T> {
    shared: Arc<Shared<T>>,
    /// One past the last staged message.
    tail: usize,
    /// The value of the shared tail: one past the last published message.
    published: usize,
    /// The consumer's counter when it was last read; the real one is the same or later.
    head_seen: usize,
}

impl<T: Send> Producer<T> {
    /// How many messages the ring can hold.
    pub fn capacity(&self) -> usize {
        self.shared.slots.len()
    }

    /// How many more messages can be staged now. The consumer can only increase this.
    pub fn free(&mut self) -> usize {
        self.head_seen = self.shared.head.0.load(Ordering::Acquire);
        self.capacity() - self.tail.wrapping_sub(self.head_seen)
    }

    /// Puts a message into the ring without showing it to the consumer: call [`publish`](Self::publish)
    /// after the last of a batch.
    ///
    /// # Errors
    /// Gives the message back if the ring, including staged messages, is full.
    pub fn stage(&mut self, message: T) -> Result<(), T> {
        if self.tail.wrapping_sub(self.head_seen) == self.capacity() && self.free() == 0 {
            return Err(message);
        }
        // SAFETY: the counter `tail` is outside head..published and less than a capacity past head, so its slot
        // is free and the consumer, who published that head with Release, is done with it.
        unsafe { self.shared.slot(self.tail).write(message) };
        self.tail = self.tail.wrapping_add(1);
        Ok(())
    }

    /// Shows all staged messages to the consumer; returns how many there were. Stores nothing if there were none.
    /// A consumer that may be asleep is woken with [`crate::wake::SleepMark`].
    pub fn publish(&mut self) -> usize {
        let batch = self.tail.wrapping_sub(self.published);
        if batch > 0 {
            self.show_staged();
        }
        batch
    }

    /// Stages one message and publishes it with everything staged before.
    ///
    /// # Errors
    /// Gives the message back if the ring is full; messages staged before stay staged.
    pub fn push(&mut self, message: T) -> Result<(), T> {
        self.stage(message)?;
        self.publish();
        Ok(())
    }
}

impl<T> Producer<T> {
    fn show_staged(&mut self) {
        self.shared.tail.0.store(self.tail, Ordering::Release);
        self.published = self.tail;
    }
}

impl<T> Drop for Producer<T> {
    /// Publishes staged messages: a message given to the ring is received or dropped with it, never leaked.
    fn drop(&mut self) {
        self.show_staged();
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let staged = self.tail.wrapping_sub(self.published);
        formatter.debug_struct("Producer").field("staged", &staged).finish_non_exhaustive()
    }
}

/// The receiving side. It can move to another thread but cannot be cloned.
pub struct Consumer<T> {
    shared: Arc<Shared<T>>,
    /// The next counter value to take; the shared head is this, or behind it during a drain.
    head: usize,
    /// The producer's published tail when it was last read; the real one is the same or later.
    tail_seen: usize,
}

impl<T: Send> Consumer<T> {
    /// Takes the oldest message.
    pub fn pop(&mut self) -> Option<T> {
        if self.head == self.tail_seen {
            self.look();
        }
        self.pop_seen()
    }

    /// Looks for messages; returns how many wait. [`pop_seen`](Self::pop_seen) takes those that were there.
    pub fn look(&mut self) -> usize {
        self.tail_seen = self.shared.tail.0.load(Ordering::Acquire);
        self.seen()
    }

    /// How many messages the last [`look`](Self::look) saw that were not taken.
    pub fn seen(&self) -> usize {
        self.tail_seen.wrapping_sub(self.head)
    }

    /// Takes the oldest message that the last [`look`](Self::look) saw.
    pub fn pop_seen(&mut self) -> Option<T> {
        if self.head == self.tail_seen {
            return None;
        }
        // SAFETY: head is before the tail that was seen.
        let message = unsafe { self.take() };
        self.give_back();
        Some(message)
    }

    /// Takes up to `maximum` messages, oldest first, and passes each to `receive`; returns how many. Messages
    /// published after the call began are left for the next one. The slots are returned together at the end,
    /// even if `receive` panics (the message it had is lost, the rest stays).
    pub fn drain(&mut self, maximum: usize, mut receive: impl FnMut(T)) -> usize {
        self.tail_seen = self.shared.tail.0.load(Ordering::Acquire);
        let batch = maximum.min(self.tail_seen.wrapping_sub(self.head));
        if batch == 0 {
            return 0;
        }
        let drain = Drain { consumer: self };
        for _ in 0..batch {
            // SAFETY: there are as many messages before the tail that was seen as are taken.
            receive(unsafe { drain.consumer.take() });
        }
        batch
    }

    /// Whether every published message was taken. Changes nothing: a scheduler calls it
    /// after raising its sleeping mark and before sleeping.
    pub fn is_empty(&self) -> bool {
        self.shared.tail.0.load(Ordering::Acquire) == self.head
    }

    /// Moves the oldest message out.
    ///
    /// # Safety
    /// `head` is before `tail_seen`: a message was published there and not taken.
    unsafe fn take(&mut self) -> T {
        // SAFETY: head is before a tail loaded with Acquire, so the slot holds a message whose writing happened
        // before; head moves past it below, so it is moved out once.
        let message = unsafe { self.shared.slot(self.head).read() };
        self.head = self.head.wrapping_add(1);
        message
    }
}

impl<T> Consumer<T> {
    fn give_back(&mut self) {
        self.shared.head.0.store(self.head, Ordering::Release);
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Consumer").finish_non_exhaustive()
    }
}

/// Returns the slots of a batch at its end, however it ends.
struct Drain<'consumer, T> {
    consumer: &'consumer mut Consumer<T>,
}

impl<T> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        self.consumer.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_wrap_around_the_word() {
        let (mut producer, mut consumer) = starting_at(4, usize::MAX - 1);
        for round in 0..8_usize {
            for offset in 0..4 {
                assert_eq!(producer.push(round * 4 + offset), Ok(()));
            }
            assert_eq!(producer.free(), 0);
            assert_eq!(producer.push(99), Err(99));
            let mut received = Vec::new();
            assert_eq!(consumer.drain(3, |message| received.push(message)), 3);
            received.extend(consumer.pop());
            assert_eq!(received, [round * 4, round * 4 + 1, round * 4 + 2, round * 4 + 3]);
            assert_eq!(consumer.pop(), None);
        }
    }

    #[test]
    fn items_across_wrap_are_dropped() {
        let witness = Arc::new(());
        let (mut producer, consumer) = starting_at(4, usize::MAX - 1);
        for _ in 0..4 {
            producer.push(Arc::clone(&witness)).expect("four fit");
        }
        drop(producer);
        assert_eq!(Arc::strong_count(&witness), 5);
        drop(consumer);
        assert_eq!(Arc::strong_count(&witness), 1);
    }

    #[test]
    fn the_counters_are_a_pair_of_cache_lines_apart() {
        let (producer, _consumer) = ring::<u8>(2);
        let head = (&raw const producer.shared.head).addr();
        let tail = (&raw const producer.shared.tail).addr();
        let slots = (&raw const producer.shared.slots).addr();
        assert!(head.abs_diff(tail) >= 128, "head {head:x} tail {tail:x}");
        assert!(slots.abs_diff(tail) >= 128 || slots < tail, "slots {slots:x} tail {tail:x}");
        assert_eq!((head % 128, tail % 128), (0, 0));
    }
}
