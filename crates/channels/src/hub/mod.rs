//! The channels of one scheduler: who subscribes, who publishes.
//!
//! Owns the table of channels and their cost. `subscribing` and `publishing` serve clients, `exchange` talks to other
//! schedulers, `backlog` bounds the work of a turn, `sending` ends it, `ordering` queues its messages, `polling` serves
//! requests that wait for the next message, `surveys` counts subscribers, `searches` finds channels, `users` knows
//! those with tokens, `cluster` other nodes, `repeats` messages that arrive twice, `rates` how often each client
//! publishes, `lags` how long messages take, `listening` subscribers within the server. `joining` gives a channel's
//! state to other schedulers, `transit` is a message between these.

mod backlog;
mod cluster;
mod exchange;
mod joining;
mod lags;
mod listening;
mod ordering;
mod polling;
mod publishing;
mod rates;
mod repeats;
mod searches;
mod sending;
mod subscribing;
mod surveys;
mod transit;
mod users;
mod viewing;

use std::sync::Arc;

use ahash::{HashMap, RandomState};
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;

use crate::channel::{Channel, Place};
use crate::format::Format;
use crate::letter::{Item, Receipt};
use crate::limits::{CHANNELS, CHANNELS_COMPARED, HISTORY_BYTES, HISTORY_COMPARED};
use crate::member::Member;
use crate::outcome::{ChannelRefusal, Published};
use crate::patterns::Patterns;
use crate::rights::{Rights, Sender};
use crate::ruled::Ruled;
use crate::rules::Rulebook;
use crate::ruling::{ChannelScope, PublishRight, Ruling, ServerRight, SubscribeRight};
use crate::seat::Seat;
use crate::stats::ChannelStats;

use self::backlog::Backlog;
use self::cluster::Cluster;
use self::exchange::Outgoing;
use self::lags::Lags;
use self::listening::Listeners;
use self::polling::Polls;
use self::rates::Rates;
use self::repeats::Repeats;
use self::searches::Searches;
use self::surveys::Surveys;
use self::users::Users;

pub use self::listening::{Heard, ListenerNumber};
pub use self::subscribing::SubscriptionState;
pub use self::users::Dismissal;
pub use self::viewing::ChannelView;

/// A subscription. Its holder ends it with [`Channels::unsubscribe`].
#[derive(Debug)]
pub struct Subscription {
    of: Subscribed,
    audience: u8,
    seat: Seat,
    /// The user, if the client has shown a token with one.
    of_user: Option<Box<(ProcessId, Member)>>,
}

/// A process that subscribes.
#[derive(Clone, Copy, Debug)]
pub struct Subscriber {
    /// The process.
    pub process: ProcessId,
    /// Its format.
    pub format: Format,
}

/// The object of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subscribed {
    /// A channel, by its index in the table.
    Channel(u32),
    /// A pattern, by its index in the patterns.
    Pattern(u32),
}

/// The channels of one scheduler.
///
/// A service [subscribes](Self::subscribe) processes and [publishes](Self::publish) while it runs, passes on each
/// [`ChannelLetter`](crate::ChannelLetter) that arrives, and calls [`end_turn`](Self::end_turn) at the end of a turn.
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
    /// The number of channels whose rules keep messages, some of which may be too old.
    with_history: usize,
    /// The channels that have something to send in this turn, or have to be checked at its end.
    noted: Vec<u32>,
    /// The patterns with messages of this turn.
    noted_patterns: Vec<u32>,
    /// The number of messages so far in this turn.
    order: u32,
    backlog: Backlog,
    outgoing: Vec<Outgoing>,
    receipts: Vec<Receipt>,
    /// Processes that are parked until a home answers.
    awaited: HashMap<ProcessId, Option<Result<Published, ChannelRefusal>>>,
    /// Subscriptions that may have caught up: their process has read what waited for it, or everything was sent in the
    /// turn in which they fell behind.
    drained: Vec<(u32, u8, Seat)>,
    /// Subscriptions that fell behind in this turn.
    fallen: Vec<(u32, u8, Seat)>,
    behind: usize,
    polls: Polls,
    surveys: Surveys,
    searches: Searches,
    users: Users,
    repeats: Repeats,
    listeners: Listeners,
    rates: Rates,
    lags: Lags,
    /// The cluster, if this scheduler is in one.
    cluster: Option<Box<Cluster>>,
    tickets: u64,
    next_sweep_ms: u64,
    cursor: usize,
    stats: ChannelStats,
    /// The channel of the last subscriber that was too slow, and how many were, since this was last asked.
    slow: (Option<Arc<str>>, u64),
}

