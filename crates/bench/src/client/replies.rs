//! Reads the replies of a store.
//!
//! Owns the grammar of the replies to reads and writes, in each dialect, and the comparison of a
//! value with the one that belongs to its key. A value is read in pieces and never kept. Never
//! counts.

use crate::plan::{Dialect, FILLER, KEY_DIGITS, RightValues, StorePlan};

/// Bytes of a line. Only errors may be longer, of which this much is read.
const LINE_MAX: usize = 1024;

/// A reply of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A value, and whether it is that of its key.
    Value(Judgement),
    /// There is no value.
    Missing,
    /// The value was written.
    Stored,
    /// An error.
    Refused,
}

/// Whether a value is as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Right,
    Wrong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoReply;

/// The reader's position in a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Line,
    /// This many bytes of the value and its line end are missing.
    Value(u32),
    /// After a value of memcached.
    End,
}

/// The reader of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReplyReader {
    place: Place,
    is_wrong: bool,
}

impl ReplyReader {
    /// Reads on: returns how many bytes were consumed, and the reply if it is complete.
    pub(super) fn read(
        &mut self,
        input: &[u8],
        store: StorePlan,
        key: u64,
    ) -> Result<(usize, Option<Reply>), NoReply> {
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            match self.place {
                Place::Line | Place::End => {
                    let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else {
                        return if rest.len() > LINE_MAX {
                            Err(NoReply)
                        } else {
                            Ok((consumed, None))
                        };
                    };
                    consumed += end + 2;
                    if let Some(reply) = self.line(&rest[..end], store)? {
                        *self = Self::default();
                        return Ok((consumed, Some(reply)));
                    }
                }
                Place::Value(left) => {
                    let count = rest.len().min(left as usize);
                    if !self.is_wrong && store.values == RightValues::Own {
                        let from = store.value_size + 2 - left as usize;
                        self.is_wrong = !is_value(&rest[..count], from, store.value_size, key);
                    }
                    consumed += count;
                    self.place = Place::Value(left - count as u32);
                    if count < left as usize {
                        return Ok((consumed, None));
                    }
                    if store.dialect == Dialect::Resp {
                        let reply = Reply::Value(self.judgement());
                        *self = Self::default();
                        return Ok((consumed, Some(reply)));
                    }
                    self.place = Place::End;
                }
            }
        }
    }

    fn judgement(&self) -> Judgement {
        if self.is_wrong { Judgement::Wrong } else { Judgement::Right }
    }

    fn line(&mut self, line: &[u8], store: StorePlan) -> Result<Option<Reply>, NoReply> {
        if self.place == Place::End {
            return if line == b"END" {
                Ok(Some(Reply::Value(self.judgement())))
            } else {
                Err(NoReply)
            };
        }
        let size = match (store.dialect, line) {
            (Dialect::Resp, [b'+', ..]) | (Dialect::Memcached, b"STORED") => {
                return Ok(Some(Reply::Stored));
            }
            (Dialect::Resp, b"$-1" | b"_") | (Dialect::Memcached, b"END") => {
                return Ok(Some(Reply::Missing));
            }
            (Dialect::Resp, [b'-', ..]) => return Ok(Some(Reply::Refused)),
            (Dialect::Resp, [b'$', size @ ..]) => size,
            (Dialect::Memcached, line) => {
                if line.starts_with(b"SERVER_ERROR") || line == b"ERROR" || line == b"NOT_STORED" {
                    return Ok(Some(Reply::Refused));
                }
                let value = line.strip_prefix(b"VALUE ").ok_or(NoReply)?;
                value.rsplit(|byte| *byte == b' ').next().ok_or(NoReply)?
            }
            _ => return Err(NoReply),
        };
        let size: u32 =
            str::from_utf8(size).ok().and_then(|text| text.parse().ok()).ok_or(NoReply)?;
        self.is_wrong = store.values == RightValues::Own && size as usize != store.value_size;
        self.place = Place::Value(size.checked_add(2).ok_or(NoReply)?);
        Ok(None)
    }
}

