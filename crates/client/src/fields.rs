//! A list of fields: names as written, and values, in their order.
//!
//! Owns how they are kept: one text and the ends of each name and value. Never checks them: what writes a message does.

use std::fmt;

/// Fields of a head or of a trailer section.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Fields {
    text: Vec<u8>,
    ends: Vec<Ends>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Ends {
    name: usize,
    value: usize,
}

impl Fields {
    /// Adds a field.
    pub fn add(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        let name = self.text.len();
        self.text.extend_from_slice(value);
        self.ends.push(Ends { name, value: self.text.len() });
    }

    /// Continues the value of the last field, after a space unless it is empty.
    pub(crate) fn fold(&mut self, more: &[u8]) {
        let Some(ends) = self.ends.last_mut() else { return };
        if ends.value > ends.name {
            self.text.push(b' ');
        }
        self.text.extend_from_slice(more);
        ends.value = self.text.len();
    }

    /// The names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut begin = 0;
        self.ends.iter().map(move |ends| {
            let name = self.text.get(begin..ends.name).unwrap_or_default();
            begin = ends.value;
            (name, self.text.get(ends.name..ends.value).unwrap_or_default())
        })
    }

    /// The value of the first field with this name, in any case.
    pub fn first(&self, name: &str) -> Option<&[u8]> {
        let mut fields = self.iter();
        fields
            .find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of names and values.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        out.debug_map().entries(self.iter().map(|(name, value)| (text(name), text(value)))).finish()
    }
}

impl<'f> FromIterator<(&'f [u8], &'f [u8])> for Fields {
    fn from_iter<I: IntoIterator<Item = (&'f [u8], &'f [u8])>>(fields: I) -> Self {
        let mut list = Self::default();
        fields.into_iter().for_each(|(name, value)| list.add(name, value));
        list
    }
}
