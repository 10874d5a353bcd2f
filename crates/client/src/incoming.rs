//! The answer of an exchange on its way in: from bytes to heads, body and trailers.
//!
//! Owns what the requester has not taken of it. `wire`'s reader decides where an answer ends, or the frames of its
//! stream do ([`FramedAnswer`]). Never reads a connection.

use std::collections::VecDeque;

use memchr::memchr;
use wire::h2::{AfterFrame, H2ResponseHead};
use wire::http::fields::FieldList;
use wire::http::head::HttpVersion;
use wire::http::received::{AfterStep, Receiver, ResponseProblem, ResponseReader};

use crate::answer_fault::AnswerFault;
use crate::failure::ExchangeFailure;
use crate::framed::FramedAnswer;
use crate::limits::{ANSWER_HELD_BYTES, HEAD_BYTES};
use crate::news::ResponseHead;
use crate::request::AnswerTo;

/// Whether an answer is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Partial,
    Whole,
}

/// Whether any byte of an answer had arrived when its connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    BeforeFirstByte,
    Within,
}

/// How far an answer is after some input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Bytes of the input that are done with: all but an incomplete line, or bytes after the end.
    pub(crate) consumed: usize,
    pub(crate) extent: Extent,
}

/// An answer that is being received.
#[derive(Debug)]
pub(crate) struct Incoming {
    reader: Reader,
    heads: Heads,
    body: Vec<u8>,
    /// Bytes of the heads so far.
    head_bytes: usize,
    /// Bytes of input that were not consumed and are passed again.
    unread: usize,
}

/// The sign by which an answer ends.
#[derive(Debug)]
enum Reader {
    /// Its text.
    Text(ResponseReader),
    /// The frames of its stream.
    Frames(FramedAnswer),
}

/// The heads of an answer, and its trailer section.
#[derive(Debug, Default)]
struct Heads {
    /// The one being read, and the final one until it is taken. Without a status it is none.
    current: ResponseHead,
    interim: VecDeque<ResponseHead>,
    trailers: Trailers,
    consent: Consent,
    size: Size,
}

/// A trailer section.
#[derive(Debug)]
enum Trailers {
    /// As its lines have come.
    Text(Vec<u8>),
    Fields(Box<FieldList>),
}

impl Default for Trailers {
    fn default() -> Self {
        Self::Text(Vec::new())
    }
}

/// Whether a list held all fields of every head. Each line of a head may be written shorter than a list writes it, so
/// the reader's limit alone does not say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Size {
    #[default]
    Fits,
    TooLarge,
}

/// Whether the other server has said `100 Continue`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Consent {
    #[default]
    NotYet,
    Given,
}

impl Receiver for Heads {
    fn begin(&mut self, _version: HttpVersion, status: u16) {
        self.current = ResponseHead { status, fields: FieldList::with_room() };
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        // The reader has checked that it is a token.
        let name = str::from_utf8(name).unwrap_or_default();
        if self.current.fields.add_as_spelt(name, value).is_err() {
            self.size = Size::TooLarge;
        }
    }

    fn fold(&mut self, more: &[u8]) {
        if self.current.fields.fold(more).is_err() {
            self.size = Size::TooLarge;
        }
    }

    fn end(&mut self) {
        let status = self.current.status;
        if status == 100 {
            self.consent = Consent::Given;
        }
        // The reader lets 101 pass only if it was asked for, and then it is the last.
        if status < 200 && status != 101 {
            self.interim.push_back(std::mem::take(&mut self.current));
        }
    }

    fn trailer_byte(&mut self, byte: u8) {
        if let Trailers::Text(text) = &mut self.trailers {
            text.push(byte);
        }
    }
}

impl Incoming {
    pub(crate) fn new(answer_to: AnswerTo) -> Self {
        let reader = match answer_to {
            AnswerTo::Upgrade => ResponseReader::for_upgrade(),
            AnswerTo::Head | AnswerTo::Other => ResponseReader::new(answer_to.method()),
        };
        Self::by(Reader::Text(reader))
    }

    /// An answer that comes in frames.
    pub(crate) fn in_frames(answer_to: AnswerTo) -> Self {
        Self::by(Reader::Frames(FramedAnswer::new(answer_to)))
    }

