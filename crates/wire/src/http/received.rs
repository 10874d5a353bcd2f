//! Responses as a client reads them (RFC 9112, 4 to 7 and 9.3).
//!
//! Owns where a response begins and ends, what its status is, and whether another may follow it. Keeps no byte and
//! allocates nothing: what it remembers between two reads fits beside a connection. Never judges a response that can be
//! read; never looks at a field that does not say where the response ends. A caller that wants the fields passes a
//! [`Receiver`].
//!
//! A client is told what it asked for, not what it must guard: where a server breaks a rule and all readers
//! would still agree about the end, this one goes on and at most does not use the connection again.

mod head;
mod problem;
mod receiver;
mod status_line;

use super::body::{BodyDecoder, BodyLimits, BodyPiece};
use super::head::Framing as BodyFraming;
use super::method::Method;
use crate::limits;

use head::{Extent, Framing, Lines};
pub use problem::{ResponseError, ResponsePart, ResponseProblem};
pub use receiver::Receiver;

/// The limits of a body: any amount of data, because none is kept, but little framing.
const BODY_LIMITS: BodyLimits = BodyLimits {
    body_size: u64::MAX,
    chunk_extension_size: limits::RESPONSE_CHUNK_EXTENSION_SIZE,
    trailer_size: limits::RESPONSE_TRAILER_SIZE,
};

/// Reads one response over several reads, including interim responses before it.
#[derive(Clone, Debug)]
pub struct ResponseReader {
    phase: Phase,
    /// The status of the head being read, or of the final one; zero before its line.
    status: u16,
    interim: u8,
    content: Content,
    persistent: bool,
}

// A client holds one for each of its connections.
const _: () = assert!(size_of::<ResponseReader>() <= 32);

/// The part that comes next.
#[derive(Clone, Debug)]
enum Phase {
    Head(Lines),
    Body(BodyDecoder),
    UntilClose,
    Over,
}

/// Whether the response to the request can have content (RFC 9112, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The request was HEAD.
    Never,
    /// The status decides.
    Possible,
    /// The same, and the request asked for another protocol, which status 101 begins.
    PossibleOrUpgrade,
}

/// The result of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading<'b> {
    /// Bytes of the input that are done with. Pass the bytes after them again, first.
    pub consumed: usize,
    /// Content of the response, which is the last part of the consumed bytes; often empty.
    pub body: &'b [u8],
    /// The action to take next.
    pub then: AfterStep,
}

/// The action after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterStep {
    /// Read again with the rest of this input, which may contain more content.
    ReadRest,
    /// Read again when more input has arrived. The rest of this input is an incomplete line of the head.
    Wait,
    /// The response has ended. The rest of this input belongs to the next one.
    Finish,
}

impl ResponseReader {
    /// A reader for the response to a request with this method.
    #[inline]
    pub const fn new(method: Method) -> ResponseReader {
        ResponseReader {
            phase: Phase::Head(Lines::NONE),
            status: 0,
            interim: 0,
            content: if matches!(method, Method::Head) {
                Content::Never
            } else {
                Content::Possible
            },
            persistent: false,
        }
    }

    /// A reader for the response to a GET request that asked for another protocol (RFC 9110, 7.8). Status 101 is then
    /// final, and everything after its head, up to the close, is read as content.
    pub const fn for_upgrade() -> ResponseReader {
        ResponseReader { content: Content::PossibleOrUpgrade, ..ResponseReader::new(Method::Get) }
    }

    /// The status of the final response, 100 to 999, once its head is complete. Treat statuses above 599
    /// as 500 (RFC 9110, 15).
    #[inline]
    pub const fn status(&self) -> Option<u16> {
        if matches!(self.phase, Phase::Head(_)) { None } else { Some(self.status) }
    }

    /// The number of interim responses (1xx) before the final one.
    #[inline]
    pub const fn interim(&self) -> u8 {
        self.interim
    }

    /// Whether another request may be sent on the connection after this response.
    #[inline]
    pub const fn is_persistent(&self) -> bool {
        self.persistent
    }

