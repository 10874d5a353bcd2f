//! An application that echoes what it understood of each request, in all the ways an answer can be given.
//!
//! Owns the answers and their expected values. The first part of the path selects the way: `stream`, `wait`, `ignored`,
//! `very-late` (ignored and waited for), `nothing`, `many` bytes, `taken` (the body piece by piece, with a pause after
//! each); all others get an echo.

use conformance::ParsedResponse;
use http::{
    Answer, AnswerContext, Application, BodyPolicy, FieldList, Http, Intake, Method, Reply,
    Request, Status,
};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;

use super::expected::{Asked, Way};

/// Bytes of a body that is collected.
pub(super) const COLLECTED_MAX: u64 = 300;

/// Bytes of an answer that is queued by reference, and that does not quite fit into the socket.
const MANY_BYTES: usize = 20_000;

/// Bytes of a piece of a stream.
const PIECE_BYTES: usize = 7;

impl Way {
    /// The way of a request with this target.
    pub(super) fn of_target(target: &[u8]) -> Self {
        match target.get(1) {
            Some(b's') => Self::Stream,
            Some(b'w') => Self::Wait,
            Some(b'i') => Self::Ignored,
            Some(b'v') => Self::VeryLate,
            Some(b'n') => Self::Nothing,
            Some(b'm') => Self::Many,
            Some(b't') => Self::Taken,
            _ => Self::Echo,
        }
    }

    fn waits(self) -> bool {
        matches!(self, Self::Wait | Self::VeryLate)
    }

    pub(super) fn body_policy(self) -> BodyPolicy {
        match self {
            Self::Ignored | Self::VeryLate => BodyPolicy::Ignore,
            Self::Taken => BodyPolicy::Stream { limit: COLLECTED_MAX },
            _ => BodyPolicy::Collect { limit: COLLECTED_MAX },
        }
    }
}

/// The application.
#[derive(Default)]
pub(crate) struct Echo {
    waiting: Vec<ProcessId>,
    ready: Vec<ProcessId>,
    taken: Vec<(ProcessId, Vec<u8>)>,
}

impl Echo {
    /// Whether a process was resumed since it began to wait.
    fn take_ready(&mut self, id: ProcessId) -> bool {
        let place = self.ready.iter().position(|ready| *ready == id);
        place.map(|place| self.ready.swap_remove(place)).is_some()
    }
}

/// A message type without values.
#[derive(Debug)]
pub(crate) enum NoMessage {}

impl Application for Echo {
    type Message = NoMessage;

    fn body_policy(
        &mut self,
        request: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy {
        Way::of_target(request.target()).body_policy()
    }

    fn begin_body(
        &mut self,
        _request: &Request<'_>,
        context: &mut AnswerContext<'_, NoMessage>,
    ) -> Intake {
        assert!(self.taken.iter().all(|(id, _)| *id != context.id), "one body at a time");
        self.taken.push((context.id, Vec::new()));
        Intake::More
    }

    fn on_body(&mut self, piece: &[u8], context: &mut AnswerContext<'_, NoMessage>) -> Intake {
        let mut taken = self.taken.iter_mut();
        let (_, body) = taken.find(|(id, _)| *id == context.id).expect("a body that was begun");
        body.extend_from_slice(piece);
        if piece.is_empty() {
            assert!(self.take_ready(context.id), "it goes on when it is resumed");
            return Intake::More;
        }
        self.waiting.push(context.id);
        Intake::Pause
    }

    fn on_gone(&mut self, process: ProcessId) {
        self.taken.retain(|(id, _)| *id != process);
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, NoMessage>,
    ) -> Answer {
        let way = Way::of_target(request.target());
        if way.waits() && !self.take_ready(context.id) {
            self.waiting.push(context.id);
            return Answer::Wait;
        }
        let place = self.taken.iter().position(|(id, _)| *id == context.id);
        let taken = place.map(|place| self.taken.swap_remove(place).1);
        assert!(taken.is_none() || request.body.is_empty(), "it is handed over and not kept");
        let body = taken.as_deref().unwrap_or(request.body);
        let content = content(request.method(), request.target(), body);
        match way {
            Way::Nothing => {}
            Way::Many => {
                let shared = vec![b'm'; MANY_BYTES].into();
                reply.begin(Status::OK);
                reply.end_head_with_length(MANY_BYTES as u64);
                reply.body_shared(runtime::output::SharedBytes {
                    bytes: shared,
                    start: 0,
                    end: MANY_BYTES,
                });
            }
            Way::Stream => {
                let mut stream = reply.stream(Status::OK, "application/octet-stream");
                content.chunks(PIECE_BYTES).for_each(|piece| stream.write(piece));
                stream.end(FieldList::of(&[("checksum", "none")]));
            }
            Way::Echo | Way::Wait | Way::Ignored | Way::VeryLate | Way::Taken => {
                reply.send(Status::OK, "application/octet-stream", &content);
            }
        }
        Answer::Done
    }

    fn on_turn_end(http: &mut Http<Self>, context: &mut ServiceContext<'_, NoMessage>) {
        let echo = http.application_mut();
        for id in echo.waiting.drain(..) {
            echo.ready.push(id);
            context.command(SchedulerCommand::Resume(id));
        }
    }
}

/// The request as it was understood.
fn content(method: Method, target: &[u8], body: &[u8]) -> Vec<u8> {
    [method.as_str().as_bytes(), b" ", target, b"\n", body].concat()
}

/// The status and the body of the answer to a request on a stream, where an ignored body is not read. A refusal has
/// another body.
pub(crate) fn answer_to(method: Method, target: &[u8], body: &[u8]) -> (u16, Vec<u8>) {
    let way = Way::of_target(target);
    match way {
        Way::Ignored | Way::VeryLate => (200, content(method, target, b"")),
        _ if body.len() as u64 > COLLECTED_MAX => (413, Vec::new()),
        Way::Nothing => (500, Vec::new()),
        Way::Many => (200, vec![b'm'; MANY_BYTES]),
        Way::Stream | Way::Wait | Way::Taken | Way::Echo => (200, content(method, target, body)),
    }
}

/// Checks that an answer is the one to this request.
pub(super) fn assert_answer(request: &Asked<'_>, answer: &ParsedResponse) {
    let way = Way::of_target(request.target);
    let status = if way == Way::Nothing { 500 } else { 200 };
    assert_eq!(answer.status, status, "{request:?}");
    assert_eq!(answer.field("date").map(<[u8]>::len), Some(29), "a date in {answer:?}");
    let body = match way {
        _ if request.method == Method::Head => Vec::new(),
        Way::Nothing => Vec::new(),
        Way::Many => vec![b'm'; MANY_BYTES],
        Way::Ignored | Way::VeryLate => content(request.method, request.target, b""),
        _ => content(request.method, request.target, &request.body),
    };
    assert!(answer.body == body, "{request:?}: {:?}", answer.body.escape_ascii().to_string());
}