    fn by(reader: Reader) -> Self {
        let (heads, body) = (Heads::default(), Vec::new());
        Self { reader, heads, body, head_bytes: 0, unread: 0 }
    }

    /// Takes input, which is text.
    pub(crate) fn take(&mut self, input: &[u8]) -> Result<Taken, ExchangeFailure> {
        let Reader::Text(reader) = &mut self.reader else {
            return Ok(Taken { consumed: input.len(), extent: Extent::Partial });
        };
        let mut consumed = 0;
        while let Some(rest) = input.get(consumed..).filter(|rest| !rest.is_empty()) {
            let had_head = reader.status().is_some();
            let step =
                reader.read_to(rest, &mut self.heads).map_err(ExchangeFailure::NotAnAnswer)?;
            if !had_head {
                self.head_bytes += step.consumed - step.body.len();
                if self.head_bytes > HEAD_BYTES || self.heads.size == Size::TooLarge {
                    return Err(ExchangeFailure::HeadTooLong);
                }
            }
            self.body.extend_from_slice(step.body);
            consumed += step.consumed;
            match step.then {
                AfterStep::ReadRest => {}
                AfterStep::Wait => break,
                AfterStep::Finish => return Ok(Taken { consumed, extent: Extent::Whole }),
            }
        }
        self.unread = input.len() - consumed;
        Ok(Taken { consumed, extent: Extent::Partial })
    }

    /// A head has come in frames. Its size is that of all heads so far.
    pub(crate) fn take_framed_head(
        &mut self,
        head: H2ResponseHead,
        fields: FieldList,
        after: AfterFrame,
    ) -> Result<(), ExchangeFailure> {
        let Reader::Frames(framed) = &mut self.reader else { return Ok(()) };
        framed.take_head(head, after)?;
        self.head_bytes += fields.fields().lines().len();
        if self.head_bytes > HEAD_BYTES {
            return Err(ExchangeFailure::HeadTooLong);
        }
        self.heads.current = ResponseHead { status: head.status, fields };
        Receiver::end(&mut self.heads);
        Ok(())
    }

    /// A piece of the body has come in a frame, of which the windows count so many bytes.
    pub(crate) fn take_content(
        &mut self,
        content: &[u8],
        flow_bytes: u32,
        after: AfterFrame,
    ) -> Result<(), AnswerFault> {
        let Reader::Frames(framed) = &mut self.reader else { return Ok(()) };
        framed.take_content(content.len(), flow_bytes, after)?;
        self.body.extend_from_slice(content);
        Ok(())
    }

    /// Trailers have come in frames.
    pub(crate) fn take_framed_trailers(&mut self, trailers: FieldList) -> Result<(), AnswerFault> {
        let Reader::Frames(framed) = &mut self.reader else { return Ok(()) };
        framed.end()?;
        self.heads.trailers = Trailers::Fields(Box::new(trailers));
        Ok(())
    }

    /// By how much the window of its stream is to be opened, if that is due.
    pub(crate) fn take_increment(&mut self) -> Option<u32> {
        match &mut self.reader {
            Reader::Frames(framed) => framed.take_increment(),
            Reader::Text(_) => None,
        }
    }

    /// The connection has ended, which may be the end of the answer.
    pub(crate) fn close(&mut self) -> Result<(), Cut> {
        match &mut self.reader {
            Reader::Text(reader) => {
                reader.close(self.unread).map_err(|error| match error.problem {
                    ResponseProblem::ClosedBefore => Cut::BeforeFirstByte,
                    _ => Cut::Within,
                })
            }
            Reader::Frames(framed) if framed.is_untouched() => Err(Cut::BeforeFirstByte),
            Reader::Frames(_) => Err(Cut::Within),
        }
    }

    fn status(&self) -> Option<u16> {
        match &self.reader {
            Reader::Text(reader) => reader.status(),
            Reader::Frames(framed) => framed.status(),
        }
    }

    /// Whether the head was complete.
    pub(crate) fn has_head(&self) -> bool {
        self.status().is_some()
    }

    /// Whether another protocol has begun.
    pub(crate) fn has_changed_protocol(&self) -> bool {
        self.status() == Some(101)
    }

