//! Echoes bodies: `POST /echo`, up to 64 KiB; also has a file, and a deadline of one second for slow clients.
//! For testing how bodies are read, with
//! `velodrome bench conformance ADDR --offers file=/sample.txt --offers echo=/echo`.
//! `cargo run --release --example reflect -- 127.0.0.1:8080`

use std::sync::Arc;

use velodrome::http::{
    Answer, AnswerContext, Application, BodyPolicy, FieldList, Http, HttpSettings, Method, Reply,
    Request, Status,
};
use velodrome::launch::{self, Speaks};

/// The largest body that is echoed.
const BODY_BYTES: u64 = 65_536;

/// Milliseconds that a client has for a head, between two pieces of a body, and between two requests.
const PATIENCE_MS: u64 = 1000;

/// The validators of the file.
const VALIDATORS: [(&str, &str); 3] = [
    ("Content-Type", "text/plain"),
    ("ETag", "\"sample\""),
    ("Last-Modified", "Tue, 05 Jan 2021 08:34:56 GMT"),
];

struct Reflect {
    file: Vec<u8>,
}

/// A message type without values.
enum NoMessage {}

impl Application for Reflect {
    type Message = NoMessage;

    fn body_policy(
        &mut self,
        _request: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy {
        BodyPolicy::Collect { limit: BODY_BYTES }
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        _context: &mut AnswerContext<'_, NoMessage>,
    ) -> Answer {
        match (request.method(), request.path()) {
            (Method::Post, "/echo") => {
                reply.send(Status::OK, "application/octet-stream", request.body);
            }
            (Method::Get | Method::Head, "/sample.txt") => {
                reply.begin(Status::OK);
                reply.fields(FieldList::of(&VALIDATORS).fields());
                reply.end_head_with_length(self.file.len() as u64);
                reply.body(&self.file);
            }
            _ => reply.empty(Status::NOT_FOUND),
        }
        Answer::Done
    }
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let settings = Arc::new(HttpSettings {
        header_deadline_ms: PATIENCE_MS,
        body_idle_ms: PATIENCE_MS,
        keep_alive_ms: Some(PATIENCE_MS),
        ..HttpSettings::default()
    });
    let make = move || {
        let lines = (0..100).map(|line| format!("line {line:03} of the sample file\n"));
        let file = lines.collect::<String>().into_bytes();
        Http::new(Reflect { file }, Arc::clone(&settings), None)
    };
    launch::serve(&address, Speaks::CLIENT, make)
}
