//! Requests on streams: heads as values, bodies until the end of the stream, answers as head blocks.

use std::time::Duration;

use http::{
    AccessLog, Answer, AnswerContext, Application, BodyPolicy, ForwardingField, HeadBlock, Http,
    HttpSettings, Intake, LogFormat, Reply, Request, Status, TrustedProxies,
};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use world::{ClientId, ClientState, Stage};

use crate::carrier::Carrier;

/// Answers in every way that an application can.
#[derive(Default)]
struct Desk {
    /// Processes to resume at the end of the turn.
    waiting: Vec<ProcessId>,
    /// Bytes of the body that was handed over, and the calls for it.
    handed: usize,
    pieces: u32,
    gone: u32,
}

impl Desk {
    fn wait(&mut self, context: &AnswerContext<'_, ()>) -> Answer {
        self.waiting.push(context.id);
        Answer::Wait
    }

    fn parts(&mut self, reply: &mut Reply<'_>, context: &mut AnswerContext<'_, ()>) -> Answer {
        let number = context.take_kept::<u32>().map_or(0, |number| *number);
        if number == 0 {
            reply.begin_parts(Status::OK);
            reply.field("X-Kind", b"parts").expect("a field");
            reply.end_head();
        }
        if number == 3 {
            return Answer::Done;
        }
        reply.part(format!("part {number}\n").as_bytes());
        context.keep(Box::new(number + 1));
        Answer::Part
    }
}

impl Application for Desk {
    type Message = ();

    fn body_policy(
        &mut self,
        request: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy {
        match request.path() {
            "/echo" => BodyPolicy::Collect { limit: 10 },
            "/ignored" => BodyPolicy::Ignore,
            _ => BodyPolicy::Stream { limit: 1000 },
        }
    }

    fn on_body(&mut self, piece: &[u8], context: &mut AnswerContext<'_, ()>) -> Intake {
        self.handed += piece.len();
        self.pieces += 1;
        if piece == b"enough" {
            return Intake::Enough;
        }
        if piece.is_empty() {
            return Intake::More;
        }
        self.waiting.push(context.id);
        Intake::Pause
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, ()>,
    ) -> Answer {
        match request.path() {
            "/json" => reply.json(&[1, 2, 3]),
            "/nothing" => reply.empty(Status::NO_CONTENT),
            "/typed" => reply.send(Status::OK, "text/x", b"typed"),
            "/failing" => reply.json(&std::collections::BTreeMap::from([([1], 2)])),
            "/upgrade" => {
                assert!(!reply.switch_protocols("x"), "a stream has no other protocol");
                reply.empty(Status::NOT_FOUND);
            }
            "/stream" => reply.stream(Status::OK, "text/x").write(b"one call"),
            "/parts" => return self.parts(reply, context),
            "/cut" if reply.is_begun() => return Answer::Cut,
            "/cut" => {
                reply.begin_parts(Status::OK);
                reply.end_head();
                reply.part(b"begin");
                return Answer::Part;
            }
            "/wait" if context.take_kept::<&str>().as_deref() == Some(&"asked") => {
                reply.text(request.host().unwrap_or("none"));
            }
            "/wait" => {
                context.keep(Box::new("asked"));
                return self.wait(context);
            }
            "/client" => {
                let (address, secured) = (request.peer.address, request.secured.is_some());
                reply.text(&format!("{address}, {secured}"));
            }
            "/forever" => return Answer::Wait,
            "/stuck" if reply.is_begun() => return Answer::Wait,
            "/stuck" => {
                reply.begin_parts(Status::OK);
                reply.end_head();
                reply.part(b"begin");
                return Answer::Part;
            }
            "/echo" => reply.send(Status::OK, "text/x", request.body),
            _ => reply.json(&self.handed),
        }
        Answer::Done
    }

    fn on_gone(&mut self, _: ProcessId) {
        self.gone += 1;
    }

    fn on_turn_end(http: &mut Http<Self>, context: &mut ServiceContext<'_, ()>) {
        for process in std::mem::take(&mut http.application_mut().waiting) {
            context.command(SchedulerCommand::Resume(process));
        }
    }
}

fn stage() -> Stage<Carrier<Desk>> {
    let settings =
        HttpSettings { answer_deadline_ms: 5_000, body_idle_ms: 2_000, ..HttpSettings::default() };
    let log = || Some(AccessLog::new(LogFormat::Combined));
    Stage::new(1, || Carrier(Http::new(Desk::default(), settings.clone().into(), log())))
}

/// An answer as its client gets it: status, fields, body.
fn answer_in(bytes: &[u8]) -> (u16, Vec<(String, String)>, String) {
    let (block, body) = HeadBlock::split(bytes).expect("a whole block");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let fields = block.fields().map(|(name, value)| (name.to_owned(), text(value)));
    (block.status().expect("no trailers").code(), fields.collect(), text(body))
}

/// Takes what a client has received.
fn received(stage: &mut Stage<Carrier<Desk>>, client: ClientId) -> Vec<u8> {
    stage.rest();
    stage.world().client_received(client)
}

/// The whole answer to a head and a body.
fn asked(line: &str, body: &str) -> (u16, Vec<(String, String)>, String) {
    let mut stage = stage();
    let client = stage.connect();
    stage.send(client, format!("{line}\n{body}").as_bytes());
    stage.world().client_end_output(client);
    let bytes = received(&mut stage, client);
    assert!(stage.is_closed(client), "{line}: the stream ends with its answer");
    answer_in(&bytes)
}

fn value<'f>(fields: &'f [(String, String)], name: &str) -> Option<&'f str> {
    fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

