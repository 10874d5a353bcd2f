//! The output of streams as frames (RFC 9113, 6.1, 6.2 and 8.1).
//!
//! Owns which stream sends next and how much, the end of streams, and when windows are opened for the client. Never
//! writes a byte of content.

use runtime::output::Output;
use runtime::service::{CloseReason, Context};
use runtime::streams::{Ending, OutputEnd, StreamId, StreamOffer};
use wire::h2::{
    AfterFrame, ErrorCode, begin_headers, end_headers, write_data_head, write_reset,
    write_window_update,
};
use wire::hpack::{Encoder, Indexing};

use super::{Http2Connection, OutputWaits};
use crate::encoder::block::HeadBlock;
use crate::h2_streams::Held;
use crate::limits::{
    H2_DATA_BYTES, H2_EXCUSE_MS, H2_SENT_BESIDE_OTHERS, H2_SENT_PER_RUN, H2_STREAM_WINDOW_BYTES,
};

/// The next step after a stream was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    /// It has ended, or has nothing now, or no window.
    Done,
    /// It has more.
    More,
}

impl Http2Connection {
    /// Sends what streams have, as much as one run may, unless earlier output waits.
    pub(super) fn send<M>(&mut self, waits: OutputWaits, context: &mut Context<'_, M>) {
        let mut room = match waits {
            OutputWaits::No if context.streams().have_rivals() => H2_SENT_BESIDE_OTHERS,
            OutputWaits::No => H2_SENT_PER_RUN,
            OutputWaits::Yes => 0,
        };
        loop {
            self.gather(context);
            if room == 0 {
                break;
            }
            let Some(place) = self.streams.next_waiting() else { break };
            let before = room;
            if self.serve(place, &mut room, context) == Served::Done {
                continue;
            }
            let Some(open) = self.streams.at(place) else { continue };
            if open.held().priority().is_incremental() || room == before {
                self.streams.wait(place);
            } else {
                self.streams.wait_first(place);
            }
        }
        self.open_room(context);
        self.excuse(context);
    }

    /// Lists the streams that have something, and opens the windows of those that have consumed input.
    fn gather<M>(&mut self, context: &mut Context<'_, M>) {
        while let Some(id) = context.streams().next_ready() {
            let Some(place) = self.streams.place_of(id) else { continue };
            self.streams.wait(place);
            let consumed = context.streams().take_consumed(id);
            let Some(open) = self.streams.at(place) else { continue };
            let (number, head_bytes) = (open.number(), open.held().head_bytes());
            let content = open.held_mut().content_mut();
            let before = content.held();
            if consumed == 0 && before.kept() == 0 {
                continue;
            }
            let memory = context.streams().kept(id).saturating_sub(head_bytes);
            content.note_read(consumed, memory);
            self.room.count(number, before, content.held());
            self.open_input(place, context);
        }
    }

    /// Opens the window for the input of a stream, if that is due and it has one of its own.
    pub(super) fn open_input<M>(&mut self, place: usize, context: &mut Context<'_, M>) {
        if !self.room.is_shared()
            && let Some(open) = self.streams.at(place)
            && let Some(step) =
                open.held_mut().content_mut().open_window(H2_STREAM_WINDOW_BYTES as usize)
        {
            write_window_update(open.number(), step, context.output.buffer());
        }
    }

    /// The connection's window has room again.
    pub(super) fn unstall(&mut self) {
        if self.output.room() > 0 {
            self.streams.wait_all(Held::unstall);
        }
    }

    /// Sends the heads of a stream and one frame of its body.
    fn serve<M>(&mut self, place: usize, room: &mut usize, context: &mut Context<'_, M>) -> Served {
        loop {
            let Some(open) = self.streams.at(place) else { return Served::Done };
            let (number, id, held) = (open.number(), open.id(), open.held_mut());
            let own = held.output_room();
            let most = own.min(self.output.room()).min(*room);
            let most = most.min(H2_DATA_BYTES).min(self.peer.frame_bytes() as usize);
            match context.streams().waiting(id, most) {
                StreamOffer::Nothing => return Served::Done,
                StreamOffer::Head { then } => {
                    let before = context.output.queued_bytes();
                    let after = self.send_head(number, id, then, context);
                    let sent = context.output.queued_bytes() - before;
                    *room = room.saturating_sub(sent);
                    if after == AfterFrame::Nothing {
                        self.end(place, context);
                        return Served::Done;
                    }
                }
                StreamOffer::Body { bytes: 0, .. } => {
                    if own > 0 && self.output.room() == 0 {
                        held.stall();
                    }
                    return if *room == 0 { Served::More } else { Served::Done };
                }
                StreamOffer::Body { bytes, then } => {
                    held.spend_output(bytes);
                    self.output.spend(bytes);
                    self.guard.on_body(bytes);
                    *room -= bytes;
                    let after = after_frame(then);
                    write_data_head(number, bytes as u32, after, context.output.buffer());
                    context.streams().take(id, bytes);
                    if after == AfterFrame::Nothing {
                        self.end(place, context);
                        return Served::Done;
                    }
                    return Served::More;
                }
                StreamOffer::Ended(ending) => {
                    self.on_ended(place, ending, context);
                    return Served::Done;
                }
            }
        }
    }

