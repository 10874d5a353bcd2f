//! Whatever happens in whatever order: places are counted, somebody who can have a place gets one, the last server
//! stays.

use proptest::prelude::*;
use proxy::{
    Balance, HealthCheck, HealthReason, Readiness, RequestOutcome, ServerChoice, ServerIndex,
    ServerPreference, ServerStanding, Tried, Upstream,
};

use super::{SECOND, rules};

/// An event.
#[derive(Clone, Copy, Debug)]
enum Step {
    Ask(u32),
    Finish(usize, RequestOutcome),
    Head(usize),
    Check(u8, HealthCheck),
    Leave(u32),
    Ready(u8, Readiness),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![
        Just(RequestOutcome::Failed),
        Just(RequestOutcome::Cut),
        Just(RequestOutcome::Abandoned),
        (0..3 * SECOND).prop_map(|first_byte_ns| RequestOutcome::Answered { first_byte_ns }),
    ];
    let check = prop_oneof![Just(HealthCheck::Passed), Just(HealthCheck::Failed)];
    let ready = prop_oneof![Just(Readiness::Ready), Just(Readiness::Drained)];
    prop_oneof![
        4 => (0..20_u32).prop_map(Step::Ask),
        4 => (0..8_usize, outcome).prop_map(|(which, outcome)| Step::Finish(which, outcome)),
        2 => (0..8_usize).prop_map(Step::Head),
        1 => (0..3_u8, check).prop_map(|(server, check)| Step::Check(server, check)),
        1 => (0..20_u32).prop_map(Step::Leave),
        1 => (0..3_u8, ready).prop_map(|(server, ready)| Step::Ready(server, ready)),
        2 => (0..8 * SECOND).prop_map(Step::Wait),
    ]
}

fn balance() -> impl Strategy<Value = Balance> {
    prop_oneof![
        Just(Balance::TwoChoices),
        Just(Balance::RoundRobin),
        Just(Balance::Least),
        Just(Balance::Hash)
    ]
}

struct Play {
    upstream: Upstream<u32>,
    open: Vec<(u32, ServerIndex)>,
    waiting: Vec<u32>,
    ready: [Readiness; 3],
    now_ns: u64,
}

/// The servers that a request has met: the first one, for some requests.
fn tried(who: u32) -> Tried {
    let mut tried = Tried::default();
    if who.is_multiple_of(4) {
        tried.add(ServerIndex(0));
    }
    tried
}

impl Play {
    fn ask(&mut self, who: u32) {
        if self.open.iter().any(|(open, _)| *open == who) {
            return;
        }
        let tried = tried(who);
        let wish = ServerPreference { key: Some(u64::from(who)), sticky: None, tried };
        match self.upstream.choose(who, &wish, self.now_ns) {
            ServerChoice::Server(server) => {
                assert_eq!(self.ready[usize::from(server.0)], Readiness::Ready);
                assert!(!tried.has(server));
                self.waiting.retain(|waiting| *waiting != who);
                self.open.push((who, server));
            }
            ServerChoice::Full => {
                let waits = self.upstream.wait(who, tried, self.now_ns).is_ok();
                self.waiting.retain(|waiting| *waiting != who);
                self.waiting.extend(waits.then_some(who));
            }
            ServerChoice::Nobody => {
                let is_out = |(number, ready): (u8, &Readiness)| {
                    *ready == Readiness::Drained || tried.has(ServerIndex(number))
                };
                assert!((0..).zip(&self.ready).all(is_out));
                self.leave(who);
            }
        }
    }

    fn leave(&mut self, who: u32) {
        self.waiting.retain(|waiting| *waiting != who);
        self.upstream.leave(who);
    }

