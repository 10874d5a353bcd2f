//! Blocks of fields as they come (RFC 7541, 3 and 6).
//!
//! Owns the table that the peer fills, and the room for one string in Huffman's code. Never keeps a field beyond the
//! call, except in the table.

use super::table::Table;
use super::{HpackError, Indexing, huffman, integer, static_table};
use crate::limits::{HPACK_TABLE_BYTES, HPACK_TABLE_BYTES_MAX};

/// Reads the blocks of one connection, in the order in which they came: all of them, because each may change the
/// table.
///
/// ```
/// let mut decoder = wire::hpack::Decoder::new(4_096);
/// let mut seen = Vec::new();
/// decoder.decode(b"\x82\x40\x01a\x01b\xbe", |name, value| {
///     seen.push(format!("{}={}", name.escape_ascii(), value.escape_ascii()));
/// })?;
/// assert_eq!(seen, [":method=GET", "a=b", "a=b"]);
/// # Ok::<(), wire::hpack::HpackError>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    /// The largest table that we agreed to.
    agreed: usize,
    /// A string that was read from Huffman's code.
    plain: Vec<u8>,
}

impl Decoder {
    /// A decoder for a connection whose SETTINGS_HEADER_TABLE_SIZE we announce as this. Before the peer has read that,
    /// and without such a setting, it is [`HPACK_TABLE_BYTES`]: a smaller one counts as that, a larger one than
    /// [`HPACK_TABLE_BYTES_MAX`] as that.
    pub fn new(table_bytes: usize) -> Self {
        let agreed = table_bytes.clamp(HPACK_TABLE_BYTES, HPACK_TABLE_BYTES_MAX);
        Self { table: Table::new(HPACK_TABLE_BYTES), agreed, plain: Vec::new() }
    }

    /// Reads a whole block and passes on each field: name and value, any bytes. A caller that refuses a field lets the
    /// rest pass by, so that the table stays in step with that of the peer.
    ///
    /// # Errors
    /// If the block is not HPACK. Fields before the place were passed on, and the connection must end.
    pub fn decode(
        &mut self,
        block: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let mut rest = block;
        let mut is_behind_a_field = false;
        while let Some(first) = rest.first() {
            match first {
                0x80.. => self.indexed(&mut rest, &mut visit)?,
                0x20..0x40 => {
                    if is_behind_a_field {
                        return Err(HpackError::LateTableSize);
                    }
                    self.resize(&mut rest)?;
                    continue;
                }
                0x40.. => self.literal(&mut rest, Indexing::Add, &mut visit)?,
                0x10.. => self.literal(&mut rest, Indexing::Never, &mut visit)?,
                _ => self.literal(&mut rest, Indexing::Skip, &mut visit)?,
            }
            is_behind_a_field = true;
        }
        Ok(())
    }

    /// RFC 7541, 6.1.
    #[inline(always)]
    fn indexed(
        &self,
        rest: &mut &[u8],
        visit: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let index = integer::read(rest, 7)?;
        if let Some((name, value)) = static_table::field(index) {
            visit(name.as_bytes(), value.as_bytes());
            return Ok(());
        }
        let (name, value) = self.table.field(number(index)?).ok_or(HpackError::UnknownIndex)?;
        visit(name, value);
        Ok(())
    }

    /// RFC 7541, 6.2.1.
    #[inline(always)]
    fn literal(
        &mut self,
        rest: &mut &[u8],
        indexing: Indexing,
        visit: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let name = match integer::read(rest, indexing.prefix_bits())? {
            0 => Name::Literal(Text::read(rest)?),
            index => match static_table::field(index) {
                Some((name, _)) => Name::Static(name),
                None => Name::Dynamic(number(index)?),
            },
        };
        let value = Text::read(rest)?;
        let mut plain = std::mem::take(&mut self.plain);
        let done = self.pass_on(Literal { name, value, indexing }, &mut plain, visit);
        self.plain = plain;
        done
    }

    /// Passes a field on, and adds it to the table if it says so.
    #[inline(always)]
    fn pass_on(
        &mut self,
        literal: Literal<'_>,
        plain: &mut Vec<u8>,
        visit: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let Literal { name, value, indexing } = literal;
        plain.clear();
        if let Name::Literal(name) = name {
            name.decode(plain)?;
        }
        let name_size = plain.len();
        value.decode(plain)?;
        let (plain_name, plain_value) = plain.split_at(name_size);
        let value = value.or(plain_value);
        let name = match name {
            Name::Static(name) => name.as_bytes(),
            Name::Literal(name) => name.or(plain_name),
            Name::Dynamic(number) => {
                let (name, _) = self.table.field(number).ok_or(HpackError::UnknownIndex)?;
                visit(name, value);
                if indexing == Indexing::Add {
                    self.table.add_with_name_of(number, value);
                }
                return Ok(());
            }
        };
        visit(name, value);
        if indexing == Indexing::Add {
            self.table.add(name, value);
        }
        Ok(())
    }

    /// RFC 7541, 6.3.
    fn resize(&mut self, rest: &mut &[u8]) -> Result<(), HpackError> {
        let size = integer::read(rest, 5)? as usize;
        if size > self.agreed {
            return Err(HpackError::TableTooLarge);
        }
        self.table.set_bound(size);
        Ok(())
    }

    /// Gives back memory that no field needs, for a connection that is idle. The table must stay.
    pub fn shrink(&mut self) {
        self.plain = Vec::new();
        self.table.shrink();
    }

    /// Bytes of memory that it holds beside its own.
    pub fn held_bytes(&self) -> usize {
        self.plain.capacity() + self.table.held_bytes()
    }
}

/// The number of a field in the table that has this index (RFC 7541, 2.3.3).
#[inline(always)]
fn number(index: u32) -> Result<usize, HpackError> {
    let number = (index as usize).checked_sub(static_table::COUNT + 1);
    number.ok_or(HpackError::UnknownIndex)
}

/// A field that is not in a table as a whole.
#[derive(Clone, Copy)]
struct Literal<'b> {
    name: Name<'b>,
    value: Text<'b>,
    indexing: Indexing,
}

/// Where its name is.
#[derive(Clone, Copy)]
enum Name<'b> {
    Static(&'static str),
    /// In the field of the table with this number.
    Dynamic(usize),
    Literal(Text<'b>),
}

/// A string as it came.
#[derive(Clone, Copy)]
enum Text<'b> {
    Plain(&'b [u8]),
    /// In Huffman's code.
    Coded(&'b [u8]),
}

impl<'b> Text<'b> {
    /// Takes the string at the beginning of the input (RFC 7541, 5.2).
    #[inline(always)]
    fn read(rest: &mut &'b [u8]) -> Result<Self, HpackError> {
        let is_coded = rest.first().is_some_and(|first| first & 0x80 != 0);
        let size = integer::read(rest, 7)? as usize;
        let (text, after) = rest.split_at_checked(size).ok_or(HpackError::Truncated)?;
        *rest = after;
        Ok(if is_coded { Self::Coded(text) } else { Self::Plain(text) })
    }

    /// Appends what it means if that is not what came.
    #[inline(always)]
    fn decode(self, plain: &mut Vec<u8>) -> Result<(), HpackError> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Coded(text) => huffman::decode(text, plain),
        }
    }

    /// The string, which is `decoded` if it came in Huffman's code.
    #[inline(always)]
    fn or(self, decoded: &'b [u8]) -> &'b [u8] {
        match self {
            Self::Plain(text) => text,
            Self::Coded(_) => decoded,
        }
    }
}
