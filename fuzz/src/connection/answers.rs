//! Parses the answers of a connection with the strict parser of the conformance suite, which shares no code
//! with the server.

use conformance::{ParseResult, ParsedResponse, RequestKind, StreamEnd, parse_response};
use http::Method;

use super::expected::{Conversation, End};

/// The answers.
pub(super) struct Answers {
    /// The number of `100 Continue` answers: it depends on when the body arrived (RFC 9110 section 10.1.1); nothing
    /// else does.
    pub(super) interims: usize,
    pub(super) finals: Vec<ParsedResponse>,
}

/// Parses all answers; every byte belongs to one.
pub(super) fn read(received: &[u8], expected: &Conversation<'_>) -> Answers {
    let mut answers = Answers { interims: 0, finals: Vec::new() };
    let end = if expected.end == End::Open { StreamEnd::Open } else { StreamEnd::Closed };
    let mut rest = received;
    while !rest.is_empty() {
        let method = expected.method_of(answers.finals.len());
        let kind =
            if method == Some(Method::Head) { RequestKind::Head } else { RequestKind::Other };
        let shown = || rest.escape_ascii().to_string();
        match parse_response(rest, kind, end) {
            Ok(ParseResult::Complete(answer, length)) => {
                rest = &rest[length..];
                if answer.status == 100 {
                    assert!(answer.fields.is_empty());
                    answers.interims += 1;
                } else {
                    answers.finals.push(answer);
                }
            }
            Ok(ParseResult::Incomplete) => panic!("an answer that does not end: {}", shown()),
            Err(error) => panic!("{error}: {}", shown()),
        }
    }
    answers
}
