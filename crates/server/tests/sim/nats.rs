//! A simulated NATS with JetStream: what the links of nodes need of it, and its faults.
//!
//! Owns subscriptions, streams in memory, and the order in which its words reach each connection. It is written from
//! the documents of NATS, and shares with the server only the codec. It has no socket: nodes of several worlds connect
//! to it as to a remote that the test plays.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use serde_json::{Value, json};
use sys::connect::RemoteAddress;
use wire::nats::{NatsClientSaid, NatsHeaders, NatsMessage, NatsPublication, NatsServerSaid};
use world::{ClientId, ClientState, Random, World};

use crate::nats_stream::{Added, Stream};

/// Most bytes of a message.
const MESSAGE_BYTES: usize = 2 << 20;

/// Where it is, in every world.
pub(crate) fn nats_address() -> RemoteAddress {
    RemoteAddress::Tcp(SocketAddr::from(([10, 0, 0, 9], 4222)))
}

/// The links whose server of NATS is cut off from the one with the streams.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutOff {
    Nothing,
    /// Those of this node.
    Node(usize),
    /// Those of the first schedulers of all nodes: links of a node connect to different servers.
    FirstLinks,
}

/// A connection of a link.
struct LinkEnd {
    /// The number of its world.
    node: usize,
    /// Whether it is that of the first scheduler.
    is_first: bool,
    id: ClientId,
    input: Vec<u8>,
    subscriptions: BTreeMap<u64, String>,
    /// It takes nothing until this time.
    stalled_until_ms: u64,
    /// The texts that wait for it, in order.
    output: VecDeque<Vec<u8>>,
}

impl LinkEnd {
    fn is_cut_off(&self, by: CutOff) -> bool {
        match by {
            CutOff::Nothing => false,
            CutOff::Node(node) => self.node == node,
            CutOff::FirstLinks => self.is_first,
        }
    }
}

/// The server.
pub(crate) struct SimulatedNats {
    links: Vec<LinkEnd>,
    pub(crate) streams: BTreeMap<String, Stream>,
    random: Random,
    now_ms: u64,
    /// Streams that were ever made, so that each has a time of its own.
    made: u64,
    /// Answers of JetStream that get lost with their connection, of a million.
    pub(crate) lost_answers: u64,
    /// Messages of streams that do not reach a link, of a million: between servers of NATS they may get lost.
    pub(crate) lost_messages: u64,
    pub(crate) cut_off: CutOff,
}

