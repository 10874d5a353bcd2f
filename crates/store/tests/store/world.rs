//! A world for nodes: a leader and two replicas in one process, on a transport that loses, repeats, delays, reorders,
//! damages and cuts, with programs that are killed and leaders that are replaced. Everything follows from a seed.

use std::collections::{BTreeMap, BTreeSet};

use store::{
    Database, DatabaseChange, Executed, Membership, Order, PromoteRefused, Promoted, Query,
    ReplicationEvent, ReplicationMoment, ReplicationNews, ReplicationOrder, ReplicationPeer,
    Replicator, ReplicatorOptions, StepOutcome, Store, StoreFailure, StoreOperation, StoreRole,
    Sync, Value, Writer,
};

use crate::place::{FIRST, Place, everything};
use crate::weather::{CALM, Dice, Weather};

/// A program with a store, while it runs.
pub(crate) struct Running {
    pub(crate) store: Store,
    pub(crate) writer: Writer,
    pub(crate) node: Replicator,
    pub(crate) me: ReplicationPeer,
}

pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) running: Option<Running>,
    /// The highest count that a client of this node has seen.
    pub(crate) seen: i64,
    /// Keys whose write a client of this node was told of.
    pub(crate) own: BTreeSet<u64>,
}

/// The answer to a client about its write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Told {
    Written,
    Nothing,
    Unknown,
}

pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) nodes: Vec<Node>,
    /// Messages on their way: when, to which node, from which node.
    under_way: Vec<(u64, usize, usize, Vec<u8>)>,
    pub(crate) cut: BTreeSet<(usize, usize)>,
    now_ms: u64,
    pub(crate) weather: Weather,
    next_peer: u64,
    next_write: u64,
    /// Writes that are not answered: the node, and the keys.
    asked: BTreeMap<u64, (usize, u64)>,
    pub(crate) told: BTreeMap<u64, Told>,
    /// The answer to a client's step.
    answer: Option<Result<Executed, StoreFailure>>,
    pub(crate) events: Vec<(usize, ReplicationEvent)>,
    /// The ends of attempts to lead.
    pub(crate) promoted: Vec<(usize, Result<Promoted, PromoteRefused>)>,
}

pub(crate) const COUNT: &[u8] = b"count";

impl World {
    pub(crate) fn new(seed: u64, sync: Sync) -> Self {
        let mut world = Self {
            dice: Dice(seed),
            nodes: Vec::new(),
            under_way: Vec::new(),
            cut: BTreeSet::new(),
            now_ms: 0,
            weather: CALM,
            next_peer: 1,
            next_write: 1,
            asked: BTreeMap::new(),
            told: BTreeMap::new(),
            answer: None,
            events: Vec::new(),
            promoted: Vec::new(),
        };
        for _ in 0..3 {
            let mut place = Place::new();
            place.settings.membership = Membership::Member;
            place.settings.sync = sync;
            world.nodes.push(Node { place, running: None, seen: 0, own: BTreeSet::new() });
        }
        for node in 0..3 {
            world.start(node);
        }
        world
    }

    pub(crate) fn start(&mut self, number: usize) {
        let role = if number == 0 { StoreRole::Leader } else { StoreRole::Replica };
        let me = ReplicationPeer(self.next_peer);
        self.next_peer += 1;
        let node = &mut self.nodes[number];
        let store = node.place.open();
        let mut writer = store.writer();
        let options = ReplicatorOptions { role, me, origin: 7, wait_ms: 3_000 };
        let replicator = Replicator::new(&mut writer, options).unwrap();
        node.running = Some(Running { store, writer, node: replicator, me });
    }

    /// As kill -9: nothing is finished.
    pub(crate) fn kill(&mut self, number: usize) {
        self.nodes[number].running = None;
        let asked = std::mem::take(&mut self.asked);
        for (write, (node, key)) in asked {
            if node == number {
                self.told.insert(key, Told::Unknown);
            } else {
                self.asked.insert(write, (node, key));
            }
        }
    }

    pub(crate) fn moment(&self, node: usize) -> ReplicationMoment {
        // The clocks are an hour apart.
        let unix_ms = 1_000_000_000 + self.now_ms + node as u64 * 3_600_000;
        ReplicationMoment { ms: self.now_ms, unix_ms }
    }

    /// A client of a node executes a step and waits for its outcome.
    pub(crate) fn client(&mut self, number: usize, step: StoreOperation) -> StepOutcome {
        let Ok(Executed::Done(mut outcomes)) = self.executed(number, (FIRST, step)) else {
            panic!("it is done");
        };
        outcomes.remove(0)
    }

