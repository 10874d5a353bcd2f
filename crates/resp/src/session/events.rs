//! Everything that happens to a session apart from input.
//!
//! Owns what it does then: its handshake, answers of the store, messages, the end of its rights and of its connection.

use channels::{Channels, Credential, Rights};
use runtime::clock::milliseconds;
use runtime::service::{Context, Event, Next};
use runtime::trace;
use wire::resp::write_error;

use super::after_exec;
use super::{Environment, Session};
use crate::limits::DRAIN_GRACE;
use crate::pace::Entry;
use crate::stats::Counter;
use crate::traced;

/// The deadline of a client that may send its first command: none, but while the server drains, a short one for clients
/// that were in the accept queue when the drain began.
pub(super) fn set_first_deadline<M>(context: &mut Context<'_, M>) {
    context.clear_deadline();
    if context.is_draining() {
        context.set_deadline_after_ms(milliseconds(DRAIN_GRACE));
    }
}

impl Session {
    /// The connection begins with a handshake, which has to be over within this time: a silent client would keep a
    /// place among the handshakes for ever.
    pub fn await_handshake<M>(&mut self, deadline_ms: u64, context: &mut Context<'_, M>) {
        self.shakes_hands = true;
        context.set_deadline_after_ms(deadline_ms);
    }

    /// The handshake is over.
    pub fn on_agreed<M>(&mut self, context: &mut Context<'_, M>) -> Next {
        self.shakes_hands = false;
        self.rights = Rights::new(Credential::Nothing, context.agreed().as_deref());
        set_first_deadline(context);
        Next::Read
    }

    /// Something happened that is no input.
    pub fn on_event<M>(
        &mut self,
        env: &mut Environment<'_>,
        event: Event,
        context: &mut Context<'_, M>,
    ) -> Next {
        env.clients.pace.begin_run();
        let next = self.handle(env, event, context);
        env.clients.pace.end_run();
        // A client that reads would be given its input before its turn.
        let waits = next == Next::Read && env.clients.pace.has_in_line(self.process);
        if waits { Next::Park } else { next }
    }

    fn handle<M>(
        &mut self,
        env: &mut Environment<'_>,
        event: Event,
        context: &mut Context<'_, M>,
    ) -> Next {
        let is_in_line = env.clients.pace.has_in_line(self.process);
        match event {
            Event::OutputDrained => {
                for (_, subscription) in self.listening.channels() {
                    env.channels.on_drained(std::slice::from_ref(subscription));
                }
                if self.pending.has_to_drain() {
                    env.clients.held.let_go(self.pending.let_go());
                }
                if is_in_line { Next::Park } else { self.go_on(env, context) }
            }
            Event::Resumed if self.is_too_slow(&env.channels) => Next::Finish,
            Event::Resumed if self.is_dismissed(&mut env.channels) => Next::Finish,
            Event::Resumed
                if is_in_line && env.clients.pace.enter_again(self.process) == Entry::Closed =>
            {
                Next::Park
            }
            Event::PeerFinished if is_in_line => Next::Park,
            Event::InputEnded | Event::Draining => {
                self.ends = true;
                self.go_on(env, context)
            }
            Event::Overloaded => {
                write_error(context.output.buffer(), "ERR max memory reached");
                Next::Linger
            }
            Event::DeadlineReached if self.shakes_hands => Next::Abort,
            Event::DeadlineReached if context.is_draining() => {
                self.ends = true;
                self.go_on(env, context)
            }
            Event::DeadlineReached => self.on_deadline(&env.channels, context),
            Event::Resumed | Event::PeerFinished => self.go_on(env, context),
            Event::Connected | Event::ConnectFailed(_) => Next::Abort,
        }
    }

    /// Handles answers of the writer: writes the replies. Returns what the process does next.
    fn go_on<M>(&mut self, env: &mut Environment<'_>, context: &mut Context<'_, M>) -> Next {
        if let Some(store) = &mut env.store
            && !self.pending.is_empty()
        {
            let told = (self.version, context.now.unix_ms());
            for executed in store.take(self.process) {
                self.pending.tell(executed, told, context.output.buffer());
                if trace::is_noting() {
                    traced::reply(self.process);
                }
            }
            if self.pending.has_answered() {
                store.settle(self.process);
            }
        }
        if !after_exec::go_on(self, env, context) {
            return self.until_resumed(context);
        }
        match self.ends {
            true if self.pending.has_answered() => Next::Finish,
            true => Next::Park,
            false if self.pending.has_to_drain() => self.after_full(),
            false => Next::Read,
        }
    }

    /// The token has expired: closes the connection if its subscriptions or the listener require the token.
    fn on_deadline<M>(&mut self, channels: &Channels, context: &mut Context<'_, M>) -> Next {
        if !self.rights.end_if_over(context.now.unix_seconds) {
            self.set_deadline(context);
            return Next::Read;
        }
        let mut names = self.listening.channels().iter().map(|(name, _)| name);
        if self.is_asked || names.any(|name| !channels.still_allows(name, &self.rights)) {
            write_error(context.output.buffer(), "NOAUTH the token has expired");
            return Next::Linger;
        }
        Next::Read
    }

    /// Sets the deadline at which the rights of the client expire.
    pub(super) fn set_deadline<M>(&self, context: &mut Context<'_, M>) {
        match self.rights.left_ms(context.now.unix_seconds) {
            Some(left_ms) => context.set_deadline_after_ms(left_ms),
            None => context.clear_deadline(),
        }
    }

    /// Whether a module has removed the user, from a channel of this connection or completely. Redis closes the
    /// connection, too.
    fn is_dismissed(&self, channels: &mut Channels) -> bool {
        let dismissal = channels.take_dismissal(self.process);
        dismissal
            .is_some_and(|of| self.listening.channels().iter().any(|(name, _)| of.is_from(name)))
    }

    fn is_too_slow(&self, channels: &Channels) -> bool {
        self.listening
            .all()
            .any(|(_, subscription)| channels.is_too_slow(std::slice::from_ref(subscription)))
    }

    /// The connection has closed.
    pub fn on_close(mut self, env: &mut Environment<'_>) {
        let clients = &mut *env.clients;
        clients.counts.count(Counter::Closed);
        clients.pace.forget(self.process);
        clients.end_work(self.process);
        clients.held.let_go(self.pending.let_go_of_all());
        clients.keep(self.pending.kept(), 0);
        env.channels.forget(self.process);
        if let Some(store) = &mut env.store {
            store.forget(self.process);
        }
        if self.asks {
            env.host.forget_question(self.process);
        }
        self.leave(&mut env.channels);
    }

    /// Ends all subscriptions: from now on the client does not count as a subscriber.
    pub fn leave(&mut self, channels: &mut Channels) {
        for (_, subscription) in self.listening.take() {
            channels.unsubscribe(subscription);
        }
    }
}
