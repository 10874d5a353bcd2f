//! The request of an exchange on its way out: its head, then its body.
//!
//! Owns what was not yet passed on to the connection, and how a body is delimited. Never sends: it writes into the
//! output of a connection, as much as there is room for, or lends what a frame takes.

use wire::h2::AfterFrame;
use wire::http::body::{write_chunk, write_last_chunk};
use wire::http::fields::FieldList;

use crate::behind::Behind;
use crate::body::{BodyLength, ContinueWait, OutgoingBody, check_trailers};
use crate::failure::ExchangeFailure;
use crate::head::WrittenHead;
use crate::limits::{OUTPUT_BYTES, REQUEST_HELD_BYTES};
use crate::request::AnswerTo;

/// Bytes around the data of a chunk: its size in at most five digits, and two line ends.
const CHUNK_FRAME: usize = 9;

const _: () = assert!(OUTPUT_BYTES < 0x10_0000, "the size of a chunk has at most five digits");

/// The request of an exchange.
#[derive(Debug)]
pub(crate) struct Outgoing {
    head: Box<[u8]>,
    head_sent: usize,
    /// A whole body, or the part of a streamed one that waits.
    body: Vec<u8>,
    /// Bytes of `body` that were passed on.
    body_sent: usize,
    framing: Framing,
    gate: Gate,
    end: End,
    /// HTTP/1.1 leaves it out where it has no place for it.
    behind: Behind,
    /// The requester has more than was taken.
    room: Room,
    kept: Kept,
}

/// How the end of the body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// By its length, which is 0 without a body. The requester still has to send this many bytes.
    Counted(u64),
    Chunked,
    /// There is none, but another protocol may follow.
    Asking,
    /// Another protocol: it is the end of the connection.
    Raw,
}

/// Whether the body may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    /// It waits for `100 Continue`.
    Waiting,
    /// The other server has answered without it.
    Shut,
}

/// Whether more will come from the requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Coming,
    /// No more, and the end is still to be marked: by trailers, a last chunk or a frame.
    Due,
    Reached,
}

/// Whether all of the request is still here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// It is, whatever was passed on, because the body was whole.
    Whole,
    /// It still is: nothing of a streamed body was dropped after it was passed on.
    All,
    Part,
}

/// The next content of a frame of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NextFrame<'o> {
    /// Nothing now.
    Nothing,
    /// A piece of the body, not more than there is room for.
    Content(&'o [u8], AfterFrame),
    /// The end, with trailers or alone.
    End(Option<&'o FieldList>),
}

/// Whether the requester waits for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Enough,
    Wanted,
}

impl Outgoing {
    /// The request, complete or with a body to come.
    pub(crate) fn of(
        head: WrittenHead,
        body: OutgoingBody,
        answer_to: AnswerTo,
        expectation: ContinueWait,
    ) -> Self {
        let gate = match expectation {
            ContinueWait::Continue => Gate::Waiting,
            ContinueWait::Nothing => Gate::Open,
        };
        let kept = match body {
            OutgoingBody::Streamed(_) => Kept::All,
            _ => Kept::Whole,
        };
        let mut behind = Behind::declared_as(head.declared);
        let (body, framing, end) = match body {
            OutgoingBody::None if answer_to == AnswerTo::Upgrade => {
                (Vec::new(), Framing::Asking, End::Reached)
            }
            OutgoingBody::None => (Vec::new(), Framing::Counted(0), End::Reached),
            OutgoingBody::Whole(bytes) => (bytes, Framing::Counted(0), End::Reached),
            OutgoingBody::Trailed(whole) => {
                let framing = match whole.length {
                    BodyLength::Said => Framing::Counted(0),
                    BodyLength::Unsaid => Framing::Chunked,
                };
                behind.set(whole.trailers);
                (whole.content, framing, End::Due)
            }
            OutgoingBody::Streamed(Some(length)) => {
                (Vec::new(), Framing::Counted(length), End::Coming)
            }
            OutgoingBody::Streamed(None) => (Vec::new(), Framing::Chunked, End::Coming),
        };
        let (head, head_sent, body_sent, room) = (head.text.into(), 0, 0, Room::Enough);
        Self { head, head_sent, body, body_sent, framing, gate, end, behind, room, kept }
    }

