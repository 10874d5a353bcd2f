//! The questions to JetStream and its answers, in JSON.
//!
//! Owns these forms. Never sends them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::limits::{KEPT_MESSAGE_BYTES, REPEATS_NS};
use crate::plan::StreamPlan;
use crate::subjects::{Subjects, fnv};
use crate::times;

/// The name under which an epoch is in the metadata of a stream.
const EPOCH: &str = "velodrome-epoch";

/// The time under which it is there, in milliseconds since 1970.
const EPOCH_AT: &str = "velodrome-epoch-at";

/// The answer to a question about a stream, or to an order.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct StreamAnswer {
    pub(crate) error: Option<ApiError>,
    pub(crate) config: Value,
    cluster: ClusterForm,
    created: String,
    state: StateForm,
    ts: String,
}

/// The answer to a message that was to be added.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AddedForm {
    pub(crate) error: Option<ApiError>,
    pub(crate) stream: String,
    pub(crate) seq: u64,
    pub(crate) duplicate: bool,
}

/// The answer of the first of a stream's servers to a question for one message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageAnswer {
    pub(crate) error: Option<ApiError>,
    pub(crate) message: MessageForm,
}

/// A message in an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageForm {
    pub(crate) seq: u64,
    /// Its content, in base64.
    data: String,
    time: String,
}

impl MessageForm {
    /// Its content.
    pub(crate) fn payload(&self) -> Vec<u8> {
        STANDARD.decode(&self.data).unwrap_or_default()
    }

    /// When it was added, in milliseconds since 1970.
    pub(crate) fn at_ms(&self) -> Option<u64> {
        times::milliseconds(&self.time)
    }
}

/// An error of JetStream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ApiError {
    pub(crate) code: u16,
    pub(crate) err_code: u32,
    pub(crate) description: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StateForm {
    first_seq: u64,
    last_seq: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClusterForm {
    leader: String,
}

/// The state of a stream at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamSample {
    pub(crate) epoch: u64,
    /// The number of the first message that it has, or of the next one.
    pub(crate) first: u64,
    /// The number of the last message that it ever had.
    pub(crate) last: u64,
    /// The time of its server.
    pub(crate) at_ms: u64,
    /// When it was made, or got its epoch; `None`: that is not known.
    pub(crate) made_ms: Option<u64>,
    /// Messages that it keeps of one channel.
    pub(crate) messages: u64,
    /// The time for which it keeps messages; `None`: without end.
    pub(crate) age_ms: Option<u64>,
    /// Bytes that it keeps; `None`: without end.
    pub(crate) bytes: Option<u64>,
    /// On how many servers it is kept. One of several may be behind.
    pub(crate) replicas: u64,
}

/// A moment before a connection was lost, up to which all messages of a stream had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) epoch: u64,
    /// When the state of the stream was asked for.
    pub(crate) asked_ms: u64,
    /// The number of the last message then.
    pub(crate) last: u64,
}

impl Mark {
    /// Whether a stream that had this state at `now_ms` has dropped none of its messages after the mark, apart from
    /// those of channels with too many: they are not old enough, and not large enough together, even if all are as
    /// large as a message may be. Over its bounds a stream drops its oldest messages first.
    pub(crate) fn is_whole_until(&self, state: &StreamSample, now_ms: u64) -> bool {
        let passed_ms = now_ms.saturating_sub(self.asked_ms);
        let most = state.last.saturating_sub(self.last).saturating_mul(KEPT_MESSAGE_BYTES);
        self.epoch == state.epoch
            && state.age_ms.is_none_or(|age_ms| passed_ms < age_ms)
            && state.bytes.is_none_or(|bytes| most < bytes)
    }
}

impl ApiError {
    pub(crate) const STREAM_NOT_FOUND: u32 = 10_059;
    pub(crate) const NAME_IN_USE: u32 = 10_058;
    pub(crate) const NO_MESSAGE: u32 = 10_037;
    /// Errors that say that the message, not the stream, is at fault.
    pub(crate) const MESSAGE_TOO_LARGE: u32 = 10_054;
}

impl StreamAnswer {
    /// The name of the server that leads the stream, as far as the one knows that has answered. Usually it is that one;
    /// but where a server of the stream knows no leader, it answers as well, with what it has itself and no name.
    pub(crate) fn leader(&self) -> &str {
        &self.cluster.leader
    }

    /// The state, if the answer has one.
    pub(crate) fn sample(&self, name: &str) -> Option<StreamSample> {
        if self.created.is_empty() {
            return None;
        }
        let metadata = self.config["metadata"][EPOCH].as_str().unwrap_or_default();
        let parts = [name.as_bytes(), self.created.as_bytes(), metadata.as_bytes()];
        Some(StreamSample {
            // 0 is no epoch.
            epoch: fnv(&parts).max(1),
            first: self.state.first_seq,
            last: self.state.last_seq,
            at_ms: times::milliseconds(&self.ts).unwrap_or(0),
            made_ms: self.config["metadata"][EPOCH_AT]
                .as_str()
                .and_then(|text| text.parse().ok())
                .or_else(|| times::milliseconds(&self.created)),
            messages: self.config["max_msgs_per_subject"].as_u64().unwrap_or(1),
            age_ms: self.config["max_age"].as_u64().filter(|ns| *ns > 0).map(|ns| ns / 1_000_000),
            bytes: self.config["max_bytes"].as_u64(),
            replicas: self.config["num_replicas"].as_u64().unwrap_or(1),
        })
    }
}

