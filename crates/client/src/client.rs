//! The exchanges of one scheduler: what their requesters and the service can do with them.
//!
//! Owns the running exchanges and their number. How one gets a connection is in `way`, what passes through it in
//! `traffic`. Requests to the scheduler are made at the end of a turn, so nothing is re-entrant.

use std::rc::Rc;

use ahash::HashMap;
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use wire::http::fields::FieldList;

use crate::begun::Begun;
use crate::deadlines::Agenda;
use crate::exchange::{Exchange, Held, Terms};
use crate::failure::ExchangeFailure;
use crate::h2::{Orders, StreamOrder};
use crate::id::{ExchangeId, Requester};
use crate::limits::{CONNECTIONS_PER_ORIGIN, EXCHANGES};
use crate::names::{FoundAddresses, NameLookup, Names};
use crate::news::ExchangeNews;
use crate::origin::{OriginHost, ServerOrigin};
use crate::outbound::{Outbound, Tickets};
use crate::outgoing::Outgoing;
use crate::pool::Pool;
use crate::request::OutgoingRequest;
use crate::sessions::Sessions;
use crate::stats::ClientStats;
use crate::table::Table;

/// How much a client may have at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientBounds {
    /// Running exchanges; one more fails.
    pub exchanges: usize,
    /// Connections to one origin, at least one; one more exchange waits in line.
    pub connections_per_origin: usize,
}

impl Default for ClientBounds {
    fn default() -> Self {
        Self { exchanges: EXCHANGES, connections_per_origin: CONNECTIONS_PER_ORIGIN }
    }
}

/// The HTTP client of one scheduler.
#[derive(Debug, Default)]
pub struct Client {
    bounds: ClientBounds,
    pub(crate) names: Names,
    pub(crate) pool: Pool,
    pub(crate) exchanges: Table,
    agenda: Agenda,
    /// Idle connections that were given an exchange to begin.
    pub(crate) assigned: HashMap<ProcessId, ExchangeId>,
    pub(crate) tickets: Tickets,
    pub(crate) begun: Begun,
    pub(crate) sessions: Sessions,
    pub(crate) orders: Orders,
    pub(crate) counted: ClientStats,
    pub(crate) commands: Vec<SchedulerCommand>,
    /// Exchanges of the service with news.
    heard: Vec<ExchangeId>,
    last: u64,
}

impl Client {
    /// Sets how much it may have from now on.
    pub fn set_bounds(&mut self, bounds: ClientBounds) {
        self.bounds = bounds;
        self.pool.set_per_origin(bounds.connections_per_origin);
    }

    /// Its counts.
    pub fn stats(&self) -> ClientStats {
        ClientStats { idle: self.pool.idle(), ..self.counted }
    }

    /// A number that no exchange has, for a requester that also numbers what it does not begin.
    pub fn number(&mut self) -> ExchangeId {
        self.last += 1;
        ExchangeId(self.last)
    }

    /// Begins an exchange.
    ///
    /// # Errors
    /// If the request cannot be sent, or there are too many.
    pub fn begin(
        &mut self,
        request: OutgoingRequest,
        now_ns: u64,
    ) -> Result<ExchangeId, ExchangeFailure> {
        self.check_room()?;
        let head = request.head()?;
        let terms = Terms {
            to: Rc::new(request.destination()?),
            reach: Rc::clone(&request.reach),
            requester: request.requester,
            repeatable: request.repeatable(),
            answer_to: request.answer_to(),
            deadlines: request.deadlines,
            lead: None,
        };
        let expectation = request.expects_continue();
        let outgoing = Outgoing::of(head, request.body, terms.answer_to, expectation);
        Ok(self.start(Exchange::new(terms, outgoing, now_ns), now_ns))
    }

    /// Whether one more exchange may run.
    pub(crate) fn check_room(&self) -> Result<(), ExchangeFailure> {
        let is_full = self.exchanges.len() >= self.bounds.exchanges;
        if is_full { Err(ExchangeFailure::TooMany) } else { Ok(()) }
    }

    /// Starts an exchange: finds a connection for it.
    pub(crate) fn start(&mut self, exchange: Exchange, now_ns: u64) -> ExchangeId {
        let id = self.number();
        self.exchanges.insert(id, exchange);
        self.schedule(id);
        self.find(id, now_ns);
        id
    }

    /// Sends a part of a streamed body, or of another protocol after status 101, and returns how many bytes were taken.
    /// If that is not all, keep the rest until [`ExchangeNews::Room`]. What an exchange that has ended cannot use any
    /// more is taken and dropped.
    pub fn send(&mut self, id: ExchangeId, bytes: &[u8], now_ns: u64) -> usize {
        self.feed(id, now_ns, |outgoing| outgoing.take(bytes)).unwrap_or(bytes.len())
    }

