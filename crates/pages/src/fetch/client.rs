//! The fetches of one scheduler, from request to outcome.
//!
//! Owns the running fetches and their limits, and which connection serves which fetch. Its requests
//! to the scheduler, and the outcomes of fetches, are taken at the end of a turn.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ahash::HashMap;
use config::FetchRules;
use runtime::clock::{milliseconds, nanoseconds};
use runtime::service::{Command, Context, Next, Progress, ServiceContext};
use runtime::slots::ProcessId;

use super::answer::{Cut, Extent, Reading};
use super::failure::Failure;
use super::names::{Found, Names, Question};
use super::outbound::{End, Outbound, Past};
use super::outcome::{FetchResult, Got, Number};
use super::pool::{Kept, Pool};
use super::request::{Asked, Prepared, Repeatable, Wanted};
use super::share::Share;
use super::stream::Stream;
use super::url::Host;
use crate::limits::{FETCH_HELD_BYTES, FETCH_IDLE_TIME, FETCH_PIECE_BYTES};

/// A running fetch.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) request: Prepared,
    pub(super) deadline_ns: u64,
    /// Addresses of the host that were not tried yet; the next one is last.
    pub(super) untried: Vec<IpAddr>,
    pub(super) connection: Option<ProcessId>,
    /// Bytes of the request that were passed on to be sent.
    sent: usize,
    /// The answer, from its first byte on. Boxed because most of the time there is none.
    pub(super) reading: Option<Box<Reading>>,
    /// Its bytes that count towards [`FETCH_HELD_BYTES`].
    held_bytes: usize,
}

// There is one for each page that waits for an answer.
const _: () = assert!(size_of::<Fetch>() <= 120);

/// Whether bytes followed an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Nothing,
    Bytes,
}

/// The fetches of one scheduler.
#[derive(Debug, Default)]
pub struct Client {
    share: Share,
    pub(super) rules: FetchRules,
    pub(super) names: Names,
    pub(super) pool: Pool,
    /// Boxed because the table has up to twice as many places as entries.
    pub(super) fetches: HashMap<Number, Box<Fetch>>,
    /// Those whose answers are read piece by piece.
    pub(super) streams: HashMap<Number, Stream>,
    deadlines: BTreeSet<(u64, Number)>,
    /// Idle connections that were given a fetch to begin.
    pub(super) assigned: HashMap<ProcessId, Number>,
    pub(super) commands: Vec<Command>,
    pub(super) outcomes: Vec<FetchResult>,
    held_bytes: usize,
    last: u64,
}

impl Client {
    /// Limits the fetches to a part of the scheduler's connections.
    pub fn set_connections(&mut self, connections: usize) {
        self.share.set_connections(connections);
    }

    /// Sets which targets may be fetched from now on.
    pub fn set_rules(&mut self, rules: FetchRules) {
        self.rules = rules;
    }

    /// Begins a fetch. Its outcome appears under the returned number.
    pub fn begin(&mut self, asked: &Asked, now_ns: u64) -> Number {
        self.last += 1;
        let number = Number(self.last);
        if let Err(failure) = self.try_to_begin(number, asked, now_ns) {
            self.outcomes.push((number, Err(failure)));
        }
        number
    }

    fn try_to_begin(&mut self, number: Number, asked: &Asked, now_ns: u64) -> Result<(), Failure> {
        if !self.share.has_room_for(asked, self.fetches.len(), self.streams.len()) {
            return Err(Failure::TooMany);
        }
        let request = Prepared::of(asked)?;
        let deadline_ns = now_ns.saturating_add(nanoseconds(asked.timeout));
        let (host, size) = (request.host.clone(), request.bytes.len());
        let fetch = Fetch {
            request,
            deadline_ns,
            untried: Vec::new(),
            connection: None,
            sent: 0,
            reading: None,
            held_bytes: 0,
        };
        self.deadlines.insert((deadline_ns, number));
        self.share.add(fetch.request.owner);
        self.fetches.insert(number, Box::new(fetch));
        if asked.wanted == Wanted::Pieces {
            self.streams.insert(number, Stream::of(asked));
        }
        match self.hold(number, size) {
            Ok(()) => self.find(number, &host, now_ns),
            Err(failure) => self.fail(number, failure),
        }
        Ok(())
    }

