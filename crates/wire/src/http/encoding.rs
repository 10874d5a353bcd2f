//! Choice of a content coding by `Accept-Encoding` (RFC 9110 section 12.5.3).
//!
//! Owns the field and the order of preference. Never compresses, never looks for a file: the caller
//! says which codings it has.

use super::accept::{Weight, parse_weight};
use crate::limits::ACCEPT_ENCODING_MEMBERS_MAXIMUM;

/// A content coding that the server can answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// Unchanged, without `Content-Encoding`.
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

impl Coding {
    /// If the client weights several equally, the earliest is chosen.
    const BY_PREFERENCE: [Self; 4] = [Self::Brotli, Self::Zstd, Self::Gzip, Self::Identity];

    /// The name in `Content-Encoding`; `identity` is never sent there.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Identity => 0,
            Self::Gzip => 1,
            Self::Brotli => 2,
            Self::Zstd => 3,
        }
    }

    const fn bit(self) -> u8 {
        1 << self.index()
    }

    /// Names of codings are case-insensitive (RFC 9110 section 8.4.1); `x-gzip` is an old name for
    /// gzip (8.4.1.3).
    fn from_token(token: &[u8]) -> Option<Self> {
        let is = |name: &[u8]| token.eq_ignore_ascii_case(name);
        match token.len() {
            2 if is(b"br") => Some(Self::Brotli),
            4 if is(b"gzip") => Some(Self::Gzip),
            4 if is(b"zstd") => Some(Self::Zstd),
            6 if is(b"x-gzip") => Some(Self::Gzip),
            8 if is(b"identity") => Some(Self::Identity),
            _ => None,
        }
    }
}

/// The codings in which a representation is available. Identity always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Available(u8);

impl Available {
    /// Only the unchanged representation.
    pub const IDENTITY: Self = Self(Coding::Identity.bit());
    /// All codings.
    pub const ALL: Self = Self::IDENTITY.with(Coding::Gzip).with(Coding::Brotli).with(Coding::Zstd);

    /// These codings and one more.
    #[must_use]
    pub const fn with(self, coding: Coding) -> Self {
        Self(self.0 | coding.bit())
    }

    /// Whether this coding is available.
    pub const fn contains(self, coding: Coding) -> bool {
        self.0 & coding.bit() != 0
    }
}

impl Default for Available {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// The weights from all `Accept-Encoding` lines of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accepted {
    /// Indexed by coding.
    weights: [Option<Weight>; 4],
    /// For every coding that is not named.
    others: Option<Weight>,
    members: usize,
}

impl Accepted {
    /// Adds the members of one more line.
    ///
    /// Ignores a member with a malformed weight or with a parameter other than `q`, and
    /// unknown codings. If a coding appears twice, the later member counts. At most
    /// [`ACCEPT_ENCODING_MEMBERS_MAXIMUM`] members are read.
    pub fn read_line(&mut self, line: &[u8]) {
        for member in line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            if member.is_empty() {
                continue;
            }
            if self.members == ACCEPT_ENCODING_MEMBERS_MAXIMUM {
                return;
            }
            self.members += 1;
            if let Some((token, weight)) = parse_member(member) {
                self.note(token, weight);
            }
        }
    }

    fn note(&mut self, token: &[u8], weight: Weight) {
        if token == b"*" {
            self.others = Some(weight);
        } else if let Some(coding) = Coding::from_token(token) {
            self.weights[coding.index()] = Some(weight);
        }
    }

    /// The available coding with the highest weight above zero. On a tie brotli, then zstd, then
    /// gzip; identity only if nothing else is acceptable.
    ///
    /// `None` means that no available coding is acceptable, for example `identity;q=0` for a file that
    /// exists only unencoded. Section 12.5.3 allows 406 or ignoring the field: serve identity, as
    /// common servers do.
    pub fn choose(&self, available: Available) -> Option<Coding> {
        let mut best = None;
        let mut best_weight = 0;
        for coding in Coding::BY_PREFERENCE {
            let weight = self.weight(coding);
            if available.contains(coding) && weight > best_weight {
                best = Some(coding);
                best_weight = weight;
            }
        }
        best.or_else(|| self.accepts_identity_unasked().then_some(Coding::Identity))
    }

    fn weight(&self, coding: Coding) -> Weight {
        self.weights[coding.index()].or(self.others).unwrap_or(0)
    }

    /// Identity is acceptable unless it is excluded by name or by `*;q=0`.
    fn accepts_identity_unasked(&self) -> bool {
        self.weights[Coding::Identity.index()].or(self.others).is_none()
    }
}

/// `coding [ OWS ";" OWS "q=" qvalue ]`.
fn parse_member(member: &[u8]) -> Option<(&[u8], Weight)> {
    match memchr::memchr(b';', member) {
        None => Some((member, 1000)),
        Some(at) => {
            let weight = match member[at + 1..].trim_ascii_start() {
                [b'q' | b'Q', b'=', value @ ..] => parse_weight(value)?,
                _ => return None,
            };
            Some((member[..at].trim_ascii_end(), weight))
        }
    }
}
