//! Publishing and subscribing with Redis commands.
//!
//! Owns their replies. A subscription that the rules of a channel refuse returns an error, as
//! Redis does with access control.

use std::sync::Arc;

use ahash::HashMap;
use channels::limits::SUBSCRIPTIONS_PER_CONNECTION;
use channels::{
    Body, Format, Glob, Outcome, Published, Publisher, Question, Refusal, Standing, Subscriber,
    Told, check_name, check_pattern,
};
use pages::Wish;
use runtime::service::Context;
use wire::resp::{
    Command, Version, write_array, write_bulk, write_error, write_integer, write_null, write_push,
};

use super::listening::Named;
use super::{After, Session};
use crate::message::Message;
use crate::site::{Site, Verdict, wish_of};

fn format_of(session: &Session) -> Format {
    match session.version {
        Version::Two => Format::Resp2,
        Version::Three => Format::Resp3,
    }
}

fn begin(session: &Session, parts: usize, out: &mut Vec<u8>) {
    match session.version {
        Version::Two => write_array(out, parts),
        Version::Three => write_push(out, parts),
    }
}

fn refusal_text(refusal: Refusal) -> String {
    match refusal {
        Refusal::Denied | Refusal::NoToken | Refusal::NoCertificate => format!("NOPERM {refusal}"),
        Refusal::Busy => format!("BUSY {refusal}"),
        Refusal::TooLarge | Refusal::TooOften | Refusal::Full => format!("ERR {refusal}"),
    }
}

/// `PUBLISH channel message`: replies with the number of subscribers that receive it.
pub(super) fn publish(
    session: &mut Session,
    command: &Command<'_>,
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    if let Some(receivers) = session.listening.take_published() {
        write_integer(context.output.buffer(), i64::from(receivers));
        return After::More;
    }
    let result = match site.channels.outcome(session.process) {
        Outcome::Awaited => return After::Wait,
        Outcome::Known(result) => result,
        Outcome::None => {
            let name = match check_name(command.argument(1)) {
                Ok(name) => name,
                Err(problem) => {
                    write_error(context.output.buffer(), &format!("ERR {problem}"));
                    return After::More;
                }
            };
            let body = Body::of_bytes(command.argument(2));
            let may =
                |session: &Session, site: &Site| site.may_publish(name, session.lease.rights());
            match ask(session, (name, wish_of(&body)), may, site, context) {
                None => return After::Wait,
                Some(Ok(())) => {}
                Some(Err(problem)) => {
                    write_error(context.output.buffer(), &problem);
                    return After::More;
                }
            }
            let publisher = Publisher { process: session.process, told: Told::ByResuming };
            let now_ms = context.now.monotonic_ms();
            let sender = session.lease.sender();
            match site.publish_in_order(name, body, sender, Some(publisher), now_ms) {
                Ok(Some(published)) => Ok(published),
                Ok(None) => return After::Wait,
                Err(refusal) => Err(refusal),
            }
        }
    };
    if let (Ok(Published { receivers, .. }), Version::Three) = (&result, session.version)
        && str::from_utf8(command.argument(1)).is_ok_and(|name| session.listening.hears(name))
    {
        // As in Redis, the client gets its own message before the reply. Messages are sent at the end of the turn.
        session.listening.waiting().published = Some(*receivers);
        site.resp_pace.wait(session.process);
        return After::Wait;
    }
    let out = context.output.buffer();
    match result {
        Ok(Published { receivers, .. }) => write_integer(out, i64::from(receivers)),
        Err(refusal) => write_error(out, &refusal_text(refusal)),
    }
    After::More
}

/// `SUBSCRIBE channel …` and `PSUBSCRIBE pattern …`: replies for each name once its subscription is active on all schedulers, so that this client receives every message that is
/// published after the reply. Goes on in the next turn when the time of this one is used up.
pub(super) fn subscribe(
    session: &mut Session,
    command: &Command<'_>,
    verb: &str,
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    let before = session.listening.waiting().before.take().unwrap_or(own(session, verb).len());
    let mut results = std::mem::take(&mut session.listening.waiting().results);
    for (index, name) in command.arguments_from(1).enumerate().skip(results.len()) {
        let verdict = ask_to_subscribe(session, name, verb, site, context);
        let has_decided = verdict.is_some();
        if let Some(verdict) = verdict {
            results.push(verdict.and_then(|()| subscribe_to(session, name, verb, site)));
        }
        let is_late = site.resp_pace.is_over() && index + 2 < command.len();
        if is_late {
            site.rest(session.process);
        }
        if is_late || !has_decided {
            let waiting = session.listening.waiting();
            (waiting.before, waiting.results) = (Some(before), results);
            return After::Wait;
        }
    }
    let after = answer_subscribed(session, (command, verb), (before, &results), site, context);
    if after == After::Wait {
        session.listening.waiting().results = results;
    }
    after
}

