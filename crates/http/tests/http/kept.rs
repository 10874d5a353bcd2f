//! What is kept of a request of HTTP/1 that waits: its head, its body, and what the application keeps with it.

use http::{
    Answer, AnswerContext, Application, BodyPolicy, Http, Reply, Request, Settings, Status,
};
use runtime::service::{Command, ServiceContext};
use runtime::slots::ProcessId;
use world::Stage;

/// Answers each request when it is asked about it the third time, with all that it sees of it.
#[derive(Default)]
struct Third(Vec<ProcessId>);

impl Application for Third {
    type Message = ();

    fn body_policy(&mut self, _: &Request<'_>) -> BodyPolicy {
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
            context.command(Command::Resume(process));
        }
    }
}

#[test]
fn a_request_that_waits_is_the_same_each_time() {
    let mut stage = Stage::new(1, || Http::new(Third::default(), Settings::default().into(), None));
    let client = stage.connect();
    // One after the other, in one piece: what was kept of the first is not given to the second.
    let text = "GET /a?b HTTP/1.1\r\nHost: a.example\r\nX-A: one\r\n\r\n\
        POST http://b.example/c HTTP/1.1\r\nHost: b.example\r\nContent-Length: 4\r\n\r\nbody\
        POST /d HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX-A: two\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
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
