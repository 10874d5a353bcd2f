//! Several nodes of one or two schedulers, and an in-memory cluster between them.
//!
//! Owns when which of them runs. `bus` is the network, `stream` the sequencer; `cases`, `limits` and `programs` are
//! tests, `watchers` and `weather` belong to the last.

mod bus;
mod cases;
mod limits;
mod programs;

mod stream;
mod watchers;
mod weather;

use std::time::Duration;

use channels::{ClusterNews, Findings, Rulebook, SubscriberQuery};
use runtime::scheduler::TurnWait;
use runtime::slots::ProcessId;
use world::{ClientId, Stage};

use crate::stage::{Lines, services};

use self::bus::{Bus, BusFaults};

/// Nodes with a bus between them.
pub(crate) struct Nodes {
    pub(crate) stages: Vec<Stage<Lines>>,
    pub(crate) bus: Bus,
}

impl Nodes {
    /// Nodes with so many schedulers each, which are connected.
    pub(crate) fn new(
        schedulers: &[u16],
        rulebook: &Rulebook,
        seed: u64,
        faults: BusFaults,
    ) -> Self {
        let stages: Vec<Stage<Lines>> = schedulers
            .iter()
            .map(|count| {
                let mut make = services(*count, rulebook.clone());
                Stage::new(usize::from(*count), move || {
                    let mut lines = make();
                    lines.channels.join_cluster(1_000_000);
                    lines
                })
            })
            .collect();
        let places = schedulers.iter().enumerate();
        let places = places.flat_map(|(node, of)| (0..usize::from(*of)).map(move |at| (node, at)));
        let mut nodes = Self { stages, bus: Bus::new(places, seed, faults) };
        for node in 0..schedulers.len() {
            nodes.bus.connect(node);
        }
        nodes.settle();
        nodes
    }

    /// Hands the orders of a node to the bus.
    pub(crate) fn take_orders(&mut self, node: usize) {
        self.bus.now_ms = self.stages[node].world().now_ns() / 1_000_000;
        let schedulers = self.stages[node].schedulers();
        for (at, scheduler) in schedulers.iter_mut().enumerate() {
            for order in std::mem::take(&mut scheduler.service().orders) {
                self.bus.take((node, at), order);
            }
        }
    }

    /// Some news arrive at a scheduler.
    pub(crate) fn arrive(&mut self, node: usize, at: usize, most: usize) -> usize {
        let news = self.bus.arrive((node, at), most);
        let count = news.len();
        self.bring(node, at, news);
        count
    }

    /// News arrive at a scheduler.
    pub(crate) fn bring(&mut self, node: usize, at: usize, news: Vec<ClusterNews>) {
        let scheduler = &mut self.stages[node].schedulers()[at];
        scheduler.service().news.extend(news);
        scheduler.turn(TurnWait::Forbidden).unwrap();
        self.take_orders(node);
    }

    /// The schedulers of a node run until nothing is left to do.
    pub(crate) fn rest(&mut self, node: usize) {
        self.stages[node].rest();
        self.take_orders(node);
    }

    /// Everything that is on its way arrives.
    pub(crate) fn settle(&mut self) {
        loop {
            for node in 0..self.stages.len() {
                self.rest(node);
            }
            if self.bus.is_quiet() {
                return;
            }
            for node in 0..self.stages.len() {
                for at in 0..self.stages[node].schedulers().len() {
                    self.arrive(node, at, 3);
                }
            }
        }
    }

    /// Time passes on all nodes.
    pub(crate) fn pass(&mut self, duration: Duration) {
        let end = Duration::from_millis(250).min(duration);
        let mut left = duration;
        while !left.is_zero() {
            let step = left.min(end);
            left -= step;
            for node in 0..self.stages.len() {
                self.stages[node].pass(step);
                self.take_orders(node);
            }
            self.bus.expire();
            self.settle();
        }
    }

    /// Time passes on all nodes, and what is on its way stays there.
    pub(crate) fn let_pass(&mut self, duration: Duration) {
        for node in 0..self.stages.len() {
            self.stages[node].pass(duration);
            self.take_orders(node);
        }
        self.bus.expire();
    }

    pub(crate) fn connect(&mut self, node: usize) -> ClientId {
        self.stages[node].connect()
    }

    /// A client of a node sends lines, and everything settles.
    pub(crate) fn send(&mut self, node: usize, client: ClientId, lines: &str) {
        self.stages[node].world().client_send(client, lines.as_bytes());
        self.settle();
    }

    /// The answer to a question that a scheduler of a node asks.
    pub(crate) fn survey(&mut self, node: usize, question: &SubscriberQuery) -> Findings {
        let process = ProcessId::from_bits(u64::MAX >> 1);
        let ask = |nodes: &mut Self| {
            nodes.stages[node].schedulers()[0].service().channels.survey(process, question)
        };
        assert!(ask(self).is_none(), "other nodes are asked");
        self.stages[node].schedulers()[0].turn(TurnWait::Forbidden).unwrap();
        self.settle();
        ask(self).expect("all have answered")
    }

    pub(crate) fn received(&mut self, node: usize, client: ClientId) -> String {
        self.settle();
        self.stages[node].received(client)
    }
}
