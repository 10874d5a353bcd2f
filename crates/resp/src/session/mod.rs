//! A connection of a Redis client (RESP2 and RESP3).
//!
//! Owns the state of a session, of all sessions of a scheduler, and of one command while it runs. `input` takes one
//! command after the other, `dispatch` runs it, `after_exec` runs those of an executed transaction, and `events`
//! handles everything that is no input.

mod about;
mod after_exec;
mod catalog;
mod client;
mod connection;
mod dispatch;
mod events;
mod expiries;
mod input;
mod inspecting;
mod listening;
mod listing;
mod pending;
mod pending_reply;
mod pubsub;
mod reply;
mod requested;
mod scanning;
mod steps;
mod table;
mod transaction;
mod values;

use std::cell::RefMut;

use ::channels::{Channels, Rights};
use local::{Local, StoreClient};
use metric::Histogram;
use runtime::arrival::Arrival;
use runtime::clock::Now;
use runtime::limits::ENDPOINTS;
use runtime::mailbox::Endpoint;
use runtime::output::Output;
use runtime::service::{Context, SchedulerCommand as Order, ServiceContext};
use runtime::slots::ProcessId;
use runtime::trace;
use store::Database;
use sys::socket::Peer;
use wire::resp::{Parser, RespCommand, RespVersion, write_error};

pub use self::table::{command_names, command_table};

use self::client::{About, ReplyMode};
use self::events::set_first_deadline;
use self::listening::Listening;
use self::pending::{PendingReplies, reply_behind};
use self::requested::Words;
use self::table::Row;
use crate::exclusive::Exclusive;
use crate::gathering::Gathering;
use crate::held_replies::HeldReplies;
use crate::host::RespHost;
use crate::pace::Pace;
use crate::scan_places::ScanPlaces;
use crate::search::Search;
use crate::stats::{Counter, RespCounts, RespStats};
use crate::traced;

/// The state that the sessions of one scheduler share.
#[derive(Debug)]
pub struct RespClients {
    parser: Parser,
    /// The number of connections so far, for their ids.
    count: u64,
    counts: RespCounts,
    pace: Pace,
    /// Where scans go on.
    scans: ScanPlaces,
    /// `KEYS`, or the search for the key of a cursor.
    searches: Exclusive<Search>,
    /// Large copied replies that clients have not received yet.
    held: HeldReplies,
    /// The reply that takes several turns.
    gatherings: Exclusive<Gathering>,
    /// Bytes that sessions keep: transactions between `MULTI` and `EXEC`, and watched keys.
    kept: usize,
}

impl RespClients {
    /// No clients yet; they are counted here.
    pub fn new(counts: RespCounts) -> Self {
        Self {
            parser: Parser::default(),
            count: 0,
            counts,
            pace: Pace::default(),
            scans: ScanPlaces::default(),
            searches: Exclusive::default(),
            held: HeldReplies::default(),
            gatherings: Exclusive::default(),
            kept: 0,
        }
    }

    /// The counters of this scheduler.
    pub fn stats(&self) -> RespStats {
        self.counts.own()
    }

    /// Bytes that sessions keep between commands.
    pub fn kept_bytes(&self) -> usize {
        self.kept
    }

    /// Bytes of large replies that were copied and that their clients have not taken.
    pub fn held_bytes(&self) -> usize {
        self.held.bytes()
    }

    /// The times of each command that has run, with its name.
    pub fn times(&self) -> impl Iterator<Item = (&'static str, &Histogram)> {
        command_names()
            .enumerate()
            .filter_map(|(number, name)| Some((name, self.pace.times_of(number)?)))
    }

    /// Ends the turn: clients that wait go on in the next one, in their order.
    pub fn end_turn<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        self.pace.end_turn(context);
        let called = [self.searches.take_called(), self.gatherings.take_called()];
        for process in called.into_iter().flatten() {
            context.wake_after_ms(0);
            context.command(Order::Resume(process));
        }
    }

    /// The commands of a client go on in the next turn.
    fn rest(&mut self, process: ProcessId) {
        self.counts.count(Counter::Rests);
        self.pace.wait(process);
    }

    /// A client's command is done, or the client has ended: another one may do what takes several turns.
    fn end_work(&mut self, process: ProcessId) {
        self.gatherings.end(process);
        self.searches.end(process);
    }

    /// A session keeps `now` bytes instead of `before`.
    fn keep(&mut self, before: usize, now: usize) {
        self.kept = self.kept.saturating_sub(before) + now;
    }
}