    /// The result of a step of a client of a node.
    pub(crate) fn executed(
        &mut self,
        number: usize,
        step: (Database, StoreOperation),
    ) -> Result<Executed, StoreFailure> {
        let now = self.moment(number);
        let running = self.nodes[number].running.as_mut().unwrap();
        let order = Order { conditions: Vec::new(), steps: vec![step] };
        running.node.order(u64::MAX, vec![order], now);
        loop {
            self.run(5);
            if let Some(answer) = self.answer.take() {
                return answer;
            }
        }
    }

    /// The data that a client of a node reads.
    pub(crate) fn ask(&mut self, number: usize, query: &Query) -> StepOutcome {
        let now = self.moment(number);
        let running = self.nodes[number].running.as_mut().unwrap();
        running.store.snapshot().unwrap().answer(FIRST, query, now.unix_ms).unwrap()
    }

    pub(crate) fn write(&mut self, number: usize) {
        let key = self.next_write;
        self.next_write += 1;
        let value = vec![b'v'; if self.dice.one_in(10) { 600_000 } else { 20 }];
        let steps = vec![
            (FIRST, StoreOperation::Change(DatabaseChange::Add(COUNT.into(), 1))),
            (
                Database(1),
                StoreOperation::Change(DatabaseChange::put(
                    &key.to_be_bytes(),
                    Value::bytes(&value),
                )),
            ),
        ];
        let now = self.moment(number);
        let Some(running) = &mut self.nodes[number].running else { return };
        running.node.order(key, vec![Order { conditions: Vec::new(), steps }], now);
        self.asked.insert(key, (number, key));
    }

    /// A turn of a node: what it has to send is sent, and clients hear of their writes.
    pub(crate) fn turn(&mut self, number: usize) {
        let now = self.moment(number);
        let Some(running) = &mut self.nodes[number].running else { return };
        running.node.turn(&mut running.writer, now).unwrap();
        let (orders, done) = (running.node.take_orders(), running.node.take_done());
        let events = running.node.take_events();
        self.promoted.extend(running.node.take_promoted().map(|promoted| (number, promoted)));
        let me = running.me;
        self.events.extend(events.into_iter().map(|event| (number, event)));
        for order in orders {
            match order {
                ReplicationOrder::Everyone(bytes) => {
                    for to in (0..3).filter(|to| *to != number) {
                        self.send(number, to, bytes.clone());
                    }
                }
                ReplicationOrder::One(peer, bytes) => {
                    assert_ne!(peer, me);
                    let to = self.nodes.iter().position(|node| {
                        node.running.as_ref().is_some_and(|running| running.me == peer)
                    });
                    if let Some(to) = to {
                        self.send(number, to, bytes);
                    }
                }
            }
        }
        for (write, mut results) in done {
            if write == u64::MAX {
                self.answer = results.pop();
                continue;
            }
            let (node, key) = self.asked.remove(&write).expect("one answer for each write");
            assert_eq!((node, results.len()), (number, 1));
            let told = match &results[0] {
                Ok(Executed::Done(_)) => Told::Written,
                Err(StoreFailure::LeaderAway | StoreFailure::Replica) => Told::Nothing,
                Err(StoreFailure::LeaderSilent) => Told::Unknown,
                other => panic!("{other:?}"),
            };
            self.told.insert(key, told);
            if told == Told::Written {
                self.nodes[number].own.insert(key);
            }
        }
        self.read(number);
    }

    fn send(&mut self, from: usize, to: usize, mut bytes: Vec<u8>) {
        let Weather { loses, repeats, damages, delay_ms } = self.weather;
        if self.cut.contains(&(from, to)) || self.dice.one_in(loses) {
            return;
        }
        if self.dice.one_in(damages) {
            let at = self.dice.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << self.dice.below(8);
        }
        let mut times = 1;
        while self.dice.one_in(repeats) {
            times += 1;
        }
        for _ in 0..times {
            let at = self.now_ms + 1 + self.dice.below(delay_ms);
            self.under_way.push((at, to, from, bytes.clone()));
        }
    }

