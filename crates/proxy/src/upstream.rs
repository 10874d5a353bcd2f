//! An upstream: from the wish of a request to a server, and from the outcome to its health.
//!
//! Owns which servers could have a request. How one of them is chosen is in `balance`.

use crate::balance::Candidates;
use crate::budget::Budget;
use crate::health::{ChecksTurned, HealthCheck, HealthReason, ServerStanding, Verdict};
use crate::limits::SERVERS;
use crate::queue::{LineFull, LinePlace, Queue};
use crate::random::Random;
use crate::rules::UpstreamRules;
use crate::server::{Checks, Readiness, Server, ServerView, Warmth};
use crate::tried::{ServerIndex, Tried};

/// The wish of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerPreference {
    /// The hash of the value that decides, for [`Balance::Hash`](crate::Balance::Hash).
    pub key: Option<u64>,
    /// The server that it should go to, if that one can have it.
    pub sticky: Option<ServerIndex>,
    /// The servers that it has met.
    pub tried: Tried,
}

/// The server for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerChoice {
    /// This one, at which it has a place from now on: [`Upstream::release`].
    Server(ServerIndex),
    /// There is no place at any server: it may wait ([`Upstream::wait`]).
    Full,
    /// There is no server, because all were tried or take no new requests.
    Nobody,
}

/// How a request went at its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// It was answered completely, and the first byte of the answer came after so many nanoseconds.
    Answered {
        /// Since the request was sent completely.
        first_byte_ns: u64,
    },
    /// The server failed before it answered.
    Failed,
    /// It failed within its answer.
    Cut,
    /// The client gave up, or the request could not be sent to any server: it says nothing of this one.
    Abandoned,
}

/// The servers of an upstream, as one scheduler sees them. `W` names a request that waits.
#[derive(Debug)]
pub struct Upstream<W> {
    rules: UpstreamRules,
    servers: Vec<Server>,
    random: Random,
    budget: Budget,
    queue: Queue<W>,
}

impl<W: Copy + Ord> Upstream<W> {
    /// All servers are up, and no request is open.
    pub fn new(rules: UpstreamRules, seed: u64, now_ns: u64) -> Self {
        let servers = rules.servers.iter().take(SERVERS).map(|one| Server::new(*one, now_ns));
        let servers = servers.collect();
        let (budget, queue) = (Budget::default(), Queue::default());
        Self { rules, servers, random: Random::new(seed), budget, queue }
    }

    /// Takes over what is known of servers with the same identity: their health, their counters and whether an operator
    /// lets them have requests. `checks`: whether servers are checked from now on; without, no check would end a pause
    /// that a check began.
    pub fn inherit(&mut self, from: &Self, checks: Checks) {
        for server in &mut self.servers {
            let identity = server.rules.identity;
            if let Some(old) = from.servers.iter().find(|old| old.rules.identity == identity) {
                server.inherit(old, checks);
            }
        }
    }

    /// Takes over the requests that wait for the servers of another upstream, which has none then. They keep their
    /// order and their time. `met` makes servers of this one of those of the other one.
    pub fn take_line(&mut self, from: &mut Self, met: impl Fn(Tried) -> Tried) {
        self.queue = std::mem::take(&mut from.queue).for_others(met);
    }

    /// A request is at a server already, and gives its place back here: [`Upstream::release`].
    pub fn adopt(&mut self, server: ServerIndex) {
        if let Some(server) = self.servers.get_mut(usize::from(server.0)) {
            server.open += 1;
        }
    }

    /// Its rules.
    pub fn rules(&self) -> &UpstreamRules {
        &self.rules
    }

    /// Chooses a server for a request. One that comes while others wait for the same places has to wait too.
    pub fn choose(&mut self, who: W, wish: &ServerPreference, now_ns: u64) -> ServerChoice {
        let is_first = self.queue.len() == 0
            || self.queue.was_called(who)
            || self.has_unpromised(wish.tried, now_ns) && self.next_in_line(now_ns).is_none();
        let mut numbers = [0; SERVERS];
        let numbers = match self.candidates(wish.tried, now_ns, &mut numbers) {
            Ok(numbers) if is_first => numbers,
            Ok(_) => return ServerChoice::Full,
            Err(choice) => return choice,
        };
        let sticky = wish.sticky.map(|server| server.0).filter(|server| numbers.contains(server));
        let chosen = sticky.or_else(|| {
            let warmth = Warmth { now_ns, span_ns: self.rules.slow_start_ns };
            let mut candidates = Candidates { servers: &mut self.servers, numbers, warmth };
            candidates.choose(self.rules.balance, wish.key, &mut self.random)
        });
        let Some(number) = chosen else { return ServerChoice::Nobody };
        self.queue.leave(who);
        if wish.tried == Tried::default() {
            self.budget.earn();
        }
        if let Some(server) = self.servers.get_mut(usize::from(number)) {
            server.begin(&self.rules.health, now_ns);
        }
        ServerChoice::Server(ServerIndex(number))
    }

