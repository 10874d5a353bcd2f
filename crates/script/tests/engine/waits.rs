//! The calls that the host of these tests offers, and what pages pass with them.

use std::time::Duration;

use script::engine::{AnswerForm, CallResult, Carries, HostCall, Run, ScriptError};

/// How a call to a page returned, with what it waits for.
pub(crate) enum Step {
    Done,
    Waits(Run, Wait),
    Sliced(Run),
    Failed(Box<ScriptError>),
}

impl Step {
    /// Of a run that was resumed.
    pub(crate) fn of(run: Run, result: CallResult) -> Self {
        match result {
            CallResult::Done => Self::Done,
            CallResult::Waits(call) => {
                let wait = Wait::of(CALLS[call.index()].name, &run);
                Self::Waits(run, wait)
            }
            CallResult::Sliced => Self::Sliced(run),
            CallResult::Failed(error) => Self::Failed(error),
        }
    }
}

/// The event that a page waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Sleep(Duration),
    Name,
    Send { to: Vec<u8>, message: Vec<u8> },
    Receive(Option<Duration>),
    Spawn(Vec<u8>),
    SaveFile { form: u64, number: u64, name: Vec<u8>, replaces: u64 },
    ReadFile { form: u64, number: u64, most: u64 },
    Fetch(Fetch),
    ReadFetched(u64),
    CloseFetched(u64),
    Listen(Vec<u8>),
    Hear { number: u64, time: Option<Duration> },
    StopListening(u64),
    Order(Vec<u8>),
    Commit { after: u64, time: Option<Duration> },
    StandInLine(Vec<u8>),
    Flush,
    Accept,
}

/// A request to another server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fetch {
    pub(crate) method: String,
    pub(crate) url: Vec<u8>,
    pub(crate) fields: Vec<u8>,
    pub(crate) timeout: Duration,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) is_streamed: bool,
}

const fn call(name: &'static str, answer: AnswerForm) -> HostCall {
    HostCall { name, answer, carries: Carries::Arguments }
}

const fn with_output(name: &'static str, answer: AnswerForm) -> HostCall {
    HostCall { name, answer, carries: Carries::Output }
}

pub(crate) const CALLS: &[HostCall] = &[
    call("sleep", AnswerForm::Values),
    call("self", AnswerForm::Values),
    call("send", AnswerForm::Outcome),
    call("receive", AnswerForm::Values),
    call("spawn", AnswerForm::ValueOrReason),
    call("file.save", AnswerForm::Outcome),
    call("file.read", AnswerForm::ValueOrReason),
    call("fetch", AnswerForm::AsGiven),
    call("answer.read", AnswerForm::AsGiven),
    call("answer.close", AnswerForm::Values),
    call("channel.subscribe", AnswerForm::ValueOrReason),
    call("messages.receive", AnswerForm::AsGiven),
    call("messages.close", AnswerForm::Values),
    call("store.order", AnswerForm::Values),
    call("store.commit", AnswerForm::Values),
    call("store.queue", AnswerForm::Values),
    with_output("response.flush", AnswerForm::AsGiven),
    with_output("websocket", AnswerForm::Values),
];

impl Wait {
    fn of(name: &str, run: &Run) -> Self {
        let mut given = run.arguments();
        match name {
            "sleep" => Self::Sleep(given.time()),
            "self" => Self::Name,
            "send" => Self::Send { to: given.text(), message: given.text() },
            "receive" => Self::Receive(given.time_or_none()),
            "spawn" => Self::Spawn(given.text()),
            "file.save" => Self::SaveFile {
                form: given.number(),
                number: given.number(),
                name: given.text(),
                replaces: given.number(),
            },
            "file.read" => Self::ReadFile {
                form: given.number(),
                number: given.number(),
                most: given.number(),
            },
            "fetch" => Self::Fetch(Fetch {
                method: String::from_utf8(given.text()).unwrap(),
                url: given.text(),
                fields: given.text(),
                timeout: given.time(),
                body: given.text_or_none(),
                is_streamed: given.number() == 1,
            }),
            "answer.read" => Self::ReadFetched(given.number()),
            "answer.close" => Self::CloseFetched(given.number()),
            "channel.subscribe" => Self::Listen(given.text()),
            "messages.receive" => Self::Hear { number: given.number(), time: given.time_or_none() },
            "messages.close" => Self::StopListening(given.number()),
            "store.order" => Self::Order(given.text()),
            "store.commit" => Self::Commit { after: given.number(), time: given.time_or_none() },
            "store.queue" => Self::StandInLine(given.text()),
            "response.flush" => Self::Flush,
            "websocket" => Self::Accept,
            name => panic!("the tests know no call '{name}'"),
        }
    }
}
