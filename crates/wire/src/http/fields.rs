//! A list of fields that a program puts together or keeps: of an answer, of a request to another server and what that
//! server answered, of a request that came as values, of a trailer section.
//!
//! Owns the list's text and where each field lies in it. The text is that of HTTP/1, so an encoder of HTTP/1 copies
//! it, and every other encoder goes through names and values. Nothing is ever read back out of the text. Never
//! decides what to send.

use std::fmt;

use super::head::{Fields, Initials, Slot};
use super::response::{InvalidField, check_field, check_value, write_value};
use super::spelling::write_name;
use crate::limits::FIELD_LIST_SIZE;

/// The fields of a request that say where it ends and what becomes of its connection, in lower case (RFC 9110, 7.6.1
/// and 10.1.1; RFC 9112, 6): whoever sends a request writes them anew.
pub const FRAMING: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Fields of a usual message, and bytes of their text.
const USUAL_FIELDS: usize = 15;
const USUAL_TEXT: usize = 512;

/// Names and values, in order. [`fields`](FieldList::fields) lends them.
///
/// ```
/// use wire::http::fields::FieldList;
///
/// let mut list = FieldList::of(&[("content-type", "text/plain")]);
/// list.add("ETag", b"\"1\"")?;
/// assert_eq!(list.fields().first("etag"), Some(&b"\"1\""[..]));
/// assert_eq!(list.fields().lines(), b"Content-Type: text/plain\r\nETag: \"1\"\r\n");
/// # Ok::<(), wire::http::response::InvalidField>(())
/// ```
#[derive(Clone, Default)]
pub struct FieldList {
    text: Vec<u8>,
    /// One for each field and one for the end of the last; empty without fields.
    slots: Vec<Slot>,
    initials: Initials,
}

impl FieldList {
    /// An empty list, which owns no memory.
    pub const fn new() -> Self {
        Self { text: Vec::new(), slots: Vec::new(), initials: const { Initials::of(b"") } }
    }

    /// An empty list with room for the head of a usual message, which then needs no other memory.
    pub fn with_room() -> Self {
        let (text, slots) = (Vec::with_capacity(USUAL_TEXT), Vec::with_capacity(USUAL_FIELDS + 1));
        Self { text, slots, ..Self::new() }
    }

    /// Fields of the program itself, which are valid.
    ///
    /// # Panics
    /// Debug builds: if one of them is not.
    pub fn of(fields: &[(&str, &str)]) -> Self {
        let mut list = Self::new();
        for (name, value) in fields {
            let added = list.add(name, value.as_bytes());
            debug_assert!(added.is_ok(), "a field of the program is not one: {name}");
        }
        list
    }

    /// Empties the list and puts it behind other text, such as a request line with its end. It keeps its memory.
    pub(super) fn restart_behind(&mut self, text: &[&[u8]]) {
        self.text.clear();
        for piece in text {
            self.text.extend_from_slice(piece);
        }
        let begin = u16::try_from(self.text.len()).unwrap_or(u16::MAX);
        self.slots.clear();
        self.slots.push(Slot { begin, name_size: 0 });
        self.initials = Initials::of(b"");
    }

    /// Adds a field, with the spelling that its name has in all answers.
    ///
    /// # Errors
    /// If the name or value cannot be in a head (RFC 9110 section 5.5), or the list is full. Then nothing was added.
    pub fn add(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidField> {
        self.add_named(name, value, write_name)
    }

    /// Adds a field with its name as it is spelt, for a request and for what another server sent.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_as_spelt(&mut self, name: &str, value: &[u8]) -> Result<(), InvalidField> {
        self.add_named(name, value, |out, name| out.extend_from_slice(name.as_bytes()))
    }

    fn add_named(
        &mut self,
        name: &str,
        value: &[u8],
        write_name: impl FnOnce(&mut Vec<u8>, &str),
    ) -> Result<(), InvalidField> {
        check_field(name, value)?;
        let end = position(self.text.len() + name.len() + value.len() + 4)?;
        write_name(&mut self.text, name);
        write_value(&mut self.text, value);
        if self.slots.is_empty() {
            self.slots.push(Slot::default());
        }
        if let Some(slot) = self.slots.last_mut() {
            // It fits, because `end` does.
            slot.name_size = name.len() as u16;
        }
        self.slots.push(Slot { begin: end, name_size: 0 });
        self.initials = self.initials.and(Initials::of(name.as_bytes()));
        Ok(())
    }

    /// Continues the value of the last field, after a space unless it is empty (RFC 9112, 5.2). Without fields there is
    /// nothing to continue.
    ///
    /// # Errors
    /// If the value cannot be in a head, or the list is full. Then nothing was added.
    pub fn fold(&mut self, more: &[u8]) -> Result<(), InvalidField> {
        check_value(more)?;
        let Some((_, value)) = self.fields().iter().last() else { return Ok(()) };
        let blank: &[u8] = if value.is_empty() { b"" } else { b" " };
        let end = position(self.text.len() + blank.len() + more.len())?;
        self.text.truncate(self.text.len().saturating_sub(2));
        for piece in [blank, more, b"\r\n"] {
            self.text.extend_from_slice(piece);
        }
        if let Some(slot) = self.slots.last_mut() {
            slot.begin = end;
        }
        Ok(())
    }