    /// Whether the response has ended.
    #[inline]
    pub const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Takes as much as possible from the front of the input, with at most one piece of content. After an error or the
    /// end of the response nothing more can be read.
    #[inline]
    pub fn read<'b>(&mut self, input: &'b [u8]) -> Result<Reading<'b>, ResponseError> {
        self.read_to(input, &mut ())
    }

    /// The same, and passes on the status line and the fields of each head, and the trailer section, as they are taken.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[inline]
    pub fn read_to<'b>(
        &mut self,
        input: &'b [u8],
        receiver: &mut impl Receiver,
    ) -> Result<Reading<'b>, ResponseError> {
        match self.phase {
            Phase::Head(lines) => self.read_head(lines, input, receiver),
            Phase::Body(_) => self.read_body(input, 0, receiver),
            Phase::UntilClose => {
                Ok(Reading { consumed: input.len(), body: input, then: AfterStep::Wait })
            }
            Phase::Over => Ok(Reading { consumed: 0, body: &[], then: AfterStep::Finish }),
        }
    }

    /// The peer closed the connection, and `unread` bytes that were passed were not
    /// consumed. Valid if the body lasts until the close (RFC 9112, 8).
    pub fn close(&mut self, unread: usize) -> Result<(), ResponseError> {
        match &self.phase {
            Phase::UntilClose | Phase::Over => {
                self.phase = Phase::Over;
                Ok(())
            }
            Phase::Head(lines) => {
                let part = lines.part(self.status);
                let is_first = part == ResponsePart::StatusLine && self.interim == 0;
                let nothing_came = is_first && unread == 0;
                let problem = if nothing_came {
                    ResponseProblem::ClosedBefore
                } else {
                    ResponseProblem::ClosedWithin
                };
                Err(problem.at(part))
            }
            Phase::Body(_) => Err(ResponseProblem::ClosedWithin.at(ResponsePart::Body)),
        }
    }

    /// Takes heads, and the first piece of content after the final one.
    #[inline(always)]
    fn read_head<'b>(
        &mut self,
        mut lines: Lines,
        input: &'b [u8],
        receiver: &mut impl Receiver,
    ) -> Result<Reading<'b>, ResponseError> {
        let mut at = 0;
        loop {
            let (taken, extent) =
                lines.take(&mut self.status, input.get(at..).unwrap_or_default(), receiver)?;
            at += taken;
            if extent == Extent::Partial {
                self.phase = Phase::Head(lines);
                return Ok(Reading { consumed: at, body: &[], then: AfterStep::Wait });
            }
            if self.status >= 200 || self.begins_other_protocol() {
                receiver.end();
                return self.begin_body(&lines, input, at, receiver);
            }
            self.count_interim()?;
            receiver.end();
            lines = Lines::NONE;
        }
    }

    /// Whether the head that was read ends HTTP on the connection, as was asked for.
    fn begins_other_protocol(&self) -> bool {
        self.status == 101 && self.content == Content::PossibleOrUpgrade
    }

    /// RFC 9110, 15.2: a client must accept interim responses. Their number is limited here.
    #[cold]
    fn count_interim(&mut self) -> Result<(), ResponseError> {
        if self.status == 101 {
            return Err(ResponseProblem::UnaskedUpgrade.at(ResponsePart::StatusLine));
        }
        if self.interim == limits::RESPONSE_INTERIM_COUNT {
            return Err(ResponseProblem::TooManyInterim.at(ResponsePart::StatusLine));
        }
        self.interim += 1;
        self.status = 0;
        Ok(())
    }

    /// RFC 9112, 6.3.
    #[inline(always)]
    fn begin_body<'b>(
        &mut self,
        lines: &Lines,
        input: &'b [u8],
        at: usize,
        receiver: &mut impl Receiver,
    ) -> Result<Reading<'b>, ResponseError> {
        // RFC 9110, 8.6, and RFC 9112, 6.1, forbid both with a 204: whoever wrote it may send a body all the same,
        // which would be read as the next answer.
        let is_ambiguous = self.status == 204 && lines.announce_a_body();
        self.persistent = lines.are_persistent() && !is_ambiguous;
        let has_none = self.content == Content::Never || matches!(self.status, 204 | 304);
        let declared =
            if self.begins_other_protocol() { Framing::UntilClose } else { lines.framing() };
        let framing = match declared {
            _ if has_none => BodyFraming::None,
            Framing::Chunked => BodyFraming::Chunked,
            Framing::Length(length) => {
                // The common case: the whole body is in the input.
                let here =
                    usize::try_from(length).ok().and_then(|size| input.get(at..)?.get(..size));
                if let Some(body) = here {
                    self.phase = Phase::Over;
                    return Ok(Reading {
                        consumed: at + body.len(),
                        body,
                        then: AfterStep::Finish,
                    });
                }
                BodyFraming::Length(length)
            }
            Framing::UntilClose => {
                self.persistent = false;
                self.phase = Phase::UntilClose;
                let body = input.get(at..).unwrap_or_default();
                return Ok(Reading { consumed: input.len(), body, then: AfterStep::Wait });
            }
        };
        self.phase = Phase::Body(BodyDecoder::new(framing, &BODY_LIMITS)?);
        self.read_body(input, at, receiver)
    }

    /// Takes one piece of content that begins at or after `at`.
    #[inline(never)]
    fn read_body<'b>(
        &mut self,
        input: &'b [u8],
        at: usize,
        receiver: &mut impl Receiver,
    ) -> Result<Reading<'b>, ResponseError> {
        let Phase::Body(decoder) = &mut self.phase else {
            return Ok(Reading { consumed: at, body: &[], then: AfterStep::Wait });
        };
        let (used, piece) = decoder
            .next_with(input.get(at..).unwrap_or_default(), |byte| receiver.trailer_byte(byte))?;
        let consumed = at + used;
        let body = if let BodyPiece::Data(body) = piece { body } else { &[] };
        let then = if decoder.is_over() {
            self.phase = Phase::Over;
            AfterStep::Finish
        } else if consumed == input.len() {
            AfterStep::Wait
        } else {
            AfterStep::ReadRest
        };
        Ok(Reading { consumed, body, then })
    }
}
