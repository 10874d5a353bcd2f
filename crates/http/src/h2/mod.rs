//! An HTTP/2 connection (RFC 9113): a process that carries streams, each of which is a process with one request.
//!
//! Owns what one connection keeps between turns, and which of its parts handles an event. `input` handles frames,
//! `opening` makes streams of blocks of fields, `sending` frames what streams have, `leaving` ends the connection.
//! Never answers a request and never touches a socket.

mod block;
mod connection_error;
mod guard;
mod input;
mod leaving;
mod opening;
mod room;
mod sending;
mod sharing;

use std::net::IpAddr;
use std::rc::Rc;

use runtime::arrival::Arrival;
use runtime::service::{Context, Event, ListenerIndex, Next, Progress};
use runtime::transport::Agreed;
use wire::h2::{
    ErrorCode, FieldBlock, OutputWindow, PREFACE, PeerSettings, SettingId, WINDOW_BYTES_AT_FIRST,
    write_settings, write_window_update,
};
use wire::hpack::{Decoder, Encoder};
use wire::http::url::Scheme;

use self::block::BlockUse;
use self::connection_error::ConnectionError;
use self::guard::Guard;
use self::leaving::Leaving;
use self::room::InputRoom;
use crate::application::Application;
use crate::h2_streams::StreamTable;
use crate::limits::{
    H2_CONNECTION_WINDOW_BYTES, H2_IDLE_TIDY_MS, H2_PING_AFTER_MS, H2_PING_ANSWER_MS,
    H2_STREAM_WINDOW_BYTES, H2_STREAMS, H2_TABLE_BYTES, H2_UNREAD_MS,
};
use crate::settings::HttpSettings;
use crate::shared::Http;

/// The name of HTTP/2 in handshakes (RFC 9113, 3.1).
pub const HTTP2_PROTOCOL: &[u8] = b"h2";

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The preface of the client has not come.
    Preface,
    /// Its first SETTINGS have not come.
    Settings,
    /// Frames come.
    Open,
    /// The last frame was sent.
    Over,
}

/// The deadline that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    /// That of the first request, or of the block of fields that is coming.
    Head,
    /// Streams are open: after it the client is asked whether it is there.
    Silence,
    /// The client was asked.
    Answer,
    /// Streams have their answers while the client still sends: after it the client is told that nobody reads that.
    Unread,
    /// No stream is open: after it memory is given back.
    Tidy,
    /// After it the connection ends.
    KeepAlive,
    /// GOAWAY was announced: after it the last one is sent.
    Leaving,
}

/// One HTTP/2 connection between turns.
#[derive(Debug)]
pub struct Http2Connection {
    arrival: Arrival,
    listener: ListenerIndex,
    scheme: Scheme,
    secured: Option<Rc<Agreed>>,
    phase: Phase,
    leaving: Leaving,
    timer: Timer,
    requests: u32,
    decoder: Decoder,
    encoder: Encoder,
    peer: PeerSettings,
    room: InputRoom,
    output: OutputWindow,
    streams: StreamTable,
    /// Bytes of memory of the heads of open streams.
    head_bytes: usize,
    /// The block of fields that is incomplete.
    block: Option<Box<FieldBlock<BlockUse>>>,
    guard: Guard,
    /// Streams that have ended without an answer and are in no counter yet: by the client, and by this side.
    resets: u32,
    refused: u32,
    /// Frames that answer control frames, since the output was empty.
    owed_frames: u32,
    /// When the streams that wait for others were excused last.
    excused_ms: u64,
}

