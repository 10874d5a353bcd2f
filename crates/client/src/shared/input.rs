//! Frames of a server, and the order in which they may come (RFC 9113, 5.1 and 6).
//!
//! Owns every rule whose breach ends the connection. What frames mean for an exchange is in `answers`.

use wire::h2::{
    AfterFrame, BlockTooLarge, ErrorCode, FieldBlock, FrameError, FrameHead, FrameKind, FrameScope,
    H2Frame, SettingId, SettingsReader, TooManyFrames, WindowBroken, read_frame, write_ping_ack,
    write_settings_ack,
};

use super::Run;
use crate::failure::ExchangeFailure;
use crate::h2::Phase;
use crate::limits::{BLOCK_BOUNDS, FRAME_BYTES, OWED_FRAMES, STREAMS};

/// Why a connection ends: the code for the server, and the rule in words.
pub(super) type Broken = (ErrorCode, &'static str);

const NOT_HTTP2: Broken = (
    ErrorCode::ProtocolError,
    "its first frame is not SETTINGS; without TLS, does it speak HTTP/2 at all?",
);
const TOO_LARGE: Broken = (ErrorCode::FlowControlError, "it opens a window too far");

pub(super) const TOO_MANY: Broken =
    (ErrorCode::EnhanceYourCalm, "too many frames that are of no use to a request");

fn wrong<T>(rule: &'static str) -> Result<T, Broken> {
    Err((ErrorCode::ProtocolError, rule))
}

/// A frame is of no use to a request.
pub(super) fn too_many(_: TooManyFrames) -> Broken {
    TOO_MANY
}

impl Run<'_> {
    /// Takes whole frames, and returns how many bytes they have.
    pub(super) fn take_input(&mut self, input: &[u8]) -> Result<usize, Broken> {
        let mut bytes = 0;
        while self.link.phase != Phase::Over {
            let rest = input.get(bytes..).unwrap_or_default();
            if self.link.phase == Phase::Greeting
                && FrameHead::read(rest).is_some_and(|head| head.kind != FrameKind::SETTINGS)
            {
                return Err(NOT_HTTP2);
            }
            match read_frame(rest, FRAME_BYTES) {
                Ok(None) => break,
                Ok(Some((frame, length))) => {
                    bytes += length;
                    self.take_frame(frame)?;
                }
                Err(error) => {
                    bytes += error.bytes;
                    self.on_frame_error(error)?;
                }
            }
        }
        Ok(bytes)
    }

    /// A frame breaks a rule, whatever the state.
    fn on_frame_error(&mut self, error: FrameError) -> Result<(), Broken> {
        match error.scope {
            FrameScope::Stream(number) if self.link.block.is_none() => {
                self.check_stream(number)?;
                self.refuse(number, error.code, ExchangeFailure::Http2(error.text));
                Ok(())
            }
            FrameScope::Stream(_) | FrameScope::Connection => Err((error.code, error.text)),
        }
    }

    fn take_frame(&mut self, frame: H2Frame<'_>) -> Result<(), Broken> {
        if let Some(block) = &self.link.block
            && !matches!(frame, H2Frame::Continuation { stream, .. } if stream == block.stream())
        {
            return wrong("a frame within a block of fields");
        }
        match frame {
            H2Frame::Data { stream, content, flow_bytes, end_stream } => {
                self.take_data(stream, content, flow_bytes, after(end_stream))
            }
            H2Frame::Headers { stream, fragment, end_stream, end_headers, .. } => {
                self.check_stream(stream)?;
                if end_headers {
                    return self.take_block(stream, after(end_stream), fragment);
                }
                self.link.block =
                    Some(Box::new(FieldBlock::new(stream, after(end_stream), fragment)));
                Ok(())
            }
            H2Frame::Continuation { fragment, end_headers, .. } => {
                self.take_continuation(fragment, end_headers)
            }
            H2Frame::PushPromise { .. } => wrong("it pushes, although that was refused"),
            H2Frame::PriorityUpdate { .. } => wrong("a server sends PRIORITY_UPDATE"),
            frame => {
                self.link.budget.on_frame().map_err(too_many)?;
                self.take_control(frame)
            }
        }
    }

    fn take_continuation(&mut self, part: &[u8], end_headers: bool) -> Result<(), Broken> {
        let Some(mut block) = self.link.block.take() else {
            return wrong("CONTINUATION without a block of fields");
        };
        let added = block.add(part, BLOCK_BOUNDS);
        added.map_err(|BlockTooLarge| {
            (ErrorCode::EnhanceYourCalm, "a block of fields has no end")
        })?;
        if end_headers {
            let stream = block.stream();
            let (after, bytes) = block.finish();
            return self.take_block(stream, after, &bytes);
        }
        self.link.block = Some(block);
        Ok(())
    }

    /// A frame that brings nothing of an answer.
    fn take_control(&mut self, frame: H2Frame<'_>) -> Result<(), Broken> {
        match frame {
            H2Frame::WindowUpdate { stream: 0, increment } => {
                let changed = self.link.output.change(increment.into());
                changed.map_err(|WindowBroken| TOO_LARGE)
            }
            H2Frame::WindowUpdate { stream, increment } => {
                self.check_stream(stream)?;
                let Some(open) = self.link.streams.get(stream) else { return Ok(()) };
                if open.output.change(increment.into()).is_err() {
                    let (code, rule) = TOO_LARGE;
                    self.refuse(stream, code, ExchangeFailure::Http2(rule));
                    return Ok(());
                }
                self.link.queue_stream(stream);
                Ok(())
            }
            H2Frame::Settings(settings) => self.take_settings(settings),
            H2Frame::Ping { opaque } => {
                self.owe_frame()?;
                write_ping_ack(opaque, self.out);
                Ok(())
            }
            H2Frame::Reset { stream, code } => {
                self.check_stream(stream)?;
                self.take_reset(stream, code);
                Ok(())
            }
            H2Frame::GoAway { last_stream, code, .. } => {
                self.take_goaway(last_stream, code);
                Ok(())
            }
            // Others have no meaning, or their own place.
            _ => Ok(()),
        }
    }

    /// A control frame is answered by another one.
    fn owe_frame(&mut self) -> Result<(), Broken> {
        self.link.owed_frames += 1;
        if self.link.owed_frames > OWED_FRAMES {
            return Err((ErrorCode::EnhanceYourCalm, "it does not read the answers to its frames"));
        }
        Ok(())
    }

    /// RFC 9113, 6.5.
    fn take_settings(&mut self, settings: SettingsReader<'_>) -> Result<(), Broken> {
        self.owe_frame()?;
        let link = &mut *self.link;
        let window = i64::from(link.peer.window_bytes());
        for (id, value) in settings {
            let applied = link.peer.apply(id, value);
            applied.map_err(|code| (code, "a setting with an invalid value"))?;
            if id == SettingId::ENABLE_PUSH && value == 1 {
                return wrong("a server announces that it takes pushes");
            }
        }
        link.encoder.set_peer_table_bytes(link.peer.table_bytes());
        let change = i64::from(link.peer.window_bytes()) - window;
        if change != 0 {
            let mut numbers = Vec::new();
            for stream in link.streams.iter() {
                stream.output.change(change).map_err(|WindowBroken| TOO_LARGE)?;
                numbers.push(stream.number);
            }
            numbers.into_iter().for_each(|number| link.queue_stream(number));
        }
        if link.phase == Phase::Greeting {
            link.phase = Phase::Open;
        }
        write_settings_ack(self.out);
        let allowed = usize::try_from(self.link.peer.streams()).unwrap_or(usize::MAX);
        self.client.pool.allow(&self.outbound.to, allowed);
        self.limit(allowed.min(STREAMS));
        Ok(())
    }

    /// Refuses a frame for a stream that was never opened (RFC 9113, 5.1).
    pub(super) fn check_stream(&self, number: u32) -> Result<(), Broken> {
        if self.link.streams.is_idle(number) {
            return wrong("a frame for a stream that was never begun");
        }
        Ok(())
    }
}

fn after(end_stream: bool) -> AfterFrame {
    if end_stream { AfterFrame::Nothing } else { AfterFrame::More }
}
