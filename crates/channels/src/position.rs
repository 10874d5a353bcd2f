//! Positions in the messages of a channel.
//!
//! Owns their text form. Never knows which messages exist.

use std::fmt;
use std::str::FromStr;

/// A position in the messages of a channel: after the message with this number. Numbers begin at 1, and again with each
/// epoch: a position of another epoch is no longer valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The epoch of the channel.
    pub epoch: u64,
    /// The number of the last message; 0 for none.
    pub offset: u64,
}

impl Position {
    /// The position of a client whose text cannot be parsed. It belongs to no epoch, so the client is told that
    /// messages were lost.
    pub const UNKNOWN: Self = Self { epoch: 0, offset: u64::MAX };
}

impl fmt::Display for Position {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:x}-{}", self.epoch, self.offset)
    }
}

impl FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (epoch, offset) = text.split_once('-').ok_or(())?;
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_plain(epoch) || !is_plain(offset) {
            return Err(());
        }
        Ok(Self {
            epoch: u64::from_str_radix(epoch, 16).map_err(drop)?,
            offset: offset.parse().map_err(drop)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_is_written() {
        let position = Position { epoch: 0xfeed_0000_0000_0001, offset: 12 };
        assert_eq!(position.to_string(), "feed000000000001-12");
        assert_eq!(position.to_string().parse(), Ok(position));
        for wrong in [
            "",
            "-",
            "a",
            "a-",
            "-1",
            "x-1",
            "a-b",
            "a-+1",
            "+a-1",
            "a-1-2",
            "a--1",
            "1ffffffffffffffff-1",
        ] {
            assert_eq!(wrong.parse::<Position>(), Err(()), "{wrong}");
        }
    }
}
