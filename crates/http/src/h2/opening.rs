//! Blocks of fields (RFC 9113, 4.3, 8.1 and 8.3): heads of requests, which open streams, and trailers.
//!
//! Owns the use of each block. All are decoded, because each may change the table of HPACK. Never answers a request.

use runtime::service::Context;
use runtime::streams::StreamId;
use wire::h2::{
    AfterHead, BlockTooLarge, ErrorCode, FieldBlock, RequestFields, TrailerFields, UnusableHead,
};
use wire::http::fields::FieldList;
use wire::http::head::Framing;
use wire::http::kept::KeptHead;
use wire::http::refusal::{Reason, Refusal};
use wire::http::trailers::is_trailer;

use super::Http2Connection;
use super::block::{BlockUse, Fragment};
use super::connection_error::ConnectionError;
use crate::application::Application;
use crate::h2_streams::{Held, Known, priority_of};
use crate::limits::{H2_BLOCK_BOUNDS, H2_HEAD_BYTES, H2_STREAMS};
use crate::shared::Http;
use crate::stream::Stream;

impl Http2Connection {
    /// A HEADERS frame of a stream.
    pub(super) fn take_headers<A: Application>(
        &mut self,
        http: &mut Http<A>,
        (number, after): (u32, AfterHead),
        fragment: Fragment<'_>,
        context: &mut Context<'_, A::Message>,
    ) -> Result<(), ConnectionError> {
        let purpose = self.use_of(number, after)?;
        if fragment.is_last {
            return self.take_block(http, (number, purpose), fragment.bytes, context);
        }
        self.block = Some(Box::new(FieldBlock::new(number, purpose, fragment.bytes)));
        Ok(())
    }

    pub(super) fn take_continuation<A: Application>(
        &mut self,
        http: &mut Http<A>,
        fragment: Fragment<'_>,
        context: &mut Context<'_, A::Message>,
    ) -> Result<(), ConnectionError> {
        let Some(mut block) = self.block.take() else {
            return Err(ConnectionError::protocol("CONTINUATION without HEADERS"));
        };
        let too_large = |BlockTooLarge| {
            ConnectionError::new(ErrorCode::EnhanceYourCalm, "a block of fields too large")
        };
        block.add(fragment.bytes, H2_BLOCK_BOUNDS).map_err(too_large)?;
        if !fragment.is_last {
            self.block = Some(block);
            return Ok(());
        }
        let number = block.stream();
        let (purpose, bytes) = block.finish();
        self.take_block(http, (number, purpose), &bytes, context)
    }

    /// The use of a block on a stream with this number.
    fn use_of(&mut self, number: u32, after: AfterHead) -> Result<BlockUse, ConnectionError> {
        match self.known(number) {
            Known::Idle if number.is_multiple_of(2) => {
                Err(ConnectionError::protocol("a client's stream has an even number"))
            }
            Known::Idle => {
                self.streams.note_begun(number);
                Ok(BlockUse::Request(after))
            }
            Known::Open(place) => Ok(match self.streams.at(place) {
                Some(open) if !open.held().content().is_open() => {
                    BlockUse::Dropped(Some(ErrorCode::StreamClosed))
                }
                // RFC 9113, 8.1: trailers end the stream.
                _ if after == AfterHead::Content => {
                    BlockUse::Dropped(Some(ErrorCode::ProtocolError))
                }
                _ => BlockUse::Trailers,
            }),
            Known::Late => {
                if after == AfterHead::Nothing {
                    self.streams.note_known(number);
                }
                Ok(BlockUse::Dropped(None))
            }
            Known::Closed => Err(ConnectionError::new(
                ErrorCode::StreamClosed,
                "HEADERS on a stream that is closed",
            )),
            Known::Skipped => {
                Err(ConnectionError::protocol("the number of a stream is lower than the last"))
            }
        }
    }

    /// A whole block.
    fn take_block<A: Application>(
        &mut self,
        http: &mut Http<A>,
        (number, purpose): (u32, BlockUse),
        bytes: &[u8],
        context: &mut Context<'_, A::Message>,
    ) -> Result<(), ConnectionError> {
        let not_hpack =
            |_| ConnectionError::new(ErrorCode::CompressionError, "a block of fields is not HPACK");
        match purpose {
            BlockUse::Request(after) => {
                self.streams.take_room(http.spare_rooms());
                let mut fields = http.lend_fields();
                fields.begin(self.scheme, after, http.settings().head);
                let decoded = self.decoder.decode(bytes, |name, value| fields.note(name, value));
                let opened = match decoded {
                    Ok(()) => self.open(http, &mut fields, (number, after), context),
                    Err(error) => Err(not_hpack(error)),
                };
                http.return_fields(fields);
                let most = http.settings().requests_per_connection;
                if most.is_some_and(|most| self.requests >= most) {
                    self.announce_end(context);
                }
                opened
            }
            BlockUse::Trailers => {
                let most = http.settings().body.trailer_size as usize;
                let mut fields = TrailerFields::within(http.settings().head.field_count, most);
                let mut kept = FieldList::new();
                let decoded = self.decoder.decode(bytes, |name, value| {
                    if let Some((name, value)) =
                        fields.note(name, value).filter(|it| is_trailer(it.0))
                    {
                        // It fits, because the bytes of all are bounded.
                        let _fits = kept.add(name, value);
                    }
                });
                decoded.map_err(not_hpack)?;
                self.end_with_trailers(number, (fields, kept), context)
            }
            BlockUse::Dropped(code) => {
                self.guard.on_control()?;
                self.decoder.decode(bytes, |_, _| {}).map_err(not_hpack)?;
                match code {
                    Some(code) => self.reset(number, code, context),
                    None => Ok(()),
                }
            }
        }
    }

