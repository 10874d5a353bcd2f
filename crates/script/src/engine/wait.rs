//! What a run waits for, from what the library yielded.
//!
//! Owns the decoding of the values after a wait's tag. Never answers a wait.

use std::time::Duration;

use crate::engine::fetch::Fetch;
use crate::engine::ffi::Coroutine;
use crate::engine::run::{Clash, FormFile, Letters, Wait};
use crate::engine::tag::{
    ACCEPT, AWAIT_COMMIT, CLOSE_FETCHED, FETCH, FLUSH, HEAR, LISTEN, NAME, NEXT_MESSAGE, ORDER,
    READ_FETCHED, READ_FILE, RECEIVE, REGISTER, SAVE_FILE, SAY, SEND, SLEEP, SPAWN, STAND_IN_LINE,
    STOP_LISTENING, WHEREIS,
};

impl Wait {
    /// What is waited for, in a few words, for those who look at a run from outside.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Self::Sleep(_) => "time (sleep)",
            Self::Fetch(_) => "an answer (fetch)",
            Self::ReadFetched(_) | Self::CloseFetched(_) => "a part of an answer (fetch)",
            Self::Listen(_) | Self::StopListening(_) => "a channel",
            Self::Hear { .. } => "a message of a channel",
            Self::Order(_) => "the store",
            Self::Commit { .. } => "a change of the store",
            Self::StandInLine(_) => "its place in a line",
            Self::Register(_) | Self::Whereis(_) => "a name",
            Self::Spawn(_) | Self::Name => "a process",
            Self::Send { .. } => "a receipt (send)",
            Self::Receive(_) => "a message (receive)",
            Self::SaveFile { .. } | Self::ReadFile { .. } => "a file of a form",
            Self::Flush => "its client to read (flush)",
            Self::Accept | Self::Say => "its client",
            Self::NextMessage(_) => "a message of its client",
        }
    }
}

impl Wait {
    /// Reads the values that a coroutine yielded after this tag.
    pub(super) fn of(tag: u8, coroutine: &Coroutine) -> Self {
        let stack = coroutine.stack();
        let time = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let time_or_none = |seconds: f64| (seconds >= 0.0).then(|| time(seconds));
        let text = |place| stack.bytes_at(place).unwrap_or_default().to_vec();
        let file =
            || FormFile { form: stack.number_at(2) as u64, number: stack.number_at(3) as usize };
        let clash = |number: f64| if number == 1.0 { Clash::Replace } else { Clash::Keep };
        match tag {
            SLEEP => Self::Sleep(time(stack.number_at(2))),
            NAME => Self::Name,
            FLUSH => Self::Flush,
            ACCEPT => Self::Accept,
            SAY => Self::Say,
            NEXT_MESSAGE => Self::NextMessage(match stack.number_at(2) {
                1.0 => Letters::Wanted,
                _ => Letters::Left,
            }),
            SAVE_FILE => {
                Self::SaveFile { file: file(), name: text(4), clash: clash(stack.number_at(5)) }
            }
            READ_FILE => Self::ReadFile { file: file(), most: stack.number_at(4) as usize },
            SPAWN => Self::Spawn(text(2)),
            SEND => Self::Send { to: text(2), message: text(3) },
            RECEIVE => Self::Receive(time_or_none(stack.number_at(2))),
            ORDER => Self::Order(text(2)),
            STAND_IN_LINE => Self::StandInLine(text(2)),
            AWAIT_COMMIT => Self::Commit {
                after: stack.number_at(2) as u64,
                time: time_or_none(stack.number_at(3)),
            },
            REGISTER => Self::Register(text(2)),
            WHEREIS => Self::Whereis(text(2)),
            LISTEN => Self::Listen(text(2)),
            HEAR => Self::Hear {
                number: stack.number_at(2) as u64,
                time: time_or_none(stack.number_at(3)),
            },
            STOP_LISTENING => Self::StopListening(stack.number_at(2) as u64),
            READ_FETCHED => Self::ReadFetched(stack.number_at(2) as u64),
            CLOSE_FETCHED => Self::CloseFetched(stack.number_at(2) as u64),
            FETCH => Self::Fetch(Box::new(Fetch::of(stack))),
            tag => unreachable!("the library yields no tag {tag}"),
        }
    }
}
