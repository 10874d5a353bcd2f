//! The input of an HTTP/2 client: the frames of a server.
//!
//! Owns the order of frames, and the words for what a server does wrong on its connection, which then ends with all its
//! requests. What frames mean for a request is in `answers`.

use runtime::service::{Context, Next, Progress};
use wire::h2::{
    ErrorCode, FRAME_BYTES_AT_FIRST, H2Frame, SettingId, SettingsReader, WINDOW_BYTES_MAX,
    read_frame, write_ping_ack, write_settings_ack, write_window_update,
};

use crate::client::connection::{LoadConnection, Phase};
use crate::client::streams::{Block, Streams};
use crate::client::{LoadClient, NoThreadMessage};
use crate::limits::{RESPONSE_BLOCK_BYTES, STREAM_WINDOW_BYTES};
use crate::tally::FailureKind;

/// Why a connection cannot go on.
pub(super) type Broken = &'static str;

const NOT_HTTP2: Broken =
    "its first bytes are not HTTP/2; without TLS it must speak that with prior knowledge";
const IDLE: Broken = "a frame is for a stream that was never opened";
const TOO_LARGE: Broken = "a window is larger than it may be";

/// A connection while its frames are read.
pub(super) struct Reading<'r> {
    pub(super) connection: &'r mut LoadConnection,
    pub(super) streams: &'r mut Streams,
    pub(super) out: &'r mut Vec<u8>,
}

impl LoadClient {
    /// Takes input: as many frames as there are, then sends what they made room for.
    pub(in crate::client) fn take_frames(
        &mut self,
        connection: &mut LoadConnection,
        input: &[u8],
        context: &mut Context<'_, NoThreadMessage>,
    ) -> Progress {
        let whole = |next| Progress { consumed: input.len(), next };
        let Some(mut streams) = connection.streams.take() else { return whole(Next::Abort) };
        streams.heard_ns = self.now_ns;
        let out = context.output.buffer();
        let mut reading = Reading { connection, streams: &mut streams, out };
        let outcome = self.read_frames(&mut reading, input);
        let is_greeted = streams.is_greeted;
        connection.streams = Some(streams);
        let consumed = match outcome {
            Ok(consumed) => consumed,
            Err(broken) => {
                self.break_off(connection, broken);
                return whole(Next::Abort);
            }
        };
        match connection.phase {
            Phase::AwaitingSettings if is_greeted => self.begin_requests(connection, context),
            Phase::AwaitingSettings => {}
            Phase::LastSent if connection.in_flight() == 0 => return whole(Next::Finish),
            _ => self.fill(connection, context),
        }
        Progress { consumed, next: Next::Read }
    }

    /// Reads whole frames, and returns how many bytes they have.
    fn read_frames(&mut self, at: &mut Reading<'_>, input: &[u8]) -> Result<usize, Broken> {
        let mut consumed = 0;
        loop {
            match read_frame(&input[consumed..], FRAME_BYTES_AT_FIRST) {
                Ok(None) => return Ok(consumed),
                Ok(Some((frame, length))) => {
                    consumed += length;
                    self.tally.bytes_in += length as u64;
                    self.take_frame(at, frame)?;
                }
                Err(_) if !at.streams.is_greeted => return Err(NOT_HTTP2),
                Err(error) => return Err(error.text),
            }
        }
    }

    /// The server broke the protocol.
    fn break_off(&mut self, connection: &mut LoadConnection, broken: Broken) {
        self.note_end(format!("the server broke the protocol: {broken}"));
        if connection.phase == Phase::AwaitingSettings {
            self.fail_opening(connection, FailureKind::Garbage);
        } else {
            self.fail_all(connection, FailureKind::Garbage, FailureKind::Garbage, self.now_ns);
        }
    }

    pub(super) fn note_end(&mut self, text: String) {
        self.tally.streams.get_or_insert_default().end(text);
    }

    fn take_frame(&mut self, at: &mut Reading<'_>, frame: H2Frame<'_>) -> Result<(), Broken> {
        let continues = matches!(frame, H2Frame::Continuation { .. });
        if at.streams.block.is_some() != continues {
            return Err("a block of fields is interrupted, or continued without a beginning");
        }
        if !at.streams.is_greeted && !matches!(frame, H2Frame::Settings(_)) {
            return Err(NOT_HTTP2);
        }
        match frame {
            H2Frame::Data { stream, content, flow_bytes, end_stream } => {
                at.check_stream(stream)?;
                at.acknowledge(stream, flow_bytes);
                self.take_content(at, stream, content, end_stream);
            }
            H2Frame::Headers { stream, fragment, end_stream, end_headers, .. } => {
                at.check_stream(stream)?;
                let block = Block { stream, end_stream, fragment: fragment.to_vec() };
                return self.take_block(at, block, end_headers);
            }
            H2Frame::Continuation { stream, fragment, end_headers } => {
                let block = at.streams.block.take().filter(|block| block.stream == stream);
                let mut block = block.ok_or("a block of fields is continued on another stream")?;
                block.fragment.extend_from_slice(fragment);
                return self.take_block(at, block, end_headers);
            }
            H2Frame::Reset { stream, code } => {
                at.check_stream(stream)?;
                self.take_reset(at, stream, code);
            }
            H2Frame::Settings(settings) => return self.take_settings(at, settings),
            H2Frame::GoAway { last_stream, code, .. } => {
                return self.take_goaway(at, last_stream, code);
            }
            H2Frame::WindowUpdate { stream, increment } => return at.enlarge(stream, increment),
            H2Frame::Ping { opaque } => write_ping_ack(opaque, at.out),
            H2Frame::PushPromise { .. } => return Err("it pushes, though it was told not to"),
            H2Frame::SettingsAck
            | H2Frame::PingAck { .. }
            | H2Frame::Priority { .. }
            | H2Frame::PriorityUpdate { .. }
            | H2Frame::Unknown { .. } => {}
        }
        Ok(())
    }

