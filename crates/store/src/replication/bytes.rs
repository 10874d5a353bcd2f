//! Numbers and texts as bytes, for what nodes send each other.
//!
//! Owns the encoding: numbers are little-endian, and a text has its length in front. Every length is checked against
//! what is there, so nothing is allocated that the sender has not sent.

/// The bytes end too early, or a number stands for nothing that this version knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut;

/// Reads bytes from front to back.
#[derive(Clone, Debug)]
pub(crate) struct ByteReader<'b>(&'b [u8]);

impl<'b> ByteReader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    /// Whether everything is read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    /// All bytes that are left.
    pub(crate) fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.0)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Cut> {
        let (first, rest) = self.0.split_first().ok_or(Cut)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Cut> {
        let (number, rest) = self.0.split_first_chunk().ok_or(Cut)?;
        self.0 = rest;
        Ok(u32::from_le_bytes(*number))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Cut> {
        let (number, rest) = self.0.split_first_chunk().ok_or(Cut)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*number))
    }

    /// So many bytes.
    pub(crate) fn take(&mut self, length: usize) -> Result<&'b [u8], Cut> {
        let (part, rest) = self.0.split_at_checked(length).ok_or(Cut)?;
        self.0 = rest;
        Ok(part)
    }

    /// Bytes behind their length.
    pub(crate) fn text(&mut self) -> Result<&'b [u8], Cut> {
        let length = self.u32()?;
        self.take(usize::try_from(length).map_err(|_| Cut)?)
    }

    /// Some items behind their count, each of which has at least one byte.
    pub(crate) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, Cut>,
    ) -> Result<Vec<T>, Cut> {
        let count = usize::try_from(self.u32()?).map_err(|_| Cut)?;
        if count > self.0.len() {
            return Err(Cut);
        }
        (0..count).map(|_| item(self)).collect()
    }

    /// An item that may be missing.
    pub(crate) fn option<T>(
        &mut self,
        item: impl FnOnce(&mut Self) -> Result<T, Cut>,
    ) -> Result<Option<T>, Cut> {
        match self.u8()? {
            0 => Ok(None),
            1 => item(self).map(Some),
            _ => Err(Cut),
        }
    }
}

/// Appends bytes behind their length.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_count(out, text.len());
    out.extend_from_slice(text);
}

/// Appends a count.
pub(crate) fn put_count(out: &mut Vec<u8>, count: usize) {
    let count = u32::try_from(count).expect("orders, values and messages are limited");
    out.extend_from_slice(&count.to_le_bytes());
}

/// Appends an item that may be missing.
pub(crate) fn put_option<T>(out: &mut Vec<u8>, item: Option<T>, put: impl FnOnce(&mut Vec<u8>, T)) {
    out.push(u8::from(item.is_some()));
    if let Some(item) = item {
        put(out, item);
    }
}
