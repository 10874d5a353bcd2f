//! An upstream: from the wish of a request to a server, and from the outcome to its health.
//!
//! Owns which servers could have a request. How one of them is chosen is in `balance`.

use crate::balance::Candidates;
use crate::budget::Budget;
use crate::health::{Check, Reason, Standing, Verdict};
use crate::limits::SERVERS;
use crate::queue::{LineFull, Queue};
use crate::random::Random;
use crate::rules::Rules;
use crate::server::{Readiness, Server, ServerView, Warmth};
use crate::tried::{ServerIndex, Tried};

/// The wish of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// The hash of the value that decides, for [`Balance::Hash`](crate::Balance::Hash).
    pub key: Option<u64>,
    /// The server that it should go to, if that one can have it.
    pub sticky: Option<ServerIndex>,
    /// The servers that it has met.
    pub tried: Tried,
}

/// The server for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This one, at which it has a place from now on: [`Upstream::release`].
    Server(ServerIndex),
    /// There is no place at any server: it may wait ([`Upstream::wait`]).
    Full,
    /// There is no server, because all were tried or take no new requests.
    Nobody,
}

/// How a request went at its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered, and the first byte of the answer came after so many nanoseconds.
    Answered {
        /// Since the request began.
        first_byte_ns: u64,
    },
    /// The server failed.
    Failed,
    /// The client gave up, or the request could not be sent to any server: it says nothing of this one.
    Abandoned,
}

/// The servers of an upstream, as one scheduler sees them. `W` names a request that waits.
#[derive(Debug)]
pub struct Upstream<W> {
    rules: Rules,
    servers: Vec<Server>,
    random: Random,
    budget: Budget,
    queue: Queue<W>,
}

impl<W: Copy + Eq> Upstream<W> {
    /// All servers are up, and no request is open.
    #[must_use]
    pub fn new(rules: Rules, seed: u64, now_ns: u64) -> Self {
        let servers = rules.servers.iter().take(SERVERS).map(|one| Server::new(*one, now_ns));
        let servers = servers.collect();
        let (budget, queue) = (Budget::default(), Queue::default());
        Self { rules, servers, random: Random::new(seed), budget, queue }
    }

    /// Its rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Chooses a server for a request. One that comes while others wait has to wait too.
    pub fn choose(&mut self, who: W, wish: &Wish, now_ns: u64) -> Choice {
        let mut numbers = [0; SERVERS];
        let numbers = match self.candidates(wish.tried, now_ns, &mut numbers) {
            Ok(numbers) if self.queue.lets(who) => numbers,
            Ok(_) => return Choice::Full,
            Err(choice) => return choice,
        };
        let sticky = wish.sticky.map(|server| server.0).filter(|server| numbers.contains(server));
        let chosen = sticky.or_else(|| {
            let warmth = Warmth { now_ns, span_ns: self.rules.slow_start_ns };
            let mut candidates = Candidates { servers: &mut self.servers, numbers, warmth };
            candidates.choose(self.rules.balance, wish.key, &mut self.random)
        });
        let Some(number) = chosen else { return Choice::Nobody };
        self.queue.leave(who);
        if wish.tried == Tried::default() {
            self.budget.earn();
        }
        if let Some(server) = self.servers.get_mut(usize::from(number)) {
            server.begin(now_ns);
        }
        Choice::Server(ServerIndex(number))
    }

