//! A value as JSON, written directly into a reply.
//!
//! Owns the common types: text, integers, sequences, structs, maps, enums. `serde_json` writes the
//! rare ones (numbers with a fraction or 128 bits, map keys, text that needs an escape), and the
//! result is the same text as it writes. Its own writer processes a text byte by byte, this one
//! eight bytes at a time.

use serde::Serialize;
use serde::ser::{self, Serializer};
use serde_json::Error;

/// Structs with this name contain JSON text, which is written unchanged (`RawValue`, numbers of any precision).
const VERBATIM: &str = "$serde_json::private::";

/// Appends a value. After an error, a part of it may have been appended.
#[inline]
pub(super) fn write<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), Error> {
    value.serialize(Writer { out })
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
}

impl<'o> Writer<'o> {
    #[inline]
    fn put(self, bytes: &[u8]) -> Result<(), Error> {
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn rare<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        serde_json::to_writer(self.out, value)
    }

    #[inline]
    fn integer(self, value: impl itoa::Integer) -> Result<(), Error> {
        self.put(itoa::Buffer::new().format(value).as_bytes())
    }

    #[inline]
    fn open(self, begin: u8, end: &'static [u8]) -> Result<Members<'o>, Error> {
        self.out.push(begin);
        Ok(Members { out: self.out, before: b"", end, form: Form::Written })
    }

    /// Writes `{"Name":` for a variant of an enum that has content.
    fn variant(&mut self, name: &str) {
        self.out.push(b'{');
        put_text(self.out, name);
        self.out.push(b':');
    }
}

/// Appends a text in quotes.
#[inline]
fn put_text(out: &mut Vec<u8>, text: &str) {
    if !is_plain(text.as_bytes()) {
        return put_escaped(out, text);
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

#[cold]
fn put_escaped(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("memory takes all bytes, and a text is always JSON");
}

/// Whether no byte needs an escape (RFC 8259 section 7): control characters, quotation mark, backslash.
#[inline]
fn is_plain(text: &[u8]) -> bool {
    let (words, rest) = text.as_chunks::<8>();
    let found = words.iter().fold(0, |found, word| found | escapes(u64::from_le_bytes(*word)));
    if rest.is_empty() {
        return found == 0;
    }
    // The last word overlaps the one before it.
    let last = text.last_chunk().map_or_else(|| short_word(rest), |word| u64::from_le_bytes(*word));
    found | escapes(last) == 0
}

/// A text of one to seven bytes as a word; some bytes are in it twice.
#[inline]
fn short_word(text: &[u8]) -> u64 {
    let (low, high) = match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => (u32::from_le_bytes(*first), u32::from_le_bytes(*last)),
        _ => {
            let [first, .., last] = text else { return all(text.first().copied().unwrap_or(b'a')) };
            let middle = text.get(1).copied().unwrap_or(b'a');
            (u32::from_le_bytes([*first, middle, *last, b'a']), u32::from_le_bytes([b'a'; 4]))
        }
    };
    u64::from(high) << 32 | u64::from(low)
}

const fn all(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Not 0 if a byte of the word needs an escape. Bits above the lowest one may be wrong, but if no byte needs an escape
/// none is set: a borrow begins in a byte that does need one.
#[inline]
const fn escapes(word: u64) -> u64 {
    let control = word.wrapping_sub(all(0x20));
    let quote = (word ^ all(b'"')).wrapping_sub(all(1));
    let backslash = (word ^ all(b'\\')).wrapping_sub(all(1));
    (control | quote | backslash) & !word & all(0x80)
}

/// How the members of a sequence, map or struct are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As JSON.
    Written,
    /// As the text that they contain.
    Verbatim,
}

/// A sequence, map or struct that has begun.
struct Members<'o> {
    out: &'o mut Vec<u8>,
    /// The text before the next member.
    before: &'static [u8],
    end: &'static [u8],
    form: Form,
}

impl Members<'_> {
    #[inline]
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.out.extend_from_slice(self.before);
        self.before = b",";
        write(value, self.out)
    }

    #[inline]
    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        if self.form == Form::Verbatim {
            return self.verbatim(value);
        }
        self.out.extend_from_slice(self.before);
        self.before = b",";
        put_text(self.out, name);
        self.out.push(b':');
        write(value, self.out)
    }

    #[cold]
    fn verbatim<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let text: String = serde_json::from_str(&serde_json::to_string(value)?)?;
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    #[inline]
    fn close(self) -> Result<(), Error> {
        self.out.extend_from_slice(self.end);
        Ok(())
    }
}

