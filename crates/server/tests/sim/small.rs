//! A small application: bodies, streams, waits and panics, and its clients' requests.
//!
//! Owns the application and the model of its answers. It waits by its own clock, and its service asks for the turn.

use std::rc::Rc;
use std::sync::Arc;

use runtime::mailbox::Endpoint;
use runtime::service::{ListenerIndex, SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use runtime::transport::Transport;
use tls::Acceptor;
use world::Random;

use crate::client::Step;
use crate::expected::Expected;
use crate::parts::{Due, Parts};
use crate::world::{MILLISECOND_NS, Setting, Stage};
use http::{
    Answer, AnswerContext, Application, BodyPolicy, ClientInterest, FieldList, Http, HttpSettings,
    Intake, Reply, Request, Status,
};

/// Messages of the main thread to a scheduler.
#[derive(Debug)]
pub(crate) enum Order {
    Drain { deadline_ms: u64, idle_grace_ms: u64 },
}

/// Longest body that is accepted.
pub(crate) const BODY_MAXIMUM: u64 = 200_000;

/// The application of one scheduler.
#[derive(Default)]
pub(crate) struct Small {
    waiting: Vec<(u64, ProcessId)>,
    ready: Vec<ProcessId>,
    pub(crate) parts: Parts,
    /// How connections are encrypted; `None`: they are plain.
    pub(crate) acceptor: Option<Acceptor>,
    /// Bodies that are handed over.
    pub(crate) taken: Vec<Taken>,
}

/// A body that is or was handed over.
pub(crate) struct Taken {
    id: ProcessId,
    body: Vec<u8>,
    /// The most that is accepted.
    most: usize,
}

/// Bytes of a body after which the application pauses.
const PAUSE_EACH: usize = 10_000;

/// Bytes that differ by their position, again after 676. They are copied, which takes less time than to make each.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    let period: Vec<u8> = (0..676).map(|at: u32| b'a' + ((at * 7 + at / 26) % 26) as u8).collect();
    period.repeat(length / 676 + 1)[..length].to_vec()
}

pub(crate) fn number(query: Option<&str>) -> usize {
    query.and_then(|query| query.parse().ok()).unwrap_or_default()
}

/// Answers requests that need no wait.
pub(crate) fn answer(request: &Request<'_>, reply: &mut Reply<'_>) {
    match request.path() {
        "/plaintext" => reply.text("Hello, World!"),
        "/json" => reply.json(&serde_json::json!({ "message": "Hello, World!" })),
        "/bytes" => {
            reply.send(Status::OK, "application/octet-stream", &pattern(number(request.query())));
        }
        "/stream" => {
            let bytes = pattern(number(request.query()));
            let mut stream = reply.stream(Status::OK, "application/octet-stream");
            for piece in bytes.chunks(1000) {
                stream.write(piece);
            }
            stream.end(FieldList::new());
        }
        "/echo" => reply.send(Status::OK, "application/octet-stream", request.body),
        "/nothing" => {}
        "/panic" => panic!("the application was asked to"),
        _ => reply.empty(Status::NOT_FOUND),
    }
}

impl Small {
    fn answer_in_parts(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Order>,
    ) -> Answer {
        let due = match self.ready.iter().position(|ready| *ready == context.id) {
            Some(place) => {
                self.ready.swap_remove(place);
                Due::Now
            }
            None => Due::NotYet,
        };
        let answer = self.parts.answer(request, reply, context.id, due);
        if answer == Answer::Wait && request.path() != "/stuck" {
            self.waiting.push((context.now.monotonic_ns + 3 * MILLISECOND_NS, context.id));
        }
        answer
    }
}

impl Application for Small {
    type Message = Order;

    fn transport(&mut self, _listener: ListenerIndex) -> Option<Box<dyn Transport>> {
        self.acceptor.as_ref().map(Acceptor::accept)
    }

