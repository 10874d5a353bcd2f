//! Parses expiries: those of `SET` and `GETEX`, and the commands `EXPIRE`, `PEXPIRE`, `EXPIREAT` and `PEXPIREAT`.
//!
//! Owns Redis' error texts for invalid ones, and which of several errors comes first.

use store::{Change, Expiry, ExpiryOnly};
use wire::resp::Command;

use super::known::Verb;
use super::reply::{Shape, Unit};
use super::requested::{Request, SYNTAX, change, number};

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

/// The expiry that an option gives. It may be repeated, but not contradict the one before. `at` becomes the index of its last word.
pub(super) fn option(
    before: Option<Lasting>,
    option: &[u8],
    command: &Command<'_>,
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
    pub(super) fn read(
        self,
        command: &Command<'_>,
        now_ms: u64,
        name: &str,
    ) -> Result<Expiry, String> {
        match self {
            Self::Keep => Ok(Expiry::Keep),
            Self::Persist => Ok(Expiry::Never),
            Self::After(unit, word) => after(command.argument(word), unit, now_ms, name),
            Self::At(unit, word) => {
                let time = milliseconds(command.argument(word), unit, name)?;
                self::at(Some(time), name)
            }
        }
    }
}

/// The time after a duration.
pub(super) fn after(bytes: &[u8], unit: Unit, now_ms: u64, name: &str) -> Result<Expiry, String> {
    let length = milliseconds(bytes, unit, name)?;
    let time = length.checked_add(i64::try_from(now_ms).unwrap_or(i64::MAX));
    at(time.filter(|_| length > 0), name)
}

/// A duration or a time, which may be negative.
fn milliseconds(bytes: &[u8], unit: Unit, name: &str) -> Result<i64, String> {
    let length = number(bytes)?;
    let factor = if unit == Unit::Seconds { 1000 } else { 1 };
    length.checked_mul(factor).ok_or_else(|| invalid(name))
}

fn at(time: Option<i64>, name: &str) -> Result<Expiry, String> {
    let time = time.and_then(|time| u64::try_from(time).ok()).filter(|time| *time > 0);
    time.map(Expiry::At).ok_or_else(|| invalid(name))
}

fn invalid(name: &str) -> String {
    format!("ERR invalid expire time in '{name}' command")
}

/// `EXPIRE key seconds [NX | XX | GT | LT ...]`, and the others with a time or in milliseconds.
pub(super) fn expire(verb: Verb, command: &Command<'_>, now_ms: u64) -> Result<Request, String> {
    let (name, unit, from) = match verb {
        Verb::PExpire => ("pexpire", Unit::Milliseconds, now_ms),
        Verb::ExpireAt => ("expireat", Unit::Seconds, 0),
        Verb::PExpireAt => ("pexpireat", Unit::Milliseconds, 0),
        _ => ("expire", Unit::Seconds, now_ms),
    };
    let only = condition(command)?;
    let time = milliseconds(command.argument(2), unit, name)?;
    let time = time.checked_add(i64::try_from(from).unwrap_or(i64::MAX));
    // An expiry in the past deletes the key.
    let time = u64::try_from(time.ok_or_else(|| invalid(name))?).unwrap_or(0);
    let key = command.argument(1).into();
    change(Change::Expire { key, expiry: Expiry::At(time), only }, Shape::Flag)
}

/// The condition that the options of `EXPIRE` make together.
fn condition(command: &Command<'_>) -> Result<ExpiryOnly, String> {
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
