//! Reads a file of Redis commands, as for `redis-cli --pipe`.
//!
//! Owns which commands are rows: those that set strings. All others are refused, because their
//! effect would be lost.

use std::collections::VecDeque;
use std::io::Read;
use std::time::SystemTime;

use ::store::{LoadedRow, Value};
use wire::resp::{CommandLimits, Parser, RespCommand};

/// Bytes of one read.
const PIECE: usize = 64 * 1024;

/// The rows of a file.
pub(super) struct Commands<R> {
    source: R,
    buffer: Vec<u8>,
    /// The offset of the next command in the buffer.
    begin: usize,
    parser: Parser,
    /// The number of the last command, from 1.
    number: u64,
    /// The remaining rows of that command.
    rows: VecDeque<LoadedRow>,
    now_ms: u64,
}

impl<R: Read> Commands<R> {
    pub(super) fn of(source: R) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            begin: 0,
            parser: Parser::default(),
            number: 0,
            rows: VecDeque::new(),
            now_ms: now_ms(),
        }
    }

    /// Reads the next command; `false` at the end of the file.
    fn read(&mut self) -> Result<bool, String> {
        loop {
            let rest = &self.buffer[self.begin..];
            let parsed = self.parser.parse(rest, &CommandLimits::default());
            if let Some(command) = parsed.map_err(|problem| problem.text())? {
                self.begin += command.length;
                self.number += u64::from(!command.is_empty());
                self.rows.extend(rows_of(&command, self.now_ms)?);
                return Ok(true);
            }
            self.buffer.drain(..self.begin);
            self.begin = 0;
            let before = self.buffer.len();
            self.buffer.resize(before + PIECE, 0);
            let count = self.source.read(&mut self.buffer[before..]);
            let count = count.map_err(|error| error.to_string())?;
            self.buffer.truncate(before + count);
            if count == 0 {
                return if before == 0 { Ok(false) } else { Err("it breaks off".to_owned()) };
            }
        }
    }
}

impl<R: Read> Iterator for Commands<R> {
    type Item = Result<LoadedRow, String>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.rows.is_empty() {
            let number = self.number + 1;
            match self.read() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(problem) => return Some(Err(format!("command {number}: {problem}"))),
            }
        }
        self.rows.pop_front().map(Ok)
    }
}

#[expect(clippy::disallowed_methods, reason = "a command reads the clock of its own")]
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn rows_of(command: &RespCommand<'_>, now_ms: u64) -> Result<Vec<LoadedRow>, String> {
    let row = |key: usize, value: usize, expiry_ms| LoadedRow {
        key: command.argument(key).into(),
        value: Value::bytes(command.argument(value)),
        expiry_ms,
    };
    if command.is_empty() {
        return Ok(Vec::new());
    }
    let name = String::from_utf8_lossy(command.argument(0)).to_ascii_uppercase();
    match (&*name, command.len()) {
        ("SET", 3) => Ok(vec![row(1, 2, None)]),
        ("SET", 5) => {
            let expiry = expiry(command.argument(3), command.argument(4), now_ms)?;
            Ok(vec![row(1, 2, Some(expiry))])
        }
        ("SETEX", 4) => Ok(vec![row(1, 3, Some(expiry(b"EX", command.argument(2), now_ms)?))]),
        ("PSETEX", 4) => Ok(vec![row(1, 3, Some(expiry(b"PX", command.argument(2), now_ms)?))]),
        ("MSET", length) if length >= 3 && length % 2 == 1 => {
            Ok((1..length).step_by(2).map(|key| row(key, key + 1, None)).collect())
        }
        ("SET" | "SETEX" | "PSETEX" | "MSET", length) => {
            Err(format!("{name} with {} arguments is not a row", length - 1))
        }
        _ => Err(format!("{name} is not a row; use SET, SETEX, PSETEX or MSET")),
    }
}

/// The expiry of a value, in milliseconds since 1970.
fn expiry(option: &[u8], time: &[u8], now_ms: u64) -> Result<u64, String> {
    let wrong = || format!("`{}` is not a time", String::from_utf8_lossy(time));
    let time: u64 =
        str::from_utf8(time).ok().and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
    match &*option.to_ascii_uppercase() {
        b"EX" => Ok(now_ms.saturating_add(time.saturating_mul(1000))),
        b"PX" => Ok(now_ms.saturating_add(time)),
        b"EXAT" => Ok(time.saturating_mul(1000)),
        b"PXAT" => Ok(time),
        other => Err(format!(
            "SET with `{}` is not a row; EX, PX, EXAT and PXAT are known",
            String::from_utf8_lossy(other)
        )),
    }
}
