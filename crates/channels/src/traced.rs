//! The steps of a message that a trace shows, on its way from its home to its subscribers.
//!
//! Owns what is said of them. The text of a message is shown only if the one who asked for the trace wants it.

use runtime::mailbox::Endpoint;
use runtime::trace::{self, Actor, ContentShown, StepAction};

use crate::message::Payload;
use crate::position::Position;

const PUBLISHED: StepAction = StepAction::between(Actor::Client, Actor::Scheduler, "published");
const QUEUED: StepAction = StepAction::between(Actor::Scheduler, Actor::Subscribers, "queued");

/// The home of a channel has numbered a message.
#[cold]
pub(crate) fn accepted(name: &str, position: Position, body: &Payload) {
    trace::offer_message(name, position.offset);
    let bytes = body.bytes();
    match trace::content() {
        ContentShown::LeftOut => trace::message(PUBLISHED, format_args!("{} bytes", bytes.len())),
        ContentShown::Shown => {
            trace::message(PUBLISHED, format_args!("{}", String::from_utf8_lossy(bytes)));
        }
    }
}

/// The message that was just accepted has come from another scheduler, whose client has published it.
#[cold]
pub(crate) fn came(from: Endpoint) {
    let came = StepAction::between(Actor::Other(from.0), Actor::Scheduler, "came to its home");
    trace::message(came, format_args!(""));
}

/// The message that was just accepted goes to another scheduler, which has subscribers.
#[cold]
pub(crate) fn sent(other: Endpoint) {
    let sent = StepAction::between(Actor::Scheduler, Actor::Other(other.0), "sent on");
    trace::message(sent, format_args!(""));
}

/// A message has arrived from its home.
#[cold]
pub(crate) fn arrived(name: &str, position: Position, from: Endpoint, subscribers: usize) {
    trace::offer_message(name, position.offset);
    let arrived = StepAction::between(Actor::Other(from.0), Actor::Scheduler, "arrived");
    trace::message(arrived, format_args!(""));
    queued(subscribers);
}

/// The message is queued for so many subscribers of this scheduler.
#[cold]
pub(crate) fn queued(subscribers: usize) {
    if subscribers > 0 {
        trace::message(QUEUED, format_args!("for {subscribers}"));
    }
}