impl Http2Connection {
    /// A connection that begins with what the client sends next, which should be the preface. `secured` is what its
    /// transport agreed on, if it encrypts. Writes the settings of this side.
    pub(crate) fn begin<M>(
        (arrival, listener): (Arrival, ListenerIndex),
        secured: Option<Rc<Agreed>>,
        settings: &HttpSettings,
        context: &mut Context<'_, M>,
    ) -> Self {
        let head_bytes = settings.head.head_size;
        let ours = [
            (SettingId::MAX_CONCURRENT_STREAMS, H2_STREAMS as u32),
            (SettingId::INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW_BYTES),
            (SettingId::MAX_HEADER_LIST_SIZE, u32::try_from(head_bytes).unwrap_or(u32::MAX)),
            (SettingId::ENABLE_CONNECT_PROTOCOL, 1),
            (SettingId::NO_RFC7540_PRIORITIES, 1),
        ];
        let out = context.output.buffer();
        write_settings(&ours, out);
        write_window_update(0, H2_CONNECTION_WINDOW_BYTES - WINDOW_BYTES_AT_FIRST, out);
        context.set_deadline_after_ms(settings.header_deadline_ms);
        Self {
            arrival,
            listener,
            scheme: if secured.is_some() { Scheme::Https } else { Scheme::Http },
            secured,
            phase: Phase::Preface,
            leaving: Leaving::Stays,
            timer: Timer::Head,
            requests: 0,
            decoder: Decoder::new(H2_TABLE_BYTES),
            encoder: Encoder::new(),
            peer: PeerSettings::default(),
            room: InputRoom::new(),
            output: OutputWindow::of(WINDOW_BYTES_AT_FIRST),
            streams: StreamTable::default(),
            head_bytes: 0,
            block: None,
            guard: Guard::new(),
            resets: 0,
            refused: 0,
            owed_frames: 0,
            excused_ms: 0,
        }
    }

    /// Whether no stream is open.
    pub fn is_idle(&self) -> bool {
        self.streams.is_empty() && self.leaving != Leaving::Announced
    }

    /// The number of requests so far.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Bytes of memory that hold what the client has sent: [`runtime::service::Service::held_bytes`]. The streams count
    /// theirs.
    pub fn held_bytes(&self) -> usize {
        self.block.as_ref().map_or(0, |block| block.held_bytes())
    }

    /// The address of the client: [`runtime::service::Service::client`].
    pub fn client(&self) -> IpAddr {
        self.arrival.peer.address
    }

    /// The other end.
    pub fn arrival(&self) -> Arrival {
        self.arrival
    }

    /// Handles received bytes. Called from [`runtime::service::Service::on_input`] of its process.
    pub fn on_input<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Progress {
        let waits = output_waits(context);
        self.guard.on_time(context.now.monotonic_ns / 1_000_000_000);
        if matches!(self.timer, Timer::Silence | Timer::Answer) {
            self.timer = Timer::Silence;
            context.set_deadline_after_ms(H2_PING_AFTER_MS);
        }
        let mut consumed = 0;
        if self.phase == Phase::Preface {
            let seen = input.len().min(PREFACE.len());
            if input.get(..seen) != PREFACE.get(..seen) {
                let next =
                    self.fail(ConnectionError::protocol("no preface of HTTP/2"), http, context);
                return Progress { consumed: input.len(), next };
            }
            if seen < PREFACE.len() {
                return Progress { consumed: 0, next: Next::Read };
            }
            consumed = seen;
            self.phase = Phase::Settings;
        }
        match self.take_frames(http, input.get(consumed..).unwrap_or_default(), context) {
            Ok(taken) => {
                consumed += taken.bytes;
                let next = self.go_on(http, taken.has_more, waits, context);
                Progress { consumed, next }
            }
            Err(error) => {
                let next = self.fail(error, http, context);
                Progress { consumed: input.len(), next }
            }
        }
    }