/// Whether these bytes, from that position on, are those of the value of a key and its line end.
fn is_value(bytes: &[u8], from: usize, size: usize, key: u64) -> bool {
    let mut digits = [b'0'; KEY_DIGITS];
    let mut left = key;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
    // The number, then the filler, then the line end, as far as these bytes reach.
    let part = |begin: usize, end: usize| {
        let begin_here = begin.clamp(from, from + bytes.len());
        let end_here = end.clamp(begin_here, from + bytes.len());
        (&bytes[begin_here - from..end_here - from], begin_here - begin.min(begin_here))
    };
    let (number, skipped) = part(0, KEY_DIGITS);
    let (filler, _) = part(KEY_DIGITS, size);
    let (line_end, passed) = part(size, size + 2);
    number == &digits[skipped.min(KEY_DIGITS)..][..number.len()]
        && filler.iter().all(|byte| *byte == FILLER)
        && line_end == &b"\r\n"[passed.min(2)..][..line_end.len()]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RESP: StorePlan =
        StorePlan { dialect: Dialect::Resp, value_size: 15, values: RightValues::Own };
    const CACHE: StorePlan =
        StorePlan { dialect: Dialect::Memcached, value_size: 15, values: RightValues::Own };

    /// The replies in an input that arrives in pieces of this size, all for one key.
    fn replies(input: &str, store: StorePlan, piece: usize) -> Result<Vec<Reply>, NoReply> {
        let (mut reader, mut replies) = (ReplyReader::default(), Vec::new());
        let (mut from, mut to) = (0, 0);
        while to < input.len() {
            to = (to + piece).min(input.len());
            while from < to {
                let (consumed, reply) = reader.read(&input.as_bytes()[from..to], store, 42)?;
                from += consumed;
                replies.extend(reply);
                if reply.is_none() {
                    break;
                }
            }
        }
        Ok(replies)
    }

    #[test]
    fn replies_are_read_in_pieces_of_any_size() {
        let right = Reply::Value(Judgement::Right);
        let wrong = Reply::Value(Judgement::Wrong);
        let resp = "$15\r\n000000000042xxx\r\n$-1\r\n+OK\r\n-ERR \
                    no\r\n$15\r\n000000000043xxx\r\n$3\r\nabc\r\n_\r\n$15\r\n000000000042xxy\r\n$16\r\n000000000042xxxx\r\n$15\r\n000000000042xxx\r\n";
        let cache = "VALUE key:000000000042 0 15\r\n000000000042xxx\r\nEND\r\nEND\r\nSTORED\r\nSERVER_ERROR \
                     full\r\nVALUE key:000000000042 0 2\r\nab\r\nEND\r\n";
        for piece in 1..=resp.len() {
            let expected = [
                right,
                Reply::Missing,
                Reply::Stored,
                Reply::Refused,
                wrong,
                wrong,
                Reply::Missing,
                wrong,
                wrong,
                right,
            ];
            assert_eq!(replies(resp, RESP, piece).as_deref(), Ok(&expected[..]), "{piece}");
            let expected = [right, Reply::Missing, Reply::Stored, Reply::Refused, wrong];
            assert_eq!(replies(cache, CACHE, piece).as_deref(), Ok(&expected[..]), "{piece}");
        }
    }

    #[test]
    fn any_value_is_right_where_nothing_is_known_of_it() {
        let any = StorePlan { values: RightValues::Any, ..RESP };
        let right = Reply::Value(Judgement::Right);
        assert_eq!(replies("$3\r\nabc\r\n$0\r\n\r\n", any, 2), Ok(vec![right; 2]));
    }

    #[test]
    fn bytes_that_are_no_reply_give_none() {
        for text in ["HTTP/1.1 200 OK\r\n", "$x\r\n", "$4294967295\r\n", "*1\r\n"] {
            assert_eq!(replies(text, RESP, 100), Err(NoReply), "{text}");
        }
        let long = "+".repeat(LINE_MAX + 1);
        assert_eq!(replies(&long, RESP, 100), Err(NoReply));
        for text in ["VALUE k 0 15\r\n000000000042xxx\r\nNO\r\n", "+OK\r\n", "VALUE\r\n"] {
            assert_eq!(replies(text, CACHE, 100), Err(NoReply), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(input: String, piece in 1_usize..50) {
            let _replies = replies(&input, RESP, piece);
            let _replies = replies(&input, CACHE, piece);
        }
    }
}
