//! Publishing and subscribing with Redis commands.
//!
//! Owns their replies. A subscription that the rules of a channel refuse returns an error, as
//! Redis does with access control.

use std::sync::Arc;

use ahash::HashMap;
use channels::limits::SUBSCRIPTIONS_PER_CONNECTION;
use channels::{
    ChannelGlob, ChannelRefusal, ChannelScope, Format, Payload, PublishOutcome, PublishReceipt,
    Published, Publisher, RuleNumber, Sender, Subscriber, SubscriberQuery, SubscriptionState,
    check_name, check_pattern,
};
use runtime::clock::Now;
use wire::resp::{
    RespVersion, write_array, write_bulk, write_error, write_integer, write_null, write_push,
};

use super::listening::{Named, Waiting};
use super::{After, Call, Session};
use crate::host::{ChannelQuestion, NotAllowed};

fn format_of(session: &Session) -> Format {
    match session.version {
        RespVersion::Two => Format::Resp2,
        RespVersion::Three => Format::Resp3,
    }
}

fn begin(session: &Session, parts: usize, out: &mut Vec<u8>) {
    match session.version {
        RespVersion::Two => write_array(out, parts),
        RespVersion::Three => write_push(out, parts),
    }
}

fn refusal_text(refusal: ChannelRefusal) -> String {
    match refusal {
        ChannelRefusal::Denied | ChannelRefusal::NoToken | ChannelRefusal::NoCertificate => {
            format!("NOPERM {refusal}")
        }
        ChannelRefusal::Busy => format!("BUSY {refusal}"),
        ChannelRefusal::Unknown
        | ChannelRefusal::TooLarge
        | ChannelRefusal::TooOften
        | ChannelRefusal::Full
        | ChannelRefusal::Unconfirmed => format!("ERR {refusal}"),
    }
}

/// `PUBLISH channel message`: replies with the number of subscribers that receive it.
pub(super) fn publish(call: &mut Call<'_, '_>) -> After {
    if let Some(receivers) = call.session.listening.take_published() {
        write_integer(call.out(), i64::from(receivers));
        return After::More;
    }
    let result = match call.env.channels.outcome(call.session.process) {
        PublishOutcome::Awaited => return After::Wait,
        PublishOutcome::Known(result) => result.map_err(refusal_text),
        PublishOutcome::None => match publish_now(call) {
            Ok(None) | Err(NotAllowed::Yet) => return After::Wait,
            Ok(Some(published)) => Ok(published),
            Err(NotAllowed::Never(problem)) => Err(problem),
        },
    };
    let session = &mut *call.session;
    if let (Ok(Published { receivers, .. }), RespVersion::Three) = (&result, session.version)
        && str::from_utf8(call.command.argument(1)).is_ok_and(|name| session.listening.hears(name))
    {
        // As in Redis, the client gets its own message before the reply. Messages are sent at the end of the turn.
        session.listening.keep_published(*receivers);
        call.env.clients.pace.wait(session.process);
        return After::Wait;
    }
    match result {
        Ok(Published { receivers, .. }) => write_integer(call.out(), i64::from(receivers)),
        Err(problem) => write_error(call.out(), &problem),
    }
    After::More
}

/// Publishes a message, unless its channel refuses it; `None` until another scheduler has answered.
fn publish_now(call: &mut Call<'_, '_>) -> Result<Option<Published>, NotAllowed> {
    let name = check_name(call.word(1)).map_err(|problem| never(format!("ERR {problem}")))?;
    let body = Payload::of_bytes(call.word(2));
    let (session, env) = (&mut *call.session, &mut *call.env);
    let sender = Sender { rights: &session.rights, address: Some(session.arrival.peer.address) };
    let ruling = env.channels.may_publish(name, ChannelScope::Any, sender).map_err(refused)?;
    let right = ruling.decide(|rule| {
        let question = question(session, (name, rule), Some(&body), call.now);
        env.host.ask_module(&question)
    });
    session.asks = matches!(right, Err(NotAllowed::Yet));
    let right = right?;
    let publisher = Publisher { process: session.process, told: PublishReceipt::ByResuming };
    let now_ms = call.now.monotonic_ms();
    env.host.publish_earlier(&mut env.channels, now_ms);
    env.channels.publish(&right, body, Some(publisher), now_ms).map_err(refused)
}

fn never(problem: String) -> NotAllowed {
    NotAllowed::Never(problem)
}

fn refused(refusal: ChannelRefusal) -> NotAllowed {
    NotAllowed::Never(refusal_text(refusal))
}

