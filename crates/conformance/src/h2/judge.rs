//! Owns the verdict over one HTTP/2 case: it waits until one of the right outcomes has come. Writes only what shows
//! that a connection still serves.

use super::client::{FrameClient, PlayError};
use super::expectation::{Fact, LAST};
use super::inbox::Inbox;
use super::stream_answer::StreamAnswer;
use crate::facts::Facts;
use crate::target::Options;

/// Waits for one of these outcomes; else says what came instead.
pub(super) fn judge(
    client: &mut FrameClient<'_>,
    outcomes: &[Vec<Fact>],
    facts: &Facts,
    options: &Options,
) -> Result<Option<String>, PlayError> {
    // The stream of the request that shows that a connection serves is not meant by `last`.
    let last = client.last_stream();
    let seen = |fact: &Fact, inbox: &Inbox| shows(fact, inbox, facts, last);
    // The end of the connection ends the wait as well.
    client.wait_until(options.response_timeout, |inbox| {
        outcomes.iter().any(|outcome| outcome.iter().all(|fact| seen(fact, inbox)))
    });
    // Whether a connection ends is looked at last, because that takes a wait.
    let ends = |outcome: &&Vec<Fact>| {
        outcome.iter().any(|fact| matches!(fact, Fact::Closed | Fact::ConnectionError(_)))
    };
    let serving = outcomes.iter().filter(|outcome| !ends(outcome));
    for outcome in serving.chain(outcomes.iter().filter(ends)) {
        let mut holds = true;
        for fact in outcome {
            holds = holds
                && match fact {
                    Fact::Closed => client.ends_within(options.close_timeout),
                    Fact::ConnectionError(codes) => {
                        client.ends_within(options.close_timeout)
                            && client.inbox().farewell().is_none_or(|code| codes.contain(code))
                    }
                    Fact::Alive => client.is_alive(facts.probe_path())?,
                    _ => seen(fact, client.inbox()),
                };
        }
        // A server that speaks HTTP/1.1 as well may answer in that what is no HTTP/2 at all.
        if holds && (client.violation().is_none() || outcome[..] == [Fact::Closed]) {
            return Ok(None);
        }
    }
    Ok(Some(told(client)))
}

/// Whether a fact shows in what came so far. Whether the connection serves or ends is looked at in the end.
fn shows(fact: &Fact, inbox: &Inbox, facts: &Facts, last: u32) -> bool {
    let answer = |stream: &u32| inbox.answer(if *stream == LAST { last } else { *stream });
    match fact {
        Fact::Closed => false,
        Fact::Alive => true,
        Fact::ConnectionError(codes) | Fact::Farewell(codes) => {
            inbox.farewell().is_some_and(|code| codes.contain(code))
        }
        Fact::Reset(stream, codes) => {
            let code = answer(stream).and_then(StreamAnswer::reset_code);
            code.is_some_and(|code| codes.contain(code))
        }
        Fact::Answer(stream, statuses) => {
            let status = answer(stream).and_then(StreamAnswer::status);
            status.is_some_and(|status| statuses.iter().any(|pattern| pattern.holds(status)))
        }
        Fact::Interim(stream, status) => {
            answer(stream).is_some_and(|answer| answer.interim().contains(status))
        }
        Fact::Ended(stream) => answer(stream).is_some_and(|answer| {
            answer.is_ended() && answer.reset_code().is_none_or(|code| code == 0)
        }),
        Fact::Unanswered(stream) => answer(stream)
            .is_none_or(|answer| answer.status().is_none() && answer.reset_code().is_none()),
        Fact::File(stream) => answer(stream).is_some_and(|answer| {
            answer.is_ended() && facts.content().is_none_or(|content| content == answer.content())
        }),
        Fact::ContentBytes(stream, bytes) => {
            answer(stream).map_or(0, |answer| answer.content().len()) == *bytes
        }
        Fact::Field(stream, name, value) => {
            answer(stream).and_then(|answer| answer.field(name)) == Some(value.as_bytes())
        }
        Fact::Ping(opaque) => inbox.acknowledged(opaque.as_bytes()),
        Fact::Acks(count) => inbox.acks() >= *count,
    }
}

fn told(client: &FrameClient<'_>) -> String {
    if let Some(violation) = client.violation() {
        return format!("the server broke a rule: {violation}");
    }
    let state =
        if client.is_open() { "the connection is open" } else { "the connection was closed" };
    match client.in_vain() {
        Some(line) => format!("'{line}' was in vain; {state}"),
        None => format!("another outcome; {state}"),
    }
}
