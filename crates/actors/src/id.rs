//! Ids of runs: what names a request's run, a conversation or a process on its scheduler.
//!
//! Owns the form in which operators see one. Never knows what it runs.

use std::fmt;
use std::str::FromStr;

use runtime::slots::ProcessId;

/// The key of a run on its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RunKey {
    /// A run that answers the request of a connection.
    Request(ProcessId),
    /// A run that talks with a WebSocket client, by its connection, which may have ended.
    Socket(ProcessId),
    /// A spawned run, by the number of its mailbox.
    Spawned(ProcessId),
}

impl RunKey {
    /// Whether it was begun by a request: then it uses the engine of requests, and their share of a turn.
    #[inline]
    pub fn is_of_client(self) -> bool {
        matches!(self, Self::Request(_) | Self::Socket(_))
    }

    /// The kind of run, in one word.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Request(_) => "request",
            Self::Socket(_) => "socket",
            Self::Spawned(_) => "process",
        }
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (letter, number) = match self {
            Self::Request(process) => ('r', process),
            Self::Socket(process) => ('s', process),
            Self::Spawned(mailbox) => ('p', mailbox),
        };
        write!(formatter, "{letter}{}", number.to_bits())
    }
}

impl FromStr for RunKey {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (letter, number) = text.split_at_checked(1).ok_or(())?;
        let number = ProcessId::from_bits(number.parse().map_err(drop)?);
        match letter {
            "r" => Ok(Self::Request(number)),
            "s" => Ok(Self::Socket(number)),
            "p" => Ok(Self::Spawned(number)),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_is_written() {
        let number = ProcessId::from_bits(3 << 32 | 17);
        for key in [RunKey::Request(number), RunKey::Socket(number), RunKey::Spawned(number)] {
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        assert_eq!(RunKey::Spawned(ProcessId::from_bits(5)).to_string(), "p5");
        for wrong in ["", "p", "5", "x5", "p-1", "ä5"] {
            assert_eq!(wrong.parse::<RunKey>(), Err(()), "{wrong}");
        }
    }
}