    /// The fields, lent.
    #[inline]
    pub fn fields(&self) -> Fields<'_, '_> {
        Fields::at(&self.text, &self.slots, self.initials)
    }

    /// The number of fields.
    pub fn len(&self) -> usize {
        self.slots.len().saturating_sub(1)
    }

    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives back memory that the list does not use, for one that is kept.
    pub fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.slots.shrink_to_fit();
    }

    /// Bytes of memory used.
    pub fn cost(&self) -> usize {
        self.text.capacity() + self.slots.capacity() * size_of::<Slot>()
    }
}

/// A position in the text of a list.
fn position(end: usize) -> Result<u16, InvalidField> {
    let end = u16::try_from(end).ok().filter(|end| usize::from(*end) <= FIELD_LIST_SIZE);
    end.ok_or(InvalidField::Room)
}

impl fmt::Debug for FieldList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(formatter)
    }
}

/// Lists are equal if they have the same fields in the same order; the case of names does not matter.
impl PartialEq for FieldList {
    fn eq(&self, other: &Self) -> bool {
        let (own, other) = (self.fields(), other.fields());
        let mut pairs = own.iter().zip(other.iter());
        own.len() == other.len()
            && pairs.all(|(one, two)| one.0.eq_ignore_ascii_case(two.0) && one.1 == two.1)
    }
}

impl Eq for FieldList {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_gives_back_what_was_added() {
        let mut list = FieldList::new();
        assert!(list.is_empty() && list.fields().is_empty() && list.fields().lines().is_empty());
        assert_eq!(list.add("etag", b"\"a\""), Ok(()));
        assert_eq!(list.add("Vary", b"Accept"), Ok(()));
        assert_eq!(list.add("x", b""), Ok(()));
        let fields = list.fields();
        let pairs: Vec<_> = fields.iter().collect();
        assert_eq!(pairs, [("ETag", &b"\"a\""[..]), ("Vary", b"Accept"), ("X", b"")]);
        assert_eq!(fields.first("vary"), Some(&b"Accept"[..]));
        assert!(fields.has("VARY") && !fields.has("var") && !fields.has("age"));
        assert_eq!(fields.after(1).lines(), b"Vary: Accept\r\nX: \r\n");
        assert_eq!(fields.after(2).iter().collect::<Vec<_>>(), [("X", &b""[..])]);
        assert!(fields.after(3).is_empty() && fields.after(9).lines().is_empty());
    }

    #[test]
    fn names_stay_as_they_are_spelt_and_values_are_continued() {
        let mut list = FieldList::new();
        assert_eq!(list.fold(b"nothing to continue"), Ok(()));
        assert!(list.is_empty());
        assert_eq!(list.add_as_spelt("x-A", b"b"), Ok(()));
        assert_eq!(list.fold(b"c"), Ok(()));
        assert_eq!(list.add_as_spelt("ETAG", b""), Ok(()));
        assert_eq!(list.fold(b"d"), Ok(()));
        assert_eq!(list.fold(b"e\r\nY: f"), Err(InvalidField::Value));
        assert_eq!(list.add_as_spelt("z z", b""), Err(InvalidField::Name));
        assert_eq!(list.fields().lines(), b"x-A: b c\r\nETAG: d\r\n");
        assert_eq!(list.fields().first("etag"), Some(&b"d"[..]));
        let room = FIELD_LIST_SIZE - list.fields().lines().len();
        assert_eq!(list.fold(&vec![b'x'; room]), Err(InvalidField::Room));
        assert_eq!(list.fold(&vec![b'x'; room - 1]), Ok(()));
        assert_eq!(list.fields().lines().len(), FIELD_LIST_SIZE);
        assert_eq!(list.fold(b""), Err(InvalidField::Room));
    }

    #[test]
    fn a_field_that_cannot_be_in_a_head_is_not_added() {
        let mut list = FieldList::of(&[("A", "1")]);
        assert_eq!(list.add("a b", b"1"), Err(InvalidField::Name));
        assert_eq!(list.add("B", b"1\r\nC: 2"), Err(InvalidField::Value));
        assert_eq!(list.add("B", &vec![b'x'; FIELD_LIST_SIZE]), Err(InvalidField::Room));
        assert_eq!(list, FieldList::of(&[("a", "1")]));
        assert_ne!(list, FieldList::of(&[("a", "2")]));
        let room = FIELD_LIST_SIZE - list.fields().lines().len();
        assert_eq!(list.add("B", &vec![b'x'; room - 4]), Err(InvalidField::Room));
        assert_eq!(list.add("B", &vec![b'x'; room - 5]), Ok(()));
        assert_eq!(list.fields().lines().len(), FIELD_LIST_SIZE);
        assert_eq!(list.add("C", b""), Err(InvalidField::Room));
    }
}
