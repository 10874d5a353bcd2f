//! The input of an HTTP/2 client: the frames of a server.
//!
//! Owns the order of frames, and the words for what a server does wrong on its connection, which then ends with all its
//! requests. What frames mean for a request is in `answers`.

use runtime::service::{Next, Progress};
use wire::h2::{
    ErrorCode, FRAME_BYTES_AT_FIRST, H2Frame, SettingsReader, read_frame, write_ping_ack,
    write_settings_ack,
};

use super::Reading;
use crate::client::connection::{LoadConnection, Phase};
use crate::client::streams::{Block, Broken};
use crate::client::{Context, LoadClient};
use crate::limits::RESPONSE_BLOCK_BYTES;
use crate::tally::FailureKind;

const NOT_HTTP2: Broken =
    "its first bytes are not HTTP/2; without TLS it must speak that with prior knowledge";

impl LoadClient {
    /// Takes input: as many frames as there are, then sends what they made room for.
    pub(in crate::client) fn take_frames(
        &mut self,
        connection: &mut LoadConnection,
        input: &[u8],
        context: &mut Context<'_>,
    ) -> Progress {
        let whole = |next| Progress { consumed: input.len(), next };
        let Some(mut streams) = connection.lend_streams() else { return whole(Next::Abort) };
        streams.hear(self.now_ns);
        let out = context.output.buffer();
        let mut reading = Reading { connection, streams: &mut streams, out };
        let outcome = self.read_frames(&mut reading, input);
        let is_greeted = streams.is_greeted();
        connection.put_back(streams);
        let consumed = match outcome {
            Ok(consumed) => consumed,
            Err(broken) => {
                self.break_off(connection, broken);
                return whole(Next::Abort);
            }
        };
        match connection.phase() {
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
                Err(_) if !at.streams.is_greeted() => return Err(NOT_HTTP2),
                Err(error) => return Err(error.text),
            }
        }
    }

    /// The server broke the protocol.
    fn break_off(&mut self, connection: &mut LoadConnection, broken: Broken) {
        self.note_end(format!("the server broke the protocol: {broken}"));
        if connection.phase() == Phase::AwaitingSettings {
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
        if at.streams.has_open_block() != continues {
            return Err("a block of fields is interrupted, or continued without a beginning");
        }
        if !at.streams.is_greeted() && !matches!(frame, H2Frame::Settings(_)) {
            return Err(NOT_HTTP2);
        }
        match frame {
            H2Frame::Data { stream, content, flow_bytes, end_stream } => {
                at.streams.check_number(stream)?;
                at.streams.acknowledge(stream, flow_bytes, at.out);
                self.take_content(at, stream, content, end_stream);
            }
            H2Frame::Headers { stream, fragment, end_stream, end_headers, .. } => {
                at.streams.check_number(stream)?;
                let block = Block { stream, end_stream, fragment: fragment.to_vec() };
                return self.take_block(at, block, end_headers);
            }
            H2Frame::Continuation { stream, fragment, end_headers } => {
                let block = at.streams.continue_block(stream, fragment)?;
                return self.take_block(at, block, end_headers);
            }
            H2Frame::Reset { stream, code } => {
                at.streams.check_number(stream)?;
                self.take_reset(at, stream, code);
            }
            H2Frame::Settings(settings) => return self.take_settings(at, settings),
            H2Frame::GoAway { last_stream, code, .. } => {
                return self.take_goaway(at, last_stream, code);
            }
            H2Frame::WindowUpdate { stream, increment } => {
                return at.streams.enlarge(stream, increment);
            }
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
        at.streams.keep_block(block);
        Ok(())
    }

    /// RFC 9113, 6.5.
    fn take_settings(
        &mut self,
        at: &mut Reading<'_>,
        settings: SettingsReader<'_>,
    ) -> Result<(), Broken> {
        at.streams.take_settings(settings)?;
        write_settings_ack(at.out);
        let allowed = at.streams.allowed();
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
        if at.connection.phase() == Phase::AwaitingSettings {
            return Err("it ends a connection before the first request (GOAWAY)");
        }
        at.connection.close_to_requests();
        if code != ErrorCode::NoError {
            self.note_end(format!("GOAWAY {code}"));
        }
        for number in at.streams.behind(last_stream) {
            if code == ErrorCode::NoError && at.connection.has_answered() {
                self.send_again(at, number);
            } else {
                self.fail_stream(at, number, FailureKind::Reset);
            }
        }
        Ok(())
    }
}