    fn body_policy(
        &mut self,
        request: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy {
        match request.path() {
            "/echo" | "/length" | "/wait" => BodyPolicy::Collect { limit: BODY_MAXIMUM },
            "/taken" | "/held" => BodyPolicy::Stream { limit: BODY_MAXIMUM },
            _ => BodyPolicy::Ignore,
        }
    }

    fn begin_body(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_, Order>,
    ) -> Intake {
        assert!(self.taken.iter().all(|taken| taken.id != context.id), "one body at a time");
        let most = request.query().map_or(usize::MAX, |most| most.parse().unwrap());
        self.taken.push(Taken { id: context.id, body: Vec::new(), most });
        if request.path() == "/held" {
            self.waiting.push((context.now.monotonic_ns + 5_000 * MILLISECOND_NS, context.id));
            return Intake::Pause;
        }
        if most == 0 { Intake::Enough } else { Intake::More }
    }

    fn on_body(&mut self, piece: &[u8], context: &mut AnswerContext<'_, Order>) -> Intake {
        let taken = self.taken.iter_mut().find(|taken| taken.id == context.id);
        let taken = taken.expect("a body begins before its pieces come");
        if piece.is_empty() {
            let ready = self.ready.iter().position(|ready| *ready == context.id);
            let ready = ready.expect("it is resumed when it is to go on");
            self.ready.swap_remove(ready);
            return Intake::More;
        }
        let pauses_before = taken.body.len() / PAUSE_EACH;
        taken.body.extend_from_slice(piece);
        if taken.body.len() > taken.most {
            return Intake::Enough;
        }
        if taken.body.len() / PAUSE_EACH == pauses_before {
            return Intake::More;
        }
        let pause_ns = (taken.body.len() % 50) as u64 * MILLISECOND_NS;
        self.waiting.push((context.now.monotonic_ns + pause_ns, context.id));
        Intake::Pause
    }

    fn kept_of_body(&self, process: ProcessId) -> usize {
        let taken = self.taken.iter().find(|taken| taken.id == process);
        taken.map_or(0, |taken| taken.body.capacity())
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Order>,
    ) -> Answer {
        if Parts::has(request.path()) {
            return self.answer_in_parts(request, reply, context);
        }
        if let Some(place) = self.taken.iter().position(|taken| taken.id == context.id) {
            let Taken { body, most, .. } = self.taken.swap_remove(place);
            match request.path() {
                _ if body.len() > most || most == 0 => reply.empty(Status::CONTENT_TOO_LARGE),
                "/held" => reply.empty(Status::OK),
                _ => reply.send(Status::OK, "application/octet-stream", &body),
            }
            return Answer::Done;
        }
        if !matches!(request.path(), "/wait" | "/wait-ignoring" | "/length") {
            answer(request, reply);
            return Answer::Done;
        }
        if let Some(place) = self.ready.iter().position(|ready| *ready == context.id) {
            self.ready.swap_remove(place);
            let length = request.body.len().to_string();
            let body = if request.path() == "/length" { length.as_bytes() } else { request.body };
            reply.send(Status::OK, "text/plain", body);
            return Answer::Done;
        }
        let due_ns = context.now.monotonic_ns + number(request.query()) as u64 * MILLISECOND_NS;
        self.waiting.push((due_ns, context.id));
        Answer::Wait
    }

    fn on_peer_finished(&mut self, process: ProcessId) -> ClientInterest {
        self.parts.interest(process)
    }

    fn on_gone(&mut self, process: ProcessId) {
        self.parts.forget(process);
        self.taken.retain(|taken| taken.id != process);
        self.waiting.retain(|(_, waits)| *waits != process);
    }

    fn on_message(
        _http: &mut Http<Self>,
        _from: Endpoint,
        message: Order,
        context: &mut ServiceContext<'_, Order>,
    ) {
        let Order::Drain { deadline_ms, idle_grace_ms } = message;
        context.command(SchedulerCommand::Drain { deadline_ms, idle_grace_ms });
    }

    fn on_turn_end(http: &mut Http<Self>, context: &mut ServiceContext<'_, Order>) {
        let now_ns = context.now.monotonic_ns;
        let small = http.application_mut();
        let due = |(due_ns, id): &(u64, ProcessId)| (*due_ns <= now_ns).then_some(*id);
        for id in small.waiting.iter().filter_map(due) {
            small.ready.push(id);
            context.command(SchedulerCommand::Resume(id));
        }
        small.waiting.retain(|(due_ns, _)| *due_ns > now_ns);
        if let Some(next_ns) = small.waiting.iter().map(|(due_ns, _)| *due_ns).min() {
            context.wake_after_ms((next_ns - now_ns).div_ceil(MILLISECOND_NS));
        }
    }
}

/// A server of this application.
pub(crate) fn stage(setting: &Setting, settings: HttpSettings) -> Stage<Http<Small>> {
    let settings = Arc::new(settings);
    Stage::new(setting, Vec::new(), |_, _| Http::new(Small::default(), Arc::clone(&settings), None))
}

/// One request and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub(crate) request: Vec<u8>,
    pub(crate) expected: Expected,
}

/// A request without a body.
pub(crate) fn get(target: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: example.test\r\n\r\n").into_bytes()
}

