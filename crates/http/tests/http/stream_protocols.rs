//! Streams that change to another protocol (RFC 8441), with their input cut anywhere, at once or after a wait; and
//! answers that their client would take for one in that protocol.

use std::time::Duration;

use http::{
    Answer, AnswerContext, Application, BodyPolicy, HeadBlock, Http, HttpSettings, Reply, Request,
    Status,
};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use world::{ClientId, Stage};

use crate::carrier::Carrier;

/// Changes to the other protocol: `/now` at once, `/later` after a wait. Every other path is answered in HTTP.
#[derive(Default)]
struct Door {
    has_asked: bool,
    waiting: Vec<ProcessId>,
    asked: u32,
    gone: u32,
    /// At the end of this turn the scheduler begins to drain.
    drains: bool,
}

impl Application for Door {
    type Message = ();

    fn body_policy(&mut self, _: &Request<'_>, _: &mut AnswerContext<'_, ()>) -> BodyPolicy {
        BodyPolicy::Ignore
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, ()>,
    ) -> Answer {
        self.asked += 1;
        match request.path() {
            "/later" if !std::mem::replace(&mut self.has_asked, true) => {
                self.waiting.push(context.id);
                return Answer::Wait;
            }
            "/now" | "/later" => {
                assert_eq!(request.head.upgrade, Some(&b"shout"[..]));
                if !reply.switch_protocols("shout") {
                    reply.empty(Status::SERVICE_UNAVAILABLE);
                    return Answer::Done;
                }
                reply.field("X-Kind", b"loud").expect("a field");
                reply.end_head();
                return Answer::Upgrade;
            }
            "/text" => reply.text("it would be taken for shouting"),
            "/nothing" => reply.empty(Status::NO_CONTENT),
            "/stream" => reply.stream(Status::OK, "text/x").write(b"one call"),
            "/parts" => {
                if !reply.is_begun() {
                    reply.begin_parts(Status::OK);
                    reply.end_head();
                }
                reply.part(b"without end");
                return Answer::Part;
            }
            "/cut" => {
                reply.begin_parts(Status::OK);
                reply.end_head();
                return Answer::Cut;
            }
            "/drain" => {
                self.drains = true;
                reply.empty(Status::NOT_FOUND);
            }
            "/moved" => reply.empty(Status::FOUND),
            _ => reply.empty(Status::NOT_FOUND),
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
        if std::mem::take(&mut http.application_mut().drains) {
            context.command(SchedulerCommand::Drain { deadline_ms: 60_000, idle_grace_ms: 60_000 });
        }
    }
}

fn stage() -> Stage<Carrier<Door>> {
    Stage::new(1, || Carrier(Http::new(Door::default(), HttpSettings::default().into(), None)))
}

fn received(stage: &mut Stage<Carrier<Door>>, client: ClientId) -> Vec<u8> {
    stage.rest();
    stage.world().client_received(client)
}

/// The status, the names of the fields, and what is behind the head.
fn answer_in(bytes: &[u8]) -> (u16, Vec<String>, String) {
    let (block, rest) = HeadBlock::split(bytes).expect("a whole block");
    let names = block.fields().map(|(name, _)| name.to_owned()).collect();
    (block.status().expect("no trailers").code(), names, String::from_utf8_lossy(rest).into_owned())
}

/// RFC 8441 sections 4 and 5: 200 in place of 101, and no field about a connection or a length.
#[test]
fn bytes_behind_head_belong_to_new_protocol_at_any_cut() {
    for path in ["/now", "/later"] {
        let sent = format!("CONNECT {path}\nhello, no body");
        for cut in 0..=sent.len() {
            let mut stage = stage();
            let client = stage.connect();
            let (before, after) = sent.as_bytes().split_at(cut);
            stage.send(client, before);
            stage.rest();
            stage.send(client, after);
            let (status, names, rest) = answer_in(&received(&mut stage, client));
            assert_eq!((status, rest.as_str()), (200, "HELLO, NO BODY"), "{path}, cut at {cut}");
            assert_eq!(names, ["date", "x-kind"]);
            assert!(!stage.is_closed(client), "it goes on");
            stage.send(client, b"more");
            stage.world().client_end_output(client);
            assert_eq!(received(&mut stage, client), b"MORE");
            assert!(stage.is_closed(client), "the other protocol sees the end of the stream");
        }
    }
}

#[test]
fn the_end_of_a_stream_that_comes_before_the_change_is_seen_after_it() {
    for path in ["/now", "/later"] {
        let mut stage = stage();
        let client = stage.connect();
        stage.send(client, format!("CONNECT {path}\nall").as_bytes());
        stage.world().client_end_output(client);
        let (status, _, rest) = answer_in(&received(&mut stage, client));
        assert_eq!((status, rest.as_str()), (200, "ALL"), "{path}");
        assert!(stage.is_closed(client));
    }
}

/// RFC 8441 section 4: an answer of 2xx accepts the protocol, so no other one may go out with such a status.
#[test]
fn an_answer_in_http_is_no_answer_in_the_protocol() {
    for (path, expected) in [
        ("/text", 501),
        ("/nothing", 501),
        ("/stream", 501),
        ("/parts", 501),
        ("/cut", 501),
        ("/moved", 302),
        ("/unknown", 404),
    ] {
        let mut stage = stage();
        let client = stage.connect();
        stage.send(client, format!("CONNECT {path}\nhello").as_bytes());
        let (status, _, body) = answer_in(&received(&mut stage, client));
        assert_eq!(status, expected, "{path}");
        assert_eq!(body, if expected == 501 { "501 Not Implemented\n" } else { "" }, "{path}");
        assert!(stage.is_closed(client), "{path}");
        let door = stage.schedulers()[0].service().0.application();
        let gone = u32::from(path == "/parts");
        assert_eq!((door.asked, door.gone), (1, gone), "{path}: asked once, and told of its end");
    }
}

#[test]
fn no_protocol_begins_while_the_server_stops() {
    let mut stage = stage();
    let (late, other) = (stage.connect(), stage.connect());
    stage.send(late, b"CONNECT /now");
    stage.send(other, b"CONNECT /drain\n");
    stage.rest();
    stage.pass(Duration::from_secs(1));
    stage.send(late, b"\nhello");
    assert_eq!(answer_in(&received(&mut stage, late)).0, 503);
    assert!(stage.is_closed(late));
}

#[test]
fn a_request_that_asks_for_no_protocol_is_not_changed() {
    let mut stage = stage();
    let client = stage.connect();
    stage.send(client, b"GET /text\n");
    assert_eq!(answer_in(&received(&mut stage, client)).0, 200);
}
