//! Subjects of NATS: where each kind of message goes.
//!
//! Owns the names, and how the name of a channel becomes one token of a subject. Never subscribes.

use std::fmt::Write as _;

use channels::check_name;

/// The subjects of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Subjects {
    prefix: String,
    streams: u16,
}

impl Subjects {
    pub(crate) fn new(prefix: &str, streams: u16) -> Self {
        Self { prefix: prefix.to_owned(), streams: streams.max(1) }
    }

    /// The stream of a channel.
    pub(crate) fn shard(&self, channel: &str) -> u16 {
        (fnv(&[channel.as_bytes()]) % u64::from(self.streams)) as u16
    }

    /// The name of a stream.
    pub(crate) fn stream(&self, shard: u16) -> String {
        format!("{}-h-{shard}", self.prefix)
    }

    /// The number of the stream with this name.
    pub(crate) fn shard_of_stream(&self, stream: &str) -> Option<u16> {
        let number = stream.strip_prefix(&*self.prefix)?.strip_prefix("-h-")?;
        number.parse().ok().filter(|shard| *shard < self.streams)
    }

    /// The subjects that a stream keeps.
    pub(crate) fn kept_in(&self, shard: u16) -> String {
        format!("{}.h.{shard}.>", self.prefix)
    }

    /// Where a stream sends what was added to it.
    pub(crate) fn added_to(&self, shard: u16) -> String {
        format!("{}.r.{shard}.>", self.prefix)
    }

    /// Where a message of a channel with history goes.
    pub(crate) fn kept(&self, channel: &str) -> String {
        self.of_channel(&format!("h.{}", self.shard(channel)), channel)
    }

    /// Where it comes from once it was added.
    pub(crate) fn added(&self, channel: &str) -> String {
        self.of_channel(&format!("r.{}", self.shard(channel)), channel)
    }

    /// Where messages of a channel without history go.
    pub(crate) fn announced(&self, channel: &str) -> String {
        self.of_channel("c", channel)
    }

    /// All that was added, or announced.
    pub(crate) fn all(&self, kind: &str) -> String {
        format!("{}.{kind}.>", self.prefix)
    }

    /// Where a lease is, in the stream of a channel of this name; no channel has such a token.
    pub(crate) fn lease(&self, name: &str) -> String {
        let mut subject = format!("{}.h.{}.=l", self.prefix, self.shard(name));
        put_token(name, &mut subject);
        subject
    }

    /// Signs of life of nodes.
    pub(crate) fn nodes(&self) -> String {
        format!("{}.n", self.prefix)
    }

    /// New epochs of streams.
    pub(crate) fn epochs(&self) -> String {
        format!("{}.e", self.prefix)
    }

    /// Questions to all nodes.
    pub(crate) fn questions(&self) -> String {
        format!("{}.q", self.prefix)
    }

    /// Questions to one node.
    pub(crate) fn questions_to(&self, node: u64) -> String {
        format!("{}.q.{node:x}", self.prefix)
    }

    /// Mail to all stores.
    pub(crate) fn stores(&self) -> String {
        format!("{}.s.all", self.prefix)
    }

    /// Mail to one store.
    pub(crate) fn store(&self, store: u64) -> String {
        format!("{}.s.n.{store:x}", self.prefix)
    }

    fn of_channel(&self, kind: &str, channel: &str) -> String {
        let mut subject = String::with_capacity(self.prefix.len() + kind.len() + channel.len() + 8);
        let _infallible = write!(subject, "{}.{kind}.", self.prefix);
        put_token(channel, &mut subject);
        subject
    }
}

/// Appends a text as one token: other bytes than letters, digits, `-` and `_` become `=XX`.
fn put_token(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            out.push(char::from(byte));
        } else {
            let _infallible = write!(out, "={byte:02X}");
        }
    }
}

/// The channel in the last token of a subject.
pub(crate) fn channel_of(subject: &str) -> Option<String> {
    let token = subject.rsplit('.').next()?;
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'=' {
            let (high, low) = (hex(rest.next()?)?, hex(rest.next()?)?);
            bytes.push(high << 4 | low);
        } else {
            bytes.push(byte);
        }
    }
    check_name(&bytes).ok().map(str::to_owned)
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// A hash that is the same on every node and in every version (FNV-1a). The parts are separated.
pub(crate) fn fnv(parts: &[&[u8]]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut take = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            take(0);
        }
        part.iter().copied().for_each(&mut take);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_token_and_comes_back() {
        let subjects = Subjects::new("velodrome", 16);
        assert_eq!(subjects.announced("chat.hall"), "velodrome.c.chat=2Ehall");
        assert_eq!(subjects.added("a"), "velodrome.r.12.a");
        assert_eq!(subjects.kept("a"), "velodrome.h.12.a");
        for name in ["chat.hall", "räume:*>/b=c", "a-b_c", "="] {
            assert_eq!(channel_of(&subjects.announced(name)).as_deref(), Some(name));
        }
        assert_eq!(subjects.lease("a.b"), format!("velodrome.h.{}.=la=2Eb", subjects.shard("a.b")));
        assert_eq!(channel_of(&subjects.lease("a")), None);
        for wrong in ["v.c.", "v.c.=", "v.c.=4", "v.c.=XX", "v.c.=20", "v.c.=FF", ""] {
            assert_eq!(channel_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_stream_has_a_number() {
        let subjects = Subjects::new("v", 16);
        assert_eq!(subjects.shard_of_stream(&subjects.stream(7)), Some(7));
        for wrong in ["v-h-16", "v-h-", "w-h-1", "v", "v-h-x"] {
            assert_eq!(subjects.shard_of_stream(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_hash_is_that_of_its_specification() {
        assert_eq!(fnv(&[b""]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(&[b"foobar"]), 0x8594_4171_f739_67e8);
        assert_ne!(fnv(&[b"ab", b"c"]), fnv(&[b"a", b"bc"]));
    }
}
