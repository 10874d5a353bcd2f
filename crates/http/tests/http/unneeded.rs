//! A body that the application does not need: its answer is the same however the body is framed, cut and long.

use http::{Answer, AnswerContext, Application, BodyPolicy, Http, HttpSettings, Reply, Request};
use world::Stage;

/// Needs no body.
struct Unmoved;

impl Application for Unmoved {
    type Message = ();

    fn body_policy(&mut self, _: &Request<'_>, _: &mut AnswerContext<'_, ()>) -> BodyPolicy {
        BodyPolicy::Ignore
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        _: &mut AnswerContext<'_, ()>,
    ) -> Answer {
        reply.text(&format!("path {}", request.path()));
        Answer::Done
    }
}

const LIMIT: usize = 1000;

/// A request with a body of this size, and another request behind it.
fn two_requests(size: usize, chunk: Option<usize>) -> String {
    let body = "b".repeat(size);
    let (framing, body) = match chunk {
        None => (format!("Content-Length: {size}"), body),
        Some(chunk) => {
            let pieces = body.as_bytes().chunks(chunk);
            let framed = pieces.map(|piece| {
                format!("{:x}\r\n{}\r\n", piece.len(), String::from_utf8_lossy(piece))
            });
            ("Transfer-Encoding: chunked".to_owned(), framed.collect::<String>() + "0\r\n\r\n")
        }
    };
    format!(
        "POST /first HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n{body}\
         GET /second HTTP/1.1\r\nHost: a\r\n\r\n"
    )
}

#[test]
fn body_that_is_not_needed_is_answered_at_any_length_and_ends_the_connection_above_the_limit() {
    for (size, chunk, cut) in [
        (LIMIT, None, 90),
        (LIMIT, None, usize::MAX),
        (LIMIT, Some(300), 90),
        (LIMIT, Some(300), usize::MAX),
        (LIMIT + 1, None, 90),
        (LIMIT + 1, None, usize::MAX),
        (LIMIT + 1, Some(300), 90),
        (LIMIT + 1, Some(300), usize::MAX),
        (50 * LIMIT, Some(5 * LIMIT), 700),
    ] {
        let case = format!("{size} bytes, chunks {chunk:?}, cut after {cut}");
        let settings = HttpSettings { unread_body_size: LIMIT as u64, ..HttpSettings::default() };
        let mut stage = Stage::new(1, || Http::new(Unmoved, settings.clone().into(), None));
        let client = stage.connect();
        let text = two_requests(size, chunk);
        let (first, rest) = text.split_at(cut.min(text.len()));
        let answers = stage.exchange(client, first) + &stage.exchange(client, rest);
        assert_eq!(answers.matches("path /first").count(), 1, "{case}: {answers}");
        let goes_on = size <= LIMIT;
        assert_eq!(answers.contains("path /second"), goes_on, "{case}: {answers}");
        assert_eq!(answers.contains("Connection: close"), !goes_on, "{case}: {answers}");
    }
}
