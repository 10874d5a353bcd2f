//! The speech of this side to the server, and the answers that it expects.
//!
//! Owns the output, the numbers of subscriptions, and requests: all answers come to one inbox, each with the number of
//! its request. Knows no meaning of a message.

use std::fmt::Write as _;

use ahash::HashMap;
use wire::nats::{NatsClientSaid, NatsPublication};

use crate::limits::OUTPUT_BYTES;

/// The subject of a request, for whoever gets the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// A message was to be added: its place among the commits.
    Commit(u64),
    /// Something was asked of a stream.
    Stream(u16),
    /// A history is read: its number.
    Read(u64),
    /// Nodes were asked: the number of the question.
    Question(u64),
    /// Something was asked about a lease: its number.
    Lease(u64),
}

/// Whether something was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Yes,
    /// Too much waits to be sent.
    NoRoom,
}

/// The output of a link.
#[derive(Debug, Default)]
pub(crate) struct Speech {
    out: Vec<u8>,
    /// Bytes that were taken and not sent yet, as far as its user has said.
    unsent: usize,
    inbox: String,
    subscriptions: u64,
    requests: HashMap<u64, Request>,
    last_request: u64,
    /// Questions whether the server is there, and its answers, of this connection.
    pings: u64,
    pongs: u64,
}

impl Speech {
    /// A connection begins: nothing of the last one holds. Numbers go on, so no late answer is taken for another.
    pub(crate) fn begin(&mut self, inbox: String) {
        self.out.clear();
        self.requests.clear();
        self.inbox = inbox;
        (self.pings, self.pongs) = (0, 0);
    }

    /// The subject of all answers.
    pub(crate) fn inbox(&self) -> String {
        format!("{}.*", self.inbox)
    }

    pub(crate) fn say(&mut self, said: &NatsClientSaid<'_>) {
        said.write(&mut self.out);
    }

    /// Asks whether the server is there, and returns the number of the question.
    pub(crate) fn ping(&mut self) -> u64 {
        self.pings += 1;
        self.say(&NatsClientSaid::Ping);
        self.pings
    }

    /// The number of the next question.
    pub(crate) fn next_ping(&self) -> u64 {
        self.pings + 1
    }

    /// The server is there. Returns the number of the question that it has answered, and with it all before.
    pub(crate) fn on_pong(&mut self) -> u64 {
        self.pongs += 1;
        self.pongs
    }

    /// Subscribes, and returns the number.
    pub(crate) fn subscribe(&mut self, subject: &str, queue: Option<&str>) -> u64 {
        self.subscriptions += 1;
        let subscription = self.subscriptions;
        self.say(&NatsClientSaid::Subscribe { subject, queue, subscription });
        subscription
    }

    pub(crate) fn unsubscribe(&mut self, subscription: u64) {
        self.say(&NatsClientSaid::Unsubscribe { subscription, after: None });
    }

    /// Publishes something that nobody answers.
    pub(crate) fn publish(&mut self, subject: &str, payload: &[u8]) -> Said {
        self.publish_with(subject, b"", payload)
    }

    /// The same with header fields.
    pub(crate) fn publish_with(&mut self, subject: &str, headers: &[u8], payload: &[u8]) -> Said {
        if self.out.len() + self.unsent > OUTPUT_BYTES {
            return Said::NoRoom;
        }
        let publication = NatsPublication { subject, reply: None, headers, payload };
        self.say(&NatsClientSaid::Publish(publication));
        Said::Yes
    }

    /// Publishes something whose answers come with the returned number.
    pub(crate) fn request(
        &mut self,
        subject: &str,
        headers: &[u8],
        payload: &[u8],
        request: Request,
    ) -> u64 {
        self.last_request += 1;
        self.requests.insert(self.last_request, request);
        let mut reply = String::with_capacity(self.inbox.len() + 12);
        let _infallible = write!(reply, "{}.{}", self.inbox, self.last_request);
        let reply = Some(&*reply);
        self.say(&NatsClientSaid::Publish(NatsPublication { subject, reply, headers, payload }));
        self.last_request
    }

    /// The request that a message to the inbox answers.
    pub(crate) fn answered(&self, subject: &str) -> Option<(u64, Request)> {
        let number = subject.strip_prefix(&*self.inbox)?.strip_prefix('.')?.parse().ok()?;
        Some((number, *self.requests.get(&number)?))
    }

    /// No more answers are expected.
    pub(crate) fn close(&mut self, number: u64) {
        self.requests.remove(&number);
    }

    /// The output to send now. `unsent` bytes of what was taken before still wait.
    pub(crate) fn take(&mut self, unsent: usize) -> Vec<u8> {
        let out = std::mem::take(&mut self.out);
        self.unsent = unsent + out.len();
        out
    }

    pub(crate) fn has_output(&self) -> bool {
        !self.out.is_empty()
    }
}