impl Channels {
    /// Without channels. `here` is this scheduler, the first `schedulers` endpoints are all of them, and `seed` is the
    /// same on all: it determines which of them is a channel's home.
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
            noted_patterns: Vec::new(),
            order: 0,
            backlog: Backlog::default(),
            outgoing: (0..schedulers).map(|_| Outgoing::default()).collect(),
            receipts: Vec::new(),
            awaited: HashMap::default(),
            drained: Vec::new(),
            fallen: Vec::new(),
            behind: 0,
            polls: Polls::default(),
            surveys: Surveys::default(),
            searches: Searches::default(),
            users: Users::default(),
            repeats: Repeats::default(),
            listeners: Listeners::default(),
            rates: Rates::default(),
            lags: Lags::default(),
            cluster: None,
            tickets: 0,
            next_sweep_ms: 0,
            cursor: 0,
            stats: ChannelStats::default(),
            slow: (None, 0),
        }
    }

    /// The right of a client to publish to a channel.
    ///
    /// # Errors
    /// If the rules do not give it.
    pub fn may_publish<'r>(
        &mut self,
        name: &'r str,
        scope: ChannelScope,
        sender: Sender<'r>,
    ) -> Result<Ruling<PublishRight<'r>>, ChannelRefusal> {
        let ruling = self.rulebook.may_publish(name, scope, sender);
        self.counted(ruling)
    }

    /// The right of a client to subscribe to a channel, to read its history, and to know its members.
    ///
    /// # Errors
    /// If the rules do not give it.
    pub fn may_subscribe<'r>(
        &mut self,
        name: &'r str,
        scope: ChannelScope,
        rights: &'r Rights,
    ) -> Result<Ruling<SubscribeRight<'r>>, ChannelRefusal> {
        let ruling = self.rulebook.may_subscribe(name, scope, rights);
        self.counted(ruling)
    }

    /// Whether the rules still allow a subscription of a client, whose rights have changed.
    pub fn still_allows(&self, name: &str, rights: &Rights) -> bool {
        self.rulebook.may_subscribe(name, ChannelScope::Any, rights).is_ok()
    }

    /// The rights of the server itself to a channel.
    pub fn server_right<N: AsRef<str>>(&self, name: N) -> ServerRight<N> {
        self.rulebook.server_right(name)
    }

    /// Sets new rules. Subscriptions stay; histories are cut with the next message or check.
    pub fn set_rulebook(&mut self, rulebook: Arc<Rulebook>) {
        for channel in self.channels.iter_mut().flatten() {
            channel.rules = Arc::clone(rulebook.rules_of(rulebook.find(&channel.name)));
        }
        self.follow_by_rules();
        self.rates.clear();
        if !rulebook.patterns().eq(self.rulebook.patterns()) {
            self.lags.forget();
        }
        self.rulebook = rulebook;
    }

    /// The counters.
    pub fn stats(&self) -> ChannelStats {
        ChannelStats {
            channels: self.by_name.len() as u64,
            subscriptions: self.subscriptions as u64,
            history_bytes: self.history_bytes as u64,
            members_bytes: self.users.held_bytes() as u64,
            ..self.stats
        }
    }

    fn counted<T>(&mut self, result: Result<T, ChannelRefusal>) -> Result<T, ChannelRefusal> {
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

    /// The index of a channel. A new one is requested from its home.
    fn find_or_make(&mut self, channel: Ruled<'_>) -> Result<u32, ChannelRefusal> {
        let name = channel.name();
        if let Some(place) = self.by_name.get(name) {
            return Ok(*place);
        }
        if self.by_name.len() >= CHANNELS && !self.forget_one() {
            return Err(ChannelRefusal::Full);
        }
        if self.outgoing[usize::from(self.home(name).0)].is_full() {
            return Err(ChannelRefusal::Busy);
        }
        self.make(channel)
    }

    /// Removes a channel without subscribers to make room. `false`: there was none among those that were checked.
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

    /// Adds a new channel.
    fn make(&mut self, channel: Ruled<'_>) -> Result<u32, ChannelRefusal> {
        let name = channel.name();
        let (home, ticket) = (self.home(name), self.ticket());
        let place = if home == self.here {
            Place::Home(Vec::new())
        } else {
            Place::Elsewhere { home, ticket, reach: 0, is_joined: false }
        };
        // An epoch is never used again, by this scheduler or after a restart.
        let epoch = self.home_of.hash_one((self.here, ticket, name));
        let channel = Channel::new(name, self.rulebook.rules_of(channel), epoch, place);
        let name = Arc::clone(&channel.name);
        self.with_history += usize::from(channel.rules.history.keeps());
        if home != self.here {
            let name = Arc::clone(&name);
            self.outgoing[usize::from(home.0)].push(Item::Join { name, ticket, reach: 0 });
        }
        let place = if let Some(free) = self.free.pop() {
            self.channels[free as usize] = Some(channel);
            free
        } else {
            self.channels.push(Some(channel));
            u32::try_from(self.channels.len() - 1).map_err(|_| ChannelRefusal::Full)?
        };
        self.by_name.insert(name, place);
        if self.cluster.is_some() && home == self.here {
            self.follow(place);
        }
        Ok(place)
    }

    /// A channel will be checked at the end of the turn.
    fn note(&mut self, place: u32) {
        if let Some(channel) = &mut self.channels[place as usize]
            && !std::mem::replace(&mut channel.is_noted, true)
        {
            self.noted.push(place);
        }
    }

    /// Subscribers of a channel joined or left.
    fn recount(&mut self, place: u32) {
        if let Some(channel) = &mut self.channels[place as usize] {
            channel.is_recounted = true;
        }
        self.note(place);
    }

    /// Keeps all histories together within their limit.
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
