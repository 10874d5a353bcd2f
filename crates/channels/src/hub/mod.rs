//! The channels of one scheduler: who subscribes, who publishes.
//!
//! Owns the table of channels and their cost. `subscribing` and `publishing` serve clients,
//! `exchange` talks to other schedulers, `sending` ends a turn, `polling` serves requests that wait
//! for the next message, `surveys` counts subscribers, `users` knows those with tokens, `repeats`
//! messages that arrive twice, `rates` how often each client publishes, `listening` subscribers
//! within the server.

mod exchange;
mod listening;
mod polling;
mod publishing;
mod rates;
mod repeats;
mod sending;
mod subscribing;
mod surveys;
mod users;

use std::sync::Arc;

use ahash::{HashMap, RandomState};
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;

use crate::audience::Seat;
use crate::channel::{Channel, Joined, Place};
use crate::format::Format;
use crate::letter::{Item, Receipt};
use crate::limits::{CHANNELS, CHANNELS_COMPARED, HISTORY_BYTES, HISTORY_COMPARED};
use crate::member::Member;
use crate::outcome::{Published, Refusal};
use crate::patterns::Patterns;
use crate::rights::Rights;
use crate::rules::Rulebook;
use crate::stats::ChannelStats;

use self::exchange::Outgoing;
use self::listening::Listeners;
use self::polling::Polls;
use self::rates::Rates;
use self::repeats::Repeats;
use self::surveys::Surveys;
use self::users::Users;

pub use self::listening::{Heard, ListenerNumber};
pub use self::users::Dismissal;

/// A subscription: its holder gives it back with [`Channels::unsubscribe`].
#[derive(Debug)]
pub struct Subscription {
    of: Subscribed,
    audience: u8,
    seat: Seat,
    /// Whose it is, where the client has shown a token of a user.
    of_user: Option<Box<(ProcessId, Member)>>,
}

/// A process that is to get messages.
#[derive(Clone, Copy, Debug)]
pub struct Subscriber<'s> {
    /// The process.
    pub process: ProcessId,
    /// What it speaks.
    pub format: Format,
    /// What its client may do.
    pub rights: &'s Rights,
}

/// What a subscription is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subscribed {
    /// A channel, by its place in the table.
    Channel(u32),
    /// A pattern, by its place in theirs.
    Pattern(u32),
}

/// The channels of one scheduler.
///
/// A service [subscribes](Self::subscribe) processes and [publishes](Self::publish) while it runs, hands over each
/// [`Letter`](crate::Letter) that comes, and calls [`end_turn`](Self::end_turn) when a turn ends.
pub struct Channels {
    here: Endpoint,
    schedulers: u16,
    home_of: RandomState,
    rulebook: Arc<Rulebook>,
    channels: Vec<Option<Channel>>,
    free: Vec<u32>,
    by_name: HashMap<Arc<str>, u32>,
    patterns: Patterns,
    subscriptions: usize,
    history_bytes: usize,
    /// Channels whose rules keep messages, of which some may be too old by now.
    with_history: usize,
    /// The channels that have something to send in this turn, or are to be looked at when it ends.
    noted: Vec<u32>,
    recounted_patterns: Vec<u32>,
    outgoing: Vec<Outgoing>,
    receipts: Vec<Receipt>,
    /// Processes that are parked until a home has answered.
    awaited: HashMap<ProcessId, Option<Result<Published, Refusal>>>,
    /// Subscriptions that may be behind no longer: their process has taken what waited for it, or all of it left in the turn in which
    /// they fell behind.
    drained: Vec<(u32, u8, Seat)>,
    /// Subscriptions that fell behind in this turn.
    fallen: Vec<(u32, u8, Seat)>,
    behind: usize,
    polls: Polls,
    surveys: Surveys,
    users: Users,
    repeats: Repeats,
    listeners: Listeners,
    rates: Rates,
    tickets: u64,
    next_sweep_ms: u64,
    cursor: usize,
    stats: ChannelStats,
}

impl Channels {
    /// No channels. `here` is this scheduler, the first `schedulers` endpoints are all of them, and `seed` is the same for all: it
    /// says which of them is a channel's home.
    #[must_use]
    pub fn new(here: Endpoint, schedulers: u16, seed: u64, rulebook: Arc<Rulebook>) -> Self {
        let schedulers = schedulers.max(1);
        Self {
            here,
            schedulers,
            home_of: RandomState::with_seeds(seed, !seed, seed.rotate_left(32), 1),
            rulebook,
            channels: Vec::new(),
            free: Vec::new(),
            by_name: HashMap::default(),
            patterns: Patterns::default(),
            subscriptions: 0,
            history_bytes: 0,
            with_history: 0,
            noted: Vec::new(),
            recounted_patterns: Vec::new(),
            outgoing: (0..schedulers).map(|_| Outgoing::default()).collect(),
            receipts: Vec::new(),
            awaited: HashMap::default(),
            drained: Vec::new(),
            fallen: Vec::new(),
            behind: 0,
            polls: Polls::default(),
            surveys: Surveys::default(),
            users: Users::default(),
            repeats: Repeats::default(),
            listeners: Listeners::default(),
            rates: Rates::default(),
            tickets: 0,
            next_sweep_ms: 0,
            cursor: 0,
            stats: ChannelStats::default(),
        }
    }

