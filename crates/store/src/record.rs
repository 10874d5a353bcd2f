//! A value with its metadata, as stored in the file.
//!
//! Owns the encoding: one byte with the kind and whether there is an expiry, eight with the
//! version, eight with the expiry if there is one (both big-endian), then the bytes. It is part of
//! the file format and does not change.

/// The kind of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueKind {
    /// Bytes, whose form is unknown.
    #[default]
    Bytes,
    /// A number, as decimal text.
    Number,
    /// A table, as JSON text.
    Table,
}

/// A value to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// The kind.
    pub kind: ValueKind,
    /// The bytes.
    pub bytes: Box<[u8]>,
}

impl Value {
    /// A value of the kind bytes.
    pub fn bytes(bytes: &[u8]) -> Self {
        Self { kind: ValueKind::Bytes, bytes: bytes.into() }
    }
}

/// A stored value; its bytes are borrowed from the memory map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'s> {
    /// The kind.
    pub kind: ValueKind,
    /// The version: the number of the change that wrote the value. Every change has a different one.
    pub version: u64,
    /// The expiry; `None` if the value never expires.
    pub expiry_ms: Option<u64>,
    /// The bytes.
    pub bytes: &'s [u8],
}

/// A copy of a stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// The kind.
    pub kind: ValueKind,
    /// As in [`Record`].
    pub version: u64,
    /// As in [`Record`].
    pub expiry_ms: Option<u64>,
    /// The bytes.
    pub bytes: Box<[u8]>,
}

impl StoredEntry {
    /// The copy as a record.
    pub fn as_record(&self) -> Record<'_> {
        Record {
            kind: self.kind,
            version: self.version,
            expiry_ms: self.expiry_ms,
            bytes: &self.bytes,
        }
    }
}

const EXPIRES: u8 = 0x80;

impl<'s> Record<'s> {
    /// Decodes a record; `None` if no version of this program can have written it.
    pub(crate) fn decode(stored: &'s [u8]) -> Option<Self> {
        let (first, rest) = stored.split_first()?;
        let kind = match first & !EXPIRES {
            0 => ValueKind::Bytes,
            1 => ValueKind::Number,
            2 => ValueKind::Table,
            _ => return None,
        };
        let (version, rest) = rest.split_first_chunk()?;
        let (expiry_ms, bytes) = if first & EXPIRES == 0 {
            (None, rest)
        } else {
            let (expiry, rest) = rest.split_first_chunk()?;
            (Some(u64::from_be_bytes(*expiry)), rest)
        };
        Some(Self { kind, version: u64::from_be_bytes(*version), expiry_ms, bytes })
    }

    /// Appends the encoded record to a buffer.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let kind = match self.kind {
            ValueKind::Bytes => 0,
            ValueKind::Number => 1,
            ValueKind::Table => 2,
        };
        out.push(if self.expiry_ms.is_some() { kind | EXPIRES } else { kind });
        out.extend_from_slice(&self.version.to_be_bytes());
        if let Some(expiry) = self.expiry_ms {
            out.extend_from_slice(&expiry.to_be_bytes());
        }
        out.extend_from_slice(self.bytes);
    }

    /// Whether the record has not expired at that time.
    pub(crate) fn is_there(&self, now_ms: u64) -> bool {
        self.expiry_ms.is_none_or(|expiry| now_ms < expiry)
    }

    /// Copies the record.
    pub fn to_entry(&self) -> StoredEntry {
        StoredEntry {
            kind: self.kind,
            version: self.version,
            expiry_ms: self.expiry_ms,
            bytes: self.bytes.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_format_of_the_file_is_what_it_was() {
        let mut stored = Vec::new();
        let record =
            Record { kind: ValueKind::Table, version: 0x0102, expiry_ms: Some(3), bytes: b"{}" };
        record.encode(&mut stored);
        assert_eq!(stored, b"\x82\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x03{}");
        for length in 0..17 {
            assert_eq!(Record::decode(&stored[..length]), None, "{length}");
        }
        assert_eq!(Record::decode(b"\x03\0\0\0\0\0\0\0\0"), None);
    }

    proptest! {
        #[test]
        fn written_record_reads_back(
            kind in prop_oneof![Just(ValueKind::Bytes), Just(ValueKind::Number), Just(ValueKind::Table)],
            version: u64,
            expiry_ms: Option<u64>,
            bytes: Vec<u8>,
        ) {
            let record = Record { kind, version, expiry_ms, bytes: &bytes };
            let mut stored = Vec::new();
            record.encode(&mut stored);
            prop_assert_eq!(Record::decode(&stored), Some(record));
        }
    }
}