    /// A client of a node reads: its own writes are there, and nothing goes back.
    fn read(&mut self, number: usize) {
        let took_snapshot = self.forked(number);
        let node = &mut self.nodes[number];
        let Some(running) = &node.running else { return };
        let snapshot = running.store.snapshot().unwrap();
        let count = snapshot.answer(FIRST, &Query::Get(COUNT.into()), 0).unwrap();
        let StepOutcome::Value(count) = count else { panic!("a value") };
        let count = count.map_or(0, |entry| str::from_utf8(&entry.bytes).unwrap().parse().unwrap());
        if took_snapshot {
            // Records that the last leader had not sent are not in the history of the next one.
            (node.seen, node.own) = (count, BTreeSet::new());
        }
        assert!(count >= node.seen, "node {number} goes back from {} to {count}", node.seen);
        node.seen = count;
        for key in &node.own {
            let there = snapshot.get(Database(1), &key.to_be_bytes(), 0).unwrap();
            assert!(
                there.is_some(),
                "node {number} lacks its client's write {key}: {:?}",
                self.events
            );
        }
    }

    /// Whether the history of a node was replaced by another one just now.
    fn forked(&mut self, number: usize) -> bool {
        let set_aside = self.events.iter().position(|(node, event)| {
            *node == number && matches!(event, ReplicationEvent::SetAside(..))
        });
        let Some(begun) = set_aside else { return false };
        let is_taken = self.events[begun..].iter().any(|(node, event)| {
            *node == number && matches!(event, ReplicationEvent::SnapshotTaken(_))
        });
        if is_taken {
            self.events.retain(|(node, _)| *node != number);
        }
        is_taken
    }

    pub(crate) fn run(&mut self, ms: u64) {
        for _ in 0..ms / 5 {
            self.now_ms += 5;
            let now = self.now_ms;
            let mut due = Vec::new();
            self.under_way.retain_mut(|message| {
                let is_due = message.0 <= now;
                if is_due {
                    due.push((message.0, message.1, message.2, std::mem::take(&mut message.3)));
                }
                !is_due
            });
            due.sort_by_key(|message| message.0);
            for (_, to, from, bytes) in due {
                let moment = self.moment(to);
                if self.cut.contains(&(from, to)) {
                    continue;
                }
                if let Some(running) = &mut self.nodes[to].running {
                    let news = ReplicationNews::Heard(bytes);
                    running.node.hear(&mut running.writer, news, moment).unwrap();
                }
            }
            for node in 0..3 {
                self.turn(node);
            }
        }
    }

    pub(crate) fn leads(&mut self, number: usize) -> bool {
        let Some(running) = &mut self.nodes[number].running else { return false };
        running.node.status(&mut running.writer).unwrap().role == StoreRole::Leader
    }

    pub(crate) fn promote(&mut self, number: usize) {
        let now = self.moment(number);
        if let Some(running) = &mut self.nodes[number].running {
            running.node.promote(&mut running.writer, now);
        }
    }

    /// Something happens.
    pub(crate) fn step(&mut self, promotes: Promotes) {
        let node = self.dice.below(3) as usize;
        match self.dice.below(40) {
            0 => {
                if self.nodes[node].running.is_some() {
                    self.kill(node);
                } else {
                    self.start(node);
                }
            }
            1 => {
                let other = self.dice.below(3) as usize;
                self.cut.insert((node, other));
                if self.dice.one_in(2) {
                    self.cut.insert((other, node));
                }
            }
            2 | 3 => self.cut.clear(),
            4 if promotes == Promotes::Any => self.promote(node),
            5 => {
                let moment = self.moment(node);
                if let Some(running) = &mut self.nodes[node].running {
                    for news in [ReplicationNews::Away, ReplicationNews::Back] {
                        running.node.hear(&mut running.writer, news, moment).unwrap();
                    }
                }
            }
            6 => self.run(2_000),
            _ => self.write(node),
        }
        let ms = 5 + self.dice.below(60);
        self.run(ms);
    }

    /// Ends all trouble, and waits until all stores are the same.
    pub(crate) fn heal(&mut self) {
        self.weather = CALM;
        self.cut.clear();
        for node in 0..3 {
            if self.nodes[node].running.is_none() {
                self.start(node);
            }
        }
        if !(0..3).any(|node| self.leads(node)) {
            self.promote(0);
        }
        for _ in 0..60 {
            self.run(500);
            let at: BTreeSet<_> = (0..3).map(|node| self.position(node)).collect();
            if at.len() == 1 && self.asked.is_empty() {
                return;
            }
        }
        panic!("the nodes do not come together: {:?}", self.events);
    }

    fn position(&mut self, number: usize) -> (u64, u64) {
        let running = self.nodes[number].running.as_mut().unwrap();
        let position = running.writer.position().unwrap().unwrap_or_default();
        (position.number, position.hash)
    }

    pub(crate) fn all(&mut self, number: usize) -> Vec<u8> {
        everything(&mut self.nodes[number].running.as_mut().unwrap().writer)
    }
}

/// Whether replicas become leaders.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Promotes {
    Never,
    Any,
}