/// Replies for each name, in order, as soon as its subscription is active.
fn answer_subscribed(
    session: &mut Session,
    (command, verb): (&Command<'_>, &str),
    (before, results): (usize, &[Result<usize, String>]),
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    let others = session.subscriptions() - own(session, verb).len();
    let answered = std::mem::take(&mut session.listening.waiting().answered);
    let mut count = before;
    for (index, (name, result)) in command.arguments_from(1).zip(results).enumerate() {
        let named = result.as_ref().map(|place| (place, own(session, verb).get(*place)));
        let problem = match named {
            Err(problem) => problem.clone(),
            Ok((place, named)) => match named.map(|named| site.channels.standing(&named.1)) {
                Some(Standing::Awaited) => {
                    let waiting = session.listening.waiting();
                    (waiting.before, waiting.answered) = (Some(before), index);
                    return After::Wait;
                }
                Some(Standing::NoRoom) => refusal_text(Refusal::Full),
                Some(Standing::Active) | None => {
                    count = count.max(place + 1);
                    if index >= answered {
                        let name = String::from_utf8_lossy(name);
                        let out = context.output.buffer();
                        write_answer(session, verb, Some(&name), count + others, out);
                    }
                    continue;
                }
            },
        };
        if index >= answered {
            write_error(context.output.buffer(), &problem);
        }
    }
    leave_without_room(session, verb, site);
    session.listening.settle();
    After::More
}

/// Ends the subscriptions to patterns for which another scheduler has no room.
fn leave_without_room(session: &mut Session, verb: &str, site: &mut Site) {
    let has_none = |named: &mut Named| site.channels.standing(&named.1) == Standing::NoRoom;
    let refused: Vec<Named> = own_mut(session, verb).extract_if(.., has_none).collect();
    for (_, subscription) in refused {
        site.channels.unsubscribe(subscription);
    }
}

/// Asks the module of a channel whether it allows a command; a refusal is an error of Redis. `None` if the module has not decided: the command is run again when the
/// process is resumed. Refusals of the rules are reported like other errors of the command.
fn ask(
    session: &mut Session,
    (name, wish): (&str, Wish<'_>),
    may: impl FnOnce(&Session, &Site) -> Result<(), Refusal>,
    site: &mut Site,
    context: &Context<'_, Message>,
) -> Option<Result<(), String>> {
    if may(session, site).is_err() {
        return Some(Ok(()));
    }
    let verdict = session.lease.ask((name, wish), site, context);
    session.asks = matches!(verdict, Verdict::Later);
    match verdict {
        Verdict::Yes => Some(Ok(())),
        Verdict::No(veto) => Some(Err(format!("NOPERM {}", veto.why))),
        Verdict::Later => None,
    }
}

fn ask_to_subscribe(
    session: &mut Session,
    name: &[u8],
    verb: &str,
    site: &mut Site,
    context: &Context<'_, Message>,
) -> Option<Result<(), String>> {
    let channel = check_name(name).ok().filter(|_| verb == "subscribe");
    // The client already has the subscription, so it was allowed.
    let own = |name: &str| session.listening.channels().iter().any(|(known, _)| **known == *name);
    let Some(name) = channel.filter(|name| !own(name)) else { return Some(Ok(())) };
    let may = |session: &Session, site: &Site| site.may_subscribe(name, session.lease.rights());
    ask(session, (name, Wish::Subscribe), may, site, context)
}

/// A pattern of a client as text.
fn check_pattern_text(pattern: &[u8]) -> Result<&str, String> {
    let pattern = check_pattern(pattern).map_err(|problem| format!("ERR {problem}"))?;
    str::from_utf8(pattern).map_err(|_| "ERR a pattern of channels is UTF-8".to_owned())
}

/// Subscribes if it is not subscribed yet. Returns its index.
fn subscribe_to(
    session: &mut Session,
    name: &[u8],
    verb: &str,
    site: &mut Site,
) -> Result<usize, String> {
    let name = match verb {
        "psubscribe" => check_pattern_text(name),
        _ => check_name(name).map_err(|problem| format!("ERR {problem}")),
    }?;
    if let Some(place) = own(session, verb).iter().position(|(known, _)| **known == *name) {
        return Ok(place);
    }
    let subscriber = Subscriber {
        process: session.process,
        format: format_of(session),
        rights: session.lease.rights(),
    };
    let made = if session.subscriptions() >= SUBSCRIPTIONS_PER_CONNECTION {
        Err(Refusal::Full)
    } else if verb == "psubscribe" {
        site.channels.subscribe_to_pattern(name, subscriber)
    } else {
        // The session writes RESP's confirmations.
        let mut nothing = Vec::new();
        site.channels.subscribe(name, subscriber, None, &mut nothing)
    };
    let subscription = made.map_err(refusal_text)?;
    let own = own_mut(session, verb);
    own.push((name.into(), subscription));
    Ok(own.len() - 1)
}

/// `UNSUBSCRIBE [channel …]` and `PUNSUBSCRIBE [pattern …]`; without names, from all.
pub(super) fn unsubscribe(
    session: &mut Session,
    command: &Command<'_>,
    verb: &str,
    site: &mut Site,
    out: &mut Vec<u8>,
) {
    let kind = if verb == "punsubscribe" { "psubscribe" } else { "subscribe" };
    if command.len() == 1 {
        let all = std::mem::take(own_mut(session, kind));
        if all.is_empty() {
            answer(session, verb, None, out);
        }
        let mut left = all.len();
        for (name, subscription) in all {
            left -= 1;
            site.channels.unsubscribe(subscription);
            write_answer(session, verb, Some(&name), session.subscriptions() + left, out);
        }
        session.listening.settle();
        return;
    }
    for argument in command.arguments_from(1) {
        let name = String::from_utf8_lossy(argument).into_owned();
        let own = own_mut(session, kind);
        if let Some(at) = own.iter().position(|(known, _)| **known == *name) {
            let (_, subscription) = own.remove(at);
            site.channels.unsubscribe(subscription);
        }
        answer(session, verb, Some(&name), out);
    }
    session.listening.settle();
}

fn own<'s>(session: &'s Session, verb: &str) -> &'s [Named] {
    session.listening.of(verb)
}

