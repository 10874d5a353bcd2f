//! A client of HTTP/2 that can do everything wrong: it plays lines of a script and keeps what the server sent.
//!
//! Owns one connection. Limited in time and bytes. Does not judge what came, except for frames that no server may send.

use std::io;
use std::time::Duration;

use super::inbox::Inbox;
use super::names;
use super::script::{Action, LineError, Script, Wait, opening};
use super::stream_answer::StreamAnswer;
use crate::clock::Deadline;
use crate::facts::Facts;
use crate::socket::{Fill, RawConnection};
use crate::target::{Options, TestedServer};

/// The bytes of the PING of `wait ping`; each is numbered.
const PING: &[u8; 4] = b"vlo-";

/// Why a line cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// No connection.
    #[error("no connection: {0}")]
    Connect(#[from] io::Error),
    /// A mistake in the script.
    #[error("a mistake in the script: {0}")]
    Script(#[from] LineError),
}

/// One connection.
pub struct FrameClient<'f> {
    raw: RawConnection,
    inbox: Inbox,
    script: Script<'f>,
    options: Options,
    pings: u32,
    /// The first wait that ended without its event.
    in_vain: Option<String>,
}

impl<'f> FrameClient<'f> {
    /// A connection on which nothing is sent yet.
    pub(super) fn connect(
        target: &TestedServer,
        facts: &'f Facts,
        options: &Options,
    ) -> Result<Self, PlayError> {
        Ok(Self {
            raw: RawConnection::open(target, options)?,
            inbox: Inbox::new(),
            script: Script::new(facts),
            options: options.clone(),
            pings: 0,
            in_vain: None,
        })
    }

    /// The preface, and the exchange of settings.
    pub(super) fn open(&mut self) -> Result<(), PlayError> {
        self.raw.send(&opening());
        self.wait_until(self.options.response_timeout, |inbox| inbox.settings().is_some());
        self.line("settings ack")?;
        self.line("wait settings-ack")
    }

    /// Plays these lines.
    ///
    /// # Errors
    /// A mistake in a line.
    pub fn play(&mut self, lines: &str) -> Result<(), PlayError> {
        lines
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .try_for_each(|line| self.line(line))
    }

    pub(super) fn line(&mut self, line: &str) -> Result<(), PlayError> {
        match self.script.compile(line)? {
            Action::Send(bytes) => self.raw.send(&bytes),
            Action::HalfClose => self.raw.half_close(),
            Action::Wait(wait) => self.wait(wait, line)?,
        }
        Ok(())
    }

    fn wait(&mut self, wait: Wait, line: &str) -> Result<(), PlayError> {
        let patience = self.options.response_timeout;
        let over = |answer: Option<&StreamAnswer>, done: &dyn Fn(&StreamAnswer) -> bool| {
            answer.is_some_and(|answer| done(answer) || answer.reset_code().is_some())
        };
        let came = match wait {
            Wait::Answer(stream) => self.wait_until(patience, |inbox| {
                over(inbox.answer(stream), &|answer| answer.status().is_some())
            }),
            Wait::Ended(stream) => self
                .wait_until(patience, |inbox| over(inbox.answer(stream), &StreamAnswer::is_ended)),
            Wait::Content { stream, bytes } => self.wait_until(patience, |inbox| {
                over(inbox.answer(stream), &|answer| answer.content().len() >= bytes)
            }),
            Wait::Ping => return self.ping(),
            Wait::Quiet => {
                while self.raw.reacts_within(self.options.settle_timeout) && self.is_open() {
                    self.inbox.take(self.raw.received(), self.script.ledger());
                }
                true
            }
            Wait::SettingsAck => {
                let sent = self.script.ledger().settings();
                self.wait_until(patience, |inbox| inbox.acks() >= sent)
            }
            Wait::GoAway => self.wait_until(patience, |inbox| inbox.farewell().is_some()),
            Wait::Closed => {
                let patience = self.options.close_timeout;
                self.ends_within(patience)
            }
        };
        if !came && self.is_open() && self.in_vain.is_none() {
            self.in_vain = Some(line.to_owned());
        }
        Ok(())
    }

    /// A PING, whose acknowledgement shows that the server has read everything before it.
    fn ping(&mut self) -> Result<(), PlayError> {
        self.pings += 1;
        let opaque = [&PING[..], &self.pings.to_be_bytes()].concat();
        let digits: Vec<String> = opaque.iter().map(|byte| format!("{byte:02x}")).collect();
        self.line(&format!("ping 0 | hex {}", digits.join(" ")))?;
        let came =
            self.wait_until(self.options.response_timeout, |inbox| inbox.acknowledged(&opaque));
        if !came && self.is_open() && self.in_vain.is_none() {
            self.in_vain = Some("wait ping".to_owned());
        }
        Ok(())
    }

    /// Reads until this holds, the connection ends, or the time is over.
    pub(super) fn wait_until(
        &mut self,
        patience: Duration,
        holds: impl Fn(&Inbox) -> bool,
    ) -> bool {
        let deadline = Deadline::after(patience);
        loop {
            self.inbox.take(self.raw.received(), self.script.ledger());
            if holds(&self.inbox) {
                return true;
            }
            if self.inbox.violation().is_some() || !self.is_open() {
                return false;
            }
            if self.raw.fill(deadline) == Fill::Silence {
                return false;
            }
        }
    }

    /// Whether the server answers one more PING, and one more request with anything; a request that it refuses for now
    /// counts too (RFC 9113 section 5.1.2).
    ///
    /// # Errors
    /// Never, because the lines are right.
    pub fn is_alive(&mut self, path: &str) -> Result<bool, PlayError> {
        let before = self.in_vain.take();
        self.line("wait ping")?;
        let stream = self.script.ledger().next();
        if stream < 1 << 31 {
            self.line(&format!("request next HEAD {path}"))?;
            self.line(&format!("wait answer {stream}"))?;
        }
        let alive = self.is_open() && self.in_vain.is_none() && self.inbox.violation().is_none();
        self.in_vain = before;
        Ok(alive)
    }

    /// Whether the server has not ended the connection, as far as it was read.
    pub fn is_open(&self) -> bool {
        self.raw.end().is_none()
    }

    /// Whether the server ends the connection within this time.
    pub fn ends_within(&mut self, patience: Duration) -> bool {
        self.raw.drain(patience);
        self.inbox.take(self.raw.received(), self.script.ledger());
        !self.is_open()
    }

    /// The answer on a stream so far.
    pub fn answer(&self, stream: u32) -> Option<&StreamAnswer> {
        self.inbox.answer(stream)
    }

    /// The name of the code of the last GOAWAY.
    pub fn farewell(&self) -> Option<String> {
        self.inbox.farewell().map(names::error_name)
    }

    /// The rule that the server broke, if it did.
    pub fn violation(&self) -> Option<&str> {
        self.inbox.violation()
    }

    /// The first wait that ended without its event.
    pub fn in_vain(&self) -> Option<&str> {
        self.in_vain.as_deref()
    }

    /// The frames that came, by name.
    pub fn frames(&self) -> String {
        self.inbox.to_text()
    }

    /// The newest stream that the client has opened.
    pub fn last_stream(&self) -> u32 {
        self.script.ledger().last()
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.inbox
    }
}