    /// The end of a turn: those that are called ask again, perhaps in another order.
    fn end_turn(&mut self) {
        while let Some(late) = self.upstream.take_late(self.now_ns) {
            self.waiting.retain(|waiting| *waiting != late);
        }
        loop {
            let called = std::iter::from_fn(|| self.upstream.call(self.now_ns));
            let called: Vec<u32> = called.collect();
            if called.is_empty() {
                return;
            }
            for who in called.into_iter().rev() {
                assert!(self.waiting.contains(&who), "{who} does not wait");
                self.ask(who);
            }
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Ask(who) => self.ask(who),
            Step::Finish(which, outcome) if which < self.open.len() => {
                let (_, server) = self.open.swap_remove(which);
                self.upstream.judge(server, outcome, self.now_ns);
                self.upstream.release(server);
            }
            Step::Head(which) if which < self.open.len() => {
                self.upstream.on_head(self.open[which].1, 1, self.now_ns);
            }
            Step::Finish(..) | Step::Head(_) => {}
            Step::Check(server, check) => {
                self.upstream.on_check(ServerIndex(server), check, self.now_ns);
            }
            Step::Leave(who) => {
                if self.waiting.contains(&who) {
                    self.leave(who);
                }
            }
            Step::Ready(server, ready) => {
                self.ready[usize::from(server)] = ready;
                self.upstream.set_readiness(ServerIndex(server), ready, self.now_ns);
            }
            Step::Wait(span_ns) => self.wait(span_ns),
        }
        self.end_turn();
        self.check();
    }

    /// Time passes, and only the time that the upstream has asked for is a turn.
    fn wait(&mut self, span_ns: u64) {
        let end_ns = self.now_ns + span_ns;
        while let Some(due_ns) = self.upstream.due_ns(self.now_ns).filter(|due| *due <= end_ns) {
            assert!(due_ns > self.now_ns, "the time moves on");
            self.now_ns = due_ns;
            self.end_turn();
        }
        self.now_ns = end_ns;
        self.check();
    }

    /// Nobody waits for whom a server has a place: one that has not failed, or if there is none, one that has.
    fn check_line(&self) {
        for who in &self.waiting {
            let met = tried(*who);
            let allowed = (0..).zip(self.upstream.views()).filter(|(number, view)| {
                view.readiness == Readiness::Ready && !met.has(ServerIndex(*number))
            });
            let allowed: Vec<_> = allowed.map(|(_, view)| view).collect();
            let is_healthy = |standing: ServerStanding| match standing {
                ServerStanding::Up => Some(true),
                ServerStanding::Paused { until_ns } => Some(until_ns <= self.now_ns),
                // Whether another request may try it is not to be seen.
                ServerStanding::OnTrial => None,
            };
            let has_healthy = allowed.iter().any(|view| is_healthy(view.standing) != Some(false));
            let usable = allowed.iter().filter(|view| match is_healthy(view.standing) {
                Some(is_healthy) => is_healthy || !has_healthy,
                None => false,
            });
            let free = usable.filter(|view| view.open < 2).count();
            assert_eq!(free, 0, "{who} waits at {}: {allowed:?}", self.now_ns);
            assert!(!allowed.is_empty(), "{who} waits for nobody");
        }
    }

    fn check(&self) {
        assert_eq!(self.upstream.open(), self.open.len());
        assert_eq!(self.upstream.waiting(), self.waiting.len());
        self.check_line();
        for (number, view) in self.upstream.views().enumerate() {
            let open = self.open.iter().filter(|(_, server)| usize::from(server.0) == number);
            assert_eq!(view.open, open.count());
            assert!(view.open <= 2);
        }
        let ready = self.upstream.views().filter(|view| view.readiness == Readiness::Ready);
        let standings: Vec<ServerStanding> = ready.map(|view| view.standing).collect();
        if let [only] = standings[..]
            && self.upstream.views().all(|view| {
                // One that fails its checks may become the last one later.
                view.failures == 0 && view.reason != HealthReason::CheckFailed
            })
        {
            assert_eq!(only, ServerStanding::Up);
        }
    }
}

proptest! {
    #[test]
    fn places_are_counted_and_nobody_is_forgotten(
        balance in balance(),
        seed in any::<u64>(),
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        let mut few = rules(balance, &[1, 2, 3]);
        few.connections = 2;
        few.health.slow_ns = None;
        few.slow_start_ns = 5 * SECOND;
        let upstream = Upstream::new(few, seed, 0);
        let ready = [Readiness::Ready; 3];
        let mut play =
            Play { upstream, open: Vec::new(), waiting: Vec::new(), ready, now_ns: 0 };
        for step in steps {
            play.take(step);
        }
        // Once all servers take requests and all that run are over, nobody waits any longer.
        for server in 0..3 {
            play.take(Step::Ready(server, Readiness::Ready));
        }
        for server in 0..3 {
            play.take(Step::Check(server, HealthCheck::Passed));
        }
        for _ in 0..100 {
            play.take(Step::Finish(0, RequestOutcome::Answered { first_byte_ns: 1 }));
        }
        prop_assert_eq!(play.waiting, Vec::<u32>::new());
    }
}