    /// Takes a block of fields, or the beginning of one.
    fn take_block(
        &mut self,
        at: &mut Reading<'_>,
        block: Block,
        end_headers: bool,
    ) -> Result<(), Broken> {
        if block.fragment.len() > RESPONSE_BLOCK_BYTES {
            return Err("a block of fields has no end");
        }
        if end_headers {
            return self.take_head(at, &block);
        }
        at.streams.block = Some(block);
        Ok(())
    }

    /// RFC 9113, 6.5.
    fn take_settings(
        &mut self,
        at: &mut Reading<'_>,
        settings: SettingsReader<'_>,
    ) -> Result<(), Broken> {
        let streams = &mut *at.streams;
        for (id, value) in settings {
            let window = i64::from(streams.settings.window_bytes());
            let applied = streams.settings.apply(id, value);
            applied.map_err(|_| "a setting has a value that it cannot have")?;
            match id {
                SettingId::HEADER_TABLE_SIZE => streams.encoder.set_peer_table_bytes(value),
                SettingId::INITIAL_WINDOW_SIZE => {
                    for stream in streams.iter() {
                        stream.window += i64::from(value) - window;
                        if stream.window > WINDOW_BYTES_MAX.into() {
                            return Err(TOO_LARGE);
                        }
                    }
                }
                SettingId::ENABLE_PUSH if value == 1 => return Err("a server announces push"),
                _ => {}
            }
        }
        streams.is_greeted = true;
        write_settings_ack(at.out);
        let allowed = streams.settings.streams();
        if allowed < self.work.plan().pipeline {
            self.tally.streams.get_or_insert_default().limit(allowed);
        }
        Ok(())
    }

    /// RFC 9113, 6.8: the streams behind the last one were not begun.
    fn take_goaway(
        &mut self,
        at: &mut Reading<'_>,
        last_stream: u32,
        code: ErrorCode,
    ) -> Result<(), Broken> {
        if at.connection.phase == Phase::AwaitingSettings {
            return Err("it ends a connection before the first request (GOAWAY)");
        }
        at.connection.phase = Phase::LastSent;
        if code != ErrorCode::NoError {
            self.note_end(format!("GOAWAY {code}"));
        }
        let behind: Vec<u32> = at.streams.iter().map(|stream| stream.number).collect();
        for number in behind.into_iter().filter(|number| *number > last_stream) {
            if code == ErrorCode::NoError && at.connection.has_answered {
                self.send_again(at, number);
            } else {
                self.fail_stream(at, number, FailureKind::Reset);
            }
        }
        Ok(())
    }
}

impl Reading<'_> {
    /// Refuses a frame for a stream that was never opened (RFC 9113, 5.1).
    fn check_stream(&self, number: u32) -> Result<(), Broken> {
        if self.streams.is_idle(number) { Err(IDLE) } else { Ok(()) }
    }

    /// Content came: the server's windows are enlarged when half of them is used up.
    fn acknowledge(&mut self, number: u32, bytes: u32) {
        let add = |sum: &mut u32| {
            *sum += bytes;
            if *sum >= STREAM_WINDOW_BYTES / 2 { std::mem::take(sum) } else { 0 }
        };
        let of_connection = add(&mut self.streams.unacknowledged);
        let of_stream =
            self.streams.get(number).map_or(0, |stream| add(&mut stream.unacknowledged));
        for (number, increment) in [(0, of_connection), (number, of_stream)] {
            if increment > 0 {
                write_window_update(number, increment, self.out);
            }
        }
    }

    /// RFC 9113, 6.9.1.
    fn enlarge(&mut self, number: u32, increment: u32) -> Result<(), Broken> {
        let window = if number == 0 {
            &mut self.streams.window
        } else {
            self.check_stream(number)?;
            let Some(stream) = self.streams.get(number) else { return Ok(()) };
            &mut stream.window
        };
        *window += i64::from(increment);
        if *window > WINDOW_BYTES_MAX.into() { Err(TOO_LARGE) } else { Ok(()) }
    }
}