    /// How many bytes [`send`](Self::send) would take now, for a requester that must not read more. After 0 it is told
    /// when there is [`ExchangeNews::Room`].
    pub fn room(&mut self, id: ExchangeId) -> usize {
        self.exchanges.running(id).map_or(usize::MAX, |exchange| exchange.outgoing.room())
    }

    /// Ends a streamed body, or another protocol. Trailers are sent if they can stand behind the body: in chunks, and
    /// over HTTP/2. A body that is shorter than announced fails.
    pub fn end_body(&mut self, id: ExchangeId, trailers: &FieldList, now_ns: u64) {
        self.feed(id, now_ns, |outgoing| outgoing.finish(trailers));
    }

    /// Adds to a request, and has its connection send it.
    fn feed<T>(
        &mut self,
        id: ExchangeId,
        now_ns: u64,
        add: impl FnOnce(&mut Outgoing) -> Result<T, ExchangeFailure>,
    ) -> Option<T> {
        let exchange = self.exchanges.running(id)?;
        // If more waited before, its connection is told when there is room.
        let is_told = exchange.outgoing.has_more();
        match add(&mut exchange.outgoing) {
            Ok(added) => {
                if exchange.is_talking() && !is_told {
                    exchange.note_progress(now_ns);
                    match (exchange.connection, exchange.stream) {
                        (Some(connection), Some(stream)) => {
                            self.order(connection, StreamOrder::Send(stream));
                        }
                        (connection, _) => {
                            self.commands.extend(connection.map(SchedulerCommand::Run));
                        }
                    }
                }
                self.schedule(id);
                Some(added)
            }
            Err(failure) => {
                self.fail(id, failure);
                None
            }
        }
    }

    /// The next news of an exchange, with at most `most` bytes of a body; with 0, a body is left. `None`: there is no
    /// more for now, and its requester is told when there is. Not taking a body stops the other server: its connection
    /// is not read again before a call with more than 0 returns `None`. After [`ExchangeNews::End`] and
    /// [`ExchangeNews::Failed`] the exchange is gone.
    pub fn next(&mut self, id: ExchangeId, most: usize, now_ns: u64) -> Option<ExchangeNews> {
        let exchange = self.exchanges.get_mut(id)?;
        let news = exchange.next(most);
        match news {
            Some(ExchangeNews::End | ExchangeNews::Failed(_)) => self.remove(id),
            Some(ExchangeNews::Body(_)) => {
                let (connection, stream) = (exchange.connection, exchange.stream);
                let increment = exchange.incoming.take_increment();
                if let (Some(connection), Some(stream), Some(increment)) =
                    (connection, stream, increment)
                {
                    self.order(connection, StreamOrder::Open { stream, increment });
                }
            }
            None if most > 0 && exchange.go_on_reading() => {
                exchange.note_progress(now_ns);
                self.commands.extend(exchange.connection.map(SchedulerCommand::Resume));
                self.schedule(id);
            }
            _ => {}
        }
        news
    }

    /// Tells a shared connection what to do for a stream.
    pub(crate) fn order(&mut self, connection: ProcessId, order: StreamOrder) {
        if self.orders.add(connection, order) {
            self.commands.push(SchedulerCommand::Run(connection));
        }
    }

    /// Leaves the news of an exchange for a later [`next`](Self::next). Its requester is told of further news, as it is
    /// after `next` has returned `None`.
    pub fn listen(&mut self, id: ExchangeId) {
        if let Some(exchange) = self.exchanges.get_mut(id) {
            exchange.listen();
        }
    }

    /// Whether a requester that has no room now has to call [`next`](Self::next) when it has: nothing else tells it.
    pub fn is_answer_left(&self, id: ExchangeId) -> bool {
        self.exchanges.get(id).is_some_and(Exchange::is_answer_left)
    }

    /// Why an exchange has failed, before that is the next news. Parts of the answer may come first.
    pub fn failure(&self, id: ExchangeId) -> Option<ExchangeFailure> {
        self.exchanges.get(id)?.failure()
    }

    /// When the request of an exchange was sent completely, on the monotonic clock. `None`: it was not yet.
    pub fn sent_ns(&self, id: ExchangeId) -> Option<u64> {
        self.exchanges.get(id)?.sent_ns()
    }

    /// Sets until when an exchange may run as a whole; `u64::MAX` for ever.
    pub fn limit(&mut self, id: ExchangeId, due_ns: u64) {
        if let Some(exchange) = self.exchanges.get_mut(id) {
            exchange.set_whole_due(due_ns);
            self.schedule(id);
        }
    }

    /// From now on the service is told of news of an exchange, not the process that has begun it and may end.
    pub fn hand_over(&mut self, id: ExchangeId) {
        if let Some(exchange) = self.exchanges.get_mut(id) {
            exchange.hand_over();
        }
    }

