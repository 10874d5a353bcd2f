//! A stream of the simulated NATS: messages with numbers, the bounds that drop them, and what was ever added.
//!
//! Owns the numbers. What was ever added is kept aside, so that a test knows what a client has missed. Sends nothing.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wire::nats::NatsHeaders;

/// The fate of a message.
pub(crate) enum Added {
    /// It has this number; the last one of its subject had that.
    New { number: u64, before: u64 },
    /// It is there already.
    Again { number: u64 },
    /// Its condition does not hold.
    Refused { code: u32 },
}

#[derive(Clone)]
struct Kept {
    subject: String,
    payload: Vec<u8>,
    at_ms: u64,
}

/// A stream.
#[derive(Clone)]
pub(crate) struct Stream {
    config: Value,
    created: u64,
    messages: BTreeMap<u64, Kept>,
    last: u64,
    /// Numbers by identifier.
    known: BTreeMap<String, u64>,
    /// All that was ever added: number, subject and payload.
    ever: Vec<(u64, String, Vec<u8>)>,
}

fn time(milliseconds: u64) -> String {
    let (seconds, rest) = (milliseconds / 1_000, milliseconds % 1_000);
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    let (hours, minutes) = (minutes / 60, minutes % 60);
    format!("2026-11-{:02}T{:02}:{minutes:02}:{seconds:02}.{rest:03}Z", 1 + hours / 24, hours % 24)
}

impl Stream {
    /// The stream with this configuration that was made as the `made`-th.
    pub(crate) fn new(config: Value, made: u64) -> Self {
        Self {
            config,
            created: made,
            messages: BTreeMap::new(),
            last: 0,
            known: BTreeMap::new(),
            ever: Vec::new(),
        }
    }

    pub(crate) fn takes(&self, subject: &str) -> bool {
        let kept = self.config["subjects"][0].as_str().unwrap();
        subject.starts_with(kept.strip_suffix('>').unwrap())
    }

    pub(crate) fn update(&mut self, config: Value) {
        self.config = config;
    }

    pub(crate) fn describe(&self, now_ms: u64) -> Value {
        let first = self.messages.keys().next().copied().unwrap_or(self.last + 1);
        json!({
            "config": self.config, "created": format!("made {}", self.created),
            "state": { "first_seq": first, "last_seq": self.last }, "ts": time(now_ms),
        })
    }

    pub(crate) fn add(
        &mut self,
        subject: &str,
        headers: NatsHeaders<'_>,
        payload: &[u8],
        now_ms: u64,
    ) -> Added {
        if let Some(&number) = headers.get("Nats-Msg-Id").and_then(|id| self.known.get(id)) {
            return Added::Again { number };
        }
        let before = self.last_of(subject);
        let condition = headers.number("Nats-Expected-Last-Subject-Sequence");
        if condition.is_some_and(|number| number != before) {
            return Added::Refused { code: 10_071 };
        }
        self.last += 1;
        let number = self.last;
        if let Some(id) = headers.get("Nats-Msg-Id") {
            self.known.insert(id.to_owned(), number);
        }
        let kept = Kept { subject: subject.to_owned(), payload: payload.to_vec(), at_ms: now_ms };
        self.ever.push((number, kept.subject.clone(), kept.payload.clone()));
        self.messages.insert(number, kept);
        let most = self.config["max_msgs_per_subject"].as_u64().unwrap();
        let of_subject: Vec<u64> = self.numbers_of(subject).collect();
        let too_many = of_subject.len().saturating_sub(most as usize);
        for number in &of_subject[..too_many] {
            self.messages.remove(number);
        }
        self.drop_old(now_ms);
        Added::New { number, before }
    }

    fn numbers_of<'s>(&'s self, subject: &'s str) -> impl DoubleEndedIterator<Item = u64> + 's {
        let of_subject = self.messages.iter().filter(move |(_, kept)| kept.subject == subject);
        of_subject.map(|(number, _)| *number)
    }

    fn last_of(&self, subject: &str) -> u64 {
        self.numbers_of(subject).next_back().unwrap_or(0)
    }

    /// Drops what is older than it may be.
    pub(crate) fn drop_old(&mut self, now_ms: u64) {
        let age_ms = self.config["max_age"].as_u64().unwrap() / 1_000_000;
        self.messages.retain(|_, kept| age_ms == 0 || now_ms < kept.at_ms + age_ms);
    }

    /// The answers to a question for messages: header fields and payload of each.
    pub(crate) fn get(&self, asked: &Value) -> Vec<(String, Vec<u8>)> {
        let mut answers = Vec::new();
        let fields = |number: u64, kept: &Kept, pending: usize| {
            format!(
                "NATS/1.0\r\nNats-Sequence: {number}\r\nNats-Time-Stamp: {}\r\nNats-Num-Pending: {pending}\r\n\r\n",
                time(kept.at_ms)
            )
        };
        if let Some(subject) = asked["last_by_subj"].as_str() {
            let number = self.last_of(subject);
            answers.extend(
                self.messages
                    .get(&number)
                    .map(|kept| (fields(number, kept, 0), kept.payload.clone())),
            );
        } else {
            let subject = asked["next_by_subj"].as_str().unwrap();
            let first = asked["seq"].as_u64().unwrap();
            let numbers: Vec<u64> = self.numbers_of(subject).filter(|of| *of >= first).collect();
            let (batch, most) = (asked["batch"].as_u64(), asked["max_bytes"].as_u64());
            let mut bytes = 0;
            for (place, number) in numbers.iter().enumerate() {
                let kept = &self.messages[number];
                bytes += kept.payload.len() as u64;
                let is_full = batch.is_some_and(|batch| place as u64 >= batch)
                    || place > 0 && most.is_some_and(|most| bytes > most);
                if is_full {
                    break;
                }
                let pending = numbers.len() - place - 1;
                answers.push((fields(*number, kept, pending), kept.payload.clone()));
            }
            if !answers.is_empty() {
                let pending = numbers.len() - answers.len();
                let end = format!("NATS/1.0 204 EOB\r\nNats-Num-Pending: {pending}\r\n\r\n");
                answers.push((end, Vec::new()));
            }
        }
        if answers.is_empty() {
            answers.push(("NATS/1.0 404 Message Not Found\r\n\r\n".to_owned(), Vec::new()));
        }
        answers
    }

    /// All messages that it ever had, by number: the last token of their subject, and their text.
    pub(crate) fn ever(&self) -> impl Iterator<Item = (u64, &str, &[u8])> {
        self.ever.iter().map(|(number, subject, payload)| {
            (*number, subject.rsplit('.').next().unwrap(), &payload[1..])
        })
    }
}