/// The resources of a session during one run: the store and the channels of its scheduler, what it shares with other
/// sessions, and the server.
pub struct Environment<'e> {
    store: Option<RefMut<'e, StoreClient>>,
    channels: RefMut<'e, Channels>,
    clients: &'e mut RespClients,
    host: &'e mut dyn RespHost,
}

impl<'e> Environment<'e> {
    /// Both parts of `local` are borrowed as long as this lives.
    pub fn new(local: &'e Local, clients: &'e mut RespClients, host: &'e mut dyn RespHost) -> Self {
        Self { store: local.store(), channels: local.channels(), clients, host }
    }
}

/// A connection of a Redis client.
#[derive(Debug)]
pub struct Session {
    /// The process of the connection.
    process: ProcessId,
    number: u64,
    version: RespVersion,
    /// The name and the library that the client gives itself.
    about: Option<Box<About>>,
    listening: Listening,
    rights: Rights,
    arrival: Arrival,
    /// Whether the client must authenticate before other commands.
    is_asked: bool,
    /// Whether a module is being asked about a channel.
    asks: bool,
    /// Whether the client has authenticated in this command, so that its rights end at another time.
    has_new_rights: bool,
    /// The selected database.
    database: Database,
    /// Its pending orders to the store.
    pending: PendingReplies,
    /// Whether the client gets replies.
    reply_mode: ReplyMode,
    /// Whether the session ends once the store has answered.
    ends: bool,
    /// Whether its handshake is not over, which has a deadline.
    shakes_hands: bool,
}

// Together with a slot of the runtime, this is the memory of an idle client.
const _: () = assert!(size_of::<Session>() <= 96);

/// The next step after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Run the next command.
    More,
    /// Run the same command again when another scheduler or the writer has answered.
    Wait,
    /// Close the connection.
    End,
}

/// One command while it runs.
struct Call<'c, 'e> {
    session: &'c mut Session,
    command: &'c RespCommand<'c>,
    row: &'static Row,
    env: &'c mut Environment<'e>,
    output: &'c mut Output,
    now: Now,
}

impl<'c> Call<'c, '_> {
    /// The word with this index; empty if there is none.
    fn word(&self, at: usize) -> &'c [u8] {
        self.command.argument(at)
    }

    fn out(&mut self) -> &mut Vec<u8> {
        self.output.buffer()
    }

    fn words(&self) -> Words<'c> {
        Words::new(self.command, self.row.name(), self.now)
    }

    /// The words that are keys.
    fn keys(&self) -> impl Iterator<Item = &'c [u8]> + Clone + use<'c> {
        let command = self.command;
        self.row.keys().places(command.len()).map(move |at| command.argument(at))
    }

    /// Shows the command in a trace, if there is one.
    #[inline]
    fn trace_command(&self) {
        if trace::is_on() {
            traced::command(self.session.process, self.word(0), self.keys());
        }
    }

    /// Replies behind the pending replies.
    fn say(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> After {
        reply_behind(&mut self.session.pending, self.output.buffer(), write);
        After::More
    }

    fn say_error(&mut self, text: &str) -> After {
        self.say(|out| write_error(out, text))
    }
}

impl Session {
    /// A session for a connection that was just accepted.
    pub fn new<M: Send>(
        peer: Peer,
        clients: &mut RespClients,
        context: &mut Context<'_, M>,
    ) -> Self {
        clients.count += 1;
        clients.counts.count(Counter::Connections);
        // Unique among all schedulers.
        let number = clients.count * ENDPOINTS as u64 + u64::from(context.mail.endpoint().0);
        set_first_deadline(context);
        Self {
            process: context.id,
            number,
            version: RespVersion::Two,
            about: None,
            listening: Listening::default(),
            rights: Rights::ANYBODY,
            arrival: Arrival::new(peer, context.now),
            is_asked: false,
            asks: false,
            has_new_rights: false,
            database: Database(0),
            pending: PendingReplies::default(),
            reply_mode: ReplyMode::On,
            ends: false,
            shakes_hands: false,
        }
    }

    /// The client must authenticate before other commands.
    pub fn require_authentication(&mut self) {
        self.is_asked = true;
    }

    /// Whether the connection may be closed to make room. A subscriber is not idle, and neither is a client that waits
    /// for the writer of the store.
    pub fn is_idle(&self) -> bool {
        self.listening.len() == 0 && self.pending.has_answered()
    }

    /// The client, and since when it is connected.
    pub fn arrival(&self) -> Arrival {
        self.arrival
    }

    /// The scheduler of the connection, which its number contains.
    fn here(&self) -> Endpoint {
        Endpoint((self.number % ENDPOINTS as u64) as u16)
    }

    /// The number of channels and patterns, as replies count them.
    fn subscriptions(&self) -> usize {
        self.listening.len()
    }
}
