//! A connection of HTTP/2 (RFC 9113) between its runs.
//!
//! Owns what both sides have told each other: streams, windows, tables, settings; and which deadline runs. Never takes
//! or sends a frame but the first ones: `shared` does.

mod order;
mod streams;

use std::collections::VecDeque;

use runtime::clock::milliseconds;
use runtime::service::{Context, Next};
use wire::h2::{
    AfterFrame, ControlBudget, ErrorCode, FieldBlock, InputWindow, OutputWindow, PREFACE,
    PeerSettings, SettingId, WINDOW_BYTES_AT_FIRST, write_settings, write_window_update,
};
use wire::hpack::{Decoder, Encoder};
use wire::limits::HPACK_TABLE_BYTES;

pub(crate) use self::order::{Orders, StreamOrder};
pub(crate) use self::streams::{Stream, Streams};

use crate::limits::{CONNECTION_WINDOW_BYTES, HEAD_BYTES, IDLE_TIME, STREAM_WINDOW_BYTES, STREAMS};

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The first frame of the server, its settings, has not come.
    Greeting,
    Open,
    /// It takes no more exchanges, and ends with its last stream. The code of the server's GOAWAY, if that has come.
    Leaving(Option<ErrorCode>),
    /// The last frame was sent.
    Over,
}

/// The deadline that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    None,
    /// The connection is idle.
    Idle,
    /// A body waits for consent until then.
    Consent(u64),
}

/// One connection between its runs.
#[derive(Debug)]
pub(crate) struct Http2 {
    pub(crate) phase: Phase,
    timer: Timer,
    pub(crate) decoder: Decoder,
    pub(crate) encoder: Encoder,
    pub(crate) peer: PeerSettings,
    pub(crate) output: OutputWindow,
    pub(crate) input: InputWindow,
    pub(crate) streams: Streams,
    /// How many streams it may have; less than the server allows after it has refused one.
    pub(crate) most: usize,
    /// The streams that may have something to send, in turn.
    pub(crate) queue: VecDeque<u32>,
    /// The block of fields that is incomplete.
    pub(crate) block: Option<Box<FieldBlock<AfterFrame>>>,
    pub(crate) budget: ControlBudget,
    /// Frames that answer control frames, since the output was empty.
    pub(crate) owed_frames: u32,
    /// Bytes that may still come for streams that this side has ended.
    pub(crate) late_bytes: u64,
    /// When something came last, or the first stream began since.
    pub(crate) heard_ns: u64,
    /// The time of its last run.
    pub(crate) now_ns: u64,
}

impl Http2 {
    /// A new connection: writes the preface and the settings of this side.
    pub(crate) fn begin(now_ns: u64, out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(PREFACE);
        let settings = [
            (SettingId::ENABLE_PUSH, 0),
            (SettingId::INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES),
            (SettingId::MAX_HEADER_LIST_SIZE, HEAD_BYTES as u32),
        ];
        write_settings(&settings, out);
        write_window_update(0, CONNECTION_WINDOW_BYTES - WINDOW_BYTES_AT_FIRST, out);
        Self {
            phase: Phase::Greeting,
            timer: Timer::None,
            decoder: Decoder::new(HPACK_TABLE_BYTES),
            encoder: Encoder::new(),
            peer: PeerSettings::default(),
            output: OutputWindow::of(WINDOW_BYTES_AT_FIRST),
            input: InputWindow::of(CONNECTION_WINDOW_BYTES),
            streams: Streams::default(),
            most: STREAMS,
            queue: VecDeque::new(),
            block: None,
            budget: ControlBudget::default(),
            owed_frames: 0,
            late_bytes: 0,
            heard_ns: now_ns,
            now_ns,
        }
    }

    /// Whether it has no stream.
    pub(crate) fn is_idle(&self) -> bool {
        self.streams.is_empty()
    }

    /// Whether it takes no more exchanges.
    pub(crate) fn is_leaving(&self) -> bool {
        matches!(self.phase, Phase::Leaving(_) | Phase::Over)
    }

    /// Sets the deadline of what the connection waits for, and says what it does next.
    pub(crate) fn set_timer<M>(&mut self, context: &mut Context<'_, M>) -> Next {
        match self.phase {
            Phase::Over => return Next::Linger,
            Phase::Leaving(_) if self.streams.is_empty() => return Next::Finish,
            _ => {}
        }
        let consent_due_ns = self.streams.iter().map(|stream| stream.consent_due_ns).min();
        let timer = match consent_due_ns {
            None => Timer::Idle,
            Some(u64::MAX) => Timer::None,
            Some(due_ns) => Timer::Consent(due_ns),
        };
        if timer != self.timer {
            self.timer = timer;
            match timer {
                Timer::None => context.clear_deadline(),
                Timer::Idle => context.set_deadline_after_ms(milliseconds(IDLE_TIME)),
                Timer::Consent(due_ns) => {
                    let left_ns = due_ns.saturating_sub(self.now_ns);
                    context.set_deadline_after_ms(left_ns.div_ceil(1_000_000));
                }
            }
        }
        Next::Read
    }

    /// Puts a stream into the queue of those that may have something to send, if it is not there.
    pub(crate) fn queue_stream(&mut self, number: u32) {
        if let Some(stream) = self.streams.get(number)
            && !std::mem::replace(&mut stream.is_queued, true)
        {
            self.queue.push_back(number);
        }
    }
}