    /// Some streams have something. Called from [`runtime::service::Service::on_streams_ready`] of its process.
    pub fn on_streams_ready<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        let waits = output_waits(context);
        self.go_on(http, MoreInput::No, waits, context)
    }

    /// Handles another event. Called from [`runtime::service::Service::on_event`] of its process.
    pub fn on_event<A: Application>(
        &mut self,
        http: &mut Http<A>,
        event: Event,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        if self.phase == Phase::Over {
            return Next::Finish;
        }
        let waits = output_waits(context);
        match event {
            // A client that sends no more can open no window and acknowledge nothing.
            Event::InputEnded | Event::PeerFinished => {
                self.drop_streams(context);
                return Next::Finish;
            }
            Event::Draining => self.announce_end(context),
            Event::DeadlineReached => {
                if let Some(next) = self.on_deadline(http, context) {
                    return next;
                }
            }
            Event::Overloaded => {
                let error = ConnectionError::new(ErrorCode::EnhanceYourCalm, "no memory");
                return self.fail(error, http, context);
            }
            Event::OutputDrained => self.owed_frames = 0,
            Event::Resumed => {}
            // Cannot happen: it was accepted.
            Event::Connected | Event::ConnectFailed(_) => return Next::Abort,
        }
        self.go_on(http, MoreInput::No, waits, context)
    }

    /// After every event: sends what streams have, and says what the connection does next.
    fn go_on<A: Application>(
        &mut self,
        http: &mut Http<A>,
        more: MoreInput,
        waits: OutputWaits,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        if waits == OutputWaits::No {
            self.owed_frames = 0;
        }
        self.send(waits, context);
        self.count_resets(http);
        if self.streams.is_empty() {
            self.streams.give_room_back(http.spare_rooms());
            context.streams().lend_lists();
            if self.leaving == Leaving::Left {
                self.phase = Phase::Over;
                return Next::Linger;
            }
        }
        self.set_timer(http, context);
        // Output that waits is followed by an event of its own.
        let has_output = self.streams.has_waiting() && waits == OutputWaits::No;
        if has_output || more == MoreInput::Yes { Next::Again } else { Next::Read }
    }

    /// Sets the deadline of what the connection waits for now.
    fn set_timer<A: Application>(&mut self, http: &Http<A>, context: &mut Context<'_, A::Message>) {
        if self.leaving == Leaving::Announced || self.timer == Timer::Head && self.requests == 0 {
            return;
        }
        if self.block.is_some() {
            if self.timer != Timer::Head {
                self.timer = Timer::Head;
                context.set_deadline_after_ms(http.settings().header_deadline_ms);
            }
        } else if self.streams.has_unread() {
            if self.timer != Timer::Unread {
                self.timer = Timer::Unread;
                context.set_deadline_after_ms(H2_UNREAD_MS);
            }
        } else if self.streams.is_empty() {
            if !matches!(self.timer, Timer::Tidy | Timer::KeepAlive) {
                self.timer = Timer::Tidy;
                context.set_deadline_after_ms(H2_IDLE_TIDY_MS);
            }
        } else if self.timer != Timer::Silence && self.timer != Timer::Answer {
            self.timer = Timer::Silence;
            context.set_deadline_after_ms(H2_PING_AFTER_MS);
        }
    }

    /// The deadline has passed. `None`: the connection goes on.
    fn on_deadline<A: Application>(
        &mut self,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Option<Next> {
        match self.timer {
            Timer::Head if self.requests == 0 || self.block.is_some() => {
                http.stats_mut().header_timeouts += 1;
                Some(self.fail(
                    ConnectionError::new(ErrorCode::NoError, "no request came in time"),
                    http,
                    context,
                ))
            }
            Timer::Silence => {
                self.ask_whether_there(context);
                self.timer = Timer::Answer;
                context.set_deadline_after_ms(H2_PING_ANSWER_MS);
                None
            }
            Timer::Answer => {
                self.drop_streams(context);
                Some(Next::Abort)
            }
            Timer::Unread => {
                self.reset_unread(context);
                None
            }
            Timer::Tidy => {
                self.tidy();
                self.timer = Timer::KeepAlive;
                match http.settings().keep_alive_ms {
                    Some(after_ms) => context.set_deadline_after_ms(after_ms),
                    None => context.clear_deadline(),
                }
                None
            }
            Timer::Leaving => {
                self.leave(context);
                None
            }
            Timer::Head | Timer::KeepAlive => {
                http.stats_mut().keep_alive_timeouts += 1;
                Some(self.fail(ConnectionError::none(), http, context))
            }
        }
    }

    /// Gives memory back while no stream is open. The table of the decoder stays: the client refers to it.
    fn tidy(&mut self) {
        self.streams.shrink();
        self.decoder.shrink();
        self.encoder.forget();
    }
}

/// Whether output of earlier runs waits for the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputWaits {
    No,
    Yes,
}

/// Whether input was left for the next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MoreInput {
    No,
    Yes,
}

/// Asked before a run has written anything.
fn output_waits<M>(context: &Context<'_, M>) -> OutputWaits {
    let waits = context.queued_bytes() > 0 || context.output_is_full();
    if waits { OutputWaits::Yes } else { OutputWaits::No }
}
