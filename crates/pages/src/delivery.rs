//! Delivers to a page process what it waited for.
//!
//! Owns the form in which the engine takes it. Never hands anything over.

use actors::{MailAnswer, MailOutcome};
use script::engine::WaitReply;

use crate::fetch::{ExchangeFailure, FetchedAnswer, Got, Number, told};

pub(super) enum WaitOutcome {
    /// It has ended.
    Now(Delivery),
    /// It ends at this time, or when there is something to deliver.
    Later { due_ns: u64 },
    /// The connection of its client does this, and asks again.
    ByClient(ClientAct),
}

impl From<MailOutcome> for WaitOutcome {
    fn from(outcome: MailOutcome) -> Self {
        match outcome {
            MailOutcome::Now(answer) => Self::Now(answer.into()),
            MailOutcome::Later { due_ns } => Self::Later { due_ns },
        }
    }
}

/// The acts of a client's connection for a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientAct {
    /// Send a part of the answer.
    SendPart,
    /// Become a WebSocket.
    Accept,
    /// Say something over the WebSocket, which the output describes.
    Say,
}

/// The thing for which a process waited.
pub(super) enum Delivery {
    /// A text.
    Text(Vec<u8>),
    /// An event without content.
    Done,
    /// A refusal, which the page may handle.
    Refused(&'static str),
    /// A failure.
    Failed(&'static str),
    /// Several texts.
    Texts(Box<[Vec<u8>]>),
    /// The outcome of a request to another server.
    Fetched(Box<Fetched>),
}

impl From<MailAnswer> for Delivery {
    fn from(answer: MailAnswer) -> Self {
        match answer {
            MailAnswer::Done => Self::Done,
            MailAnswer::Text(text) => Self::Text(text),
            MailAnswer::Refused(why) => Self::Refused(why),
        }
    }
}

/// The answer to a run that uses a WebSocket whose client has closed.
pub(super) const CLOSED_SOCKET: Delivery = Delivery::Refused("the WebSocket is closed");

impl Delivery {
    /// In the form of the engine.
    pub(super) fn reply_to<T>(
        delivery: Option<&Self>,
        resume: impl FnOnce(WaitReply<'_>) -> T,
    ) -> T {
        match delivery {
            Some(Self::Text(text)) => resume(WaitReply::Texts(&[text])),
            Some(Self::Refused(why)) => resume(WaitReply::Texts(&[b"", why.as_bytes()])),
            Some(Self::Failed(why)) => resume(WaitReply::Failed(why)),
            Some(Self::Texts(texts)) => {
                let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
                resume(WaitReply::Texts(&texts))
            }
            Some(Self::Fetched(fetched)) => fetched.reply_to(resume),
            Some(Self::Done) | None => resume(WaitReply::Nothing),
        }
    }
}

/// The outcome of a fetch, as its page gets it.
pub(super) enum Fetched {
    /// The status as text, and the rest of the answer.
    Answer(String, FetchedAnswer),
    /// The same for an answer without its body, and the number with which the body is read.
    Stream(String, FetchedAnswer, String),
    /// A piece of the body.
    Piece(Vec<u8>),
    /// The end of the body.
    End,
    /// Why there is no answer.
    Failure(String),
}

impl Fetched {
    pub(super) fn of(
        number: Number,
        server: Option<&str>,
        result: Result<Got, ExchangeFailure>,
    ) -> Self {
        match result {
            Ok(Got::Whole(answer)) => Self::Answer(answer.status.to_string(), answer),
            Ok(Got::Head(answer)) => {
                Self::Stream(answer.status.to_string(), answer, number.0.to_string())
            }
            Ok(Got::Piece(piece)) => Self::Piece(piece),
            Ok(Got::End) => Self::End,
            Err(failure) => Self::Failure(told(failure, server)),
        }
    }

    /// In the form of the engine.
    pub(super) fn reply_to<T>(&self, resume: impl FnOnce(WaitReply<'_>) -> T) -> T {
        match self {
            Self::Answer(status, answer) => {
                resume(WaitReply::Texts(&[status.as_bytes(), &answer.fields, &answer.body]))
            }
            Self::Stream(status, answer, number) => resume(WaitReply::Texts(&[
                status.as_bytes(),
                &answer.fields,
                b"",
                number.as_bytes(),
            ])),
            Self::Piece(piece) => resume(WaitReply::Texts(&[piece])),
            Self::End => resume(WaitReply::Nothing),
            Self::Failure(why) => resume(WaitReply::Failed(why)),
        }
    }
}