    /// Takes a part of a streamed body, as much as there is room for, and returns how much. A body that will not be
    /// sent any more is taken and dropped.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<usize, ExchangeFailure> {
        if let Framing::Counted(missing) = self.framing
            && bytes.len() as u64 > missing
            && self.end == End::Coming
        {
            return Err(ExchangeFailure::RequestLength);
        }
        let taken = bytes.get(..self.room()).unwrap_or(bytes);
        if !self.accepts() {
            return Ok(taken.len());
        }
        self.body.extend_from_slice(taken);
        if let Framing::Counted(missing) = &mut self.framing {
            *missing -= taken.len() as u64;
        }
        if taken.len() < bytes.len() {
            self.room = Room::Wanted;
        }
        Ok(taken.len())
    }

    /// How many bytes can be taken. After 0 the requester waits for room.
    pub(crate) fn room(&mut self) -> usize {
        let room = match self.framing {
            Framing::Asking => 0,
            _ if !self.accepts() => usize::MAX,
            _ => REQUEST_HELD_BYTES.saturating_sub(self.held_bytes()),
        };
        if room == 0 {
            self.room = Room::Wanted;
        }
        room
    }

    /// Whether what is taken will be sent.
    fn accepts(&self) -> bool {
        self.gate != Gate::Shut && self.end == End::Coming
    }

    /// The requester has sent everything.
    pub(crate) fn finish(&mut self, trailers: &FieldList) -> Result<(), ExchangeFailure> {
        if self.end != End::Coming {
            return Ok(());
        }
        self.end = match self.framing {
            Framing::Counted(1..) => return Err(ExchangeFailure::RequestLength),
            Framing::Counted(0) | Framing::Chunked => {
                check_trailers(trailers)?;
                self.behind.set(trailers.clone());
                End::Due
            }
            Framing::Asking | Framing::Raw => End::Reached,
        };
        Ok(())
    }

    /// Another protocol begins: what the requester sends is passed on as it is, until it ends.
    pub(crate) fn change_protocol(&mut self) {
        (self.framing, self.end, self.kept) = (Framing::Raw, End::Coming, Kept::Part);
    }

    /// Whether it is another protocol.
    pub(crate) fn is_raw(&self) -> bool {
        self.framing == Framing::Raw
    }

    /// The body need not wait any longer.
    pub(crate) fn open_gate(&mut self) {
        if self.gate == Gate::Waiting {
            self.gate = Gate::Open;
        }
    }

    /// The answer has come: a body that waited for consent is not sent.
    pub(crate) fn answered(&mut self) {
        if self.gate == Gate::Waiting {
            self.gate = Gate::Shut;
            self.body = Vec::new();
            self.body_sent = 0;
        }
    }

    /// Whether the body waits for `100 Continue`.
    pub(crate) fn awaits_consent(&self) -> bool {
        self.gate == Gate::Waiting
    }

    /// Passes on at most about `room` bytes, and returns how many.
    pub(crate) fn write(&mut self, room: usize, out: &mut Vec<u8>) -> usize {
        let before = out.len();
        let head = self.head.get(self.head_sent..).unwrap_or_default();
        let piece = head.get(..room).unwrap_or(head);
        out.extend_from_slice(piece);
        self.head_sent += piece.len();
        let left = room - piece.len();
        if self.head_sent == self.head.len() && self.gate == Gate::Open && left > CHUNK_FRAME {
            self.write_body(left, out);
        }
        out.len() - before
    }

    fn write_body(&mut self, room: usize, out: &mut Vec<u8>) {
        let waiting = self.body.get(self.body_sent..).unwrap_or_default();
        match self.framing {
            Framing::Chunked => {
                let piece = waiting.get(..room - CHUNK_FRAME).unwrap_or(waiting);
                write_chunk(out, piece);
                self.body_sent += piece.len();
            }
            Framing::Counted(_) | Framing::Asking | Framing::Raw => {
                let piece = waiting.get(..room).unwrap_or(waiting);
                out.extend_from_slice(piece);
                self.body_sent += piece.len();
            }
        }
        self.forget_sent();
        if self.held_bytes() > 0 {
            return;
        }
        match (self.framing, self.end) {
            (Framing::Chunked, End::Due) => {
                let none = FieldList::new();
                write_last_chunk(out, self.behind.fields().unwrap_or(&none).fields());
                self.end = End::Reached;
            }
            // Nothing can stand behind it here (RFC 9112, 6.3), whatever the requester still says.
            (Framing::Counted(0), _) => self.end = End::Reached,
            _ => {}
        }
    }

    /// Drops what was passed on of a streamed body, once that is as much as what waits.
    fn forget_sent(&mut self) {
        if self.kept != Kept::Whole && self.body_sent >= self.held_bytes() {
            if self.body_sent > 0 {
                self.kept = Kept::Part;
            }
            if self.held_bytes() == 0 {
                // The rest of the body may be slow, so an empty buffer keeps no memory.
                self.body = Vec::new();
            } else {
                self.body.drain(..self.body_sent);
            }
            self.body_sent = 0;
        }
    }

    /// The head, which becomes that of a stream: it counts as passed on.
    pub(crate) fn take_head(&mut self) -> &[u8] {
        self.head_sent = self.head.len();
        &self.head
    }

    /// The value of `Trailer` for a stream, if it is not in the head.
    pub(crate) fn declared(&self) -> Option<&[u8]> {
        self.behind.declared()
    }

    /// The content of the next frame of a stream, with at most this many bytes.
    pub(crate) fn next_frame(&mut self, room: usize) -> NextFrame<'_> {
        if self.gate != Gate::Open {
            return NextFrame::Nothing;
        }
        let waiting = self.body.get(self.body_sent..).unwrap_or_default();
        if waiting.is_empty() {
            if self.end != End::Due {
                return NextFrame::Nothing;
            }
            self.end = End::Reached;
            return NextFrame::End(self.behind.fields());
        }
        let piece = waiting.get(..room).unwrap_or(waiting);
        let is_last = piece.len() == waiting.len() && self.ends_with_content();
        let after = if is_last { AfterFrame::Nothing } else { AfterFrame::More };
        if piece.is_empty() { NextFrame::Nothing } else { NextFrame::Content(piece, after) }
    }

    /// So many bytes of content were passed on in a frame.
    pub(crate) fn pass_on(&mut self, bytes: usize) {
        self.body_sent += bytes;
        self.forget_sent();
        if self.held_bytes() == 0 && self.ends_with_content() {
            self.end = End::Reached;
        }
    }

    /// Whether the last frame of content is the last one.
    fn ends_with_content(&self) -> bool {
        self.end != End::Coming && self.behind.fields().is_none()
    }

    /// Whether all that the requester has sent so far is here, passed on or not.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept != Kept::Part && !self.head.is_empty() && self.gate != Gate::Shut
    }

    /// Whether more can be passed on now.
    pub(crate) fn has_more(&self) -> bool {
        let has_body = self.held_bytes() > 0 || self.end == End::Due;
        self.head_sent < self.head.len() || has_body && self.gate == Gate::Open
    }

    /// Whether everything was passed on.
    pub(crate) fn is_over(&self) -> bool {
        let is_open = self.gate == Gate::Open && self.end == End::Reached;
        is_open && !self.has_more()
    }

    /// Whether nothing was passed on.
    pub(crate) fn is_untouched(&self) -> bool {
        self.head_sent == 0
    }

    /// Begins again. Only for a request that is still complete, because it has no streamed body or nothing of it was
    /// passed on.
    pub(crate) fn rewind(&mut self) {
        (self.head_sent, self.body_sent) = (0, 0);
        let is_marked = self.framing == Framing::Chunked || self.behind.fields().is_some();
        if self.end == End::Reached && is_marked {
            self.end = End::Due;
        }
    }

    /// It is never sent again: drops what was passed on.
    pub(crate) fn forget(&mut self) {
        if self.is_over() {
            (self.head, self.head_sent) = (Box::default(), 0);
            (self.body, self.body_sent) = (Vec::new(), 0);
        }
    }

    /// Whether the requester waited for room, and there is some. Says it once.
    pub(crate) fn take_room(&mut self) -> bool {
        let has_room = self.has_room();
        if has_room {
            self.room = Room::Enough;
        }
        has_room
    }

    /// Whether the requester waits for room, and there is some.
    pub(crate) fn has_room(&self) -> bool {
        let has_room = self.held_bytes() <= REQUEST_HELD_BYTES / 2 || self.gate == Gate::Shut;
        self.room == Room::Wanted && self.framing != Framing::Asking && has_room
    }

    /// Bytes of the body that wait.
    pub(crate) fn held_bytes(&self) -> usize {
        self.body.len() - self.body_sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::TrailedBody;

    fn outgoing(body: OutgoingBody, expectation: ContinueWait) -> Outgoing {
        let head = WrittenHead { text: b"head ".to_vec(), declared: None };
        Outgoing::of(head, body, AnswerTo::Other, expectation)
    }

    /// Everything that can be passed on, in pieces of this size.
    fn written(outgoing: &mut Outgoing, room: usize) -> String {
        let mut out = Vec::new();
        while outgoing.has_more() {
            assert!(outgoing.write(room, &mut out) > 0, "it gets on");
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn bodies_are_delimited_however_they_are_cut() {
        for room in [10, 11, 20, 1000] {
            let mut whole =
                outgoing(OutgoingBody::Whole(b"whole body".into()), ContinueWait::Nothing);
            assert_eq!(written(&mut whole, room), "head whole body", "{room}");
            assert!(whole.is_over());
            whole.rewind();
            assert_eq!(written(&mut whole, room), "head whole body", "{room}");
            let mut counted = outgoing(OutgoingBody::Streamed(Some(5)), ContinueWait::Nothing);
            assert_eq!(counted.take(b"ab"), Ok(2));
            assert_eq!(written(&mut counted, room), "head ab");
            assert!(!counted.is_over());
            assert_eq!(counted.take(b"cde"), Ok(3));
            assert_eq!(written(&mut counted, room), "cde");
            assert!(counted.is_over());
        }
        let mut chunked = outgoing(OutgoingBody::Streamed(None), ContinueWait::Nothing);
        assert_eq!(chunked.take(b"abc"), Ok(3));
        assert_eq!(written(&mut chunked, 1000), "head 3\r\nabc\r\n");
        assert_eq!(chunked.take(b"d"), Ok(1));
        assert_eq!(chunked.finish(&FieldList::of(&[("x-sum", "7")])), Ok(()));
        assert!(!chunked.is_over());
        assert_eq!(written(&mut chunked, 1000), "1\r\nd\r\n0\r\nX-Sum: 7\r\n\r\n");
        assert!(chunked.is_over());
    }

    /// All frames, with contents of at most 4 bytes.
    fn framed(outgoing: &mut Outgoing) -> String {
        let mut frames = String::new();
        outgoing.take_head();
        loop {
            let content = match outgoing.next_frame(4) {
                NextFrame::Nothing => return frames,
                NextFrame::Content(piece, after) => {
                    frames += &format!("{} {after:?}, ", piece.escape_ascii());
                    piece.len()
                }
                NextFrame::End(trailers) => {
                    frames += &format!("end {}", trailers.map_or(0, FieldList::len));
                    0
                }
            };
            outgoing.pass_on(content);
        }
    }

    #[test]
    fn trailers_stand_behind_chunks_and_in_frames_and_nowhere_else() {
        let trailed = |length| {
            let trailers = FieldList::of(&[("x-sum", "7")]);
            OutgoingBody::Trailed(Box::new(TrailedBody {
                content: b"whole".into(),
                trailers,
                length,
            }))
        };
        for (length, text) in [
            (BodyLength::Said, "head whole"),
            (BodyLength::Unsaid, "head 5\r\nwhole\r\n0\r\nX-Sum: 7\r\n\r\n"),
        ] {
            let mut whole = outgoing(trailed(length), ContinueWait::Nothing);
            for _ in 0..2 {
                assert_eq!(written(&mut whole, 1000), text);
                assert!(whole.is_over() && whole.is_kept());
                whole.rewind();
                assert_eq!(framed(&mut whole), "whol More, e More, end 1");
                assert!(whole.is_over() && whole.is_kept());
                whole.rewind();
            }
        }
        for trailers in [&[][..], &[("x-sum", "7")]] {
            let trailers = FieldList::of(trailers);
            let streamed = || outgoing(OutgoingBody::Streamed(Some(5)), ContinueWait::Nothing);
            let mut text = streamed();
            assert_eq!(text.take(b"whole"), Ok(5));
            assert_eq!(written(&mut text, 1000), "head whole");
            assert!(text.is_over(), "HTTP/1.1 needs no more");
            assert_eq!(text.finish(&trailers), Ok(()));
            assert!(!text.has_more());
            let mut known = streamed();
            assert_eq!((known.take(b"whole"), known.finish(&trailers)), (Ok(5), Ok(())));
            let end = if trailers.is_empty() { "e Nothing, " } else { "e More, end 1" };
            assert_eq!(framed(&mut known), format!("whol More, {end}"));
            let mut late = streamed();
            assert_eq!(late.take(b"whole"), Ok(5));
            assert_eq!(framed(&mut late), "whol More, e More, ");
            assert!(!late.is_over());
            assert_eq!(late.finish(&trailers), Ok(()));
            assert_eq!(framed(&mut late), format!("end {}", trailers.len()));
            assert!(known.is_over() && late.is_over());
        }
    }

    #[test]
    fn a_body_of_another_length_and_trailers_that_are_too_long_are_refused() {
        let mut counted = outgoing(OutgoingBody::Streamed(Some(3)), ContinueWait::Nothing);
        assert_eq!(counted.take(b"abcd"), Err(ExchangeFailure::RequestLength));
        assert_eq!(counted.take(b"ab"), Ok(2));
        assert_eq!(counted.finish(&FieldList::new()), Err(ExchangeFailure::RequestLength));
        let long = "x".repeat(wire::limits::TRAILER_SIZE as usize - "X: ".len() - 1);
        let mut chunked = outgoing(OutgoingBody::Streamed(None), ContinueWait::Nothing);
        assert_eq!(chunked.finish(&FieldList::of(&[("X", &long)])), Err(ExchangeFailure::Field));
        assert_eq!(chunked.finish(&FieldList::of(&[("X", &long[1..])])), Ok(()));
    }

    #[test]
    fn no_more_is_held_than_the_bound_and_room_is_told_once() {
        let mut chunked = outgoing(OutgoingBody::Streamed(None), ContinueWait::Nothing);
        let bytes = vec![b'x'; REQUEST_HELD_BYTES + 5];
        assert_eq!(chunked.take(&bytes), Ok(REQUEST_HELD_BYTES));
        assert_eq!(chunked.take(b"x"), Ok(0));
        assert!(!chunked.take_room());
        let mut out = Vec::new();
        chunked.write(REQUEST_HELD_BYTES, &mut out);
        assert!(out.len() <= REQUEST_HELD_BYTES);
        assert!(chunked.take_room() && !chunked.take_room());
    }

    #[test]
    fn a_body_waits_for_consent_and_goes_nowhere_without() {
        let mut body = outgoing(OutgoingBody::Whole(b"body".into()), ContinueWait::Continue);
        assert_eq!(written(&mut body, 1000), "head ");
        assert!(body.awaits_consent() && !body.is_over());
        body.open_gate();
        assert_eq!(written(&mut body, 1000), "body");
        assert!(body.is_over());
        let mut refused = outgoing(OutgoingBody::Streamed(Some(4)), ContinueWait::Continue);
        assert_eq!(written(&mut refused, 1000), "head ");
        refused.answered();
        assert_eq!(refused.take(b"bo"), Ok(2), "and dropped");
        assert_eq!(written(&mut refused, 1000), "");
        assert!(!refused.is_over(), "its connection cannot be used again");
    }

    #[test]
    fn a_slow_body_keeps_no_memory_between_its_pieces() {
        for length in [Some(60_000), None] {
            let mut slow = outgoing(OutgoingBody::Streamed(length), ContinueWait::Nothing);
            assert_eq!(slow.take(&[b'x'; 30_000]), Ok(30_000));
            written(&mut slow, 64_000);
            assert_eq!(slow.body.capacity(), 0, "{length:?}");
        }
    }
}