/// `SUBSCRIBE channel …` and `PSUBSCRIBE pattern …`: replies for each name once its subscription is active on all
/// schedulers, so that this client receives every message that is published after the reply. Goes on in the next turn
/// when the time of this one is used up.
pub(super) fn subscribe(call: &mut Call<'_, '_>) -> After {
    let waiting = call.session.listening.take_waiting();
    let begin = || Waiting { before: own(call).len(), answered: 0, results: Vec::new() };
    let mut waiting = waiting.unwrap_or_else(begin);
    for (index, name) in call.command.arguments_from(1).enumerate().skip(waiting.results.len()) {
        let result = match subscribe_to(call, name) {
            Ok(place) => Some(Ok(place)),
            Err(NotAllowed::Never(problem)) => Some(Err(problem)),
            Err(NotAllowed::Yet) => None,
        };
        let has_decided = result.is_some();
        waiting.results.extend(result);
        let is_late = call.env.clients.pace.is_over() && index + 2 < call.command.len();
        if is_late {
            call.env.clients.rest(call.session.process);
        }
        if is_late || !has_decided {
            call.session.listening.wait(waiting);
            return After::Wait;
        }
    }
    answer_subscribed(call, waiting)
}

/// Replies for each name, in order, as soon as its subscription is active.
fn answer_subscribed(call: &mut Call<'_, '_>, mut waiting: Waiting) -> After {
    let others = call.session.subscriptions() - own(call).len();
    let mut count = waiting.before;
    let names = call.command.arguments_from(1);
    for (index, (name, result)) in names.zip(&waiting.results).enumerate() {
        let named = result.as_ref().map(|place| (place, own(call).get(*place)));
        let problem = match named {
            Err(problem) => problem.clone(),
            Ok((place, named)) => match named.map(|named| call.env.channels.standing(&named.1)) {
                Some(SubscriptionState::Awaited) => {
                    waiting.answered = index;
                    call.session.listening.wait(waiting);
                    return After::Wait;
                }
                Some(SubscriptionState::NoRoom) => refusal_text(ChannelRefusal::Full),
                Some(SubscriptionState::Active) | None => {
                    count = count.max(place + 1);
                    if index >= waiting.answered {
                        write_answer(call, Some(&String::from_utf8_lossy(name)), count + others);
                    }
                    continue;
                }
            },
        };
        if index >= waiting.answered {
            write_error(call.out(), &problem);
        }
    }
    leave_without_room(call);
    call.session.listening.settle();
    After::More
}

/// Ends the subscriptions to patterns for which another scheduler has no room.
fn leave_without_room(call: &mut Call<'_, '_>) {
    let (own, channels) = (call.session.listening.of_mut(call.row.name()), &mut call.env.channels);
    let has_none = |named: &mut Named| channels.standing(&named.1) == SubscriptionState::NoRoom;
    let refused: Vec<Named> = own.extract_if(.., has_none).collect();
    for (_, subscription) in refused {
        channels.unsubscribe(subscription);
    }
}

/// The question of a client to the module of a channel.
fn question<'q>(
    session: &'q Session,
    (channel, rule): (&'q str, RuleNumber),
    message: Option<&'q Payload>,
    now: Now,
) -> ChannelQuestion<'q> {
    ChannelQuestion {
        process: session.process,
        here: session.here(),
        channel,
        rule,
        message,
        rights: &session.rights,
        address: session.arrival.peer.address,
        now,
    }
}

/// A pattern of a client as text.
fn check_pattern_text(pattern: &[u8]) -> Result<&str, String> {
    let pattern = check_pattern(pattern).map_err(|problem| format!("ERR {problem}"))?;
    str::from_utf8(pattern).map_err(|_| "ERR a pattern of channels is UTF-8".to_owned())
}

/// Subscribes if it is not subscribed yet. Returns its index.
fn subscribe_to(call: &mut Call<'_, '_>, name: &[u8]) -> Result<usize, NotAllowed> {
    let verb = call.row.name();
    let name = match verb {
        "psubscribe" => check_pattern_text(name),
        _ => check_name(name).map_err(|problem| format!("ERR {problem}")),
    };
    let name = name.map_err(never)?;
    if let Some(place) = own(call).iter().position(|(known, _)| **known == *name) {
        return Ok(place);
    }
    let (session, env) = (&mut *call.session, &mut *call.env);
    if session.subscriptions() >= SUBSCRIPTIONS_PER_CONNECTION {
        return Err(refused(ChannelRefusal::Full));
    }
    let subscriber = Subscriber { process: session.process, format: format_of(session) };
    let subscription = if verb == "psubscribe" {
        env.channels.subscribe_to_pattern(name, subscriber, &session.rights)
    } else {
        let ruling = env.channels.may_subscribe(name, ChannelScope::Any, &session.rights);
        let right = ruling
            .map_err(refused)?
            .decide(|rule| env.host.ask_module(&question(session, (name, rule), None, call.now)));
        session.asks = matches!(right, Err(NotAllowed::Yet));
        // The session writes RESP's confirmations.
        env.channels.subscribe(&right?, subscriber, None, &mut Vec::new())
    };
    let subscription = subscription.map_err(refused)?;
    let own = session.listening.of_mut(verb);
    own.push((name.into(), subscription));
    Ok(own.len() - 1)
}