fn own_mut<'s>(session: &'s mut Session, verb: &str) -> &'s mut Vec<Named> {
    session.listening.of_mut(verb)
}

fn answer(session: &Session, verb: &str, name: Option<&str>, out: &mut Vec<u8>) {
    write_answer(session, verb, name, session.subscriptions(), out);
}

fn write_answer(
    session: &Session,
    verb: &str,
    name: Option<&str>,
    count: usize,
    out: &mut Vec<u8>,
) {
    begin(session, 3, out);
    write_bulk(out, verb.as_bytes());
    match name {
        Some(name) => write_bulk(out, name.as_bytes()),
        None => write_null(out, session.version),
    }
    write_integer(out, i64::try_from(count).unwrap_or(i64::MAX));
}

/// `PUBSUB CHANNELS [pattern]`, `PUBSUB NUMSUB [channel …]`, `PUBSUB NUMPAT`, for all schedulers.
pub(super) fn about(
    session: &Session,
    command: &Command<'_>,
    site: &mut Site,
    out: &mut Vec<u8>,
) -> After {
    let verb = command.argument(1).to_ascii_lowercase();
    let name = |argument: &[u8]| Arc::from(String::from_utf8_lossy(argument));
    let question = match (&*verb, command.len()) {
        (b"channels", 2) => Question::Channels(Glob::new("*")),
        (b"channels", 3) => match check_pattern(command.argument(2)) {
            Ok(pattern) => Question::Channels(Glob::new(&name(pattern))),
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
        (b"numsub", _) => Question::Subscribers(command.arguments_from(2).map(name).collect()),
        (b"numpat", 2) => Question::Patterns,
        _ => {
            let text = "ERR unknown subcommand or wrong number of arguments for 'pubsub'. Try PUBSUB HELP.";
            write_error(out, text);
            return After::More;
        }
    };
    let Some(found) = site.channels.survey(session.process, &question) else { return After::Wait };
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let found = found.counts;
    match question {
        Question::Channels(..) => {
            write_array(out, found.len());
            for (name, _) in found {
                write_bulk(out, name.as_bytes());
            }
        }
        Question::Subscribers(names) => {
            write_array(out, 2 * names.len());
            let found: HashMap<Arc<str>, u64> = found.into_iter().collect();
            for name in names {
                let count = found.get(&name).copied().unwrap_or(0);
                write_bulk(out, name.as_bytes());
                write_integer(out, number(count));
            }
        }
        Question::Patterns | Question::Members(..) | Question::Dismiss(..) => {
            write_integer(out, number(found.len() as u64))
        }
    }
    After::More
}