    /// An exchange is no longer wanted: closes its connection. There is no further news of it.
    pub fn cancel(&mut self, id: ExchangeId) {
        self.remove(id);
    }

    /// Ends exchanges that took too long, and returns those of the service that have news, each once.
    pub fn heard(&mut self, now_ns: u64) -> Vec<ExchangeId> {
        self.end_late(now_ns);
        std::mem::take(&mut self.heard)
    }

    /// The server of an exchange.
    pub fn origin(&self, id: ExchangeId) -> Option<&ServerOrigin> {
        Some(&self.exchanges.get(id)?.to.origin)
    }

    /// When an exchange got an established connection, on the monotonic clock; `None`: it has none yet.
    pub fn connected_ns(&self, id: ExchangeId) -> Option<u64> {
        self.exchanges.get(id)?.talking_since_ns()
    }

    /// Bytes that it holds for an exchange.
    pub fn held(&self, id: ExchangeId) -> Held {
        self.exchanges.get(id).map_or_else(Held::default, |exchange| exchange.held())
    }

    /// Names to look up by a helper. Those that cannot be sent stay for the next turn.
    pub fn questions(&mut self) -> &mut Vec<NameLookup> {
        self.names.questions()
    }

    /// A helper has looked up a name.
    pub fn learn(&mut self, name: &NameLookup, found: FoundAddresses, now_ns: u64) {
        for id in self.names.learn(name, found, now_ns) {
            self.find(id, now_ns);
        }
    }

    /// At the end of a turn: sends the requests to the scheduler.
    pub fn end_turn<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        self.end_late(context.now.monotonic_ns);
        for command in self.commands.drain(..) {
            context.command(command);
        }
        if !self.heard.is_empty() {
            context.wake_at_ns(context.now.monotonic_ns);
        }
        if let Some(due_ns) = self.agenda.next_ns() {
            context.wake_at_ns(due_ns);
        }
    }

    fn end_late(&mut self, now_ns: u64) {
        while let Some(id) = self.agenda.take_due(now_ns) {
            let Some(exchange) = self.exchanges.get_mut(id) else { continue };
            exchange.listed_ns = u64::MAX;
            let (due_ns, deadline) = exchange.due();
            if due_ns <= now_ns {
                self.fail(id, ExchangeFailure::Timeout(deadline));
            } else {
                self.schedule(id);
            }
        }
    }

    /// Puts an exchange on the agenda, if it may be due earlier than it is listed.
    pub(crate) fn schedule(&mut self, id: ExchangeId) {
        if let Some(exchange) = self.exchanges.get_mut(id) {
            let due_ns = exchange.due().0;
            self.agenda.advance(id, &mut exchange.listed_ns, due_ns);
        }
    }

    /// The exchange that was given to an idle connection.
    pub(crate) fn assigned_to(&mut self, connection: ProcessId) -> Option<ExchangeId> {
        self.assigned.remove(&connection)
    }

    /// A connection must not be used again.
    pub(crate) fn forget_idle(&mut self, outbound: &Outbound) {
        self.pool.forget(&outbound.to, outbound.id);
    }

    /// An answer is complete.
    pub(crate) fn complete(&mut self, id: ExchangeId) {
        if let Some(exchange) = self.exchanges.running(id) {
            exchange.complete();
            self.tell(id);
        }
    }

    /// An exchange has failed.
    pub(crate) fn fail(&mut self, id: ExchangeId, failure: ExchangeFailure) {
        self.let_go(id);
        if let Some(exchange) = self.exchanges.running(id) {
            exchange.fail(failure);
            self.tell(id);
        }
    }

    /// Has the requester look for news.
    pub(crate) fn tell(&mut self, id: ExchangeId) {
        match self.exchanges.get_mut(id).and_then(|exchange| exchange.tell()) {
            Some(Requester::Service) => self.heard.push(id),
            Some(Requester::Process(process)) => self.commands.push(SchedulerCommand::Run(process)),
            None => {}
        }
    }

    /// Removes an exchange and closes its connection.
    fn remove(&mut self, id: ExchangeId) {
        self.let_go(id);
        if let Some(exchange) = self.exchanges.remove(id) {
            self.agenda.remove(id, exchange.listed_ns);
        }
    }

    /// Closes the connection of an exchange, or ends its wait for one.
    fn let_go(&mut self, id: ExchangeId) {
        let Some(exchange) = self.exchanges.running(id) else {
            return;
        };
        if let Some(connection) = exchange.connection.take() {
            if let Some(stream) = exchange.stream.take() {
                self.order(connection, StreamOrder::End(stream));
                return;
            }
            self.assigned.remove(&connection);
            self.commands.push(SchedulerCommand::Close(connection));
            return;
        }
        self.pool.leave_line(&exchange.to, id);
        if let OriginHost::Name(name) = &exchange.to.origin.host {
            self.names.forget(name, id);
        }
    }
}
