//! The places of stored values, and which one leaves when there is no room.
//!
//! Owns the order of leaving, by S3-FIFO (Yang and others, SOSP 2023): a value begins in a small queue and leaves it
//! soon unless it is used; one that was used, or comes back soon, goes to the main queue, where each use earns it
//! another round. So a scan over many values that nobody asks for again passes through a tenth of the memory. A use
//! costs one increment. Never knows what a value is.

use std::collections::VecDeque;

use ahash::HashSet;

use crate::limits::{GHOSTS_MIN, SMALL_PART, USES_MAX};

/// Where a value is. It is valid as long as the value stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValuePlace {
    index: usize,
    serial: u64,
}

/// The values.
#[derive(Debug)]
pub struct Shelf<V> {
    slots: Vec<Option<Slot<V>>>,
    free: Vec<usize>,
    /// Those that were not used since they came. A place may be of a value that has gone.
    small: VecDeque<ValuePlace>,
    main: VecDeque<ValuePlace>,
    ghosts: Ghosts,
    capacity: usize,
    bytes: usize,
    small_bytes: usize,
    count: usize,
    serial: u64,
}

#[derive(Debug)]
struct Slot<V> {
    value: V,
    hash: u64,
    cost: usize,
    uses: u8,
    queue: Queue,
    serial: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Small,
    Main,
}

/// Keys of values that have left the small queue without a use.
#[derive(Debug, Default)]
struct Ghosts {
    order: VecDeque<u64>,
    known: HashSet<u64>,
}

impl Ghosts {
    fn add(&mut self, hash: u64, most: usize) {
        if self.known.insert(hash) {
            self.order.push_back(hash);
        }
        while self.order.len() > most {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }

    fn has(&self, hash: u64) -> bool {
        self.known.contains(&hash)
    }
}

impl<V> Shelf<V> {
    /// An empty one, for so many bytes.
    pub fn new(capacity: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghosts: Ghosts::default(),
            capacity,
            bytes: 0,
            small_bytes: 0,
            count: 0,
            serial: 0,
        }
    }

    /// Puts a value here. There may be too much after it: see [`evict`](Self::evict).
    pub fn put(&mut self, hash: u64, cost: usize, value: V) -> ValuePlace {
        let queue = if self.ghosts.has(hash) { Queue::Main } else { Queue::Small };
        self.serial += 1;
        let slot = Slot { value, hash, cost, uses: 0, queue, serial: self.serial };
        let index = self.free.pop().unwrap_or(self.slots.len());
        match self.slots.get_mut(index) {
            Some(place) => *place = Some(slot),
            None => self.slots.push(Some(slot)),
        }
        let place = ValuePlace { index, serial: self.serial };
        self.charge(queue, cost);
        self.count += 1;
        self.tidy();
        match queue {
            Queue::Small => self.small.push_back(place),
            Queue::Main => self.main.push_back(place),
        }
        place
    }

    /// The value at a place.
    pub fn get(&self, place: ValuePlace) -> Option<&V> {
        let slot = self.slots.get(place.index)?.as_ref()?;
        (slot.serial == place.serial).then_some(&slot.value)
    }

    /// A value was used.
    pub fn note_use(&mut self, place: ValuePlace) {
        if let Some(slot) = self.slot_mut(place) {
            slot.uses = (slot.uses + 1).min(USES_MAX);
        }
    }

    /// Puts another value in a place, with the uses of the old one.
    pub fn replace(&mut self, place: ValuePlace, cost: usize, value: V) -> Option<V> {
        let slot = self.slot_mut(place)?;
        let (queue, old_cost) = (slot.queue, std::mem::replace(&mut slot.cost, cost));
        let old = std::mem::replace(&mut slot.value, value);
        self.refund(queue, old_cost);
        self.charge(queue, cost);
        Some(old)
    }

    /// Takes a value away.
    pub fn remove(&mut self, place: ValuePlace) -> Option<V> {
        self.slot_mut(place)?;
        let slot = self.slots.get_mut(place.index)?.take()?;
        self.free.push(place.index);
        self.refund(slot.queue, slot.cost);
        self.count -= 1;
        Some(slot.value)
    }

    /// Takes away the value that leaves next, if there is too much beside other `reserved` bytes.
    pub fn evict(&mut self, reserved: usize) -> Option<V> {
        if self.bytes.saturating_add(reserved) <= self.capacity { None } else { self.take_next() }
    }

    /// Takes away the value that leaves next.
    pub fn take_next(&mut self) -> Option<V> {
        // Each step takes a place from a queue, or one use from a value.
        loop {
            let is_small_full = self.small_bytes > self.capacity / SMALL_PART;
            let place = if is_small_full || self.main.is_empty() {
                self.small.pop_front().or_else(|| self.main.pop_front())?
            } else {
                self.main.pop_front()?
            };
            let Some(slot) = self.slot_mut(place) else { continue };
            match (slot.queue, slot.uses) {
                (Queue::Small, 1..) => {
                    (slot.queue, slot.uses) = (Queue::Main, 0);
                    self.small_bytes -= self.cost_at(place);
                    self.main.push_back(place);
                }
                (Queue::Main, 1..) => {
                    slot.uses -= 1;
                    self.main.push_back(place);
                }
                (Queue::Small, 0) => {
                    let hash = slot.hash;
                    self.ghosts.add(hash, self.count.max(GHOSTS_MIN));
                    return self.remove(place);
                }
                (Queue::Main, 0) => return self.remove(place),
            }
        }
    }

    /// Sets how many bytes there may be.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
    }

    /// How many bytes there may be.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes that the values cost.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of places, with empty ones.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// The value of the place with this number, below [`places`](Self::places).
    pub fn at(&self, index: usize) -> Option<(ValuePlace, &V)> {
        let slot = self.slots.get(index)?.as_ref()?;
        Some((ValuePlace { index, serial: slot.serial }, &slot.value))
    }

    fn slot_mut(&mut self, place: ValuePlace) -> Option<&mut Slot<V>> {
        let slot = self.slots.get_mut(place.index)?.as_mut()?;
        (slot.serial == place.serial).then_some(slot)
    }

    fn cost_at(&self, place: ValuePlace) -> usize {
        self.slots.get(place.index).and_then(|slot| slot.as_ref()).map_or(0, |slot| slot.cost)
    }

    fn charge(&mut self, queue: Queue, cost: usize) {
        self.bytes += cost;
        if queue == Queue::Small {
            self.small_bytes += cost;
        }
    }

    fn refund(&mut self, queue: Queue, cost: usize) {
        self.bytes -= cost;
        if queue == Queue::Small {
            self.small_bytes -= cost;
        }
    }

    /// Drops places of values that have gone, once most are.
    fn tidy(&mut self) {
        let most = 2 * self.count + GHOSTS_MIN;
        if self.small.len() + self.main.len() <= most {
            return;
        }
        let slots = &self.slots;
        let is_there = |place: &ValuePlace| {
            let slot = slots.get(place.index).and_then(|slot| slot.as_ref());
            slot.is_some_and(|slot| slot.serial == place.serial)
        };
        self.small.retain(is_there);
        self.main.retain(is_there);
    }
}
