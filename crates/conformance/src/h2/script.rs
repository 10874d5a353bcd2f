//! Owns the notation of a client's acts in HTTP/2 cases: one line each, compiled to bytes or to a wait.
//! Never sends them. `docs/conformance.md` explains the notation to its readers.

use super::ledger::Ledger;
use super::limits::{LINE_BYTES_MAX, REPETITIONS_MAX};
use super::names;
use super::pieces::{block, payload, split, text_of};
use super::writer::{self, END_HEADERS, END_STREAM, Head, PADDED, PREFACE, PRIORITY, write_frame};
use crate::facts::Facts;

/// An error in a script. Always an error in the data.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{line}': {problem}")]
pub struct LineError {
    line: String,
    problem: String,
}

/// The client's next act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Write these bytes.
    Send(Vec<u8>),
    /// Read until this has happened.
    Wait(Wait),
    /// End the client's side.
    HalfClose,
}

/// The event that ends a wait. A stream that is reset, and a connection that ends, end every wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// A final head came on this stream.
    Answer(u32),
    /// The stream has ended or was reset.
    Ended(u32),
    /// This many bytes of content came on this stream.
    Content { stream: u32, bytes: usize },
    /// The server has acknowledged a PING which is sent now: it has read all frames before.
    Ping,
    /// Nothing more came for a while.
    Quiet,
    /// The server has acknowledged every SETTINGS.
    SettingsAck,
    /// GOAWAY came.
    GoAway,
    /// The server has ended the connection.
    Closed,
}

/// Compiles the lines of one connection.
pub(super) struct Script<'f> {
    facts: &'f Facts,
    ledger: Ledger,
}

impl<'f> Script<'f> {
    pub(super) fn new(facts: &'f Facts) -> Self {
        Self { facts, ledger: Ledger::new() }
    }

    /// The credit that the client has granted with the lines so far.
    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The act of one line.
    pub(super) fn compile(&mut self, line: &str) -> Result<Action, LineError> {
        let told = |problem: String| LineError { line: line.to_owned(), problem };
        if let Some(repeated) = line.strip_prefix("repeat ") {
            return self.repeat(repeated).map_err(told);
        }
        match line.split_once(' ') {
            Some(("wait", what)) => self.wait(what).map(Action::Wait).map_err(told),
            None if line == "half-close" => Ok(Action::HalfClose),
            _ => {
                let mut bytes = Vec::new();
                self.frame(line, &mut bytes).map_err(told)?;
                Ok(Action::Send(bytes))
            }
        }
    }

    fn repeat(&mut self, text: &str) -> Result<Action, String> {
        let (count, lines) = text.split_once(' ').ok_or("repeat NUMBER LINE")?;
        let count = text_of(count, self.facts)?;
        let count = names::integer(&count).filter(|count| *count <= REPETITIONS_MAX);
        let count = count.ok_or("repeated too often, or not a number of times")?;
        let mut bytes = Vec::new();
        for _ in 0..count {
            for line in lines.split(" & ") {
                self.frame(line, &mut bytes)?;
            }
            if bytes.len() > LINE_BYTES_MAX {
                return Err(format!("longer than {LINE_BYTES_MAX} bytes"));
            }
        }
        Ok(Action::Send(bytes))
    }

