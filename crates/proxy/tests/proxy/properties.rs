//! Whatever happens in whatever order: places are counted, somebody who can have a place gets one, the last server
//! stays.

use proptest::prelude::*;
use proxy::{Balance, Choice, Outcome, Readiness, ServerIndex, Standing, Upstream, Wish};

use super::{SECOND, rules};

/// An event.
#[derive(Clone, Copy, Debug)]
enum Step {
    Ask(u32),
    Finish(usize, Outcome),
    Leave(u32),
    Ready(u8, Readiness),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![
        Just(Outcome::Failed),
        Just(Outcome::Abandoned),
        (0..3 * SECOND).prop_map(|first_byte_ns| Outcome::Answered { first_byte_ns }),
    ];
    let ready = prop_oneof![Just(Readiness::Ready), Just(Readiness::Drained)];
    prop_oneof![
        4 => (0..20_u32).prop_map(Step::Ask),
        4 => (0..8_usize, outcome).prop_map(|(which, outcome)| Step::Finish(which, outcome)),
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

impl Play {
    fn ask(&mut self, who: u32) {
        if self.open.iter().any(|(open, _)| *open == who) {
            return;
        }
        let wish = Wish { key: Some(u64::from(who)), ..Wish::default() };
        match self.upstream.choose(who, &wish, self.now_ns) {
            Choice::Server(server) => {
                assert_eq!(self.ready[usize::from(server.0)], Readiness::Ready);
                self.waiting.retain(|waiting| *waiting != who);
                self.open.push((who, server));
            }
            Choice::Full => {
                let waits = self.upstream.wait(who, self.now_ns).is_ok();
                self.waiting.retain(|waiting| *waiting != who);
                self.waiting.extend(waits.then_some(who));
            }
            Choice::Nobody => {
                assert!(self.ready.iter().all(|ready| *ready == Readiness::Drained));
                self.leave(who);
            }
        }
    }

    fn leave(&mut self, who: u32) {
        self.waiting.retain(|waiting| *waiting != who);
        let next = self.upstream.leave(who);
        self.call(next);
    }

    fn call(&mut self, called: impl IntoIterator<Item = u32>) {
        for who in called {
            assert!(self.waiting.contains(&who), "{who} does not wait");
            self.ask(who);
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Ask(who) => self.ask(who),
            Step::Finish(which, outcome) if which < self.open.len() => {
                let (_, server) = self.open.swap_remove(which);
                self.upstream.judge(server, outcome, self.now_ns);
                let next = self.upstream.release(server);
                self.call(next);
            }
            Step::Finish(..) => {}
            Step::Leave(who) => {
                if self.waiting.contains(&who) {
                    self.leave(who);
                }
            }
            Step::Ready(server, ready) => {
                self.ready[usize::from(server)] = ready;
                let called = self.upstream.set_readiness(ServerIndex(server), ready, self.now_ns);
                self.call(called);
            }
            Step::Wait(span_ns) => {
                self.now_ns += span_ns;
                while let Some(late) = self.upstream.take_late(self.now_ns) {
                    self.waiting.retain(|waiting| *waiting != late);
                }
            }
        }
        self.check();
    }

    fn check(&self) {
        assert_eq!(self.upstream.open(), self.open.len());
        assert_eq!(self.upstream.waiting(), self.waiting.len());
        for (number, view) in self.upstream.views().enumerate() {
            let open = self.open.iter().filter(|(_, server)| usize::from(server.0) == number);
            assert_eq!(view.open, open.count());
            assert!(view.open <= 2);
        }
        let ready = self.upstream.views().filter(|view| view.readiness == Readiness::Ready);
        let standings: Vec<Standing> = ready.map(|view| view.standing).collect();
        if let [only] = standings[..]
            && self.upstream.views().all(|view| view.failures == 0)
        {
            assert_eq!(only, Standing::Up);
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
        for _ in 0..100 {
            play.take(Step::Finish(0, Outcome::Answered { first_byte_ns: 1 }));
        }
        prop_assert_eq!(play.waiting, Vec::<u32>::new());
    }
}