    /// The servers that could have a request: those that have not failed, or if there is none of them, those that have.
    fn candidates<'n>(
        &self,
        tried: Tried,
        now_ns: u64,
        numbers: &'n mut [u8; SERVERS],
    ) -> Result<&'n [u8], Choice> {
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
            Some([]) | None if found > 0 => Err(Choice::Full),
            Some([]) | None => Err(Choice::Nobody),
            Some(numbers) => Ok(numbers),
        }
    }

    /// A request gives its place back. Returns a request that waited and has to ask again.
    pub fn release(&mut self, server: ServerIndex) -> Option<W> {
        if let Some(server) = self.servers.get_mut(usize::from(server.0)) {
            server.open = server.open.saturating_sub(1);
        }
        self.queue.call()
    }

    /// A request has met this outcome at a server, which counts for the health of that server. Once for each place.
    pub fn judge(&mut self, index: ServerIndex, outcome: Outcome, now_ns: u64) {
        let rules = self.rules.health;
        let is_last = self.is_last(index);
        let Some(server) = self.servers.get_mut(usize::from(index.0)) else { return };
        let reason = match outcome {
            Outcome::Answered { first_byte_ns } => match rules.slow_ns {
                Some(slow_ns) if first_byte_ns > slow_ns => Reason::Slow,
                _ => {
                    let was_up = server.health.standing() == Standing::Up;
                    server.health.on_answer(now_ns);
                    if !was_up {
                        server.warm_up(now_ns);
                    }
                    return;
                }
            },
            Outcome::Failed => {
                server.count_failure();
                Reason::Failures
            }
            Outcome::Abandoned => return server.health.on_abandoned(now_ns),
        };
        match server.health.on_failure(&rules) {
            Verdict::Noted => {}
            Verdict::Fails if is_last => server.health.stay(now_ns),
            Verdict::Fails => server.health.pause(reason, &rules, now_ns),
        }
    }

    /// A check of a server has ended.
    pub fn on_check(&mut self, index: ServerIndex, check: Check, now_ns: u64) -> Option<W> {
        let (rules, is_last) = (self.rules.health, self.is_last(index));
        let server = self.servers.get_mut(usize::from(index.0))?;
        let was_up = server.health.standing() == Standing::Up;
        if server.health.on_check(check, &rules, now_ns) == Verdict::Fails && !is_last {
            server.health.pause_until_checked(now_ns);
        }
        let is_up = server.health.standing() == Standing::Up;
        if is_up && !was_up {
            server.warm_up(now_ns);
            self.queue.call()
        } else {
            None
        }
    }

    /// Whether all other servers are paused or drained. Then this one goes on, because slowness must not become an
    /// outage.
    fn is_last(&self, index: ServerIndex) -> bool {
        let is_up = |server: &Server| {
            server.readiness == Readiness::Ready && server.health.standing() == Standing::Up
        };
        let mut others = (0..).zip(&self.servers).filter(|(number, _)| *number != index.0);
        !others.any(|(_, server)| is_up(server))
    }

    /// Whether there is a server that a request has not met and that takes new requests.
    #[must_use]
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

    /// A request waits for a place, from now on for the time of the rules.
    ///
    /// # Errors
    /// If too many wait.
    pub fn wait(&mut self, who: W, now_ns: u64) -> Result<(), LineFull> {
        let due_ns = now_ns.saturating_add(self.rules.line_ns);
        self.queue.enter(who, due_ns, self.rules.line)
    }

    /// A request does not wait any longer, if it did. Returns a request that has to ask again in its place.
    pub fn leave(&mut self, who: W) -> Option<W> {
        if self.queue.leave(who) { self.queue.call() } else { None }
    }

    /// A request that has waited too long, one for each call.
    pub fn take_late(&mut self, now_ns: u64) -> Option<W> {
        self.queue.take_late(now_ns)
    }

    /// When a request has waited too long, if one waits.
    #[must_use]
    pub fn due_ns(&self) -> Option<u64> {
        self.queue.due_ns()
    }

    /// The number of requests that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The number of open requests.
    #[must_use]
    pub fn open(&self) -> usize {
        self.servers.iter().map(|server| server.open).sum()
    }

    /// A server is new beside others, so its share of the requests grows as if it had just become well.
    pub fn warm_up(&mut self, server: ServerIndex, now_ns: u64) {
        if let Some(server) = self.servers.get_mut(usize::from(server.0)) {
            server.warm_up(now_ns);
        }
    }

    /// Sets whether a server gets new requests; the share of one that gets them again grows. Returns requests that have
    /// to ask again.
    pub fn set_readiness(
        &mut self,
        server: ServerIndex,
        readiness: Readiness,
        now_ns: u64,
    ) -> Vec<W> {
        if let Some(server) = self.servers.get_mut(usize::from(server.0)) {
            if (server.readiness, readiness) == (Readiness::Drained, Readiness::Ready) {
                server.warm_up(now_ns);
            }
            server.readiness = readiness;
        }
        // Whatever it means for them: a place, or that there is no server.
        std::iter::from_fn(|| self.queue.call()).collect()
    }

    /// The state of each server, in order.
    pub fn views(&self) -> impl Iterator<Item = ServerView> {
        self.servers.iter().map(Server::view)
    }
}
