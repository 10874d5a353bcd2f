//! A connection of a Redis client (RESP2 and RESP3).
//!
//! Owns its session: its settings and its subscriptions. `commands` and `pubsub` execute commands.

mod authentication;
pub(super) mod catalog;
mod client;
mod commands;
mod entrance;
mod entry;
mod keys;
mod listening;
mod pubsub;
mod wording;

use std::net::IpAddr;

use channels::Rights;
use config::Authentication;
use http::Arrival;
use runtime::limits::ENDPOINTS;
use runtime::service::{Context, Event, Next, Progress};
use runtime::slots::ProcessId;
use store::Database;
use sys::socket::Peer;
use wire::resp::{Command, Limits, Parser, Version, write_error};

use self::client::{About, Replies};
use self::entrance::{Entrance, set_first_deadline};
use self::keys::{Dialog, Going, Quiet};
use self::listening::Listening;
use super::lease::Lease;
use crate::limits::RESP_LONG_COMMAND;
use crate::message::Message;
use crate::resp_pace::Entry;
use crate::site::Site;

/// State that all Redis connections of a scheduler share.
#[derive(Debug, Default)]
pub(super) struct Clients {
    parser: Parser,
    /// The number of connections so far, for their ids.
    count: u64,
}

/// A connection of a Redis client.
#[derive(Debug)]
pub struct Session {
    /// The process of the connection.
    process: ProcessId,
    number: u64,
    version: Version,
    /// What the client says about itself.
    about: Option<Box<About>>,
    listening: Listening,
    lease: Lease,
    /// Whether the client must authenticate before other commands.
    is_asked: bool,
    /// Whether a module is being asked about a channel.
    asks: bool,
    /// The selected database.
    database: Database,
    /// Its pending orders to the store.
    keys: Dialog,
    /// Whether the client gets replies.
    replies: Replies,
    /// Whether the session ends once the store has answered.
    ends: bool,
    entrance: Entrance,
}

// Together with a slot of the runtime, this is the memory of an idle client.
const _: () = assert!(size_of::<Session>() <= 104);

/// What to do after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Run the next command.
    More,
    /// Run the same command again when another scheduler or the writer has answered.
    Wait,
    /// Close the connection.
    End,
}

impl Session {
    /// A session for a connection that was just accepted.
    pub(super) fn new(
        authentication: Authentication,
        peer: Peer,
        clients: &mut Clients,
        context: &mut Context<'_, Message>,
    ) -> Self {
        clients.count += 1;
        // Unique among all schedulers.
        let number = clients.count * ENDPOINTS as u64 + u64::from(context.mail.endpoint().0);
        set_first_deadline(context);
        Self {
            process: context.id,
            number,
            version: Version::Two,
            about: None,
            listening: Listening::default(),
            lease: Lease::new(Rights::ANYBODY, Arrival::new(peer, context.now)),
            is_asked: authentication == Authentication::Required,
            asks: false,
            database: Database(0),
            keys: Dialog::default(),
            replies: Replies::On,
            ends: false,
            entrance: Entrance::Open,
        }
    }

    /// Whether the connection may be closed to make room. A subscriber is not idle.
    pub(super) fn is_idle(&self) -> bool {
        self.listening.len() == 0
    }

    pub(super) fn client(&self) -> IpAddr {
        self.lease.address()
    }

    pub(super) fn arrival(&self) -> Arrival {
        self.lease.arrival()
    }

    pub(super) fn on_input(
        &mut self,
        clients: &mut Clients,
        site: &mut Site,
        input: &[u8],
        context: &mut Context<'_, Message>,
    ) -> Progress {
        if site.resp_pace.enter(self.process) == Entry::Closed {
            site.resp.count_rest();
            return Progress { consumed: 0, next: Next::Park };
        }
        if let Some(store) = &site.store {
            // The client may have heard of a commit since the turn began.
            store.turn_store().renew();
        }
        let before = self.keys.kept();
        let progress = self.run_commands(clients, site, input, context);
        site.resp_pace.end_run();
        if let Some(store) = &mut site.store {
            store.keep(before, self.keys.kept());
        }
        progress
    }

