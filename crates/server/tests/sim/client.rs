//! Scripted clients: what they send, when, and the expected answers.
//!
//! Owns one client's progress through its script. Every answer is compared with the expected one, byte by byte;
//! a client without an answer says so, and the test decides whether that is allowed.

use std::collections::VecDeque;
use std::fmt;

use tls::Connector;
use world::{ClientId, ClientState, Stall, World};

use crate::expected::{Expected, short};
use crate::response::{Input, Response, parse};
use crate::secure::Secure;
use crate::world::{SECOND_NS, address};

/// The date is a second between sending the request and receiving the answer.
fn check_date(response: &Response, asked_ns: u64, world: &World) {
    let Some(date) = response.field("date") else { return };
    let time = date.strip_prefix("Thu, 01 Jan 2026 ").and_then(|rest| rest.strip_suffix(" GMT"));
    let time = time.unwrap_or_else(|| panic!("every world is over within a day: {date}"));
    let parts: Vec<u64> = time.split(':').map(|part| part.parse().unwrap()).collect();
    let seconds = parts.iter().fold(0, |sum, part| sum * 60 + part);
    let (earliest, latest) = (second_of(asked_ns), second_of(world.now_ns()));
    assert!((earliest..=latest).contains(&seconds), "{date}, not {earliest} to {latest}");
}

/// Seconds since midnight. Every world begins at midnight, at this monotonic time.
fn second_of(monotonic_ns: u64) -> u64 {
    const BEGIN_SECONDS: u64 = 1_000;
    monotonic_ns / SECOND_NS - BEGIN_SECONDS
}

/// How soon a server ends a connection that its client has ended, even if segments and turns are delayed: well
/// before any deadline.
const SOON_NS: u64 = 5 * SECOND_NS;

/// One step of a script.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Send(Vec<u8>),
    /// Wait for one complete answer.
    Expect(Expected),
    /// Do nothing for this many nanoseconds.
    Pause(u64),
    /// From now on read this many bytes per this many nanoseconds.
    Pace(usize, u64),
    /// Stop reading.
    Stall,
    EndOutput,
    /// Wait for the server to end the connection, with nothing before that.
    ExpectEnd,
    /// The same, and the server has no reason to delay it.
    ExpectEndSoon,
    /// Wait for the server to end the connection, whatever comes before.
    ExpectLoss,
    Reset,
    Close,
}

/// How a client's script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It got what it expected.
    Satisfied,
    /// The connection ended early; with its state.
    Lost(ClientState),
    /// The connection was not accepted.
    NotConnected,
}

/// How a client reaches the server.
enum Way {
    Plain,
    /// It encrypts, once it is connected.
    Secure(Connector),
    /// It encrypts.
    Encrypted(Secure),
}

/// A client.
pub(crate) struct Client {
    id: Option<ClientId>,
    way: Way,
    start_ns: u64,
    script: VecDeque<Step>,
    received: Vec<u8>,
    resumes_ns: Option<u64>,
    pace: Option<(usize, u64)>,
    reads_ns: u64,
    /// When it began to send the request of the next answer.
    asked_ns: Option<u64>,
    /// When it last sent.
    pub(crate) sent_ns: u64,
    /// When it ended, and how.
    pub(crate) over: Option<(u64, Ending)>,
    /// Answers it got.
    pub(crate) answers: usize,
    /// Whether part of an answer had come when the connection was lost.
    pub(crate) partial: bool,
    /// Whether the server has ended the connection without a word, where the transport has one.
    pub(crate) looks_cut: bool,
    /// Whether a scheduler had its connection when it ended.
    pub(crate) was_accepted: bool,
    /// The last answer.
    pub(crate) last: Option<Response>,
}