/// `UNSUBSCRIBE [channel …]` and `PUNSUBSCRIBE [pattern …]`; without names, from all.
pub(super) fn unsubscribe(call: &mut Call<'_, '_>) -> After {
    if call.command.len() == 1 {
        let all = std::mem::take(call.session.listening.of_mut(call.row.name()));
        let mut left = all.len();
        if all.is_empty() {
            write_answer(call, None, call.session.subscriptions());
        }
        for (name, subscription) in all {
            left -= 1;
            call.env.channels.unsubscribe(subscription);
            write_answer(call, Some(&name), call.session.subscriptions() + left);
        }
    }
    for argument in call.command.arguments_from(1) {
        let name = String::from_utf8_lossy(argument);
        let own = call.session.listening.of_mut(call.row.name());
        if let Some(at) = own.iter().position(|(known, _)| **known == *name) {
            let (_, subscription) = own.remove(at);
            call.env.channels.unsubscribe(subscription);
        }
        write_answer(call, Some(&name), call.session.subscriptions());
    }
    call.session.listening.settle();
    After::More
}

/// The subscriptions that the command is about.
fn own<'s>(call: &'s Call<'_, '_>) -> &'s [Named] {
    call.session.listening.of(call.row.name())
}

fn write_answer(call: &mut Call<'_, '_>, name: Option<&str>, count: usize) {
    let (session, out) = (&*call.session, call.output.buffer());
    begin(session, 3, out);
    write_bulk(out, call.row.name().as_bytes());
    match name {
        Some(name) => write_bulk(out, name.as_bytes()),
        None => write_null(out, session.version),
    }
    write_integer(out, i64::try_from(count).unwrap_or(i64::MAX));
}

/// `PUBSUB CHANNELS [pattern]`, `PUBSUB NUMSUB [channel …]`, `PUBSUB NUMPAT`, for all schedulers.
pub(super) fn about(call: &mut Call<'_, '_>) -> After {
    let (command, out) = (call.command, call.output.buffer());
    let verb = command.argument(1).to_ascii_lowercase();
    let name = |argument: &[u8]| Arc::from(String::from_utf8_lossy(argument));
    let question = match (&*verb, command.len()) {
        (b"channels", 2) => SubscriberQuery::Channels(ChannelGlob::new("*")),
        (b"channels", 3) => match check_pattern(command.argument(2)) {
            Ok(pattern) => SubscriberQuery::Channels(ChannelGlob::new(&name(pattern))),
            Err(problem) => {
                write_error(out, &format!("ERR {problem}"));
                return After::More;
            }
        },
        (b"numsub", words) if words - 2 > SUBSCRIPTIONS_PER_CONNECTION => {
            let text = format!("ERR at most {SUBSCRIPTIONS_PER_CONNECTION} names at once");
            write_error(out, &text);
            return After::More;
        }
        (b"numsub", _) => {
            SubscriberQuery::Subscribers(command.arguments_from(2).map(name).collect())
        }
        (b"numpat", 2) => SubscriberQuery::Patterns,
        _ => {
            let text = "ERR unknown subcommand or wrong number of arguments for 'pubsub'. Try PUBSUB HELP.";
            write_error(out, text);
            return After::More;
        }
    };
    let found = call.env.channels.survey(call.session.process, &question);
    let Some(found) = found else { return After::Wait };
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let found = found.counts;
    match question {
        SubscriberQuery::Channels(..) => {
            write_array(out, found.len());
            for (name, _) in found {
                write_bulk(out, name.as_bytes());
            }
        }
        SubscriberQuery::Subscribers(names) => {
            write_array(out, 2 * names.len());
            let found: HashMap<Arc<str>, u64> = found.into_iter().collect();
            for name in names {
                let count = found.get(&name).copied().unwrap_or(0);
                write_bulk(out, name.as_bytes());
                write_integer(out, number(count));
            }
        }
        SubscriberQuery::Patterns | SubscriberQuery::Members(..) | SubscriberQuery::Dismiss(..) => {
            write_integer(out, number(found.len() as u64))
        }
    }
    After::More
}