    fn run_commands(
        &mut self,
        clients: &mut Clients,
        site: &mut Site,
        input: &[u8],
        context: &mut Context<'_, Message>,
    ) -> Progress {
        let mut consumed = 0;
        loop {
            let limits =
                if self.must_authenticate() { Limits::of_strangers() } else { Limits::default() };
            if context.output_is_full() || self.keys.has_to_drain() {
                // A client that does not read its messages must not keep others from a long reply.
                self.end_gathering(site);
                return Progress { consumed, next: self.after_full() };
            }
            if self.keys.is_executing() {
                if keys::go_on_with_transaction(self, site, context) == Going::Waits {
                    return Progress { consumed, next: self.until_resumed(context) };
                }
                // The client may have to receive its replies first.
                continue;
            }
            let command = match clients.parser.parse(&input[consumed..], &limits) {
                Ok(Some(command)) => command,
                Ok(None) => return Progress { consumed, next: Next::Read },
                Err(problem) => {
                    write_error(context.output.buffer(), &problem.text());
                    return Progress { consumed: input.len(), next: Next::Linger };
                }
            };
            let length = command.length;
            if length >= RESP_LONG_COMMAND {
                site.resp_pace.note_read();
            }
            match self.run(&command, site, context) {
                After::More => {
                    consumed += length;
                    if consumed < input.len() && site.resp_pace.is_over() {
                        site.rest(self.process);
                        return Progress { consumed, next: Next::Park };
                    }
                }
                After::Wait => return Progress { consumed, next: Next::Park },
                After::End => {
                    return Progress { consumed: input.len(), next: Next::Linger };
                }
            }
        }
    }

    /// What the process does while its output is full. Many client libraries write a whole pipeline before they read
    /// the first reply, so its commands are collected. They take less memory than their replies.
    fn after_full(&self) -> Next {
        if self.must_authenticate() { Next::Park } else { Next::Collect }
    }

    /// What the process does while commands of a transaction wait.
    fn until_resumed(&self, context: &Context<'_, Message>) -> Next {
        let is_full = context.output_is_full() || self.keys.has_to_drain();
        if is_full { self.after_full() } else { Next::Park }
    }

    pub(super) fn on_event(
        &mut self,
        site: &mut Site,
        event: Event,
        context: &mut Context<'_, Message>,
    ) -> Next {
        site.resp_pace.begin_run();
        let next = self.handle(site, event, context);
        site.resp_pace.end_run();
        // A client that reads would be given its input before its turn.
        let waits = next == Next::Read && site.resp_pace.has_in_line(self.process);
        if waits { Next::Park } else { next }
    }

    fn handle(
        &mut self,
        site: &mut Site,
        event: Event,
        context: &mut Context<'_, Message>,
    ) -> Next {
        match event {
            Event::OutputDrained => {
                for (_, subscription) in self.listening.channels() {
                    site.channels.on_drained(std::slice::from_ref(subscription));
                }
                if let (Some(store), true) = (&mut site.store, self.keys.has_to_drain()) {
                    store.held.let_go(self.keys.let_go());
                }
                if site.resp_pace.has_in_line(self.process) {
                    return Next::Park;
                }
                keys::go_on(self, site, context)
            }
            Event::Resumed if self.is_too_slow(site) => Next::Finish,
            Event::Resumed if self.is_dismissed(site) => Next::Finish,
            Event::Resumed
                if site.resp_pace.has_in_line(self.process)
                    && site.resp_pace.enter_again(self.process) == Entry::Closed =>
            {
                Next::Park
            }
            Event::PeerFinished if site.resp_pace.has_in_line(self.process) => Next::Park,
            Event::InputEnded | Event::Draining => {
                self.ends = true;
                keys::go_on(self, site, context)
            }
            Event::Overloaded => {
                write_error(context.output.buffer(), "ERR max memory reached");
                Next::Linger
            }
            Event::DeadlineReached if self.entrance == Entrance::Handshake => Next::Abort,
            Event::DeadlineReached if context.is_draining() => {
                self.ends = true;
                keys::go_on(self, site, context)
            }
            Event::DeadlineReached => self.on_deadline(site, context),
            Event::Resumed | Event::PeerFinished => keys::go_on(self, site, context),
            Event::Connected | Event::ConnectFailed(_) => Next::Abort,
        }
    }