impl fmt::Debug for Client {
    /// The state of a waiting client, for the reader of a failure.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = self.script.front().map_or_else(String::new, |step| format!("{step:?}"));
        let step: String = step.chars().take(200).collect();
        writeln!(formatter, "{:?} {:?}, {} answers so far", self.id, self.over, self.answers)?;
        writeln!(formatter, "  sent last at {} us", self.sent_ns / 1000)?;
        writeln!(formatter, "  next of {} steps: {step}", self.script.len())?;
        write!(formatter, "  with {}", short(&self.received))
    }
}

impl Client {
    pub(crate) fn new(start_ns: u64, script: impl IntoIterator<Item = Step>) -> Self {
        Self {
            id: None,
            way: Way::Plain,
            start_ns,
            script: script.into_iter().collect(),
            received: Vec::new(),
            resumes_ns: None,
            pace: None,
            reads_ns: 0,
            asked_ns: None,
            sent_ns: 0,
            over: None,
            answers: 0,
            partial: false,
            looks_cut: false,
            was_accepted: false,
            last: None,
        }
    }

    /// The same over TLS.
    pub(crate) fn secure(self, connector: &Connector) -> Self {
        Self { way: Way::Secure(connector.clone()), ..self }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    pub(crate) fn ending(&self) -> Option<Ending> {
        self.over.map(|(_, ending)| ending)
    }

    /// When it does something by itself.
    pub(crate) fn next_due_ns(&self) -> Option<u64> {
        if self.is_over() {
            return None;
        }
        if self.id.is_none() {
            return Some(self.start_ns);
        }
        let reads_ns = self.pace.map(|_| self.reads_ns);
        [self.resumes_ns, reads_ns].into_iter().flatten().min()
    }

    /// Does what it can now; returns whether that was anything.
    pub(crate) fn step(&mut self, world: &World) -> bool {
        if self.is_over() || world.now_ns() < self.start_ns {
            return false;
        }
        let Some(id) = self.id else {
            self.id = world.connect(&address());
            let Some(id) = self.id else {
                self.over = Some((world.now_ns(), Ending::NotConnected));
                return true;
            };
            if let Way::Secure(connector) = &self.way {
                let (secure, hello) = Secure::begin(connector);
                world.client_send(id, &hello);
                self.way = Way::Encrypted(secure);
            }
            return true;
        };
        let mut any = self.read(world, id);
        while !self.is_over() && self.try_step(world, id) {
            any = true;
        }
        any
    }

    fn read(&mut self, world: &World, id: ClientId) -> bool {
        let came = match self.pace {
            None => world.client_received(id),
            Some((count, every_ns)) if world.now_ns() >= self.reads_ns => {
                self.reads_ns = world.now_ns() + every_ns;
                world.client_read(id, count)
            }
            Some(_) => Vec::new(),
        };
        self.take(came, world, id)
    }

    /// Takes bytes that came; returns whether there were any.
    fn take(&mut self, mut came: Vec<u8>, world: &World, id: ClientId) -> bool {
        if came.is_empty() {
            return false;
        }
        match &mut self.way {
            Way::Encrypted(secure) => {
                let answer = secure.open(&mut came, &mut self.received);
                if !answer.is_empty() {
                    world.client_send(id, &answer);
                }
            }
            Way::Plain | Way::Secure(_) => self.received.append(&mut came),
        }
        true
    }

    fn send(&mut self, bytes: &[u8], world: &World, id: ClientId) {
        match &mut self.way {
            Way::Encrypted(secure) => world.client_send(id, &secure.seal(bytes)),
            Way::Plain | Way::Secure(_) => world.client_send(id, bytes),
        }
    }

    /// Whether nothing of its script can be done before the handshake is over, except to wait and to go.
    fn shakes_hands(&self) -> bool {
        let waits = !matches!(self.script.front(), None | Some(Step::Pause(_) | Step::Reset));
        waits && matches!(&self.way, Way::Encrypted(secure) if !secure.is_agreed())
    }

    /// Whether the server has said in words of the transport that nothing follows; without one, by its end alone.
    fn was_told_the_end(&self) -> bool {
        match &self.way {
            Way::Encrypted(secure) => secure.has_ended(),
            Way::Plain | Way::Secure(_) => true,
        }
    }

    /// Does one step, if that is possible now.
    fn try_step(&mut self, world: &World, id: ClientId) -> bool {
        let now_ns = world.now_ns();
        if self.shakes_hands() {
            let state = world.client_state(id);
            if state != ClientState::Open {
                self.end(world, id, Ending::Lost(state));
            }
            return state != ClientState::Open;
        }
        let Some(step) = self.script.front() else {
            self.end(world, id, Ending::Satisfied);
            return true;
        };
        match step {
            Step::Send(bytes) => {
                let bytes = bytes.clone();
                self.send(&bytes, world, id);
                self.sent_ns = now_ns;
                self.asked_ns.get_or_insert(now_ns);
            }
            Step::Expect(expected) => return self.try_expect(&expected.clone(), world, id),
            Step::Pause(nanoseconds) => {
                let resumes_ns = *self.resumes_ns.get_or_insert(now_ns + nanoseconds);
                if now_ns < resumes_ns {
                    return false;
                }
                self.resumes_ns = None;
            }
            Step::Pace(count, every_ns) => {
                self.pace = Some((*count, *every_ns));
                world.client_stall(id, Stall::Reading);
            }
            Step::Stall => world.client_stall(id, Stall::Reading),
            Step::EndOutput => {
                if let Way::Encrypted(secure) = &mut self.way {
                    world.client_send(id, &secure.end());
                }
                world.client_end_output(id);
            }
            Step::ExpectEnd | Step::ExpectEndSoon | Step::ExpectLoss => {
                if world.client_state(id) == ClientState::Open {
                    if matches!(step, Step::ExpectEndSoon) {
                        let due_ns = *self.resumes_ns.get_or_insert(now_ns + SOON_NS);
                        assert!(now_ns < due_ns, "the end is not soon: {self:?}");
                    }
                    return false;
                }
                self.resumes_ns = None;
                let silent = !matches!(step, Step::ExpectLoss);
                let nothing = self.received.is_empty();
                let ended = world.client_state(id) == ClientState::EndedByServer;
                self.looks_cut = ended && !self.was_told_the_end();
                assert!(!silent || nothing, "expected the end: {}", short(&self.received));
            }
            Step::Reset => {
                world.client_reset(id);
                self.end(world, id, Ending::Satisfied);
            }
            Step::Close => {
                let nothing = self.received.is_empty();
                assert!(nothing, "nothing was asked: {}", short(&self.received));
                world.client_close(id);
                self.end(world, id, Ending::Satisfied);
            }
        }
        self.script.pop_front();
        true
    }

    fn try_expect(&mut self, expected: &Expected, world: &World, id: ClientId) -> bool {
        let state = world.client_state(id);
        let ended = state != ClientState::Open;
        if ended {
            let rest = world.client_read(id, usize::MAX);
            self.take(rest, world, id);
        }
        // Without a word of its end, an answer that ends with the connection may have been cut.
        let is_end = state == ClientState::EndedByServer && self.was_told_the_end();
        let input = if is_end { Input::Ended } else { Input::Open };
        match parse(&self.received, expected.asked, input) {
            Some(response) => {
                expected.check(&response);
                check_date(&response, self.asked_ns.unwrap_or(self.start_ns), world);
                self.received.drain(..response.length);
                self.answers += usize::from(response.status >= 200);
                self.last = Some(response);
                self.script.pop_front();
                if !matches!(self.script.front(), Some(Step::Expect(_))) {
                    self.asked_ns = None;
                }
            }
            None if ended => {
                expected.check_part(&self.received);
                self.partial = !self.received.is_empty();
                self.end(world, id, Ending::Lost(state));
            }
            None => return false,
        }
        true
    }

    fn end(&mut self, world: &World, id: ClientId, ending: Ending) {
        self.was_accepted = world.client_scheduler(id).is_some();
        self.over = Some((world.now_ns(), ending));
        world.client_close(id);
    }
}