/// The configuration of a stream.
pub(crate) fn config(plan: &StreamPlan, subjects: &Subjects, shard: u16) -> Value {
    let age_ns = plan.age_ms.saturating_mul(1_000_000);
    json!({
        "name": subjects.stream(shard),
        "description": "channels of Velodrome",
        "subjects": [subjects.kept_in(shard)],
        "retention": "limits",
        "storage": "memory",
        "max_consumers": -1,
        "max_msgs": -1,
        "max_bytes": (plan.bytes / u64::from(plan.count.max(1))).max(1),
        "max_age": age_ns,
        "max_msgs_per_subject": plan.messages.max(1),
        "max_msg_size": -1,
        "discard": "old",
        "num_replicas": plan.replicas,
        // It is not longer than messages are kept.
        "duplicate_window": if age_ns == 0 { REPEATS_NS } else { REPEATS_NS.min(age_ns) },
        "allow_direct": true,
        "republish": { "src": subjects.kept_in(shard), "dest": subjects.added_to(shard) },
    })
}

/// The new configuration of a stream that exists, so that it keeps at least what this node needs; `None`: no change.
/// Higher bounds that others need stay, so that nodes with different rules do not undo each other's changes.
pub(crate) fn grown(existing: &Value, wanted: &Value) -> Option<Value> {
    let mut grown = existing.clone();
    for key in ["max_msgs_per_subject", "max_age", "max_bytes"] {
        let (has, wants) = (existing[key].as_i64().unwrap_or(0), wanted[key].as_i64().unwrap_or(0));
        // Without a bound is more than any.
        if has > 0 && wants > has {
            grown[key] = wants.into();
        }
    }
    (grown != *existing).then_some(grown)
}

/// Why a stream of this name cannot be used; `None`: it can.
pub(crate) fn unusable(existing: &Value, wanted: &Value) -> Option<String> {
    let name = wanted["name"].as_str().unwrap_or_default();
    let is_ours = existing["republish"]["dest"] == wanted["republish"]["dest"]
        && existing["allow_direct"] == Value::Bool(true);
    (!is_ours).then(|| {
        format!("the stream {name} was not made by Velodrome; set another `prefix`, or delete it")
    })
}

/// The configuration of a stream with another epoch, from this time on.
pub(crate) fn with_epoch(existing: &Value, epoch: u64, at_ms: u64) -> Value {
    let mut changed = existing.clone();
    if !changed["metadata"].is_object() {
        changed["metadata"] = json!({});
    }
    changed["metadata"][EPOCH] = format!("{epoch:016x}").into();
    changed["metadata"][EPOCH_AT] = at_ms.to_string().into();
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: StreamPlan = StreamPlan {
        count: 16,
        replicas: 1,
        bytes: 1 << 20,
        messages: 100,
        age_ms: 60_000,
        sections: 0,
    };

    #[test]
    fn a_stream_only_grows() {
        let subjects = Subjects::new("v", 16);
        let own = config(&PLAN, &subjects, 3);
        assert_eq!(own["duplicate_window"], 60_000_000_000_u64);
        assert_eq!(grown(&own, &own), None);
        let more = config(&StreamPlan { messages: 200, age_ms: 1, ..PLAN }, &subjects, 3);
        let both = grown(&own, &more).unwrap();
        assert_eq!(
            (both["max_msgs_per_subject"].as_u64(), both["max_age"].clone()),
            (Some(200), own["max_age"].clone())
        );
        assert!(unusable(&own, &more).is_none());
        assert!(unusable(&json!({"name": "v-h-3"}), &own).is_some());
    }

    #[test]
    fn an_epoch_is_that_of_name_creation_and_metadata() {
        let text = r#"{"config":{"max_msgs_per_subject":7},"created":"2026-11-28T15:12:47Z",
            "state":{"first_seq":3,"last_seq":9},"ts":"2026-11-28T15:12:48Z"}"#;
        let answer: StreamAnswer = serde_json::from_str(text).unwrap();
        let sample = answer.sample("v-h-1").unwrap();
        assert_eq!((sample.first, sample.last, sample.messages), (3, 9, 7));
        assert_ne!(answer.sample("v-h-2").unwrap().epoch, sample.epoch);
        let changed = StreamAnswer { config: with_epoch(&answer.config, 5, 0), ..answer };
        assert_ne!(changed.sample("v-h-1").unwrap().epoch, sample.epoch);
    }
}