    fn wait(&self, text: &str) -> Result<Wait, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(match words[..] {
            ["answer", stream] => Wait::Answer(self.stream(stream)?),
            ["end", stream] => Wait::Ended(self.stream(stream)?),
            ["content", stream, bytes] => {
                let bytes = bytes.parse().map_err(|_| format!("{bytes} is no number"))?;
                Wait::Content { stream: self.stream(stream)?, bytes }
            }
            ["ping"] => Wait::Ping,
            ["quiet"] => Wait::Quiet,
            ["settings-ack"] => Wait::SettingsAck,
            ["goaway"] => Wait::GoAway,
            ["closed"] => Wait::Closed,
            _ => return Err("there is no such wait".to_owned()),
        })
    }

    /// A stream's number, or `next` for a new one, `last` for the newest.
    fn stream(&self, word: &str) -> Result<u32, String> {
        match word {
            "next" => Ok(self.ledger.next()),
            "last" => Ok(self.ledger.last()),
            _ => names::integer(word).ok_or_else(|| format!("'{word}' is no stream")),
        }
    }

    fn frame(&mut self, line: &str, out: &mut Vec<u8>) -> Result<(), String> {
        let (words, pieces) = split(line);
        let words = words.iter().map(|word| text_of(word, self.facts));
        let words: Vec<String> = words.collect::<Result<_, _>>()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Some((verb, rest)) = words.split_first() else { return Err("empty".to_owned()) };
        match *verb {
            "preface" => out.extend_from_slice(PREFACE),
            "raw" => out.extend(payload(&pieces, self.facts)?),
            "request" => self.request(rest, &pieces, out)?,
            "settings" => self.settings(rest, out)?,
            _ => self.named(verb, rest, &pieces, out)?,
        }
        Ok(())
    }

    /// `request STREAM [open] METHOD PATH | field ...`
    fn request(
        &mut self,
        words: &[&str],
        pieces: &[&str],
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let (stream, flags, method, path) = match *words {
            [stream, method, path] => (stream, END_STREAM | END_HEADERS, method, path),
            [stream, "open", method, path] => (stream, END_HEADERS, method, path),
            _ => return Err("request STREAM [open] METHOD PATH".to_owned()),
        };
        let stream = self.stream(stream)?;
        let first = format!("@ {method} {path}");
        let pieces: Vec<&str> =
            std::iter::once(first.as_str()).chain(pieces.iter().copied()).collect();
        let block = block(&pieces, self.facts)?;
        self.ledger.open(stream);
        write_frame(Head { kind: 1, flags, stream, length: None }, &block, out);
        Ok(())
    }

    /// `settings [NAME=VALUE ...]`, or `settings ack`
    fn settings(&mut self, words: &[&str], out: &mut Vec<u8>) -> Result<(), String> {
        let mut payload = Vec::new();
        let mut flags = 0;
        for word in words {
            if *word == "ack" {
                flags = END_STREAM;
                continue;
            }
            let wrong = || format!("'{word}' is no setting");
            let (id, value) = word.split_once('=').ok_or_else(wrong)?;
            let id = names::setting(id).ok_or_else(wrong)?;
            let value = names::integer(value).ok_or_else(wrong)?;
            self.ledger.set(id, value);
            payload.extend_from_slice(&id.to_be_bytes());
            payload.extend_from_slice(&value.to_be_bytes());
        }
        if flags == 0 {
            self.ledger.announce();
        }
        write_frame(Head { kind: 4, flags, stream: 0, length: None }, &payload, out);
        Ok(())
    }

    /// `KIND STREAM [ARGUMENT ...] [FLAG ...] | payload`
    fn named(
        &mut self,
        verb: &str,
        words: &[&str],
        pieces: &[&str],
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        let (stream, rest) = match words.split_first() {
            // It has no stream, but names the last one.
            _ if verb == "goaway" => (0, words),
            Some((stream, rest)) => (self.stream(stream)?, rest),
            None => return Err("a frame names its stream".to_owned()),
        };
        let (mut head, body, rest) = self.body(verb, stream, rest, pieces)?;
        let mut before = Vec::new();
        let mut behind = 0;
        for word in rest {
            match word.split_once('=') {
                None if *word == "end" => head.flags |= END_STREAM,
                None if *word == "ack" => head.flags |= END_STREAM,
                None if *word == "part" => head.flags &= !END_HEADERS,
                None if *word == "reserved" => head.stream |= 1 << 31,
                Some(("flags", value)) => head.flags = byte(value)?,
                Some(("length", value)) => head.length = names::integer(value),
                // The length that is said, and the bytes that are there.
                Some(("padded", value)) => {
                    let (said, there) = value.split_once('/').unwrap_or((value, value));
                    head.flags |= PADDED;
                    before.insert(0, byte(said)?);
                    behind = usize::from(byte(there)?);
                }
                Some(("priority", value)) => {
                    head.flags |= PRIORITY;
                    before.extend(dependency(value)?);
                }
                _ => return Err(format!("'{word}' is no flag")),
            }
        }
        let payload = [before, body, vec![0; behind]].concat();
        write_frame(head, &payload, out);
        Ok(())
    }

    /// The head and the payload of a frame, and the words that are left.
    fn body<'w>(
        &mut self,
        verb: &str,
        stream: u32,
        words: &'w [&'w str],
        pieces: &[&str],
    ) -> Result<(Head, Vec<u8>, &'w [&'w str]), String> {
        let number =
            |word: &str| names::integer(word).ok_or_else(|| format!("'{word}' is no number"));
        let code = |word: &str| names::error_code(word).ok_or_else(|| format!("no code '{word}'"));
        let mut head = Head { kind: 0, flags: 0, stream, length: None };
        let (kind, body, rest) = match (verb, words) {
            ("data", rest) => (0, payload(pieces, self.facts)?, rest),
            ("headers" | "continuation", rest) => {
                head.flags = END_HEADERS;
                self.ledger.open(stream);
                let kind = if verb == "headers" { 1 } else { 9 };
                (kind, block(pieces, self.facts)?, rest)
            }
            ("priority", [on, rest @ ..]) => (2, dependency(on)?, rest),
            ("reset", [word, rest @ ..]) => (3, code(word)?.to_be_bytes().to_vec(), rest),
            ("ping", rest) => (6, payload(pieces, self.facts)?, rest),
            ("goaway", [last, word, rest @ ..]) => {
                let debug = payload(pieces, self.facts)?;
                let numbers = [number(last)?.to_be_bytes(), code(word)?.to_be_bytes()].concat();
                (7, [numbers, debug].concat(), rest)
            }
            ("window", [word, rest @ ..]) => {
                let increment = number(word)?;
                self.ledger.update(stream, increment);
                (8, increment.to_be_bytes().to_vec(), rest)
            }
            ("priority-update", [prioritized, rest @ ..]) => {
                let value = payload(pieces, self.facts)?;
                (16, [number(prioritized)?.to_be_bytes().to_vec(), value].concat(), rest)
            }
            ("frame", [kind, rest @ ..]) => {
                let kind = names::frame_kind(kind).ok_or_else(|| format!("no frame '{kind}'"))?;
                (kind, payload(pieces, self.facts)?, rest)
            }
            _ => return Err(format!("'{verb}' is nothing that a client does")),
        };
        head.kind = kind;
        Ok((head, body, rest))
    }
}

fn byte(word: &str) -> Result<u8, String> {
    let number = names::integer(word).and_then(|number| u8::try_from(number).ok());
    number.ok_or_else(|| format!("'{word}' is no byte"))
}

/// `STREAM/WEIGHT`, with `!` in front if it is exclusive (RFC 9113 section 6.3).
fn dependency(word: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("'{word}' is not STREAM/WEIGHT");
    let (exclusive, text) = match word.strip_prefix('!') {
        Some(text) => (1 << 31, text),
        None => (0, word),
    };
    let (stream, weight) = text.split_once('/').ok_or_else(wrong)?;
    let stream = names::integer(stream).ok_or_else(wrong)? | exclusive;
    Ok([&stream.to_be_bytes()[..], &[byte(weight)?]].concat())
}

/// The beginning of every connection: the preface and empty SETTINGS.
pub(super) fn opening() -> Vec<u8> {
    let mut bytes = writer::PREFACE.to_vec();
    write_frame(Head { kind: 4, flags: 0, stream: 0, length: None }, b"", &mut bytes);
    bytes
}
