//! Owns the course of one case: the steps, the responses in order, the connection afterwards.
//! `judge` decides whether the outcome is right.

use std::io;
use std::time::Duration;

use crate::case::{Case, CaseStep, ConnectionAfter};
use crate::clock::Deadline;
use crate::connection::{Connection, End, Exchange, Trouble};
use crate::facts::Facts;
use crate::limits::DRIP_INTERVAL_MS;
use crate::response::{ParsedResponse, RequestKind};
use crate::target::{Options, TestedServer};
use crate::template;

/// The state of the connection at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Closed(End),
    /// It is open, and nothing more arrived. Whether it serves was not tested.
    Quiet,
    /// It served one more request.
    Serving,
    /// It did not serve one more request.
    NotServing(Trouble),
}

/// The events of a case.
pub(crate) struct Played {
    pub(crate) sent: Vec<u8>,
    pub(crate) received: Vec<u8>,
    pub(crate) exchanges: Vec<Exchange>,
    /// Why there are fewer responses than expected.
    pub(crate) trouble: Option<Trouble>,
    pub(crate) after: After,
    /// Bytes which belong to no response.
    pub(crate) surplus: Vec<u8>,
}

/// Plays one case on a connection of its own.
pub(crate) fn play(
    case: &Case,
    target: &TestedServer,
    facts: &Facts,
    options: &Options,
) -> io::Result<Played> {
    let mut player = Player {
        case,
        facts,
        options,
        connection: Connection::open(target, options)?,
        exchanges: Vec::new(),
        trouble: None,
    };
    player.take_steps()?;
    player.take_responses(case.responses.len());
    let after = player.settle();
    Ok(Played {
        sent: player.connection.sent().to_vec(),
        received: player.connection.received().to_vec(),
        surplus: player.connection.surplus().to_vec(),
        exchanges: player.exchanges,
        trouble: player.trouble,
        after,
    })
}

struct Player<'run> {
    case: &'run Case,
    facts: &'run Facts,
    options: &'run Options,
    connection: Connection,
    exchanges: Vec<Exchange>,
    trouble: Option<Trouble>,
}

impl Player<'_> {
    fn take_steps(&mut self) -> io::Result<()> {
        let mut sent_before = false;
        for step in self.case.script() {
            let sends = matches!(step, CaseStep::Send(_));
            if sends && sent_before {
                // So that the server reads twice.
                self.connection.reacts_within(self.options.write_gap);
            }
            sent_before = sends;
            match step {
                CaseStep::Send(text) => {
                    let bytes = self.bytes(&text)?;
                    self.connection.send(&bytes);
                }
                CaseStep::Drip(text) => {
                    let bytes = self.bytes(&text)?;
                    self.drip(&bytes);
                }
                CaseStep::WaitInterim => self.connection.wait_interim(self.next_kind()),
                CaseStep::WaitResponse => self.take_responses(self.exchanges.len() + 1),
                CaseStep::HalfClose => self.connection.half_close(),
            }
        }
        Ok(())
    }

    fn bytes(&self, text: &str) -> io::Result<Vec<u8>> {
        template::expand(text, self.facts).map_err(|error| io::Error::other(error.to_string()))
    }

    /// A slow client: one small write per interval, until the server ends the connection.
    fn drip(&mut self, bytes: &[u8]) {
        let Some(patience) = self.options.slow_deadline else { return };
        let deadline = Deadline::after(patience);
        let interval = Duration::from_millis(DRIP_INTERVAL_MS);
        while let Some(left) = deadline.left() {
            if !bytes.is_empty() {
                self.connection.send(bytes);
            }
            if self.connection.reacts_within(interval.min(left)) {
                return;
            }
        }
        self.trouble = Some(Trouble::Silence(patience));
    }

    fn next_kind(&self) -> RequestKind {
        let expectation = self.case.responses.get(self.exchanges.len());
        RequestKind::of_method(expectation.and_then(|expected| expected.method.as_deref()))
    }

    fn take_responses(&mut self, count: usize) {
        while self.trouble.is_none() && self.exchanges.len() < count {
            match self.connection.next_final(self.next_kind()) {
                Ok(exchange) => self.exchanges.push(exchange),
                Err(trouble) => self.trouble = Some(trouble),
            }
        }
    }

    /// Tests the state of the connection as far as the case requires.
    fn settle(&mut self) -> After {
        let announced = self.exchanges.last().is_some_and(|last| announces_close(&last.response));
        let kept = self
            .exchanges
            .last()
            .is_some_and(|last| last.response.lists("Connection", "keep-alive"));
        match self.case.connection {
            _ if self.trouble.is_some() => self.drain(self.options.settle_timeout),
            ConnectionAfter::Closed | ConnectionAfter::ClosedCleanly => {
                self.drain(self.options.close_timeout)
            }
            ConnectionAfter::AsAnnounced if announced => self.drain(self.options.close_timeout),
            ConnectionAfter::KeptIfSaid if !kept => self.drain(self.options.close_timeout),
            ConnectionAfter::AsAnnounced | ConnectionAfter::KeptIfSaid | ConnectionAfter::Open => {
                self.probe()
            }
            ConnectionAfter::Either => {
                self.connection.half_close();
                self.drain(self.options.settle_timeout)
            }
        }
    }

    fn drain(&mut self, wait: Duration) -> After {
        self.connection.drain(wait);
        self.connection.end().map_or(After::Quiet, After::Closed)
    }

    /// One more request on the same connection. Its answer shows that the server agrees about where the last request
    /// ended.
    fn probe(&mut self) -> After {
        let (path, host) = (self.facts.probe_path(), self.facts.host());
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        // Bytes that arrive before the request cannot be its answer.
        self.connection.reacts_within(self.options.write_gap);
        if !self.connection.surplus().is_empty() {
            return After::Quiet;
        }
        self.connection.send(request.as_bytes());
        let after = match self.connection.next_final(RequestKind::Other) {
            Ok(_) => After::Serving,
            Err(trouble) => After::NotServing(trouble),
        };
        self.connection.drain(self.options.settle_timeout);
        after
    }
}

/// RFC 9112 section 9.3: the option close, or a 1.0 response without keep-alive.
fn announces_close(response: &ParsedResponse) -> bool {
    let kept = response.version_minor == 1 || response.lists("Connection", "keep-alive");
    response.lists("Connection", "close") || !kept
}
