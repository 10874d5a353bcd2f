//! Reads expiries: those of `SET` and `GETEX`, and the commands `EXPIRE`, `PEXPIRE`, `EXPIREAT` and `PEXPIREAT`.
//!
//! Owns Redis' error texts for invalid ones, and which of several errors comes first.

use store::{DatabaseChange, Expiry, ExpiryOnly};
use wire::resp::RespCommand;

use super::reply::{Shape, Unit};
use super::requested::{Request, SYNTAX, Words, change};

/// The expiry of a value as a client gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasting {
    /// `KEEPTTL`.
    Keep,
    /// `PERSIST`.
    Persist,
    /// `EX` or `PX`: a duration, in the word with this index.
    After(Unit, usize),
    /// `EXAT` or `PXAT`: a time, in the word with this index.
    At(Unit, usize),
}

/// The expiry that an option gives. It may be repeated, but not contradict the one before. `at` becomes the index of
/// its last word.
pub(super) fn option(
    before: Option<Lasting>,
    option: &[u8],
    command: &RespCommand<'_>,
    at: &mut usize,
) -> Result<Lasting, String> {
    let value = *at + 1;
    let found = match option {
        b"keepttl" => Lasting::Keep,
        b"persist" => Lasting::Persist,
        b"ex" => Lasting::After(Unit::Seconds, value),
        b"px" => Lasting::After(Unit::Milliseconds, value),
        b"exat" => Lasting::At(Unit::Seconds, value),
        b"pxat" => Lasting::At(Unit::Milliseconds, value),
        _ => return Err(SYNTAX.to_owned()),
    };
    if matches!(found, Lasting::After(..) | Lasting::At(..)) {
        *at = value;
    }
    let is_same = before.is_none_or(|before| before.kind() == found.kind());
    if !is_same || *at >= command.len() {
        return Err(SYNTAX.to_owned());
    }
    Ok(found)
}

impl Lasting {
    fn kind(self) -> (u8, Option<Unit>) {
        match self {
            Self::Keep => (0, None),
            Self::Persist => (1, None),
            Self::After(unit, _) => (2, Some(unit)),
            Self::At(unit, _) => (3, Some(unit)),
        }
    }

    /// Parses the time.
    pub(super) fn read(self, words: &Words<'_>) -> Result<Expiry, String> {
        match self {
            Self::Keep => Ok(Expiry::Keep),
            Self::Persist => Ok(Expiry::Never),
            Self::After(unit, word) => after(words, word, unit),
            Self::At(unit, word) => at(Some(milliseconds(words, word, unit)?), words.name()),
        }
    }
}

/// The time after the duration in the word with this index.
pub(super) fn after(words: &Words<'_>, word: usize, unit: Unit) -> Result<Expiry, String> {
    let length = milliseconds(words, word, unit)?;
    let time = length.checked_add(i64::try_from(words.now().unix_ms()).unwrap_or(i64::MAX));
    at(time.filter(|_| length > 0), words.name())
}

/// A duration or a time, which may be negative.
fn milliseconds(words: &Words<'_>, word: usize, unit: Unit) -> Result<i64, String> {
    let length = words.number(word)?;
    let factor = if unit == Unit::Seconds { 1000 } else { 1 };
    length.checked_mul(factor).ok_or_else(|| invalid(words.name()))
}

fn at(time: Option<i64>, name: &str) -> Result<Expiry, String> {
    let time = time.and_then(|time| u64::try_from(time).ok()).filter(|time| *time > 0);
    time.map(Expiry::At).ok_or_else(|| invalid(name))
}

fn invalid(name: &str) -> String {
    format!("ERR invalid expire time in '{name}' command")
}

/// `EXPIRE key seconds [NX | XX | GT | LT ...]`, and `PEXPIRE` in milliseconds.
pub(super) fn expire_after(words: &Words<'_>, unit: Unit) -> Result<Request, String> {
    expire(words, unit, words.now().unix_ms())
}

/// `EXPIREAT key time [NX | XX | GT | LT ...]`, and `PEXPIREAT` in milliseconds.
pub(super) fn expire_at(words: &Words<'_>, unit: Unit) -> Result<Request, String> {
    expire(words, unit, 0)
}

fn expire(words: &Words<'_>, unit: Unit, from_ms: u64) -> Result<Request, String> {
    let only = condition(words.command())?;
    let time = milliseconds(words, 2, unit)?;
    let time = time.checked_add(i64::try_from(from_ms).unwrap_or(i64::MAX));
    // An expiry in the past deletes the key.
    let time = u64::try_from(time.ok_or_else(|| invalid(words.name()))?).unwrap_or(0);
    change(DatabaseChange::Expire { key: words.key(), expiry: Expiry::At(time), only }, Shape::Flag)
}

/// `PERSIST key`.
pub(super) fn persist(words: &Words<'_>) -> Result<Request, String> {
    let (expiry, only) = (Expiry::Never, ExpiryOnly::IfAny);
    change(DatabaseChange::Expire { key: words.key(), expiry, only }, Shape::Flag)
}

/// The condition that the options of `EXPIRE` make together.
fn condition(command: &RespCommand<'_>) -> Result<ExpiryOnly, String> {
    let (mut if_none, mut if_any, mut if_later, mut if_sooner) = (false, false, false, false);
    for option in command.arguments_from(3) {
        match &*option.to_ascii_lowercase() {
            b"nx" => if_none = true,
            b"xx" => if_any = true,
            b"gt" => if_later = true,
            b"lt" => if_sooner = true,
            _ => {
                let shown = String::from_utf8_lossy(option);
                return Err(format!("ERR Unsupported option {shown}"));
            }
        }
    }
    match (if_none, if_any, if_later, if_sooner) {
        (true, false, false, false) => Ok(ExpiryOnly::IfNone),
        (true, ..) => {
            Err("ERR NX and XX, GT or LT options at the same time are not compatible".to_owned())
        }
        (_, _, true, true) => {
            Err("ERR GT and LT options at the same time are not compatible".to_owned())
        }
        // No time is later than never, so GT alone already needs an expiry.
        (_, _, true, _) => Ok(ExpiryOnly::IfLater),
        (_, true, _, true) => Ok(ExpiryOnly::IfAnyAndSooner),
        (_, false, _, true) => Ok(ExpiryOnly::IfSooner),
        (_, true, ..) => Ok(ExpiryOnly::IfAny),
        _ => Ok(ExpiryOnly::Always),
    }
}
