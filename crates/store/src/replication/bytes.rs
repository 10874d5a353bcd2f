//! Values as bytes, for what nodes send each other.
//!
//! Owns the encoding: numbers are little-endian, a text has its length in front, a list its count, and a variant its
//! number. Every length is checked against what is there, so nothing is allocated that the sender has not sent.

use std::sync::Arc;

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

/// A value that has one form as bytes.
pub(crate) trait Coded: Sized {
    /// Appends its bytes.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads it from the front of the bytes.
    ///
    /// # Errors
    /// If they end too early, or mean nothing to this version.
    fn read(bytes: &mut ByteReader<'_>) -> Result<Self, Cut>;
}

/// Makes types [`Coded`], from one table for both directions: a struct is its fields in order; a variant is its number
/// and then the values that are named behind it.
macro_rules! coded {
    ($type:ty { $($number:literal => ($($variant:tt)+) $($part:ident)*;)+ }) => {
        impl Coded for $type {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $($($variant)+ => {
                        out.push($number);
                        $($part.put(out);)*
                    })+
                }
            }

            fn read(bytes: &mut ByteReader<'_>) -> Result<Self, Cut> {
                Ok(match bytes.u8()? {
                    $($number => {
                        $(let $part = Coded::read(bytes)?;)*
                        $($variant)+
                    })+
                    _ => return Err(Cut),
                })
            }
        }
    };
    ($(struct $type:ty { $($field:tt),+ })+) => {
        $(impl Coded for $type {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)+
            }

            fn read(bytes: &mut ByteReader<'_>) -> Result<Self, Cut> {
                Ok(Self { $($field: Coded::read(bytes)?),+ })
            }
        })+
    };
}
pub(crate) use coded;

/// Texts, which are of any bytes.
macro_rules! texts {
    ($($type:ty),+) => {
        $(impl Coded for $type {
            fn put(&self, out: &mut Vec<u8>) {
                put_text(out, self);
            }

            fn read(bytes: &mut ByteReader<'_>) -> Result<Self, Cut> {
                bytes.text().map(Into::into)
            }
        })+
    };
}

texts!(Box<[u8]>, Arc<[u8]>, Vec<u8>);

coded!(bool { 0 => (false); 1 => (true); });

impl Coded for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn read(bytes: &mut ByteReader<'_>) -> Result<Self, Cut> {
        bytes.u64()
    }
}

impl Coded for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        self.cast_unsigned().put(out);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Result<Self, Cut> {
        bytes.u64().map(u64::cast_signed)
    }
}

impl Coded for usize {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u64).put(out);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Result<Self, Cut> {
        bytes.u64()?.try_into().map_err(|_| Cut)
    }
}

impl Coded for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_text(out, self.as_bytes());
    }

    fn read(bytes: &mut ByteReader<'_>) -> Result<Self, Cut> {
        str::from_utf8(bytes.text()?).map(str::to_owned).map_err(|_| Cut)
    }
}

impl<T: Coded> Coded for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_count(out, self.len());
        self.iter().for_each(|item| item.put(out));
    }

    fn read(bytes: &mut ByteReader<'_>) -> Result<Self, Cut> {
        bytes.list(T::read)
    }
}

impl<T: Coded> Coded for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        self.iter().for_each(|item| item.put(out));
    }

    fn read(bytes: &mut ByteReader<'_>) -> Result<Self, Cut> {
        bool::read(bytes)?.then(|| T::read(bytes)).transpose()
    }
}

impl<A: Coded, B: Coded> Coded for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn read(bytes: &mut ByteReader<'_>) -> Result<Self, Cut> {
        Ok((A::read(bytes)?, B::read(bytes)?))
    }
}