    /// The outcome of a fetch is no longer wanted: closes its connection.
    pub fn give_up(&mut self, number: Number) {
        if !self.drop_fetch(number) {
            self.outcomes.retain(|(of, _)| *of != number);
        }
    }

    /// Names to look up by a helper. Those that cannot be sent stay for the next turn.
    pub fn questions(&mut self) -> &mut Vec<Question> {
        self.names.questions()
    }

    /// A helper has looked up a name.
    pub fn learn(&mut self, name: &Question, found: Found, now_ns: u64) {
        for number in self.names.learn(name, found, now_ns) {
            // The fetch that waited may have ended.
            if let Some(fetch) = self.fetches.get(&number) {
                let host = fetch.request.host.clone();
                self.find(number, &host, now_ns);
            }
        }
    }

    /// Ends fetches that took too long, and returns the outcomes since the last call.
    pub fn outcomes(&mut self, now_ns: u64) -> Vec<FetchResult> {
        while let Some((due_ns, number)) = self.deadlines.first().copied()
            && due_ns <= now_ns
        {
            self.fail(number, Failure::Timeout);
        }
        std::mem::take(&mut self.outcomes)
    }

    /// At the end of a turn: sends the requests to the scheduler.
    pub fn end_turn<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        for command in self.commands.drain(..) {
            context.command(command);
        }
        if !self.outcomes.is_empty() {
            context.wake_at_ns(context.now.monotonic_ns);
        }
        if let Some((due_ns, _)) = self.deadlines.first() {
            context.wake_at_ns(*due_ns);
        }
    }

    /// The fetch that was given to an idle connection.
    pub(super) fn assigned_to(&mut self, connection: ProcessId) -> Option<Number> {
        self.assigned.remove(&connection)
    }

    /// A connection must not be reused.
    pub(super) fn forget_idle(&mut self, outbound: &Outbound) {
        self.pool.remove(outbound.address, outbound.id);
    }

    /// Begins to send a request.
    pub(super) fn send<M>(&mut self, outbound: &Outbound, context: &mut Context<'_, M>) -> Next {
        context.clear_deadline();
        self.send_more(outbound, context)
    }

    /// Sends as much of a request as the outbox accepts.
    pub(super) fn send_more<M>(
        &mut self,
        outbound: &Outbound,
        context: &mut Context<'_, M>,
    ) -> Next {
        let Some(number) = outbound.fetch else { return Next::Read };
        let Some(fetch) = self.fetches.get_mut(&number) else { return Next::Abort };
        while !context.output_is_full()
            && let Some(rest) = fetch.request.bytes.get(fetch.sent..)
            && !rest.is_empty()
        {
            let piece = rest.get(..FETCH_PIECE_BYTES).unwrap_or(rest);
            context.output.put(piece);
            fetch.sent += piece.len();
        }
        if fetch.sent == fetch.request.bytes.len() && outbound.past == Past::Fresh {
            // It is never sent again: only a connection that was used before may end without our doing.
            fetch.request.bytes = Box::default();
            fetch.sent = 0;
        }
        self.appetite(number)
    }

    /// Input of an answer has arrived.
    pub(super) fn take_input<M>(
        &mut self,
        number: Number,
        outbound: &mut Outbound,
        input: &[u8],
        context: &mut Context<'_, M>,
    ) -> Progress {
        let aborted = Progress { consumed: input.len(), next: Next::Abort };
        let Some(fetch) = self.fetches.get_mut(&number) else { return aborted };
        let method = fetch.request.method;
        let reading = fetch.reading.get_or_insert_with(|| Box::new(Reading::new(method)));
        let before = reading.body_bytes();
        let taken = reading.take(input);
        let more = reading.body_bytes().saturating_sub(before);
        match taken.and_then(|taken| self.hold(number, more).map(|()| taken)) {
            Ok((consumed, Extent::Partial)) => Progress { consumed, next: self.feed(number) },
            Ok((consumed, Extent::Whole)) => {
                let after = if consumed < input.len() { After::Bytes } else { After::Nothing };
                let next = self.settle(number, outbound, after, context);
                Progress { consumed: input.len(), next }
            }
            Err(failure) => {
                outbound.fetch = None;
                self.fail(number, failure);
                aborted
            }
        }
    }

    /// An answer is complete: keeps its connection if it can be reused.
    fn settle<M>(
        &mut self,
        number: Number,
        outbound: &mut Outbound,
        after: After,
        context: &mut Context<'_, M>,
    ) -> Next {
        outbound.fetch = None;
        outbound.past = Past::Used;
        let Some(fetch) = self.fetches.get(&number) else { return Next::Abort };
        let Some(reading) = &fetch.reading else { return Next::Abort };
        let is_sent = fetch.sent == fetch.request.bytes.len();
        // Bytes after an answer were not requested: the next answer on this connection could not be trusted.
        let is_clean = after == After::Nothing && reading.is_persistent();
        self.complete(number);
        if !is_sent {
            return Next::Abort;
        }
        let is_usable = is_clean && !context.is_draining();
        if is_usable && self.pool.put(outbound.address, outbound.id) == Kept::Yes {
            context.set_deadline_after_ms(milliseconds(FETCH_IDLE_TIME));
            return Next::Read;
        }
        Next::Finish
    }

    /// A connection has ended, which may be the end of its answer.
    pub(super) fn ended(&mut self, number: Number, outbound: &Outbound, end: End) {
        let Some(fetch) = self.fetches.get_mut(&number) else { return };
        fetch.connection = None;
        let reading = fetch.reading.as_mut();
        let closed = reading.map_or(Err(Cut::BeforeFirstByte), |reading| reading.close());
        match (end, closed) {
            (End::Orderly, Ok(())) => self.complete(number),
            // The other side closed the connection while it was idle, before it saw the request: RFC 9112, 9.3.1.
            (_, Err(Cut::BeforeFirstByte))
                if outbound.past == Past::Used
                    && (fetch.request.repeatable == Repeatable::Yes || fetch.sent == 0) =>
            {
                fetch.sent = 0;
                fetch.reading = None;
                self.connect(number);
            }
            _ => self.fail(number, Failure::Closed),
        }
    }

    /// An answer is complete.
    fn complete(&mut self, number: Number) {
        if !self.end_stream(number)
            && let Some(reading) = self.remove(number).and_then(|fetch| fetch.reading)
        {
            self.outcomes.push((number, Ok(Got::Whole(reading.finish()))));
        }
    }

    /// A fetch has failed.
    pub(super) fn fail(&mut self, number: Number, failure: Failure) {
        if !self.break_stream(number, failure) && self.drop_fetch(number) {
            self.outcomes.push((number, Err(failure)));
        }
    }

    /// Removes a fetch and closes its connection. Returns whether it was running.
    fn drop_fetch(&mut self, number: Number) -> bool {
        let Some(fetch) = self.remove(number) else { return false };
        if let Some(connection) = fetch.connection {
            self.assigned.remove(&connection);
            self.commands.push(Command::Close(connection));
        }
        true
    }

    pub(super) fn remove(&mut self, number: Number) -> Option<Box<Fetch>> {
        let fetch = self.fetches.remove(&number)?;
        self.streams.remove(&number);
        self.share.remove(fetch.request.owner);
        self.deadlines.remove(&(fetch.deadline_ns, number));
        if let (Host::Name(name), None) = (&fetch.request.host, fetch.connection) {
            self.names.forget(name, number);
        }
        self.held_bytes -= fetch.held_bytes;
        Some(fetch)
    }

    /// Sets when a fetch has taken too long.
    pub(super) fn set_deadline(&mut self, number: Number, due_ns: u64) {
        let Some(fetch) = self.fetches.get_mut(&number) else { return };
        self.deadlines.remove(&(fetch.deadline_ns, number));
        fetch.deadline_ns = due_ns;
        if due_ns != u64::MAX {
            self.deadlines.insert((due_ns, number));
        }
    }

    /// Bytes of a fetch were handed to its page.
    pub(super) fn release(&mut self, number: Number, bytes: usize) {
        if let Some(fetch) = self.fetches.get_mut(&number) {
            fetch.held_bytes -= bytes;
            self.held_bytes -= bytes;
        }
    }

    /// Counts bytes held for a fetch, if there is room.
    fn hold(&mut self, number: Number, bytes: usize) -> Result<(), Failure> {
        if self.held_bytes + bytes > FETCH_HELD_BYTES {
            return Err(Failure::TooMany);
        }
        if let Some(fetch) = self.fetches.get_mut(&number) {
            fetch.held_bytes += bytes;
            self.held_bytes += bytes;
        }
        Ok(())
    }
}