    /// The token has expired: closes the connection if its subscriptions or the listener require the token.
    fn on_deadline(&mut self, site: &Site, context: &mut Context<'_, Message>) -> Next {
        if !self.lease.end_if_over(context.now) {
            self.set_deadline(context);
            return Next::Read;
        }
        let rights = self.lease.rights();
        let mut names = self.listening.channels().iter().map(|(name, _)| name);
        if self.is_asked || names.any(|name| site.may_subscribe(name, rights).is_err()) {
            write_error(context.output.buffer(), "NOAUTH the token has expired");
            return Next::Linger;
        }
        Next::Read
    }

    /// Sets the deadline at which the rights of the client expire.
    fn set_deadline(&self, context: &mut Context<'_, Message>) {
        match self.lease.left_ms(context.now) {
            Some(left_ms) => context.set_deadline_after_ms(left_ms),
            None => context.clear_deadline(),
        }
    }

    /// Whether a module has removed the user, from a channel of this connection or completely. Redis closes the
    /// connection, too.
    fn is_dismissed(&self, site: &mut Site) -> bool {
        let dismissal = site.channels.take_dismissal(self.process);
        dismissal
            .is_some_and(|of| self.listening.channels().iter().any(|(name, _)| of.is_from(name)))
    }

    fn is_too_slow(&self, site: &Site) -> bool {
        self.listening
            .all()
            .any(|(_, subscription)| site.channels.is_too_slow(std::slice::from_ref(subscription)))
    }

    pub(super) fn on_close(mut self, site: &mut Site) {
        site.resp.count_close();
        site.channels.forget(self.process);
        site.resp_pace.forget(self.process);
        if let Some(store) = &mut site.store {
            store.forget(self.process);
            store.held.let_go(self.keys.let_go_of_all());
            store.keep(self.keys.kept(), 0);
        }
        if self.asks {
            site.forget_question(self.process);
        }
        self.leave(site);
    }

    /// Ends all subscriptions: from now on the client does not count as a subscriber.
    pub(super) fn leave(&mut self, site: &mut Site) {
        for (_, subscription) in self.listening.take() {
            site.channels.unsubscribe(subscription);
        }
    }

    /// The number of channels and patterns, as replies count them.
    fn subscriptions(&self) -> usize {
        self.listening.len()
    }

    fn run(
        &mut self,
        command: &Command<'_>,
        site: &mut Site,
        context: &mut Context<'_, Message>,
    ) -> After {
        if command.is_empty() {
            return After::More;
        }
        let after = if self.replies == Replies::On || client::is_about_replies(command) {
            commands::run(self, command, site, context)
        } else {
            self.run_silently(command, site, context)
        };
        if after != After::Wait {
            site.resp.count_command();
            self.end_gathering(site);
        }
        after
    }

    /// The command that runs makes no long reply, or begins it again later.
    fn end_gathering(&self, site: &mut Site) {
        if let Some(store) = &mut site.store {
            store.gatherings.end(self.process);
        }
    }

    /// Runs a command of a transaction.
    fn run_queued(
        &mut self,
        command: &Command<'_>,
        site: &mut Site,
        context: &mut Context<'_, Message>,
    ) -> After {
        commands::run(self, command, site, context)
    }

    /// Runs a command whose reply the client does not want.
    fn run_silently(
        &mut self,
        command: &Command<'_>,
        site: &mut Site,
        context: &mut Context<'_, Message>,
    ) -> After {
        self.keys.set_quiet(Quiet::Yes);
        let output = std::mem::take(context.output);
        let after = commands::run(self, command, site, context);
        *context.output = output;
        self.keys.set_quiet(Quiet::No);
        if after != After::Wait && self.replies == Replies::SkipNext {
            self.replies = Replies::On;
        }
        after
    }
}