/// One key without a value, for `serde_json` to write: it decides which keys are possible and how they are written.
struct Key<'k, K: ?Sized>(&'k K);

impl<K: Serialize + ?Sized> Serialize for Key<'_, K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, ())])
    }
}

macro_rules! integers {
    ($($name:ident: $type:ty),*) => {
        $(#[inline]
        fn $name(self, value: $type) -> Result<(), Error> {
            self.integer(value)
        })*
    };
}

macro_rules! rare {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, value: $type) -> Result<(), Error> {
            self.rare(&value)
        })*
    };
}

impl<'o> Serializer for Writer<'o> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Members<'o>;
    type SerializeTuple = Members<'o>;
    type SerializeTupleStruct = Members<'o>;
    type SerializeTupleVariant = Members<'o>;
    type SerializeMap = Members<'o>;
    type SerializeStruct = Members<'o>;
    type SerializeStructVariant = Members<'o>;

    integers!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64);
    integers!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64);
    rare!(serialize_i128: i128, serialize_u128: u128, serialize_f32: f32, serialize_f64: f64);
    rare!(serialize_char: char);

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.put(if value { b"true" } else { b"false" })
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        put_text(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.put(b"null")
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        mut self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.variant(variant);
        write(value, self.out)?;
        self.put(b"}")
    }

    #[inline]
    fn serialize_seq(self, _length: Option<usize>) -> Result<Members<'o>, Error> {
        self.open(b'[', b"]")
    }

    #[inline]
    fn serialize_tuple(self, _length: usize) -> Result<Members<'o>, Error> {
        self.open(b'[', b"]")
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Members<'o>, Error> {
        self.open(b'[', b"]")
    }

    fn serialize_tuple_variant(
        mut self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Members<'o>, Error> {
        self.variant(variant);
        self.open(b'[', b"]}")
    }

    #[inline]
    fn serialize_map(self, _length: Option<usize>) -> Result<Members<'o>, Error> {
        self.open(b'{', b"}")
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, _length: usize) -> Result<Members<'o>, Error> {
        if name.starts_with(VERBATIM) {
            return Ok(Members { out: self.out, before: b"", end: b"", form: Form::Verbatim });
        }
        self.open(b'{', b"}")
    }

    fn serialize_struct_variant(
        mut self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Members<'o>, Error> {
        self.variant(variant);
        self.open(b'{', b"}}")
    }
}

/// The five kinds of members, whose interfaces differ by one word.
macro_rules! members {
    ($($trait:ident $method:ident($($name:ident)?)),*) => {
        $(impl ser::$trait for Members<'_> {
            type Ok = ();
            type Error = Error;

            #[inline]
            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($name: &'static str,)?
                value: &T,
            ) -> Result<(), Error> {
                members!(@ self $($name)? value)
            }

            #[inline]
            fn end(self) -> Result<(), Error> {
                self.close()
            }
        })*
    };
    (@ $self:ident $name:ident $value:ident) => { $self.field($name, $value) };
    (@ $self:ident $value:ident) => { $self.item($value) };
}

members!(
    SerializeSeq serialize_element(),
    SerializeTuple serialize_element(),
    SerializeTupleStruct serialize_field(),
    SerializeTupleVariant serialize_field(),
    SerializeStruct serialize_field(name),
    SerializeStructVariant serialize_field(name)
);