impl SimulatedNats {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            links: Vec::new(),
            streams: BTreeMap::new(),
            random: Random::new(seed),
            now_ms: 0,
            made: 0,
            lost_answers: 0,
            lost_messages: 0,
            cut_off: CutOff::Nothing,
        }
    }

    /// Takes what the links of these worlds have said, and answers.
    pub(crate) fn serve(&mut self, worlds: &[&World], now_ms: u64) {
        self.now_ms = now_ms;
        for (node, world) in worlds.iter().enumerate() {
            while let Some((id, _)) = world.accept_remote(&nats_address()) {
                let info = json!({
                    "server_id": "S", "server_name": "s", "version": "2.15.2", "headers": true,
                    "max_payload": 1 << 20, "jetstream": true,
                });
                let mut hello = Vec::new();
                NatsServerSaid::Info(info.to_string().as_bytes()).write(&mut hello);
                self.links.push(LinkEnd {
                    node,
                    is_first: false,
                    id,
                    input: Vec::new(),
                    subscriptions: BTreeMap::new(),
                    stalled_until_ms: 0,
                    output: VecDeque::from([hello]),
                });
            }
        }
        let mut order: Vec<usize> = (0..self.links.len()).collect();
        self.random.shuffle(&mut order);
        for link in order {
            self.hear(link, worlds);
        }
        self.send(worlds);
        self.links.retain(|link| {
            let stands = worlds[link.node].client_state(link.id) == ClientState::Open;
            if !stands {
                worlds[link.node].client_close(link.id);
            }
            stands
        });
    }

    /// All connections end, or those of one node.
    pub(crate) fn cut(&mut self, worlds: &[&World], node: Option<usize>) {
        for link in &self.links {
            if node.is_none_or(|node| node == link.node) {
                worlds[link.node].client_reset(link.id);
            }
        }
        self.links.retain(|link| node.is_some_and(|node| node != link.node));
    }

    /// A connection takes and says nothing for this time.
    pub(crate) fn stall(&mut self, milliseconds: u64) {
        let count = self.links.len();
        if count > 0 {
            let link = self.random.index(count);
            self.links[link].stalled_until_ms = self.now_ms + milliseconds;
        }
    }

    /// Nobody waits for anybody any more.
    pub(crate) fn end_faults(&mut self) {
        (self.lost_answers, self.lost_messages, self.cut_off) = (0, 0, CutOff::Nothing);
        self.links.iter_mut().for_each(|link| link.stalled_until_ms = 0);
    }

    fn hear(&mut self, number: usize, worlds: &[&World]) {
        let link = &mut self.links[number];
        if link.stalled_until_ms > self.now_ms {
            return;
        }
        link.input.extend(worlds[link.node].client_received(link.id));
        let input = std::mem::take(&mut link.input);
        let mut rest = &input[..];
        while let Some((said, length)) = NatsClientSaid::read(rest, MESSAGE_BYTES).unwrap() {
            self.obey(number, &said);
            rest = &rest[length..];
        }
        self.links[number].input = rest.to_vec();
    }

    fn obey(&mut self, number: usize, said: &NatsClientSaid<'_>) {
        let link = &mut self.links[number];
        match said {
            NatsClientSaid::Connect(json) => {
                let told: Value = serde_json::from_slice(json).unwrap();
                assert_eq!((&told["echo"], &told["headers"]), (&json!(false), &json!(true)));
            }
            NatsClientSaid::Subscribe { subject, subscription, .. } => {
                // An inbox is that of a node and the number of its link.
                link.is_first |= subject.starts_with("_INBOX.") && subject.contains("-0-");
                link.subscriptions.insert(*subscription, (*subject).to_owned());
            }
            NatsClientSaid::Unsubscribe { subscription, .. } => {
                link.subscriptions.remove(subscription);
            }
            NatsClientSaid::Ping => {
                let mut pong = Vec::new();
                NatsServerSaid::Pong.write(&mut pong);
                link.output.push_back(pong);
            }
            NatsClientSaid::Pong => {}
            NatsClientSaid::Publish(publication) => self.publish(number, publication),
        }
    }

    fn publish(&mut self, from: usize, publication: &NatsPublication<'_>) {
        let &NatsPublication { subject, reply, headers, payload } = publication;
        let is_for_streams = subject.starts_with("$JS.API.")
            || self.streams.values().any(|stream| stream.takes(subject));
        if is_for_streams && self.links[from].is_cut_off(self.cut_off) {
            return;
        }
        if let Some(order) = subject.strip_prefix("$JS.API.") {
            let reply = reply.expect("who asks wants an answer");
            return self.on_order(order, reply, payload);
        }
        let stream = self.streams.iter_mut().find(|(_, stream)| stream.takes(subject));
        let Some((name, stream)) = stream else {
            let told = self.deliver(Some(from), subject, reply, headers, payload);
            if let (0, Some(reply)) = (told, reply) {
                self.deliver(None, reply, None, b"NATS/1.0 503\r\n\r\n", b"");
            }
            return;
        };
        let name = name.clone();
        let added = stream.add(subject, NatsHeaders::new(headers), payload, self.now_ms);
        let answer = match added {
            Added::New { number, .. } => json!({ "stream": name, "seq": number }),
            Added::Again { number } => {
                json!({ "stream": name, "seq": number, "duplicate": true })
            }
            Added::Refused { code } => {
                json!({ "error": { "code": 400, "err_code": code, "description": "no" } })
            }
        };
        // Either may overtake the other.
        let answers_first = self.random.below(2) == 0;
        if answers_first {
            self.answer_publisher(from, reply, &answer);
        }
        if let Added::New { number, before } = added {
            let told = subject.replacen(".h.", ".r.", 1);
            let fields = format!(
                "NATS/1.0\r\nNats-Stream: {name}\r\nNats-Subject: {subject}\r\nNats-Sequence: {number}\r\n\
                 Nats-Last-Sequence: {before}\r\n\r\n"
            );
            self.deliver(None, &told, None, fields.as_bytes(), payload);
        }
        if !answers_first {
            self.answer_publisher(from, reply, &answer);
        }
    }

    /// The answer to what was added, unless its connection ends with it.
    fn answer_publisher(&mut self, from: usize, reply: Option<&str>, answer: &Value) {
        let Some(reply) = reply else { return };
        if self.random.below(1_000_000) < self.lost_answers {
            self.links[from].stalled_until_ms = u64::MAX;
            return;
        }
        self.deliver(None, reply, None, b"", answer.to_string().as_bytes());
    }

    fn on_order(&mut self, order: &str, reply: &str, payload: &[u8]) {
        let (verb, name) = order.rsplit_once('.').unwrap();
        let config = || serde_json::from_slice::<Value>(payload).unwrap();
        if let "STREAM.CREATE" = verb {
            if self.streams.contains_key(name) {
                return self.answer(reply, &error(10_058));
            }
            self.made += 1;
            let stream = Stream::new(config(), self.made);
            let answer = stream.describe(self.now_ms);
            self.streams.insert(name.to_owned(), stream);
            return self.answer(reply, &answer);
        }
        let Some(stream) = self.streams.get_mut(name) else {
            let is_direct = verb == "DIRECT.GET";
            return match is_direct {
                // Nobody listens at the subject of a stream that is not there.
                true => drop(self.deliver(None, reply, None, b"NATS/1.0 503\r\n\r\n", b"")),
                false => self.answer(reply, &error(10_059)),
            };
        };
        stream.drop_old(self.now_ms);
        match verb {
            "STREAM.INFO" => {
                let answer = stream.describe(self.now_ms);
                self.answer(reply, &answer);
            }
            "STREAM.UPDATE" => {
                stream.update(config());
                let answer = stream.describe(self.now_ms);
                self.answer(reply, &answer);
            }
            "DIRECT.GET" => {
                for (fields, payload) in stream.get(&config()) {
                    self.deliver(None, reply, None, fields.as_bytes(), &payload);
                }
            }
            other => panic!("the test's NATS does not know {other}"),
        }
    }

    fn answer(&mut self, reply: &str, answer: &Value) {
        self.deliver(None, reply, None, b"", answer.to_string().as_bytes());
    }

    /// Sends a message to all that want it, except the link that has said it. Returns to how many.
    fn deliver(
        &mut self,
        from: Option<usize>,
        subject: &str,
        reply: Option<&str>,
        headers: &[u8],
        payload: &[u8],
    ) -> usize {
        let mut told = 0;
        // The streams are on the side that is not cut off.
        let side = from.is_some_and(|number| self.links[number].is_cut_off(self.cut_off));
        for (number, link) in self.links.iter_mut().enumerate() {
            if from == Some(number) || link.is_cut_off(self.cut_off) != side {
                continue;
            }
            for (&subscription, wanted) in &link.subscriptions {
                let is_of_stream = subject.contains(".r.");
                let is_lost = is_of_stream && self.random.below(1_000_000) < self.lost_messages;
                if is_lost || !matches(wanted, subject) {
                    continue;
                }
                let message = NatsMessage { subject, subscription, reply, headers, payload };
                let mut text = Vec::new();
                NatsServerSaid::Message(message).write(&mut text);
                link.output.push_back(text);
                told += 1;
            }
        }
        told
    }

    /// Sends what waits: all, or a part of it.
    fn send(&mut self, worlds: &[&World]) {
        for link in &mut self.links {
            if link.stalled_until_ms > self.now_ms {
                continue;
            }
            let waiting = link.output.len();
            let now =
                if self.random.below(4) == 0 { self.random.index(waiting + 1) } else { waiting };
            for text in link.output.drain(..now) {
                worlds[link.node].client_send(link.id, &text);
            }
        }
    }
}

fn error(code: u32) -> Value {
    json!({ "error": { "code": 404, "err_code": code, "description": "no" } })
}

/// Whether a subject is one of those that are wanted: `*` is one token, `>` the rest.
fn matches(wanted: &str, subject: &str) -> bool {
    let mut tokens = subject.split('.');
    for part in wanted.split('.') {
        match (part, tokens.next()) {
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (part, Some(token)) if part == token => {}
            _ => return false,
        }
    }
    tokens.next().is_none()
}