    /// The rules of all channels.
    #[must_use]
    pub fn rulebook(&self) -> &Arc<Rulebook> {
        &self.rulebook
    }

    /// Other rules are in force. Subscriptions stay; what histories keep is cut with the next message or look.
    pub fn set_rulebook(&mut self, rulebook: Arc<Rulebook>) {
        for channel in self.channels.iter_mut().flatten() {
            channel.rules = Arc::clone(rulebook.of(&channel.name));
        }
        self.rates.clear();
        self.rulebook = rulebook;
    }

    /// What was counted.
    #[must_use]
    pub fn stats(&self) -> ChannelStats {
        ChannelStats {
            channels: self.by_name.len() as u64,
            subscriptions: self.subscriptions as u64,
            history_bytes: self.history_bytes as u64,
            members_bytes: self.users.held_bytes() as u64,
            ..self.stats
        }
    }

    fn counted<T>(&mut self, result: Result<T, Refusal>) -> Result<T, Refusal> {
        self.stats.refused += u64::from(result.is_err());
        result
    }

    /// The scheduler that numbers the messages of a channel.
    fn home(&self, name: &str) -> Endpoint {
        let hash = self.home_of.hash_one(name);
        Endpoint((hash % u64::from(self.schedulers)) as u16)
    }

    fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// The place of a channel; one that is not known yet is asked for at its home.
    fn find_or_make(&mut self, name: &str) -> Result<u32, Refusal> {
        if let Some(place) = self.by_name.get(name) {
            return Ok(*place);
        }
        if self.by_name.len() >= CHANNELS && !self.forget_one() {
            return Err(Refusal::Full);
        }
        if self.outgoing[usize::from(self.home(name).0)].is_full() {
            return Err(Refusal::Busy);
        }
        self.make(name)
    }

    /// Forgets a channel without subscribers, to have room for another. `false`: there was none among those that were looked at.
    fn forget_one(&mut self) -> bool {
        let count = self.channels.len();
        let mut compared =
            (0..CHANNELS_COMPARED.min(count)).map(|step| (self.cursor + step) % count);
        let is_left = |at: &usize| {
            self.channels[*at].as_ref().is_some_and(|channel| {
                channel.subscribers() == 0 && channel.elsewhere() == 0 && !channel.is_noted
            })
        };
        let found = compared.find(is_left);
        self.cursor = (self.cursor + CHANNELS_COMPARED) % count.max(1);
        if let Some(place) = found {
            self.forget_channel(place as u32);
            self.stats.evicted += 1;
        }
        found.is_some()
    }

    /// A channel that is not known yet.
    fn make(&mut self, name: &str) -> Result<u32, Refusal> {
        let (home, ticket) = (self.home(name), self.ticket());
        let place = if home == self.here {
            Place::Home(Vec::new())
        } else {
            Place::Elsewhere { home, ticket, joined: Joined::No }
        };
        // An epoch is never used again: not by this scheduler, and not after a restart.
        let epoch = self.home_of.hash_one((self.here, ticket, name));
        let channel = Channel::new(name, self.rulebook.of(name), epoch, place);
        let name = Arc::clone(&channel.name);
        self.with_history += usize::from(channel.rules.history.keeps());
        if home != self.here {
            let name = Arc::clone(&name);
            self.outgoing[usize::from(home.0)].push(Item::Join { name, ticket });
        }
        let place = if let Some(free) = self.free.pop() {
            self.channels[free as usize] = Some(channel);
            free
        } else {
            self.channels.push(Some(channel));
            u32::try_from(self.channels.len() - 1).map_err(|_| Refusal::Full)?
        };
        self.by_name.insert(name, place);
        Ok(place)
    }

    /// A channel is looked at when the turn ends.
    fn note(&mut self, place: u32) {
        if let Some(channel) = &mut self.channels[place as usize]
            && !std::mem::replace(&mut channel.is_noted, true)
        {
            self.noted.push(place);
        }
    }

    /// Subscribers of a channel came or left.
    fn recount(&mut self, place: u32) {
        if let Some(channel) = &mut self.channels[place as usize] {
            channel.is_recounted = true;
        }
        self.note(place);
    }

    /// Keeps all histories together within their bound.
    fn bound_histories(&mut self) {
        while self.history_bytes > HISTORY_BYTES {
            let count = self.channels.len();
            let compared =
                (0..HISTORY_COMPARED.min(count)).map(|step| (self.cursor + step) % count);
            let bytes = |at: &usize| {
                self.channels[*at].as_ref().map_or(0, |channel| channel.history.held_bytes())
            };
            let largest = compared.max_by_key(bytes);
            self.cursor = (self.cursor + HISTORY_COMPARED) % count.max(1);
            let channel = largest.and_then(|at| self.channels[at].as_mut());
            if let Some(channel) = channel.filter(|channel| !channel.history.is_empty()) {
                let before = channel.history.held_bytes();
                channel.history.drop_oldest();
                self.history_bytes -= before - channel.history.held_bytes();
                self.stats.evicted += 1;
            }
        }
    }
}