    /// Trailers of a request, those of them that mean anything, end its content.
    fn end_with_trailers<M>(
        &mut self,
        number: u32,
        (fields, mut kept): (TrailerFields, FieldList),
        context: &mut Context<'_, M>,
    ) -> Result<(), ConnectionError> {
        let Known::Open(place) = self.known(number) else { return Ok(()) };
        let Some(open) = self.streams.at(place) else { return Ok(()) };
        let (id, content) = (open.id(), open.held_mut().content_mut());
        let too_much = |reason| matches!(reason, Reason::TooManyFields | Reason::TrailersTooLarge);
        kept.shrink();
        match fields.finish() {
            Err(reason) if too_much(reason) => {
                return self.reset(number, ErrorCode::EnhanceYourCalm, context);
            }
            Ok(()) if self.head_bytes + kept.cost() > H2_HEAD_BYTES => {
                return self.reset(number, ErrorCode::EnhanceYourCalm, context);
            }
            Ok(()) if content.end().is_ok() => {}
            _ => return self.reset(number, ErrorCode::ProtocolError, context),
        }
        self.head_bytes += kept.cost();
        open.held_mut().add_head_bytes(kept.cost());
        if kept.is_empty() {
            context.streams().end_input(id);
        } else {
            context.streams().end_input_with(id, Box::new(kept));
        }
        Ok(())
    }

    /// A request has come, or something that is none.
    fn open<A: Application>(
        &mut self,
        http: &mut Http<A>,
        fields: &mut RequestFields,
        (number, after): (u32, AfterHead),
        context: &mut Context<'_, A::Message>,
    ) -> Result<(), ConnectionError> {
        let head = match fields.finish() {
            Ok(head) => head,
            Err(UnusableHead::Malformed(_)) => {
                http.note_malformed(self.arrival.peer, &fields.line(), context.now);
                return self.reset(number, ErrorCode::ProtocolError, context);
            }
            Err(UnusableHead::Refused(refusal)) => {
                return self.open_refused(refusal, &fields.line(), (number, after), context);
            }
        };
        let held = self.hold(&head, after);
        if self.streams.len() >= H2_STREAMS || self.head_bytes + held.head_bytes() > H2_HEAD_BYTES {
            return self.reset(number, ErrorCode::RefusedStream, context);
        }
        // A tunnel, or a body that is empty.
        let has_end = head.request().upgrade.is_some() || head.request().framing != Framing::None;
        let (peer, listener) = (self.arrival.peer, self.listener);
        let stream = Stream::new(head, peer, listener, self.secured.clone());
        let begun = self.begin_stream(stream, (number, held), context)?;
        if let Some(id) = begun.filter(|_| has_end && after == AfterHead::Nothing) {
            context.streams().end_input(id);
        }
        Ok(())
    }

    /// The parts of a request that are kept.
    fn hold(&self, head: &KeptHead, after: AfterHead) -> Held {
        let request = head.request();
        let mut held = self.hold_stream(after);
        if let Framing::Length(bytes) = request.framing {
            held.content_mut().announce(bytes);
        }
        held.with_head(head.held_bytes(), priority_of(&request.fields))
    }

    /// The parts of a stream that are kept, whatever its head.
    fn hold_stream(&self, after: AfterHead) -> Held {
        Held::new(self.peer.window_bytes(), after, self.room.window_of_stream())
    }

    /// Opens a stream whose request is answered with a refusal.
    fn open_refused<M>(
        &mut self,
        refusal: Refusal,
        line: &[u8],
        (number, after): (u32, AfterHead),
        context: &mut Context<'_, M>,
    ) -> Result<(), ConnectionError> {
        // It costs as much as one that was reset.
        self.guard.on_reset()?;
        if self.streams.len() >= H2_STREAMS {
            return self.reset(number, ErrorCode::RefusedStream, context);
        }
        let held = self.hold_stream(after);
        let stream = Stream::refused(refusal, line, self.arrival.peer);
        self.begin_stream(stream, (number, held), context)?;
        Ok(())
    }

    fn begin_stream<M>(
        &mut self,
        stream: Stream,
        (number, held): (u32, Held),
        context: &mut Context<'_, M>,
    ) -> Result<Option<StreamId>, ConnectionError> {
        self.requests = self.requests.saturating_add(1);
        let place = self.streams.next_place();
        let Ok(id) = context.streams().open(stream.into_opening(), place as u32) else {
            self.reset(number, ErrorCode::RefusedStream, context)?;
            return Ok(None);
        };
        self.head_bytes += held.head_bytes();
        self.streams.insert(number, id, held);
        Ok(Some(id))
    }
}
