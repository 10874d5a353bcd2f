//! Processes in slots with generations.
//!
//! Owns the table of one scheduler's processes. A slot's number is reused, its generation is not,
//! so an event or message for an ended process finds nothing. The table's memory is reserved once
//! and touched only as far as it was ever used; it never moves.

use std::fmt;

/// The name of a process of one scheduler. It is never given to another process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    index: u32,
    generation: u32,
}

impl ProcessId {
    /// The slot's number.
    #[inline]
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// As one number, for tokens. It is never all ones, because tokens use that value otherwise.
    #[inline]
    pub fn to_bits(self) -> u64 {
        (u64::from(self.generation) << 32) | u64::from(self.index)
    }

    /// From the number returned by [`Self::to_bits`].
    #[inline]
    pub fn from_bits(bits: u64) -> Self {
        Self { index: (bits & 0xffff_ffff) as u32, generation: (bits >> 32) as u32 }
    }
}

impl fmt::Debug for ProcessId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.index, self.generation)
    }
}

/// No slot.
const NONE: u32 = u32::MAX;

/// Highest generation. One bit stays clear so that no process token equals a reserved one.
const GENERATION_MASK: u32 = 0x7fff_ffff;

struct Slot<T> {
    generation: u32,
    next_free: u32,
    value: Option<T>,
}

/// A table of processes with a capacity.
///
/// ```
/// use runtime::slots::Slots;
///
/// let mut slots = Slots::new(10);
/// let first = slots.insert("a").expect("there is room");
/// assert_eq!(slots.lookup(first), Some(&mut "a"));
/// assert_eq!(slots.remove(first), Some("a"));
/// let second = slots.insert("b").expect("there is room");
/// // The slot is used again, the name is not.
/// assert_eq!(first.index(), second.index());
/// assert_eq!(slots.lookup(first), None);
/// ```
pub struct Slots<T> {
    slots: Vec<Slot<T>>,
    first_free: u32,
    occupied: usize,
    capacity: usize,
}

impl<T> Slots<T> {
    /// A table for at most `capacity` processes. It reserves address space and touches no page.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.min(NONE as usize - 1);
        let mut slots = Vec::new();
        // If the host refuses to reserve so much, the table moves when it grows.
        let _reserved_or_grows = slots.try_reserve_exact(capacity);
        Self { slots, first_free: NONE, occupied: 0, capacity }
    }

    /// A table for at most `capacity` values that takes memory only as it grows, and moves then.
    pub fn growing(capacity: usize) -> Self {
        let capacity = capacity.min(NONE as usize - 1);
        Self { slots: Vec::new(), first_free: NONE, occupied: 0, capacity }
    }

    /// The number of processes.
    pub fn len(&self) -> usize {
        self.occupied
    }

    /// Whether there are no processes.
    pub fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// Whether the table is full.
    pub fn is_full(&self) -> bool {
        self.occupied >= self.capacity
    }

    /// Sets the most processes. Those beyond it stay, and nothing is inserted until there is room.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity.min(NONE as usize - 1);
    }

    /// Bytes of one slot: the memory of an idle process.
    pub const fn slot_bytes() -> usize {
        size_of::<Slot<T>>()
    }

    /// The name that [`Self::insert`] will return next.
    pub fn next_id(&self) -> ProcessId {
        match self.slots.get(self.first_free as usize) {
            Some(slot) => ProcessId { index: self.first_free, generation: slot.generation },
            None => ProcessId { index: self.slots.len() as u32, generation: 0 },
        }
    }

    /// Inserts a process. Gives it back if the table is full.
    #[inline]
    pub fn insert(&mut self, value: T) -> Result<ProcessId, T> {
        if self.is_full() {
            return Err(value);
        }
        self.occupied += 1;
        if self.first_free == NONE {
            let index = self.slots.len() as u32;
            self.slots.push(Slot { generation: 0, next_free: NONE, value: Some(value) });
            return Ok(ProcessId { index, generation: 0 });
        }
        let index = self.first_free;
        let slot = &mut self.slots[index as usize];
        self.first_free = slot.next_free;
        slot.value = Some(value);
        Ok(ProcessId { index, generation: slot.generation })
    }

    /// The process of that name, if it still lives.
    #[inline]
    pub fn lookup(&mut self, id: ProcessId) -> Option<&mut T> {
        let slot = self.slots.get_mut(id.index())?;
        if slot.generation == id.generation { slot.value.as_mut() } else { None }
    }

    /// The process in a slot, if there is one.
    #[inline]
    pub fn at(&mut self, index: usize) -> Option<&mut T> {
        self.slots.get_mut(index)?.value.as_mut()
    }

    /// The process in a slot, if there is one, to look at.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.slots.get(index)?.value.as_ref()
    }

    /// The number of slots that were ever used.
    pub fn used_slots(&self) -> usize {
        self.slots.len()
    }

    /// The name of the process in a slot.
    pub fn id_at(&self, index: usize) -> Option<ProcessId> {
        let slot = self.slots.get(index)?;
        slot.value.as_ref()?;
        Some(ProcessId { index: index as u32, generation: slot.generation })
    }

    /// Removes a process. Its name is never used again.
    #[inline]
    pub fn remove(&mut self, id: ProcessId) -> Option<T> {
        let slot = self.slots.get_mut(id.index())?;
        if slot.generation != id.generation {
            return None;
        }
        let value = slot.value.take()?;
        slot.generation = (slot.generation + 1) & GENERATION_MASK;
        slot.next_free = self.first_free;
        self.first_free = id.index;
        self.occupied -= 1;
        Some(value)
    }

    /// All processes with their names, in slot order.
    pub fn iter(&self) -> impl Iterator<Item = (ProcessId, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| {
            let id = ProcessId { index: index as u32, generation: slot.generation };
            Some((id, slot.value.as_ref()?))
        })
    }

    /// All names, in slot order.
    pub fn ids(&self) -> impl Iterator<Item = ProcessId> + '_ {
        (0..self.slots.len()).filter_map(|index| self.id_at(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_finds_only_the_process_it_was_given_to() {
        let mut slots = Slots::new(2);
        let first = slots.insert("a").unwrap();
        let second = slots.insert("b").unwrap();
        assert_eq!(slots.insert("c"), Err("c"), "the table is bounded");
        assert_eq!(slots.remove(first), Some("a"));
        assert_eq!(slots.remove(first), None, "removed once");
        let third = slots.insert("d").unwrap();
        assert_eq!(third.index(), first.index(), "the slot is used again");
        assert_eq!(slots.lookup(first), None, "the old name finds nobody");
        assert_eq!(slots.lookup(third), Some(&mut "d"));
        assert_eq!(slots.lookup(second), Some(&mut "b"));
        assert_eq!(slots.ids().collect::<Vec<_>>(), vec![third, second]);
        slots.set_capacity(1);
        slots.remove(second);
        assert_eq!(slots.insert("e"), Err("e"), "there is one");
        slots.set_capacity(3);
        assert!(slots.insert("e").is_ok() && slots.insert("f").is_ok() && slots.is_full());
    }

    #[test]
    fn names_survive_the_way_through_a_token() {
        let id = ProcessId { index: 0xffff_fffe, generation: GENERATION_MASK };
        assert_eq!(ProcessId::from_bits(id.to_bits()), id);
        assert!(id.to_bits() < u64::MAX >> 1);
    }
}
