//! Orders of programs (`POST /channels`): a JSON object or a list of them.
//!
//! Owns their format, and the pending ones. `channel/programs` executes them.

use std::collections::VecDeque;
use std::sync::Arc;

use ahash::HashMap;
use channels::limits::KEY_SIZE;
use channels::{ChannelGlob, Offer, Payload, Position, check_name, check_pattern};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::limits::{PROGRAM_ANSWER_BYTES, PROGRAM_ORDERS};

/// Requests of programs whose orders are being executed.
#[derive(Debug, Default)]
pub(super) struct Programs {
    under_way: HashMap<ProcessId, Batch>,
    /// Those that have used their share of the turn.
    yielded: Vec<ProcessId>,
}

impl Programs {
    /// Takes the orders of a request, if it was asked before.
    pub(super) fn take(&mut self, process: ProcessId) -> Option<Batch> {
        self.under_way.remove(&process)
    }

    /// A request waits for the answer of an order.
    pub(super) fn keep(&mut self, process: ProcessId, batch: Batch) {
        self.under_way.insert(process, batch);
    }

    /// A request has used its share of the turn.
    pub(super) fn yield_turn(&mut self, process: ProcessId, batch: Batch) {
        self.yielded.push(process);
        self.keep(process, batch);
    }

    /// A request has ended.
    pub(super) fn forget(&mut self, process: ProcessId) {
        self.under_way.remove(&process);
    }

    /// At the end of a turn: requests that have used their share continue in the next.
    pub(super) fn end_turn<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        for process in self.yielded.drain(..) {
            context.command(SchedulerCommand::Resume(process));
        }
    }
}

/// The orders of a request.
#[derive(Debug)]
pub(super) struct Batch {
    left: VecDeque<Order>,
    /// The answers so far: JSON objects separated by commas.
    answers: String,
    is_list: bool,
}

impl Batch {
    pub(super) fn next(&self) -> Option<&Order> {
        self.left.front()
    }

    /// Whether there is room for the answer to a question.
    pub(super) fn has_room(&self) -> bool {
        self.answers.len() <= PROGRAM_ANSWER_BYTES
    }

    /// The next order has this answer.
    pub(super) fn answer(&mut self, answer: &str) {
        if !self.answers.is_empty() {
            self.answers.push(',');
        }
        self.answers.push_str(answer);
        self.left.pop_front();
    }

    /// The answers to all orders.
    pub(super) fn into_answers(self) -> String {
        if self.is_list { format!("[{}]", self.answers) } else { self.answers }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Order {
    Publish { channel: Box<str>, offer: Offer },
    Members(Arc<str>),
    History { channel: Box<str>, since: Option<Position> },
    Channels(ChannelGlob),
    Dismiss { user: Arc<str>, channel: Option<Arc<str>> },
    Wrong(String),
}

impl Order {
    /// Whether it changes nothing.
    pub(super) fn is_question(&self) -> bool {
        matches!(self, Self::Members(_) | Self::History { .. } | Self::Channels(_))
    }
}

/// An order as written. Exactly one of the first seven fields is present.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'o> {
    publish: Option<String>,
    broadcast: Option<Vec<String>>,
    members: Option<String>,
    history: Option<String>,
    channels: Option<String>,
    disconnect: Option<String>,
    unsubscribe: Option<String>,
    #[serde(borrow, default, deserialize_with = "written_value")]
    data: Option<&'o RawValue>,
    key: Option<String>,
    since: Option<String>,
    channel: Option<String>,
}

impl Written<'_> {
    /// The orders it stands for: a broadcast is one order per channel.
    fn orders(self) -> Result<Vec<Order>, String> {
        let mut verbs = 0;
        for is_there in [
            self.publish.is_some(),
            self.broadcast.is_some(),
            self.members.is_some(),
            self.history.is_some(),
            self.channels.is_some(),
            self.disconnect.is_some(),
            self.unsubscribe.is_some(),
        ] {
            verbs += usize::from(is_there);
        }
        if verbs != 1 {
            return Err("one of `publish`, `broadcast`, `members`, `history`, `channels`, `disconnect` and \
                        `unsubscribe` is required".to_owned());
        }
        let names = self.publish.map(|name| vec![name]).or(self.broadcast);
        if let Some(names) = names {
            let body = message_of(self.data)?;
            let key = self.key.map(|key| check_key(key.as_bytes())).transpose();
            let key = key.map_err(|problem| problem.to_string())?;
            return names
                .into_iter()
                .map(|name| {
                    let channel = checked(&name)?.into();
                    Ok(Order::Publish {
                        channel,
                        offer: Offer { body: body.clone(), key: key.clone() },
                    })
                })
                .collect();
        }
        if let Some(name) = self.members {
            return Ok(vec![Order::Members(checked(&name)?.into())]);
        }
        if let Some(name) = self.history {
            let since = self.since.map(|since| since.parse().unwrap_or(Position::UNKNOWN));
            return Ok(vec![Order::History { channel: checked(&name)?.into(), since }]);
        }
        if let Some(pattern) = self.channels {
            check_pattern(pattern.as_bytes()).map_err(|problem| problem.to_string())?;
            return Ok(vec![Order::Channels(ChannelGlob::new(&pattern))]);
        }
        if let Some(user) = self.disconnect {
            return Ok(vec![Order::Dismiss { user: user.into(), channel: None }]);
        }
        let channel = self.channel.ok_or("`unsubscribe` names a user, and needs a `channel`")?;
        let user = self.unsubscribe.unwrap_or_default().into();
        Ok(vec![Order::Dismiss { user, channel: Some(checked(&channel)?.into()) }])
    }
}

