//! Frames of the client, and what each means in the state of its stream (RFC 9113, 5.1 and 6).
//!
//! Owns the order in which frames may come, flow control of input, and the errors of one stream. Never reads a field.

use runtime::service::Context;
use runtime::streams::NotHanded;
use wire::h2::{
    AfterHead, ErrorCode, FrameError, FrameScope, H2Frame, SettingsReader, StreamPriority,
    WindowBroken, read_frame, write_ping_ack, write_reset, write_settings_ack,
};

use super::block::Fragment;
use super::connection_error::ConnectionError;
use super::leaving::Leaving;
use super::{Http2Connection, MoreInput, Phase};
use crate::application::Application;
use crate::h2_streams::{DataFrame, InputSide, Known};
use crate::limits::{H2_FRAME_BYTES, H2_OWED_FRAMES, H2_STREAMS_BEGUN_PER_RUN};
use crate::shared::Http;

/// The result of one call with input. Plain data.
pub(super) struct Taken {
    pub(crate) bytes: usize,
    pub(crate) has_more: MoreInput,
}

/// A window is larger than any may be (RFC 9113, 6.9.1).
const TOO_LARGE: ConnectionError =
    ConnectionError::new(ErrorCode::FlowControlError, "a window too large");

fn protocol_error<T>(text: &'static str) -> Result<T, ConnectionError> {
    Err(ConnectionError::protocol(text))
}