#[test]
fn an_answer_is_a_block_of_values_and_a_body() {
    let (status, fields, body) = asked("GET /json", "");
    assert_eq!((status, body.as_str()), (200, "[1,2,3]"));
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["date", "content-type", "content-length"]);
    assert_eq!(value(&fields, "content-length"), Some("7"));
    for (path, expected, length, body) in [
        ("/typed", 200, Some("5"), "typed"),
        ("/nothing", 204, None, ""),
        ("/failing", 500, Some("0"), ""),
        ("/upgrade", 404, Some("0"), ""),
        ("/stream", 200, None, "one call"),
        ("/wait", 200, Some("9"), "a.example"),
        ("/parts", 200, None, "part 0\npart 1\npart 2\n"),
    ] {
        let (status, fields, got) = asked(&format!("GET {path}"), "");
        assert_eq!((status, got.as_str()), (expected, body), "{path}");
        assert_eq!(value(&fields, "content-length"), length, "{path}");
        assert_eq!(value(&fields, "transfer-encoding").or(value(&fields, "connection")), None);
    }
}

/// RFC 9110 section 9.3.2.
#[test]
fn an_answer_to_head_has_the_fields_alone() {
    for (path, length) in [("/json", Some("7")), ("/parts", None), ("/stream", None)] {
        let (status, fields, body) = asked(&format!("HEAD {path}"), "");
        assert_eq!((status, body.as_str()), (200, ""), "{path}");
        assert_eq!(value(&fields, "content-length"), length, "{path}");
    }
}

#[test]
fn a_body_lasts_until_the_end_of_the_stream() {
    assert_eq!(asked("POST /echo", "0123456789").2, "0123456789");
    assert_eq!(asked("POST /echo", "").2, "");
    assert_eq!(asked("POST /echo content-length=4", "0123").2, "0123");
    // RFC 9113 section 8.1.1.
    assert_eq!(asked("POST /echo content-length=4", "012").0, 400);
    assert_eq!(asked("POST /echo content-length=2", "012").0, 400);
    assert_eq!(asked("POST /echo", "0123456789a").0, 413);
    assert_eq!(asked("POST /echo content-length=11", "").0, 413);
    let mut stage = stage();
    let client = stage.connect();
    for byte in b"POST /echo\nbyte by" {
        stage.send(client, &[*byte]);
        assert_eq!(received(&mut stage, client), b"", "the body has not ended");
    }
    stage.world().client_end_output(client);
    assert_eq!(answer_in(&received(&mut stage, client)).2, "byte by");
}

#[test]
fn a_body_is_handed_over_at_the_pace_of_the_application() {
    let mut stage = stage();
    let client = stage.connect();
    stage.send(client, b"POST /count\n");
    for piece in ["abc", "defg", "h"] {
        stage.send(client, piece.as_bytes());
    }
    stage.world().client_end_output(client);
    assert_eq!(answer_in(&received(&mut stage, client)).2, "8");
    let desk = stage.schedulers()[0].service().0.application();
    assert_eq!(desk.pieces, 6, "each piece is followed by a question whether the pause is over");
    assert_eq!(asked("POST /count", "enough").2, "6");
    assert_eq!(asked("POST /count", &"x".repeat(1001)).0, 413);
}

#[test]
fn a_body_that_the_application_ignores_delays_no_answer() {
    let mut stage = stage();
    let client = stage.connect();
    stage.send(client, b"POST /ignored\nthe first bytes");
    assert_eq!(answer_in(&received(&mut stage, client)).0, 200);
    assert!(stage.is_closed(client));
}

/// RFC 9110 section 10.1.1.
#[test]
fn a_client_that_expects_100_continue_gets_an_interim_block() {
    let mut stage = stage();
    let client = stage.connect();
    stage.send(client, b"POST /echo expect=100-continue\n");
    let bytes = received(&mut stage, client);
    let (block, rest) = HeadBlock::split(&bytes).expect("an interim block");
    assert_eq!(
        (block.status().expect("no trailers"), block.fields().count(), rest),
        (Status::CONTINUE, 0, &b""[..])
    );
    stage.send(client, b"body");
    stage.world().client_end_output(client);
    assert_eq!(answer_in(&received(&mut stage, client)).2, "body");
    let client = stage.connect();
    stage.send(client, b"POST /count expect=100-continue\n");
    assert_eq!(answer_in(&received(&mut stage, client)).0, 100);
    for piece in ["one", "two"] {
        stage.send(client, piece.as_bytes());
        assert_eq!(received(&mut stage, client), b"", "it is told once");
    }
}

