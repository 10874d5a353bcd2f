//! HPACK (RFC 7541): lists of fields as HTTP/2 compresses them.
//!
//! Owns both directions of the format and the tables that they need. Never judges a field: names and values are bytes
//! here, and the reader of heads decides what may stand in them. Never keeps more than a table allows, whatever a peer
//! sends.

mod decoder;
mod encoder;
mod huffman;
mod integer;
mod repeated;
mod static_table;
mod table;

pub use decoder::Decoder;
pub use encoder::{Encoder, Indexing};

/// Why a block of fields is not HPACK. The peer is at fault, and no block of this connection can be read any more: a
/// connection error of the type COMPRESSION_ERROR (RFC 9113, 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    /// The block ends within a field.
    #[error("a block of fields ends within a field")]
    Truncated,
    /// An integer does not fit 32 bits, or is written in too many bytes (RFC 7541, 5.1).
    #[error("an integer of a field block is too large")]
    IntegerTooLarge,
    /// An index that neither table has (2.3.3).
    #[error("a field block has an index that no table has")]
    UnknownIndex,
    /// A string's Huffman code has the symbol that ends strings (5.2).
    #[error("a string of a field block has the symbol EOS")]
    EndOfString,
    /// A string's Huffman code is padded with more than 7 bits, or with others than those of EOS (5.2).
    #[error("a string of a field block is padded wrongly")]
    Padding,
    /// A table larger than was agreed (6.3).
    #[error("a field block makes the table larger than was agreed")]
    TableTooLarge,
    /// A size of the table behind a field (4.2).
    #[error("a field block changes the size of the table after a field")]
    LateTableSize,
}
