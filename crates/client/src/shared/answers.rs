//! The meaning of a server's frames for the exchange of their stream.
//!
//! Owns the steps from heads and content to a complete or failed answer. An answer that breaks a rule fails alone, with
//! a reset of its stream (RFC 9113, 8.1.1).

use wire::h2::{AfterFrame, ErrorCode, ResponseFields, TrailerFields, write_window_update};
use wire::http::fields::FieldList;

use super::Run;
use super::input::{Broken, too_many};
use crate::answer_fault::AnswerFault;
use crate::exchange::Exchange;
use crate::failure::ExchangeFailure;
use crate::id::ExchangeId;

/// Fields of a head or of trailers, as far as a list holds them.
#[derive(Default)]
struct Collected {
    fields: FieldList,
    is_too_long: bool,
}

impl Collected {
    fn add(&mut self, field: Option<(&str, &[u8])>) {
        if let Some((name, value)) = field {
            self.is_too_long |= self.fields.add_as_spelt(name, value).is_err();
        }
    }

    fn list(self) -> Result<FieldList, ExchangeFailure> {
        if self.is_too_long { Err(ExchangeFailure::HeadTooLong) } else { Ok(self.fields) }
    }
}

impl Run<'_> {
    /// The exchange of an open stream.
    pub(super) fn exchange_of(&mut self, number: u32) -> Option<(ExchangeId, &mut Exchange)> {
        let id = self.link.streams.get(number)?.exchange;
        Some((id, self.client.exchanges.running(id)?))
    }

    /// A whole block of fields: a head or trailers.
    pub(super) fn take_block(
        &mut self,
        number: u32,
        after: AfterFrame,
        bytes: &[u8],
    ) -> Result<(), Broken> {
        let has_head = match self.exchange_of(number) {
            Some((_, exchange)) => exchange.incoming.has_head(),
            None => {
                // The table must stay in step.
                self.link.budget.on_frame().map_err(too_many)?;
                return self.decode(bytes, |_, _| {});
            }
        };
        let read = if has_head {
            self.read_trailers(bytes, after)?
                .and_then(|trailers| self.add(number, |it| Ok(it.take_framed_trailers(trailers)?)))
        } else {
            let mut head = ResponseFields::new();
            let mut collected = Collected::default();
            self.decode(bytes, |name, value| collected.add(head.note(name, value)))?;
            head.finish()
                .map_err(|wrong| AnswerFault::Head(wrong).into())
                .and_then(|head| Ok((head, collected.list()?)))
                .and_then(|(head, fields)| {
                    self.add(number, |it| it.take_framed_head(head, fields, after))
                })
        };
        match read {
            Ok(()) => self.on_answer(number, after),
            Err(failure) => self.refuse(number, ErrorCode::ProtocolError, failure),
        }
        Ok(())
    }

    fn read_trailers(
        &mut self,
        bytes: &[u8],
        after: AfterFrame,
    ) -> Result<Result<FieldList, ExchangeFailure>, Broken> {
        let mut trailers = TrailerFields::of_answer();
        let mut collected = Collected::default();
        self.decode(bytes, |name, value| collected.add(trailers.note(name, value)))?;
        if after == AfterFrame::More {
            return Ok(Err(AnswerFault::TrailersGoOn.into()));
        }
        let read = trailers.finish().map_err(|reason| AnswerFault::Trailers(reason).into());
        Ok(read.and_then(|()| collected.list()))
    }

    fn decode(&mut self, bytes: &[u8], visit: impl FnMut(&[u8], &[u8])) -> Result<(), Broken> {
        let decoded = self.link.decoder.decode(bytes, visit);
        decoded.map_err(|_| (ErrorCode::CompressionError, "a block of fields is not HPACK"))
    }

    /// Adds to the answer of a stream.
    fn add(
        &mut self,
        number: u32,
        add: impl FnOnce(&mut crate::incoming::Incoming) -> Result<(), ExchangeFailure>,
    ) -> Result<(), ExchangeFailure> {
        self.exchange_of(number).map_or(Ok(()), |(_, exchange)| add(&mut exchange.incoming))
    }

    /// A piece of content.
    pub(super) fn take_data(
        &mut self,
        number: u32,
        content: &[u8],
        flow_bytes: u32,
        after: AfterFrame,
    ) -> Result<(), Broken> {
        self.check_stream(number)?;
        let too_much = |_| (ErrorCode::FlowControlError, "more content than its windows allow");
        self.link.input.take(flow_bytes).map_err(too_much)?;
        // The window of its stream bounds how much an exchange holds.
        self.link.input.give_back(flow_bytes as usize);
        if content.is_empty() && after == AfterFrame::More {
            self.link.budget.on_frame().map_err(too_many)?;
        }
        self.link.budget.on_body(content.len());
        if self.link.streams.get(number).is_none() {
            let left = self.link.late_bytes.checked_sub(flow_bytes.into());
            let closed = (ErrorCode::StreamClosed, "content for a stream that is closed");
            self.link.late_bytes = left.ok_or(closed)?;
            return Ok(());
        }
        let taken = self.add(number, |it| Ok(it.take_content(content, flow_bytes, after)?));
        match taken {
            Ok(()) => {
                self.on_answer(number, after);
                self.reopen(number);
            }
            Err(failure) => {
                let is_window = failure == ExchangeFailure::WrongAnswer(AnswerFault::Window);
                let code = match is_window {
                    true => ErrorCode::FlowControlError,
                    false => ErrorCode::ProtocolError,
                };
                self.refuse(number, code, failure);
            }
        }
        Ok(())
    }

    /// Opens the window of a stream again that padding has used up: no requester takes that.
    fn reopen(&mut self, number: u32) {
        let Some((_, exchange)) = self.exchange_of(number) else { return };
        if let Some(increment) = exchange.incoming.take_increment() {
            write_window_update(number, increment, self.out);
        }
    }

    /// Something of an answer has come.
    fn on_answer(&mut self, number: u32, after: AfterFrame) {
        let now_ns = self.link.now_ns;
        let Some((id, exchange)) = self.exchange_of(number) else { return };
        exchange.note_progress(now_ns);
        let mut is_open = false;
        if exchange.incoming.take_consent() {
            exchange.outgoing.open_gate();
            is_open = true;
        }
        if exchange.incoming.has_head() {
            exchange.outgoing.answered();
            // It is never sent again.
            exchange.outgoing.forget();
        }
        self.client.tell(id);
        self.client.schedule(id);
        if is_open {
            self.consented(number);
        }
        if after == AfterFrame::Nothing {
            self.finish(number);
        }
    }
}