/// A request with a body and its length.
pub(crate) fn post(target: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("POST {target} HTTP/1.1\r\nHost: example.test\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// The same in chunks of random sizes, with an extension and a trailer.
fn post_chunked(target: &str, body: &[u8], random: &mut Random) -> Vec<u8> {
    let mut request = format!(
        "POST {target} HTTP/1.1\r\nHost: example.test\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    let mut rest = body;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(1 + random.index(rest.len()));
        request.extend_from_slice(format!("{:x};kind=random\r\n", chunk.len()).as_bytes());
        request.extend_from_slice(chunk);
        request.extend_from_slice(b"\r\n");
        rest = after;
    }
    request.extend_from_slice(b"0\r\nChecksum: none\r\n\r\n");
    request
}

/// A size: mostly small, sometimes larger than every buffer.
fn size(random: &mut Random) -> usize {
    match random.below(8) {
        0 => 0,
        1..=4 => random.index(300),
        5 => random.index(4_000),
        6 => random.index(30_000),
        _ => random.index(150_000),
    }
}

/// A request of a correct client, after which it keeps the connection.
pub(crate) fn exchange(random: &mut Random) -> Exchange {
    let plain = |request, body: &[u8]| Exchange { request, expected: Expected::new(200, body) };
    match random.below(14) {
        0 => plain(get("/plaintext"), b"Hello, World!"),
        1 => plain(get("/json"), br#"{"message":"Hello, World!"}"#),
        2 => {
            let length = size(random);
            plain(get(&format!("/bytes?{length}")), &pattern(length))
        }
        3 => {
            let length = size(random);
            plain(get(&format!("/stream?{length}")), &pattern(length))
        }
        4 => {
            let body = pattern(size(random));
            plain(post("/echo", &body), &body)
        }
        5 => {
            let body = pattern(size(random));
            plain(post_chunked("/echo", &body, random), &body)
        }
        6 => {
            let body = pattern(size(random));
            let wait_ms = random.below(300);
            plain(post(&format!("/wait?{wait_ms}"), &body), &body)
        }
        10 => {
            let body = pattern(size(random));
            plain(post("/taken", &body), &body)
        }
        11 => {
            let body = pattern(size(random));
            plain(post_chunked("/taken", &body, random), &body)
        }
        7 => Exchange { request: get("/other"), expected: Expected::new(404, *b"") },
        8 => {
            let request = b"HEAD /bytes?12345 HTTP/1.1\r\nHost: example.test\r\n\r\n".to_vec();
            Exchange { request, expected: Expected::new(200, pattern(12_345)).head() }
        }
        9 => {
            let length = size(random);
            plain(get(&format!("/parts?{length}")), &pattern(length))
        }
        12 => {
            let request = b"HEAD /parts?4500 HTTP/1.1\r\nHost: example.test\r\n\r\n".to_vec();
            Exchange { request, expected: Expected::status(200).head() }
        }
        _ => {
            // A small unwanted body is read and discarded.
            let request = post("/plaintext", &pattern(random.index(3_000)));
            plain(request, b"Hello, World!")
        }
    }
}

/// A request after which the server ends the connection.
pub(crate) fn last_exchange(random: &mut Random) -> Vec<Step> {
    let hello: Rc<[u8]> = Rc::from(*b"Hello, World!");
    let (request, expected): (Vec<u8>, _) = match random.below(10) {
        0 => {
            let head = "GET /plaintext HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n";
            (head.into(), Expected::new(200, hello).last())
        }
        1 => {
            let head = "GET /stream?5000 HTTP/1.0\r\n\r\n";
            (head.into(), Expected::new(200, pattern(5000)).last())
        }
        2 => ((*b"GET /plaintext HTTP/1.1\r\n\r\n").into(), Expected::status(400).last()),
        3 => ((*b"BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n").into(), Expected::status(501).last()),
        4 => {
            let head = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n";
            (head.into(), Expected::status(413).last())
        }
        8 => {
            let head = "GET /parts?5000 HTTP/1.0\r\n\r\n";
            (head.into(), Expected::new(200, pattern(5000)).last())
        }
        5 => {
            // Too large to be discarded: answered at once, then the connection is closed.
            let request = post("/plaintext", &pattern(65_600));
            return vec![
                Step::Send(request),
                Step::Expect(Expected::new(200, hello).last()),
                Step::ExpectEnd,
            ];
        }
        6 => {
            // The rest of it is discarded while the answer is sent.
            let request = post("/taken?5000", &pattern(5_001 + random.index(50_000)));
            (request, Expected::status(413).last())
        }
        7 => {
            let head =
                "POST /taken HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nx";
            (head.into(), Expected::status(400).last())
        }
        _ => {
            let request =
                b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n";
            (request.to_vec(), Expected::status(400).last())
        }
    };
    vec![Step::Send(request), Step::Expect(expected), Step::ExpectEnd, Step::Close]
}