    /// Sends a head or trailers. Returns whether the stream ends with it.
    fn send_head<M>(
        &mut self,
        number: u32,
        id: StreamId,
        then: OutputEnd,
        context: &mut Context<'_, M>,
    ) -> AfterFrame {
        let (encoder, frame_bytes) = (&mut self.encoder, self.peer.frame_bytes());
        let written = context.streams().with_head(id, |block, output: &mut Output| {
            let (block, _) = HeadBlock::split(block)?;
            let after = match block.status() {
                Some(_) => after_frame(then),
                None => AfterFrame::Nothing,
            };
            let out = output.buffer();
            let place = begin_headers(out);
            write_block(&block, encoder, out);
            end_headers(place, number, after, frame_bytes, out);
            Some(after)
        });
        written.flatten().unwrap_or(AfterFrame::More)
    }

    /// The output of a stream has ended, with END_STREAM.
    fn end<M>(&mut self, place: usize, context: &mut Context<'_, M>) {
        self.guard.on_answer();
        let Some(open) = self.streams.at(place) else { return };
        let (number, is_unread) = (open.number(), open.held().content().is_open());
        // Does nothing, unless trailers came before the end of its process.
        context.streams().reset(open.id());
        self.forget(place);
        if is_unread && !self.streams.note_unread(number) {
            write_reset(number, ErrorCode::NoError, context.output.buffer());
        }
    }

    /// Tells the client of streams that have their answers that nobody reads what it still sends (RFC 9113, 8.1). That
    /// comes later than the answer, because clients that read both at once drop the answer, though they must not.
    pub(super) fn reset_unread<M>(&mut self, context: &mut Context<'_, M>) {
        for number in self.streams.take_unread() {
            write_reset(number, ErrorCode::NoError, context.output.buffer());
        }
    }

    /// The process of a stream has ended, and nothing of its output is left.
    fn on_ended<M>(&mut self, place: usize, ending: Ending, context: &mut Context<'_, M>) {
        let Some(number) = self.streams.at(place).map(|open| open.number()) else { return };
        let code = match ending {
            Ending::Finished => {
                write_data_head(number, 0, AfterFrame::Nothing, context.output.buffer());
                return self.end(place, context);
            }
            Ending::Refused => ErrorCode::RefusedStream,
            Ending::Aborted(CloseReason::SlowReader | CloseReason::Stopped) => ErrorCode::Cancel,
            Ending::Aborted(CloseReason::OutboxFull | CloseReason::Evicted) => {
                ErrorCode::EnhanceYourCalm
            }
            Ending::Aborted(_) => ErrorCode::InternalError,
        };
        write_reset(number, code, context.output.buffer());
        self.refused += 1;
        self.forget(place);
    }

    /// Streams that wait for others of this connection, and not for their client, are no slow readers.
    fn excuse<M>(&mut self, context: &mut Context<'_, M>) {
        let now_ms = context.now.monotonic_ms();
        if !self.streams.has_waiting() || now_ms < self.excused_ms + H2_EXCUSE_MS {
            return;
        }
        self.excused_ms = now_ms;
        for open in self.streams.waiting() {
            context.streams().excuse(open.id());
        }
    }
}

fn after_frame(then: OutputEnd) -> AfterFrame {
    match then {
        OutputEnd::GoesOn => AfterFrame::More,
        OutputEnd::Ends => AfterFrame::Nothing,
    }
}

/// Writes the fields of a head.
fn write_block(block: &HeadBlock<'_>, encoder: &mut Encoder, out: &mut Vec<u8>) {
    if encoder.repeat(block.bytes(), out) {
        return;
    }
    let (start, mut fields) = (out.len(), 0);
    encoder.begin_block(out);
    if let Some(status) = block.status() {
        encoder.status(status.code(), out);
        fields += 1;
    }
    for (name, value) in block.raw_fields() {
        encoder.encode_bytes(name, value, indexing_of(name), out);
        fields += 1;
    }
    encoder.end_block(block.bytes(), fields, &out[start..]);
}

/// Whether the client may keep a field. The encoder has it kept only when it comes again with the same value, such as
/// the length and the validators of a file that many requests want.
fn indexing_of(name: &[u8]) -> Indexing {
    match name {
        // A secret that could be guessed from sizes (RFC 7541, 7.1.3).
        b"set-cookie" => Indexing::Never,
        b"content-range" | b"location" => Indexing::Skip,
        _ => Indexing::Add,
    }
}