impl ser::SerializeMap for Members<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.out.extend_from_slice(self.before);
        self.before = b",";
        let object = serde_json::to_vec(&Key(key))?;
        // `{"key":null}`
        let key = object.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"null}"));
        self.out.extend_from_slice(key.unwrap_or_default());
        Ok(())
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        write(value, self.out)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[derive(Serialize)]
    enum Shape {
        Point,
        Circle(f64),
        Line(i8, u64),
        Named { name: &'static str, corners: Option<u32> },
    }

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    struct Wrapped(Option<char>);

    #[derive(Serialize)]
    struct Pair(u8, bool);

    #[derive(Serialize)]
    struct All {
        shapes: Vec<Shape>,
        unit: Unit,
        wrapped: Wrapped,
        pair: Pair,
        tuple: (i16, i32, i64, u16, f32),
        wide: (i128, u128),
        empty: ([u8; 0], BTreeMap<u8, u8>),
        by_number: BTreeMap<i32, &'static str>,
        by_truth: BTreeMap<bool, ()>,
        #[serde(flatten)]
        rest: BTreeMap<&'static str, Value>,
    }

    fn assert_same(value: &(impl Serialize + ?Sized)) {
        let mut written = b"kept ".to_vec();
        write(value, &mut written).expect("it can be written");
        let theirs = serde_json::to_string(value).expect("it can be written");
        assert_eq!(str::from_utf8(&written), Ok(format!("kept {theirs}").as_str()));
    }

    #[test]
    fn every_type_is_written_as_serde_json_does() {
        assert_same(&All {
            shapes: vec![
                Shape::Point,
                Shape::Circle(f64::NAN),
                Shape::Line(-1, u64::MAX),
                Shape::Named { name: "a\"b", corners: None },
                Shape::Named { name: "", corners: Some(3) },
            ],
            unit: Unit,
            wrapped: Wrapped(Some('\u{1f}')),
            pair: Pair(255, false),
            tuple: (i16::MIN, i32::MIN, i64::MIN, 0, 1.5e-9),
            wide: (i128::MIN, u128::MAX),
            empty: ([], BTreeMap::new()),
            by_number: [(-1, "x"), (2, "y")].into(),
            by_truth: [(true, ())].into(),
            rest: [("in \\ it", serde_json::json!([{ "a": null }, 0.1, "\n"]))].into(),
        });
        let bytes = serde_bytes_of(b"ab");
        assert_same(&bytes);
    }

    /// Serialises bytes as `serde_bytes` does.
    fn serde_bytes_of(bytes: &[u8]) -> impl Serialize {
        struct Bytes<'b>(&'b [u8]);
        impl Serialize for Bytes<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(self.0)
            }
        }
        Bytes(bytes)
    }

    #[test]
    fn a_text_that_is_json_already_is_put_out_as_it_is() {
        /// Describes itself as `serde_json::value::RawValue` and numbers of any precision do.
        struct Raw(&'static str);
        impl Serialize for Raw {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ser::SerializeStruct;
                let name = "$serde_json::private::RawValue";
                let mut raw = serializer.serialize_struct(name, 1)?;
                raw.serialize_field("$serde_json::private::RawValue", self.0)?;
                raw.end()
            }
        }
        let mut out = Vec::new();
        write(&[Raw("{ \"a\": 1.0 }"), Raw("\"\\n\"")], &mut out).expect("it can be written");
        assert_eq!(str::from_utf8(&out), Ok("[{ \"a\": 1.0 },\"\\n\"]"));
    }

    #[test]
    fn unsupported_json_key_is_error() {
        let map: BTreeMap<Vec<u8>, u8> = [(vec![1], 1)].into();
        assert!(write(&map, &mut Vec::new()).is_err());
    }

    #[test]
    fn every_byte_in_every_place_is_escaped_as_serde_json_does() {
        for byte in 0..=0x7f_u8 {
            for length in 1..=17 {
                for at in [0, length / 2, length - 1] {
                    let mut text = vec![b'a'; length];
                    text[at] = byte;
                    assert_same(str::from_utf8(&text).expect("ASCII"));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn texts_and_numbers_are_written_as_serde_json_does(
            texts in prop::collection::vec(any::<String>(), 0..4),
            number in any::<f64>(),
            map in prop::collection::btree_map(".{0,12}", any::<(i64, Option<bool>)>(), 0..4),
        ) {
            assert_same(&(texts, number, map));
        }
    }
}