    /// The servers that could have a request: those that have not failed, or if there is none of them, those that have.
    fn candidates<'n>(
        &self,
        tried: Tried,
        now_ns: u64,
        numbers: &'n mut [u8; SERVERS],
    ) -> Result<&'n [u8], ServerChoice> {
        let allowed = |number: u8, server: &Server| {
            server.readiness == Readiness::Ready && !tried.has(ServerIndex(number))
        };
        let healthy = |server: &Server| server.health.admits(now_ns);
        let each = || (0..).zip(&self.servers).filter(|(number, server)| allowed(*number, server));
        let some_healthy = each().any(|(_, server)| healthy(server));
        let usable = each().filter(|(_, server)| !some_healthy || healthy(server));
        let (mut count, mut found) = (0, 0);
        for (number, server) in usable {
            found += 1;
            if server.open < self.rules.connections
                && let Some(place) = numbers.get_mut(count)
            {
                *place = number;
                count += 1;
            }
        }
        match numbers.get(..count) {
            Some([]) | None if found > 0 => Err(ServerChoice::Full),
            Some([]) | None => Err(ServerChoice::Nobody),
            Some(numbers) => Ok(numbers),
        }
    }

    /// Whether there is a place for a request that no other one was called for, or no server at all, which it has to be
    /// told of.
    fn has_unpromised(&self, tried: Tried, now_ns: u64) -> bool {
        let mut numbers = [0; SERVERS];
        match self.candidates(tried, now_ns, &mut numbers) {
            Ok(numbers) => {
                let servers = numbers.iter().filter_map(|it| self.servers.get(usize::from(*it)));
                let free: usize = servers.map(|server| server.free(self.rules.connections)).sum();
                free > self.queue.called()
            }
            Err(choice) => choice == ServerChoice::Nobody,
        }
    }

    /// The place of the first request that waits and need not wait any longer.
    fn next_in_line(&self, now_ns: u64) -> Option<LinePlace> {
        self.queue.first(|tried| self.has_unpromised(tried, now_ns))
    }

    /// Calls a request that waits although a server could have it, or none ever will: it has to ask again. One for each
    /// call; `None`: all others have to wait. Whatever happens may be a reason, so it is asked after each turn, and at
    /// the time of [`due_ns`](Self::due_ns).
    pub fn call(&mut self, now_ns: u64) -> Option<W> {
        let place = self.next_in_line(now_ns)?;
        self.queue.call(place)
    }

    /// A request gives its place back.
    pub fn release(&mut self, server: ServerIndex) {
        if let Some(server) = self.servers.get_mut(usize::from(server.0)) {
            server.open = server.open.saturating_sub(1);
        }
    }

    /// The head of an answer has come so many nanoseconds after its request was sent. That is no outcome yet.
    pub fn on_head(&mut self, index: ServerIndex, first_byte_ns: u64, now_ns: u64) {
        let is_slow = self.rules.health.slow_ns.is_some_and(|slow_ns| first_byte_ns > slow_ns);
        if let (Some(server), false) = (self.servers.get_mut(usize::from(index.0)), is_slow) {
            server.change_health(now_ns, |health| health.on_head(now_ns));
        }
    }

    /// A request has met this outcome at a server, which counts for the health of that server. Once for each place.
    pub fn judge(&mut self, index: ServerIndex, outcome: RequestOutcome, now_ns: u64) {
        let rules = self.rules.health;
        let is_last = self.is_last(index);
        let Some(server) = self.servers.get_mut(usize::from(index.0)) else { return };
        let reason = match outcome {
            RequestOutcome::Answered { first_byte_ns } => match rules.slow_ns {
                Some(slow_ns) if first_byte_ns > slow_ns => HealthReason::Slow,
                _ => {
                    server.change_health(now_ns, |health| health.on_answer(now_ns));
                    return;
                }
            },
            RequestOutcome::Failed | RequestOutcome::Cut => {
                server.count_failure();
                HealthReason::Failures
            }
            RequestOutcome::Abandoned => return server.health.on_abandoned(now_ns),
        };
        let verdict = match outcome {
            RequestOutcome::Cut => server.health.on_cut(&rules),
            _ => server.health.on_failure(&rules),
        };
        match verdict {
            Verdict::Noted => {}
            Verdict::Fails if is_last => server.health.stay(now_ns),
            Verdict::Fails => server.health.pause(reason, &rules, now_ns),
        }
    }

    /// A check of a server has ended. Returns whether that turns what its checks say.
    pub fn on_check(
        &mut self,
        index: ServerIndex,
        check: HealthCheck,
        now_ns: u64,
    ) -> Option<ChecksTurned> {
        let (rules, is_last) = (self.rules.health, self.is_last(index));
        let server = self.servers.get_mut(usize::from(index.0))?;
        let failed = server.health.fails_checks(&rules);
        server.change_health(now_ns, |health| {
            if health.on_check(check, &rules, now_ns) == Verdict::Fails && !is_last {
                health.pause_until_checked(now_ns);
            }
        });
        match (failed, server.health.fails_checks(&rules)) {
            (false, true) => Some(ChecksTurned::Fail),
            (true, false) => Some(ChecksTurned::Pass),
            _ => None,
        }
    }

    /// Whether all other servers are paused or drained. Then this one goes on, because slowness must not become an
    /// outage.
    fn is_last(&self, index: ServerIndex) -> bool {
        let is_up = |server: &Server| {
            server.readiness == Readiness::Ready && server.health.standing() == ServerStanding::Up
        };
        let mut others = (0..).zip(&self.servers).filter(|(number, _)| *number != index.0);
        !others.any(|(_, server)| is_up(server))
    }

    /// Whether there is a server that a request has not met and that takes new requests.
    pub fn has_another(&self, tried: Tried) -> bool {
        let is_another = |(number, server): (u8, &Server)| {
            server.readiness == Readiness::Ready && !tried.has(ServerIndex(number))
        };
        (0..).zip(&self.servers).any(is_another)
    }

    /// Whether a request may go to another server, as far as the number of repetitions is concerned. It is counted.
    pub fn may_repeat(&mut self) -> bool {
        self.budget.spend()
    }

    /// A request that has met these servers waits for a place, from now on for the time of the rules.
    ///
    /// # Errors
    /// If too many wait.
    pub fn wait(&mut self, who: W, tried: Tried, now_ns: u64) -> Result<(), LineFull> {
        let due_ns = now_ns.saturating_add(self.rules.line_ns);
        self.queue.enter(who, (due_ns, tried), self.rules.line)
    }

    /// A request does not wait any longer, if it did.
    pub fn leave(&mut self, who: W) {
        self.queue.leave(who);
    }

    /// A request that has waited too long, one for each call.
    pub fn take_late(&mut self, now_ns: u64) -> Option<W> {
        self.queue.take_late(now_ns)
    }

    /// When the next request has waited too long, or could have a server because a pause is over. `None`: nobody waits.
    pub fn due_ns(&self, now_ns: u64) -> Option<u64> {
        let late_ns = self.queue.due_ns()?;
        let pauses = self.servers.iter().map(|server| server.health.admits_from_ns());
        pauses.filter(|ends_ns| *ends_ns > now_ns).chain([late_ns]).min()
    }

    /// The number of requests that wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The number of open requests.
    pub fn open(&self) -> usize {
        self.servers.iter().map(|server| server.open).sum()
    }

    /// A server is new beside others, so its share of the requests grows as if it had just become well.
    pub fn warm_up(&mut self, server: ServerIndex, now_ns: u64) {
        if let Some(server) = self.servers.get_mut(usize::from(server.0)) {
            server.warm_up(now_ns);
        }
    }

    /// Sets whether a server gets new requests; the share of one that gets them again grows.
    pub fn set_readiness(&mut self, server: ServerIndex, readiness: Readiness, now_ns: u64) {
        if let Some(server) = self.servers.get_mut(usize::from(server.0)) {
            if (server.readiness, readiness) == (Readiness::Drained, Readiness::Ready) {
                server.warm_up(now_ns);
            }
            server.readiness = readiness;
        }
    }

    /// The state of each server, in order.
    pub fn views(&self) -> impl Iterator<Item = ServerView> {
        self.servers.iter().map(|server| server.view(&self.rules.health))
    }
}