/// A field that is written, also if it is `null`, which `Option` would take for a missing one.
pub(crate) fn written_value<'de, D: Deserializer<'de>>(
    field: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(field).map(Some)
}

/// The message in the field `data` of an order.
pub(crate) fn message_of(data: Option<&RawValue>) -> Result<Payload, String> {
    let data = data.ok_or("`data` is missing")?;
    Payload::of_json(data.get().as_bytes())
        .map_err(|problem| format!("`data` is not JSON: {problem}"))
}

fn checked(name: &str) -> Result<&str, String> {
    check_name(name.as_bytes()).map_err(|problem| problem.to_string())
}

/// The orders in a body. An invalid one in a list is answered in its place; the others are executed.
pub(super) fn read(body: &[u8]) -> Result<Batch, String> {
    let is_list = body.trim_ascii_start().first() == Some(&b'[');
    let written: Vec<&RawValue> = if is_list {
        serde_json::from_slice(body).map_err(|error| error.to_string())?
    } else {
        vec![serde_json::from_slice(body).map_err(|error| error.to_string())?]
    };
    let mut left = VecDeque::new();
    let mut is_broadcast = false;
    for one in written {
        let parsed: Result<Written<'_>, _> = serde_json::from_str(one.get());
        is_broadcast |= parsed.as_ref().is_ok_and(|written| written.broadcast.is_some());
        match parsed.map_err(|error| error.to_string()).and_then(Written::orders) {
            Ok(orders) => left.extend(orders),
            Err(problem) => left.push_back(Order::Wrong(problem)),
        }
        if left.len() > PROGRAM_ORDERS {
            return Err(format!(
                "a request has at most {PROGRAM_ORDERS} orders; each channel of a broadcast is one"
            ));
        }
    }
    Ok(Batch { is_list: is_list || is_broadcast, left, answers: String::new() })
}

/// The key by which a message that is sent again is recognised.
pub(super) fn check_key(key: &[u8]) -> Result<Arc<str>, KeyProblem> {
    let text = str::from_utf8(key).ok().filter(|key| (1..=KEY_SIZE).contains(&key.len()));
    text.map(Arc::from).ok_or(KeyProblem)
}

/// An invalid key.
#[derive(Debug, thiserror::Error)]
#[error("an idempotency key has 1 to {KEY_SIZE} bytes of UTF-8")]
pub(super) struct KeyProblem;
