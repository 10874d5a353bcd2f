//! The table that a connection fills (RFC 7541, 2.3.2 and 4).
//!
//! Owns the fields in it, how large it is and which of them it evicts. One for each direction: a decoder's is what its
//! peer made of it. Never finds a field by its text.

use std::collections::VecDeque;

/// Bytes that a field counts beside its text (RFC 7541, 4.1).
pub(super) const FIELD_OVERHEAD: usize = 32;

/// Bytes of evicted text from which on the text is moved to the front, if they are more than half of all.
const MOVED_FROM: usize = 256;

/// Fields in the order in which they came, in one text.
#[derive(Debug)]
pub(super) struct Table {
    /// Evicted text, then that of the fields.
    text: Vec<u8>,
    fields: VecDeque<Place>,
    /// As the RFC counts it.
    size: usize,
    bound: usize,
}

/// Where a field is in the text.
#[derive(Clone, Copy, Debug)]
struct Place {
    begin: u32,
    name: u16,
    value: u16,
}

impl Place {
    fn name_end(self) -> usize {
        self.begin as usize + usize::from(self.name)
    }

    fn cost(self) -> usize {
        usize::from(self.name) + usize::from(self.value) + FIELD_OVERHEAD
    }
}

impl Table {
    /// An empty table of at most this size, which owns no memory. Sizes of 64 KiB and more count as one byte less.
    pub(super) const fn new(bound: usize) -> Self {
        Self { text: Vec::new(), fields: VecDeque::new(), size: 0, bound: clipped(bound) }
    }

    /// The field with this number; the newest one has 0.
    #[inline(always)]
    pub(super) fn field(&self, number: usize) -> Option<(&[u8], &[u8])> {
        let place = *self.fields.get(self.fields.len().checked_sub(number + 1)?)?;
        let text = self.text.get(place.begin as usize..)?;
        let text = text.get(..usize::from(place.name) + usize::from(place.value))?;
        text.split_at_checked(place.name.into())
    }

    /// Adds a field. One that is larger than the whole table empties it (RFC 7541, 4.4).
    pub(super) fn add(&mut self, name: &[u8], value: &[u8]) {
        if self.has_room_for(name.len(), value.len()) {
            let begin = self.text.len();
            self.text.extend_from_slice(name);
            self.put(begin, name.len(), value);
        }
    }

    /// The same with the name of the field that has this number, which may be evicted for it.
    pub(super) fn add_with_name_of(&mut self, number: usize, value: &[u8]) {
        let Some((name, _)) = self.field(number) else { return };
        let name = name.len();
        if self.has_room_for(name, value.len()) {
            let begin = self.text.len();
            let place = self.fields[self.fields.len() - number - 1];
            self.text.extend_from_within(place.begin as usize..place.name_end());
            self.put(begin, name, value);
        }
    }

    fn has_room_for(&mut self, name: usize, value: usize) -> bool {
        let has_room = name + value + FIELD_OVERHEAD <= self.bound;
        if !has_room {
            self.evict_to(0);
        }
        has_room
    }

    /// Adds a field whose name is the end of the text.
    fn put(&mut self, begin: usize, name: usize, value: &[u8]) {
        self.text.extend_from_slice(value);
        // They are smaller than the table, whose bound fits.
        let place = Place { begin: begin as u32, name: name as u16, value: value.len() as u16 };
        self.evict_to(self.bound - place.cost());
        self.size += place.cost();
        self.fields.push_back(place);
        self.move_to_front();
    }

    /// Evicts the oldest fields until the rest is not larger than this.
    fn evict_to(&mut self, size: usize) {
        while self.size > size {
            self.evict();
        }
    }

    /// Evicts the oldest field.
    pub(super) fn evict(&mut self) {
        if let Some(place) = self.fields.pop_front() {
            self.size -= place.cost();
        }
    }

    /// Drops evicted text when it is much: each byte is moved about once for each byte that was added.
    fn move_to_front(&mut self) {
        let front = self.fields.front().map_or(self.text.len(), |oldest| oldest.begin as usize);
        if front >= MOVED_FROM && front * 2 > self.text.len() {
            self.drop_front(front);
        }
    }

    fn drop_front(&mut self, front: usize) {
        self.text.drain(..front);
        for place in &mut self.fields {
            place.begin -= front as u32;
        }
    }

    /// Fields in the table.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// The most that it may become.
    pub(super) fn bound(&self) -> usize {
        self.bound
    }

    /// Changes that, and evicts what is beyond it.
    pub(super) fn set_bound(&mut self, bound: usize) {
        self.bound = clipped(bound);
        self.evict_to(self.bound);
    }

    /// Gives back memory that it does not use.
    pub(super) fn shrink(&mut self) {
        let front = self.fields.front().map_or(self.text.len(), |oldest| oldest.begin as usize);
        self.drop_front(front);
        self.text.shrink_to_fit();
        self.fields.shrink_to_fit();
    }

    /// Bytes of memory that it holds.
    pub(super) fn held_bytes(&self) -> usize {
        self.text.capacity() + self.fields.capacity() * size_of::<Place>()
    }
}

/// A bound that the places have room for.
const fn clipped(bound: usize) -> usize {
    if bound > u16::MAX as usize { u16::MAX as usize } else { bound }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as the RFC describes it, without our places.
    #[derive(Default)]
    struct Plain(Vec<(Vec<u8>, Vec<u8>)>);

    impl Plain {
        fn size(&self) -> usize {
            self.0.iter().map(|(name, value)| name.len() + value.len() + 32).sum()
        }

        fn add(&mut self, name: &[u8], value: &[u8], bound: usize) {
            self.0.insert(0, (name.to_vec(), value.to_vec()));
            while self.size() > bound {
                self.0.pop();
            }
        }
    }

    #[test]
    fn it_is_the_table_of_the_rfc_whatever_is_added() {
        for bound in [0, 31, 32, 40, 100, 333, 4_096] {
            let (mut table, mut plain) = (Table::new(bound), Plain::default());
            let mut random = 7u32;
            for turn in 0..3_000usize {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let sizes = [(random >> 8) % 40, (random >> 16) % 90];
                let [name, value] = sizes.map(|size| vec![turn as u8; size as usize]);
                if turn % 3 == 0 && !plain.0.is_empty() {
                    let number = random as usize % plain.0.len();
                    let name = plain.0[number].0.clone();
                    table.add_with_name_of(number, &value);
                    plain.add(&name, &value, bound);
                } else {
                    table.add(&name, &value);
                    plain.add(&name, &value, bound);
                }
                if turn % 500 == 0 {
                    table.shrink();
                    assert!(table.held_bytes() <= bound + 128 * size_of::<Place>());
                }
                assert_eq!((table.len(), table.size), (plain.0.len(), plain.size()));
                for (number, (name, value)) in plain.0.iter().enumerate() {
                    assert_eq!(table.field(number), Some((&name[..], &value[..])));
                }
                assert_eq!(table.field(plain.0.len()), None);
                assert!(table.text.len() <= 2 * bound + 2 * MOVED_FROM);
            }
        }
    }

    #[test]
    fn a_smaller_bound_evicts_the_oldest() {
        let mut table = Table::new(200);
        table.add(b"a", b"1");
        table.add(b"b", b"2");
        table.set_bound(34);
        assert_eq!(table.field(0), Some((&b"b"[..], &b"2"[..])));
        assert_eq!(table.field(1), None);
        table.set_bound(33);
        assert_eq!((table.len(), table.size), (0, 0));
        table.set_bound(1 << 20);
        assert_eq!(table.bound(), 65_535);
    }
}
