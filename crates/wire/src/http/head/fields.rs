//! The field lines of a head, found again by name.
//!
//! Owns where each line lies. Positions are kept instead of slices: half the memory, and room that can be
//! used for one head after the other. Never judges a field.

use crate::limits;

/// Where a field line begins and how long its name is. Plain data.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    pub(crate) begin: u16,
    pub(crate) name_size: u16,
}

/// The first letters of names, one bit each: for most absent names this alone shows that they are absent.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::http) struct Initials(u32);

impl Initials {
    /// For one name. Upper and lower case are the same; other bytes share bits with letters.
    #[inline(always)]
    pub(in crate::http) const fn of(name: &[u8]) -> Initials {
        match name {
            [first, ..] => Initials(1 << (*first & 31)),
            [] => Initials(0),
        }
    }

    #[inline(always)]
    pub(in crate::http) const fn and(self, other: Initials) -> Initials {
        Initials(self.0 | other.0)
    }

    /// Whether a name from `other` may be among these.
    #[inline(always)]
    pub(in crate::http) const fn may_have(self, other: Initials) -> bool {
        self.0 & other.0 != 0
    }
}

/// Room for the positions of the fields of one head, reused for the next.
pub struct FieldSlots {
    /// One more than the maximum number of fields: the last one marks the end of the last field.
    slots: [Slot; limits::FIELD_COUNT + 1],
}

impl FieldSlots {
    /// Room for the fields of a head.
    #[inline]
    pub const fn new() -> FieldSlots {
        FieldSlots { slots: [Slot { begin: 0, name_size: 0 }; limits::FIELD_COUNT + 1] }
    }

    #[inline(always)]
    pub(super) fn slot(&mut self, index: usize) -> Option<&mut Slot> {
        self.slots.get_mut(index)
    }

    /// The first `count` fields. The slot after them marks the end of the head.
    #[inline(always)]
    pub(super) fn fields<'b>(
        &self,
        input: &'b [u8],
        count: usize,
        initials: Initials,
    ) -> Fields<'b, '_> {
        Fields { input, slots: self.slots.get(..=count).unwrap_or_default(), initials }
    }
}

impl Default for FieldSlots {
    fn default() -> FieldSlots {
        FieldSlots::new()
    }
}

/// The field lines of a head. By default there are none.
#[derive(Clone, Copy, Default)]
pub struct Fields<'b, 's> {
    input: &'b [u8],
    /// One for each field, and one for the end of the last.
    slots: &'s [Slot],
    initials: Initials,
}

impl<'b, 's> Fields<'b, 's> {
    /// The fields whose lines begin at these positions of a text. The last position is the end of the last line.
    #[inline]
    pub(in crate::http) const fn at(
        input: &'b [u8],
        slots: &'s [Slot],
        initials: Initials,
    ) -> Self {
        Self { input, slots, initials }
    }

    /// The text that the positions count in, where the lines are, and the first letters of the names.
    pub(in crate::http) const fn places(&self) -> (&'b [u8], &'s [Slot], Initials) {
        (self.input, self.slots, self.initials)
    }

    /// The lines as HTTP/1 has them, each with its end, for an encoder that copies all of them at once.
    #[inline]
    pub fn lines(&self) -> &'b [u8] {
        let [first, .., last] = self.slots else { return b"" };
        self.input.get(usize::from(first.begin)..usize::from(last.begin)).unwrap_or_default()
    }

    /// The bytes before the first line: of a parsed head, its request line without the line end.
    pub(in crate::http) fn preface(&self) -> &'b [u8] {
        let begin = self.slots.first().map_or(0, |first| usize::from(first.begin));
        self.input.get(..begin.saturating_sub(2)).unwrap_or_default()
    }

    /// The fields without the first `count` of them.
    pub fn after(&self, count: usize) -> Self {
        Self { slots: self.slots.get(count..).unwrap_or_default(), ..*self }
    }

    /// Whether a field has this name, in any case.
    pub fn has(&self, name: &str) -> bool {
        self.may_have(name) && self.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// The same fields without some, which seem not to have been sent. `room` receives the positions. The text still
    /// has their lines ([`lines`](Self::lines)).
    #[must_use]
    pub fn without<'r>(
        self,
        is_left_out: impl Fn(&str) -> bool,
        room: &'r mut FieldSlots,
    ) -> Fields<'b, 'r> {
        let slots = room.slots.get_mut(..self.slots.len()).unwrap_or_default();
        slots.copy_from_slice(self.slots.get(..slots.len()).unwrap_or_default());
        for slot in &mut *slots {
            if is_left_out(str::from_utf8(self.name(*slot)).unwrap_or_default()) {
                // A field that was sent has a name.
                slot.name_size = 0;
            }
        }
        Fields { slots, ..self }
    }

    /// Whether a name may begin with one of these letters.
    #[inline(always)]
    pub(in crate::http) fn may_begin_with(&self, initials: Initials) -> bool {
        self.initials.may_have(initials)
    }

    /// The number of fields.
    #[inline]
    pub fn len(&self) -> usize {
        self.pairs().filter(|(slot, _)| slot.name_size > 0).count()
    }

    /// Whether there are no fields.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of the first field with this name. The name must be in lower case.
    #[inline]
    pub fn first(&self, name: &str) -> Option<&'b [u8]> {
        if !self.may_have(name) {
            return None;
        }
        self.all(name).next()
    }

    /// The values of all fields with this name. The name must be in lower case.
    #[inline]
    pub fn all<'n>(
        &self,
        name: &'n str,
    ) -> impl DoubleEndedIterator<Item = &'b [u8]> + use<'b, 's, 'n> {
        let mut fields = *self;
        if !self.may_have(name) {
            fields.slots = &[];
        }
        fields
            .pairs()
            .filter(move |(slot, _)| {
                usize::from(slot.name_size) == name.len()
                    && fields.name(*slot).eq_ignore_ascii_case(name.as_bytes())
            })
            .map(move |(slot, next)| fields.value(slot, next))
    }

    /// All fields, with names as they were sent.
    pub fn iter(&self) -> impl Iterator<Item = (&'b str, &'b [u8])> + Clone + use<'b, 's> {
        let fields = *self;
        let is_sent = |(slot, _): &(Slot, Slot)| slot.name_size > 0;
        fields.pairs().filter(is_sent).map(move |(slot, next)| {
            (str::from_utf8(fields.name(slot)).unwrap_or_default(), fields.value(slot, next))
        })
    }

    #[inline]
    fn may_have(&self, name: &str) -> bool {
        self.initials.may_have(Initials::of(name.as_bytes()))
    }

    fn pairs(self) -> impl DoubleEndedIterator<Item = (Slot, Slot)> + Clone + use<'s> {
        self.slots.array_windows().map(|[slot, next]| (*slot, *next))
    }

    fn name(self, slot: Slot) -> &'b [u8] {
        let begin = usize::from(slot.begin);
        self.input.get(begin..begin + usize::from(slot.name_size)).unwrap_or_default()
    }

    fn value(self, slot: Slot, next: Slot) -> &'b [u8] {
        let colon = usize::from(slot.begin) + usize::from(slot.name_size);
        let end = usize::from(next.begin).saturating_sub(2);
        super::trim(self.input.get(colon + 1..end).unwrap_or_default())
    }
}

impl std::fmt::Debug for Fields<'_, '_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.iter().map(|(name, value)| (name, String::from_utf8_lossy(value)));
        formatter.debug_map().entries(text).finish()
    }
}