    /// Whether the other server said `100 Continue`. Says it once.
    pub(crate) fn take_consent(&mut self) -> bool {
        std::mem::take(&mut self.heads.consent) == Consent::Given
    }

    /// Whether the connection may be used again after the answer.
    pub(crate) fn is_persistent(&self) -> bool {
        matches!(&self.reader, Reader::Text(reader) if reader.is_persistent())
    }

    /// Whether so much waits that the connection should not be read.
    pub(crate) fn is_full(&self) -> bool {
        self.body.len() >= ANSWER_HELD_BYTES
    }

    /// Bytes of the body that wait.
    pub(crate) fn held_bytes(&self) -> usize {
        self.body.len()
    }

    pub(crate) fn take_interim(&mut self) -> Option<ResponseHead> {
        self.heads.interim.pop_front()
    }

    /// The head of the final answer, once.
    pub(crate) fn take_head(&mut self) -> Option<ResponseHead> {
        let is_there = self.has_head() && self.heads.current.status != 0;
        is_there.then(|| std::mem::take(&mut self.heads.current))
    }

    /// At most this many bytes of the body, if there are any.
    pub(crate) fn take_body(&mut self, most: usize) -> Option<Vec<u8>> {
        if self.body.is_empty() || most == 0 {
            return None;
        }
        let taken = if self.body.len() <= most {
            std::mem::take(&mut self.body)
        } else {
            self.body.drain(..most).collect()
        };
        if let Reader::Frames(framed) = &mut self.reader {
            framed.give_back(taken.len());
        }
        Some(taken)
    }

    /// The trailers, once, if there are any. The reader has checked their lines.
    pub(crate) fn take_trailers(&mut self) -> Option<FieldList> {
        let text = match std::mem::take(&mut self.heads.trailers) {
            Trailers::Text(text) => text,
            Trailers::Fields(fields) => return Some(*fields).filter(|fields| !fields.is_empty()),
        };
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| {
            let (name, value) = line.split_at_checked(memchr(b':', line)?)?;
            Some((str::from_utf8(name).ok()?, value.get(1..)?.trim_ascii()))
        });
        let mut fields = FieldList::new();
        for (name, value) in lines {
            fields.add_as_spelt(name, value).ok()?;
        }
        if fields.is_empty() { None } else { Some(fields) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer with all its parts, as text.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Answer {
        interim: Vec<u16>,
        status: u16,
        fields: String,
        body: String,
        trailers: String,
    }

    fn lines(fields: &FieldList) -> String {
        let text = String::from_utf8_lossy;
        let pairs = fields.fields();
        pairs.iter().map(|(name, value)| format!("{name}={};", text(value))).collect()
    }

    /// Reads an answer that arrives in pieces of `size` bytes, as from a connection, and returns it with the bytes it
    /// used.
    fn read(
        answer_to: AnswerTo,
        text: &[u8],
        size: usize,
    ) -> Result<(usize, Answer), ExchangeFailure> {
        let mut incoming = Incoming::new(answer_to);
        let (mut begin, mut end) = (0, 0);
        let mut body = Vec::new();
        while end < text.len() {
            end = text.len().min(end + size);
            let taken = incoming.take(&text[begin..end])?;
            begin += taken.consumed;
            while let Some(piece) = incoming.take_body(2) {
                body.extend(piece);
            }
            if taken.extent == Extent::Whole {
                break;
            }
        }
        incoming.close().map_err(|_| ExchangeFailure::Closed)?;
        let interim = std::iter::from_fn(|| incoming.take_interim()).map(|head| head.status);
        let interim = interim.collect();
        let ResponseHead { status, fields } = incoming.take_head().expect("the answer is whole");
        let body = String::from_utf8(body).unwrap();
        let trailers = incoming.take_trailers().map_or_else(String::new, |fields| lines(&fields));
        Ok((begin, Answer { interim, status, fields: lines(&fields), body, trailers }))
    }

    fn answer(status: u16, fields: &str, body: &str) -> Answer {
        Answer { status, fields: fields.into(), body: body.into(), ..Answer::default() }
    }

    #[test]
    fn answers_are_read_however_they_are_cut() {
        let cases: [(&str, Answer); 6] = [
            (
                "HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n\t d: e\r\nContent-Length:\r\n 3\r\nX-B: \r\n \
                 x\r\n\r\nabc",
                answer(200, "X-A=b c d: e;Content-Length=3;X-B=x;", "abc"),
            ),
            (
                "HTTP/1.1 200 OK\r\nServer: s \r\nContent-Type: a/b\r\n c\r\nContent-Length: 3\r\nx-A:  b c \
                 \r\n\r\nabc",
                answer(200, "Server=s;Content-Type=a/b c;Content-Length=3;x-A=b c;", "abc"),
            ),
            (
                "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nT: \
                 x\r\nU:\r\n\r\n",
                Answer {
                    trailers: "T=x;U=;".into(),
                    ..answer(404, "Transfer-Encoding=chunked;", "abcde")
                },
            ),
            (
                "HTTP/1.1 100 Continue\r\nX-Not: this\r\n\r\nHTTP/1.1 103 Early\r\n\r\nHTTP/1.1 201 \
                 Made\r\nX-This: one\r\nContent-Length: 1\r\n\r\n1",
                Answer {
                    interim: vec![100, 103],
                    ..answer(201, "X-This=one;Content-Length=1;", "1")
                },
            ),
            ("HTTP/1.1 204 None\r\nA: b\r\n\r\n", answer(204, "A=b;", "")),
            (
                "HTTP/1.0 200 OK\r\n\r\nuntil: the\r\n\r\nend",
                answer(200, "", "until: the\r\n\r\nend"),
            ),
        ];
        for (text, expected) in cases {
            for size in [1, 2, 3, 7, 1000] {
                let (consumed, got) = read(AnswerTo::Other, text.as_bytes(), size).unwrap();
                assert_eq!((consumed, &got), (text.len(), &expected), "{size} {text}");
            }
        }
    }

    #[test]
    fn the_answer_to_head_has_no_body_and_101_has_one_until_the_end() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nHTTP";
        let (consumed, got) = read(AnswerTo::Head, text, 1000).unwrap();
        assert_eq!((consumed, got.body), (text.len() - 4, String::new()));
        let text = b"HTTP/1.1 101 S\r\nContent-Length: 1\r\nUpgrade: x\r\n\r\nother bytes";
        for size in [1, 5, 1000] {
            let (consumed, got) = read(AnswerTo::Upgrade, text, size).unwrap();
            assert_eq!((consumed, got.status, &*got.body), (text.len(), 101, "other bytes"));
        }
        let unasked = read(AnswerTo::Other, text, 1000);
        assert!(matches!(unasked, Err(ExchangeFailure::NotAnAnswer(_))), "{unasked:?}");
    }