/// A proxy that may say who its client is.
#[test]
fn a_trusted_proxy_speaks_for_its_client_and_shows_no_certificate_of_it() {
    let peers = ["0.0.0.0/0".parse().expect("a network")].into();
    let trusted = TrustedProxies { peers, fields: [ForwardingField::For].into() };
    let settings = HttpSettings { trusted, ..HttpSettings::default() };
    let http = || Http::new(Desk::default(), settings.clone().into(), None);
    let mut stage = Stage::new(1, || Carrier(http()));
    for (fields, expected) in
        [("", (200, "true")), (" x-forwarded-for=192.0.2.7", (200, "192.0.2.7, false"))]
    {
        let client = stage.connect();
        stage.send(client, format!("GET /client{fields}\n").as_bytes());
        let (status, _, body) = answer_in(&received(&mut stage, client));
        assert_eq!(status, expected.0);
        assert!(body.ends_with(expected.1), "{fields}: {body}");
    }
    let client = stage.connect();
    stage.send(client, b"GET /client x-forwarded-for=nonsense\n");
    assert_eq!(answer_in(&received(&mut stage, client)).0, 400);
    let gone = stage.schedulers()[0].service().0.application().gone;
    assert_eq!(gone, 0, "the application has not heard of it");
}

#[test]
fn an_answer_that_does_not_go_on_is_cut_at_its_deadline() {
    let mut stage = stage();
    let client = stage.connect();
    stage.send(client, b"GET /stuck\n");
    assert_eq!(answer_in(&received(&mut stage, client)).2, "begin");
    stage.pass(Duration::from_secs(6));
    assert_eq!(stage.world().client_state(client), ClientState::Reset);
}

#[test]
fn an_answer_that_is_cut_ends_its_stream_with_a_reset() {
    let mut stage = stage();
    let client = stage.connect();
    stage.send(client, b"GET /cut\n");
    stage.rest();
    assert_eq!(stage.world().client_state(client), ClientState::Reset);
    let http = &mut stage.schedulers()[0].service().0;
    let (lines, _) = http.log_mut().as_mut().expect("a log").take();
    let lines = String::from_utf8_lossy(&lines).into_owned();
    assert!(lines.contains("\"GET /cut HTTP/2.0\" 200 5 "), "{lines}");
}

#[test]
fn an_exchange_beyond_a_deadline_is_refused_with_408_or_504() {
    let mut stage = stage();
    let waits = stage.connect();
    stage.send(waits, b"GET /forever\n");
    let sends = stage.connect();
    stage.send(sends, b"POST /echo\nabc");
    let handed_over = stage.connect();
    stage.send(handed_over, b"POST /count\nabc");
    stage.pass(Duration::from_secs(1));
    for client in [waits, sends, handed_over] {
        assert_eq!(received(&mut stage, client), b"");
    }
    stage.pass(Duration::from_secs(2));
    assert_eq!(answer_in(&received(&mut stage, sends)).0, 408);
    assert_eq!(answer_in(&received(&mut stage, handed_over)).0, 408, "the pause is over");
    stage.pass(Duration::from_secs(4));
    assert_eq!(answer_in(&received(&mut stage, waits)).0, 504);
    let http = &mut stage.schedulers()[0].service().0;
    assert_eq!((http.stats().waits_expired, http.stats().body_timeouts), (1, 2));
    assert_eq!(http.application().gone, 3, "what the application has counted by a head ends, too");
    let (lines, count) = http.log_mut().as_mut().expect("a log").take();
    let lines = String::from_utf8_lossy(&lines).into_owned();
    assert_eq!(count, 3, "{lines}");
    assert!(lines.contains("\"GET /forever HTTP/2.0\" 504 "), "{lines}");
}

#[test]
fn a_client_that_resets_its_stream_ends_the_request() {
    let mut stage = stage();
    let client = stage.connect();
    stage.send(client, b"GET /forever\n");
    stage.world().client_reset(client);
    stage.rest();
    assert_eq!(stage.schedulers()[0].service().0.application().gone, 1);
    let http = &mut stage.schedulers()[0].service().0;
    assert_eq!((http.stats().requests, http.stats().by_class[4]), (1, 1));
    let (lines, count) = http.log_mut().as_mut().expect("a log").take();
    let lines = String::from_utf8_lossy(&lines).into_owned();
    assert!(count == 1 && lines.contains("\"GET /forever HTTP/2.0\" 499 0 "), "{lines}");
    assert_eq!(stage.schedulers()[0].processes(), 0);
}
