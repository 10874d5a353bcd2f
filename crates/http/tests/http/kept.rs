//! The kept parts of a request of HTTP/1 that waits: its head, its body, and what the application keeps with it.

use http::{
    Answer, AnswerContext, Application, BodyPolicy, Http, HttpSettings, Intake, Reply, Request,
    Status,
};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use world::Stage;

/// Answers a request at the third call for it, with everything that an application sees of the request.
#[derive(Default)]
struct Third(Vec<ProcessId>);

impl Application for Third {
    type Message = ();

    fn body_policy(
        &mut self,
        _: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy {
        BodyPolicy::Collect { limit: 100 }
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, ()>,
    ) -> Answer {
        let calls = context.take_kept::<u32>().map_or(1, |calls| *calls + 1);
        if calls < 3 {
            context.keep(Box::new(calls));
            self.0.push(context.id);
            return Answer::Wait;
        }
        let (path, query) = (request.path(), request.query().unwrap_or("-"));
        let field = String::from_utf8_lossy(request.field("x-a").unwrap_or(b"-"));
        let body = String::from_utf8_lossy(request.body);
        let line = String::from_utf8_lossy(request.head.line());
        let host = request.host().unwrap_or("-");
        let told = format!("{calls} {path} {query} {host} {field} {body} ({line})\n");
        reply.send(Status::OK, "text/plain", told.as_bytes());
        Answer::Done
    }

    fn on_turn_end(http: &mut Http<Self>, context: &mut ServiceContext<'_, ()>) {
        for process in std::mem::take(&mut http.application_mut().0) {
            context.command(SchedulerCommand::Resume(process));
        }
    }
}

#[test]
fn a_request_that_waits_is_the_same_each_time() {
    let mut stage =
        Stage::new(1, || Http::new(Third::default(), HttpSettings::default().into(), None));
    let client = stage.connect();
    // One after the other, in one piece: what was kept of the first is not given to the second.
    let text = "GET /a?b HTTP/1.1\r\nHost: a.example\r\nX-A: one\r\n\r\nPOST http://b.example/c \
                HTTP/1.1\r\nHost: b.example\r\nContent-Length: 4\r\n\r\nbodyPOST /d HTTP/1.1\r\nHost: \
                a\r\nTransfer-Encoding: chunked\r\nX-A: two\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
    let answers = stage.exchange(client, text);
    let told: Vec<&str> = answers.lines().filter(|line| line.starts_with("3 ")).collect();
    assert_eq!(
        told,
        [
            "3 /a b a.example one  (GET /a?b HTTP/1.1)",
            "3 /c - b.example - body (POST http://b.example/c HTTP/1.1)",
            "3 /d - a two abcd (POST /d HTTP/1.1)",
        ]
    );
}

/// Keeps the path of a request when it decides about its body, and answers with what was kept.
struct Routed;

impl Application for Routed {
    type Message = ();

    fn body_policy(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_, ()>,
    ) -> BodyPolicy {
        context.keep(Box::new(format!("kept{}", request.path())));
        match request.path() {
            "/handed" => BodyPolicy::Stream { limit: 5 },
            "/ignored" => BodyPolicy::Ignore,
            _ => BodyPolicy::Collect { limit: 5 },
        }
    }

    fn begin_body(&mut self, _: &Request<'_>, context: &mut AnswerContext<'_, ()>) -> Intake {
        let kept = context.take_kept::<String>().expect("kept with the request");
        context.keep(Box::new(format!("{kept}/begun")));
        Intake::More
    }

    fn on_request(
        &mut self,
        _: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, ()>,
    ) -> Answer {
        reply.text(&context.take_kept::<String>().map_or("nothing".to_owned(), |kept| *kept));
        Answer::Done
    }
}

#[test]
fn a_value_kept_when_a_body_is_announced_reaches_the_answer_to_that_request_alone() {
    let mut stage = Stage::new(1, || Http::new(Routed, HttpSettings::default().into(), None));
    let client = stage.connect();
    let mut told = |pieces: &[&str]| {
        let answers: String = pieces.iter().map(|piece| stage.exchange(client, piece)).collect();
        answers.lines().last().unwrap_or_default().to_owned()
    };
    let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
    let post = |path: &str, rest: &str| format!("POST {path} HTTP/1.1\r\nHost: a\r\n{rest}");
    assert_eq!(told(&[get]), "nothing");
    assert_eq!(told(&[&post("/whole", "Content-Length: 2\r\n\r\nab")]), "kept/whole");
    assert_eq!(told(&[&post("/pieces", "Content-Length: 2\r\n\r\n"), "a", "b"]), "kept/pieces");
    let chunks = "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    assert_eq!(told(&[&post("/chunks", chunks)]), "kept/chunks");
    assert_eq!(told(&[&post("/handed", chunks)]), "kept/handed/begun");
    assert_eq!(told(&[&post("/ignored", "Content-Length: 2\r\n\r\nab")]), "kept/ignored");
    assert_eq!(told(&[get]), "nothing");
    // The connection ends if the server refuses the body, or the application leaves it unread.
    let mut told = |text: &str| {
        let client = stage.connect();
        stage.exchange(client, text)
    };
    assert!(told(&post("/large", "Content-Length: 6\r\n\r\n")).starts_with("HTTP/1.1 413 "));
    assert!(told(get).ends_with("\r\n\r\nnothing"));
    let waits = "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    assert!(told(&post("/ignored", waits)).ends_with("\r\n\r\nkept/ignored"));
}