    #[test]
    fn invalid_and_too_long_answers_are_refused() {
        let failure = |text: &[u8]| read(AnswerTo::Other, text, 1000).unwrap_err();
        assert!(matches!(failure(b"SSH-2.0-OpenSSH\r\n"), ExchangeFailure::NotAnAnswer(_)));
        let mut endless = b"HTTP/1.1 200 OK\r\n".to_vec();
        endless.resize(2 * HEAD_BYTES, b'a');
        assert!(matches!(failure(&endless), ExchangeFailure::NotAnAnswer(_)));
        let interim = b"HTTP/1.1 100 C\r\nX: ".iter().copied().chain([b'x'; 30_000]);
        let interim: Vec<u8> = interim.chain(*b"\r\n\r\n").collect();
        assert_eq!(failure(&interim.repeat(3)), ExchangeFailure::HeadTooLong);
    }

    #[test]
    fn a_connection_that_ends_too_soon_says_how_soon() {
        let cut = |text: &str| {
            let mut incoming = Incoming::new(AnswerTo::Other);
            incoming.take(text.as_bytes()).unwrap();
            incoming.close()
        };
        assert_eq!(cut(""), Err(Cut::BeforeFirstByte));
        assert_eq!(cut("H"), Err(Cut::Within));
        assert_eq!(cut("HTTP/1.1 100 C\r\n\r\n"), Err(Cut::Within));
        assert_eq!(cut("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"), Err(Cut::Within));
        assert_eq!(cut("HTTP/1.1 200 OK\r\n\r\nab"), Ok(()));
    }
}