impl Http2Connection {
    /// Takes whole frames, and at most a few that begin streams.
    pub(super) fn take_frames<A: Application>(
        &mut self,
        http: &mut Http<A>,
        input: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Result<Taken, ConnectionError> {
        let (mut bytes, mut begun) = (0, 0);
        while self.phase != Phase::Over {
            let rest = input.get(bytes..).unwrap_or_default();
            let (frame, length) = match read_frame(rest, H2_FRAME_BYTES) {
                Ok(Some(whole)) => whole,
                Ok(None) => break,
                Err(error) => {
                    bytes += error.bytes;
                    self.on_frame_error(error, context)?;
                    continue;
                }
            };
            if matches!(frame, H2Frame::Headers { .. }) {
                if begun == H2_STREAMS_BEGUN_PER_RUN {
                    return Ok(Taken { bytes, has_more: MoreInput::Yes });
                }
                begun += 1;
            }
            bytes += length;
            self.take_frame(http, frame, context)?;
        }
        Ok(Taken { bytes, has_more: MoreInput::No })
    }

    /// A frame breaks a rule, whatever the state.
    fn on_frame_error<M>(
        &mut self,
        error: FrameError,
        context: &mut Context<'_, M>,
    ) -> Result<(), ConnectionError> {
        let FrameError { code, scope, text, .. } = error;
        match scope {
            FrameScope::Stream(number) if self.block.is_none() && self.phase == Phase::Open => {
                match self.known(number) {
                    Known::Idle => protocol_error("a frame on a stream that was not begun"),
                    _ => self.reset(number, code, context),
                }
            }
            FrameScope::Stream(_) | FrameScope::Connection => Err(ConnectionError::new(code, text)),
        }
    }

    fn take_frame<A: Application>(
        &mut self,
        http: &mut Http<A>,
        frame: H2Frame<'_>,
        context: &mut Context<'_, A::Message>,
    ) -> Result<(), ConnectionError> {
        if self.phase == Phase::Settings && !matches!(frame, H2Frame::Settings(_)) {
            return protocol_error("SETTINGS do not come first");
        }
        if let Some(block) = &self.block
            && !matches!(frame, H2Frame::Continuation { stream, .. } if stream == block.stream())
        {
            return protocol_error("a frame within a block of fields");
        }
        match frame {
            H2Frame::Data { stream, content, flow_bytes, end_stream } => {
                let after = if end_stream { InputSide::Ended } else { InputSide::Open };
                self.take_data(stream, &DataFrame { bytes: content, flow_bytes, after }, context)
            }
            H2Frame::Headers { stream, fragment, end_stream, end_headers, depends_on_itself } => {
                let after = if end_stream { AfterHead::Nothing } else { AfterHead::Content };
                let fragment = Fragment { bytes: fragment, is_last: end_headers };
                self.take_headers(http, (stream, after), fragment, context)?;
                if depends_on_itself && matches!(self.known(stream), Known::Open(_)) {
                    return self.reset(stream, ErrorCode::ProtocolError, context);
                }
                Ok(())
            }
            H2Frame::Continuation { fragment, end_headers, .. } => {
                let fragment = Fragment { bytes: fragment, is_last: end_headers };
                self.take_continuation(http, fragment, context)
            }
            H2Frame::Reset { stream, .. } => self.take_reset(stream, context),
            H2Frame::PushPromise { .. } => protocol_error("a client pushes"),
            frame => {
                self.guard.on_control()?;
                self.take_control(frame, context)
            }
        }
    }

    /// A frame that does nothing for a request.
    fn take_control<M>(
        &mut self,
        frame: H2Frame<'_>,
        context: &mut Context<'_, M>,
    ) -> Result<(), ConnectionError> {
        match frame {
            H2Frame::WindowUpdate { stream: 0, increment } => {
                let changed = self.output.change(increment.into());
                changed.map_err(|WindowBroken| TOO_LARGE)?;
                self.unstall();
            }
            H2Frame::WindowUpdate { stream, increment } => {
                return self.open_window(stream, increment, context);
            }
            H2Frame::Settings(settings) => return self.take_settings(settings, context),
            H2Frame::SettingsAck => self.on_settings_ack(),
            H2Frame::Ping { opaque } => {
                self.owe_frame()?;
                write_ping_ack(opaque, context.output.buffer());
            }
            H2Frame::PingAck { opaque } => self.on_ping_ack(opaque, context),
            H2Frame::GoAway { .. } => self.on_goaway(),
            H2Frame::PriorityUpdate { stream, value } => {
                if let Known::Open(place) = self.known(stream)
                    && let Some(open) = self.streams.at(place)
                {
                    open.held_mut().set_priority(StreamPriority::parse(value));
                }
            }
            H2Frame::Priority { stream, depends_on_itself: true } => {
                return match self.known(stream) {
                    Known::Open(_) => self.reset(stream, ErrorCode::ProtocolError, context),
                    _ => protocol_error("a stream depends on itself"),
                };
            }
            // Others have no meaning, or their own place.
            _ => {}
        }
        Ok(())
    }

    /// A control frame is answered by another one.
    fn owe_frame(&mut self) -> Result<(), ConnectionError> {
        self.owed_frames += 1;
        if self.owed_frames > H2_OWED_FRAMES {
            return Err(ConnectionError::new(
                ErrorCode::EnhanceYourCalm,
                "answers to control frames are not read",
            ));
        }
        Ok(())
    }

    fn take_settings<M>(
        &mut self,
        settings: SettingsReader<'_>,
        context: &mut Context<'_, M>,
    ) -> Result<(), ConnectionError> {
        self.owe_frame()?;
        let before = self.peer.window_bytes();
        for (id, value) in settings {
            self.peer
                .apply(id, value)
                .map_err(|code| ConnectionError::new(code, "a setting with an invalid value"))?;
        }
        self.encoder.set_peer_table_bytes(self.peer.table_bytes());
        let change = i64::from(self.peer.window_bytes()) - i64::from(before);
        if change != 0 {
            for (_, open) in self.streams.all() {
                let changed = open.held_mut().change_output(change);
                changed.map_err(|WindowBroken| TOO_LARGE)?;
            }
            self.streams.wait_all(|_| true);
        }
        self.phase = Phase::Open;
        write_settings_ack(context.output.buffer());
        Ok(())
    }

    fn open_window<M>(
        &mut self,
        number: u32,
        increment: u32,
        context: &mut Context<'_, M>,
    ) -> Result<(), ConnectionError> {
        match self.known(number) {
            Known::Idle => protocol_error("WINDOW_UPDATE on a stream that was not begun"),
            Known::Open(place) => {
                let Some(open) = self.streams.at(place) else { return Ok(()) };
                if open.held_mut().change_output(increment.into()).is_err() {
                    return self.reset(number, ErrorCode::FlowControlError, context);
                }
                self.streams.wait(place);
                Ok(())
            }
            Known::Late | Known::Closed | Known::Skipped => Ok(()),
        }
    }

    fn take_reset<M>(
        &mut self,
        number: u32,
        context: &mut Context<'_, M>,
    ) -> Result<(), ConnectionError> {
        match self.known(number) {
            Known::Idle => protocol_error("RST_STREAM on a stream that was not begun"),
            Known::Open(_) => {
                self.let_go(number, InputSide::Ended, context);
                self.resets += 1;
                Ok(self.guard.on_reset()?)
            }
            Known::Late | Known::Closed | Known::Skipped => {
                self.streams.note_known(number);
                Ok(self.guard.on_control()?)
            }
        }
    }

    fn take_data<M>(
        &mut self,
        number: u32,
        frame: &DataFrame<'_>,
        context: &mut Context<'_, M>,
    ) -> Result<(), ConnectionError> {
        let too_much = |WindowBroken| {
            ConnectionError::new(ErrorCode::FlowControlError, "more than the window")
        };
        self.room.take(frame.flow_bytes).map_err(too_much)?;
        if frame.bytes.is_empty() && !frame.is_last() {
            self.guard.on_control()?;
        }
        self.guard.on_body(frame.bytes.len());
        match self.known(number) {
            Known::Open(place) => match self.hand(place, frame, context) {
                Ok(()) => Ok(()),
                Err(code) => self.reset(number, code, context),
            },
            Known::Late => {
                if frame.is_last() {
                    self.streams.note_known(number);
                }
                Ok(())
            }
            // Probably one that was closed long ago, while this was on its way.
            Known::Skipped => Ok(self.guard.on_control()?),
            Known::Idle => protocol_error("DATA on a stream that was not begun"),
            Known::Closed => Err(ConnectionError::new(
                ErrorCode::StreamClosed,
                "DATA on a stream that is closed",
            )),
        }
    }

    /// Hands content to the process of a stream, unless that is an error of the stream.
    fn hand<M>(
        &mut self,
        place: usize,
        frame: &DataFrame<'_>,
        context: &mut Context<'_, M>,
    ) -> Result<(), ErrorCode> {
        let Some(open) = self.streams.at(place) else { return Ok(()) };
        let (id, number, bytes) = (open.id(), open.number(), frame.bytes);
        let content = open.held_mut().content_mut();
        content.take(frame)?;
        match context.streams().hand(id, bytes) {
            Ok(()) => {
                let before = content.held();
                content.note_handed(bytes.len());
                self.room.count(number, before, content.held());
            }
            Err(NotHanded::Gone) => {}
            Err(NotHanded::Full) => return Err(ErrorCode::FlowControlError),
        }
        if frame.is_last() {
            context.streams().end_input(id);
        } else if frame.flow_bytes as usize > bytes.len() {
            // Padding is read at once.
            self.open_input(place, context);
        }
        Ok(())
    }

    /// Ends a stream with an error of the client's.
    pub(super) fn reset<M>(
        &mut self,
        number: u32,
        code: ErrorCode,
        context: &mut Context<'_, M>,
    ) -> Result<(), ConnectionError> {
        write_reset(number, code, context.output.buffer());
        self.let_go(number, InputSide::Open, context);
        self.refused += 1;
        Ok(self.guard.on_reset()?)
    }

    /// Counts the streams that have ended without an answer since the last call.
    pub(super) fn count_resets<A: Application>(&mut self, http: &mut Http<A>) {
        let stats = http.stats_mut();
        stats.http2_resets += u64::from(std::mem::take(&mut self.resets));
        stats.http2_refused += u64::from(std::mem::take(&mut self.refused));
    }

    /// Lets go of a stream whose process may still run. `input` says whether the client may still send on it.
    fn let_go<M>(&mut self, number: u32, input: InputSide, context: &mut Context<'_, M>) {
        let Known::Open(place) = self.known(number) else {
            return self.streams.note_closed(number, input);
        };
        if let Some(open) = self.streams.at(place) {
            open.held_mut().content_mut().set_side(input);
            context.streams().reset(open.id());
        }
        self.forget(place);
    }

    /// The meaning of a number. Once the client was told the last stream, later ones are of no interest (RFC 9113,
    /// 6.8).
    pub(super) fn known(&self, number: u32) -> Known {
        match self.streams.known(number) {
            Known::Idle if self.leaving == Leaving::Left && !number.is_multiple_of(2) => {
                Known::Late
            }
            known => known,
        }
    }

    /// Forgets a stream that has ended. What it has not read is consumed by nobody.
    pub(super) fn forget(&mut self, place: usize) {
        if let Some(open) = self.streams.remove(place) {
            self.room.forget(open.number(), open.held().content().held());
            self.head_bytes -= open.held().head_bytes();
        }
    }
}
