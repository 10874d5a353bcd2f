//! Our reading of responses: any cut gives the same outcome, and no head is taken that httparse reads in another way.

use crate::answers::{read_in_pieces, read_whole};
use proptest::prelude::*;
use wire::http::method::Method;
use wire::http::received::{AfterStep, ResponseProblem, ResponseReader};
use wire::http::refusal::Reason;

/// Pieces of responses, good and bad.
const PIECES: &[&str] = &[
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.0 404 Not Found\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 204\r\n",
    "HTTP/1.1 ",
    "Content-Length: 5\r\n",
    "content-length: 3\r\n",
    "Content-Length: 5, 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n",
    "Server: someone\r\n",
    "Content-Type: text/plain\r\n",
    "X: y\r\n",
    "X:\t y \t\r\n",
    "X : y\r\n",
    " folded\r\n",
    "\t5\r\n",
    "Content-Length:\r\n",
    "X\r\n",
    "\r\n",
    "\r\n\r\n",
    "hello",
    "5\r\nhello\r\n",
    "5;a=b\r\nhello\r\n",
    "0\r\n\r\n",
    "0\r\nX: y\r\n\r\n",
    "\n",
    "\r",
    ":",
    "\0",
];

/// Something like a response.
fn response() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        12 => prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
        1 => "[!-~]{1,20}: [ -~]{0,40}\r\n".prop_map(String::into_bytes),
    ];
    let begin = prop::sample::select(&PIECES[..4]);
    (begin, prop::collection::vec(piece, 0..10)).prop_map(|(begin, pieces)| {
        let mut input = begin.as_bytes().to_vec();
        pieces.iter().for_each(|piece| input.extend_from_slice(piece));
        input
    })
}

fn method() -> impl Strategy<Value = Method> {
    prop::sample::select(&[Method::Get, Method::Head, Method::Post][..])
}

/// Whether a rule goes beyond the grammar that httparse reads.
fn is_strict(problem: ResponseProblem) -> bool {
    match problem {
        ResponseProblem::Rule(reason) => matches!(
            reason,
            Reason::BareLineFeed
                | Reason::InvalidContentLength
                | Reason::InvalidTransferEncoding
                | Reason::CodingUnknown
                | Reason::CodingInHttp10
                | Reason::LengthAndCoding
        ),
        ResponseProblem::DifferentLengths
        | ResponseProblem::UnaskedUpgrade
        | ResponseProblem::InvalidStatus => true,
        ResponseProblem::NotHttp
        | ResponseProblem::TooManyInterim
        | ResponseProblem::ClosedBefore
        | ResponseProblem::ClosedWithin => false,
    }
}

/// Compares the first head, which ends what an answer to HEAD consumes unless it is an interim one.
fn compare(input: &[u8]) -> Result<(), TestCaseError> {
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut theirs = httparse::Response::new(&mut headers);
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let status = config.parse_response(&mut theirs, input);
    let mut reader = ResponseReader::new(Method::Head);
    match reader.read(input) {
        // RFC 9110, 2.5: a later minor version is taken as 1.1; httparse does not know it.
        Ok(_) if status == Err(httparse::Error::Version) => {
            prop_assert!(!input.starts_with(b"HTTP/1.0") && !input.starts_with(b"HTTP/1.1"));
        }
        _ if reader.interim() > 0 => {
            prop_assert!(matches!(status, Ok(httparse::Status::Complete(_))));
        }
        Ok(step) if step.then == AfterStep::Finish => {
            prop_assert_eq!(status, Ok(httparse::Status::Complete(step.consumed)));
            prop_assert_eq!(reader.status(), theirs.code);
        }
        Ok(_) => prop_assert_eq!(status, Ok(httparse::Status::Partial)),
        Err(error) => prop_assert!(
            !matches!(status, Ok(httparse::Status::Complete(_))) || is_strict(error.problem),
            "{error} for what httparse reads"
        ),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_head_ends_in_the_same_place_for_both(input in response()) {
        compare(&input)?;
    }

    #[test]
    fn a_field_of_any_length_means_the_same_to_both(
        name in "[A-Za-z0-9!#$%&'*+.^_`|~-]{1,40}",
        value in "[ -~\t]{0,60}",
        spoiled in any::<u8>(),
        at in 0usize..120,
    ) {
        let mut input = format!("HTTP/1.1 200 OK\r\n{name}: {value}\r\n\r\n").into_bytes();
        compare(&input)?;
        if let Some(byte) = input.get_mut(at) {
            *byte = spoiled;
        }
        if !input.starts_with(b"\r") && !input.starts_with(b"\n") {
            compare(&input)?;
        }
    }

    #[test]
    fn any_cut_gives_the_same_outcome(
        method in method(),
        input in response(),
        cuts in prop::collection::vec(0usize..200, 0..6),
    ) {
        let whole = read_whole(method, &input);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(input.len())).collect();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([input.len()]);
        let begins = [0].into_iter().chain(cuts.iter().copied());
        let pieces: Vec<&[u8]> = begins.zip(ends).map(|(begin, end)| &input[begin..end]).collect();
        prop_assert_eq!(read_in_pieces(method, &pieces), whole.clone());
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        prop_assert_eq!(read_in_pieces(method, &bytes), whole);
    }
}
