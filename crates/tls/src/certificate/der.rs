//! Elements of DER: a tag, a length and a body, one after the other (X.690).
//!
//! Owns where an element ends. Borrows; never copies and never descends by itself, so nesting cannot exhaust the
//! stack. Tags above 30 and lengths of more than four bytes, which no certificate has, are malformed.

use super::MalformedCertificate;

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
pub(super) const CONTEXT_PRIMITIVE_0: u8 = 0x80;
pub(super) const CONTEXT_PRIMITIVE_1: u8 = 0x81;
pub(super) const CONTEXT_PRIMITIVE_2: u8 = 0x82;
pub(super) const CONTEXT_PRIMITIVE_7: u8 = 0x87;
pub(super) const CONTEXT_0: u8 = 0xa0;
pub(super) const CONTEXT_3: u8 = 0xa3;

/// An element. Plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element<'b> {
    pub(crate) tag: u8,
    pub(crate) body: &'b [u8],
}

/// Reads elements from the front.
#[derive(Debug)]
pub(super) struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    pub(super) const fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The bytes that were not read yet.
    pub(super) const fn rest(&self) -> &'b [u8] {
        self.rest
    }

    /// Nothing may follow.
    pub(super) fn end(&self) -> Result<(), MalformedCertificate> {
        if self.is_empty() { Ok(()) } else { Err(MalformedCertificate) }
    }

    pub(super) fn next(&mut self) -> Result<Element<'b>, MalformedCertificate> {
        let (&tag, rest) = self.rest.split_first().ok_or(MalformedCertificate)?;
        if tag & 0x1f == 0x1f {
            return Err(MalformedCertificate);
        }
        let (&first, rest) = rest.split_first().ok_or(MalformedCertificate)?;
        let (length, rest) = length(first, rest)?;
        let (body, rest) = rest.split_at_checked(length).ok_or(MalformedCertificate)?;
        self.rest = rest;
        Ok(Element { tag, body })
    }

    /// The body of the next element, which has to have this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Result<&'b [u8], MalformedCertificate> {
        let element = self.next()?;
        if element.tag == tag { Ok(element.body) } else { Err(MalformedCertificate) }
    }

    /// The body of the next element if it has this tag; otherwise the element stays.
    pub(super) fn optional(&mut self, tag: u8) -> Result<Option<&'b [u8]>, MalformedCertificate> {
        if self.rest.first() == Some(&tag) { self.expect(tag).map(Some) } else { Ok(None) }
    }
}

/// A length: below 128 one byte, otherwise the number of bytes that hold it (X.690 section 8.1.3). DER has only the
/// shortest form.
fn length(first: u8, rest: &[u8]) -> Result<(usize, &[u8]), MalformedCertificate> {
    if first < 0x80 {
        return Ok((usize::from(first), rest));
    }
    let count = usize::from(first & 0x7f);
    let (bytes, rest) = rest.split_at_checked(count).ok_or(MalformedCertificate)?;
    if count == 0 || count > 4 || bytes.first() == Some(&0) {
        return Err(MalformedCertificate);
    }
    let length = bytes.iter().fold(0_usize, |length, byte| length << 8 | usize::from(*byte));
    if length < 0x80 { Err(MalformedCertificate) } else { Ok((length, rest)) }
}
