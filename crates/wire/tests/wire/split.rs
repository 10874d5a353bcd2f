//! However the bytes of a request are cut into reads, the answer is the same (RFC 9112 knows no reads).

use proptest::prelude::*;
use proptest::sample::Index;
use wire::http::body::{BodyDecoder, BodyLimits, BodyPiece};
use wire::http::head::{FieldSlots, Framing, Head, HeadLimits, may_complete, parse};
use wire::http::refusal::Reason;
use wire::http::url::Scheme;

/// The result for a head; `None` if it is incomplete.
fn answer(input: &[u8], limits: &HeadLimits) -> Option<Result<(String, usize), Reason>> {
    match parse(input, Scheme::Http, limits, &mut FieldSlots::new()) {
        Ok(Head::Partial) => None,
        Ok(Head::Complete { request, length }) => Some(Ok((format!("{request:?}"), length))),
        Err(refusal) => Some(Err(refusal.reason())),
    }
}

/// Every prefix of the input is either incomplete or has the result of the whole.
fn check_every_cut(input: &[u8], limits: &HeadLimits) {
    let whole = answer(input, limits);
    let mut is_open = true;
    for length in 0..=input.len() {
        let now = answer(&input[..length], limits);
        if let Some(answer) = &now {
            assert_eq!(
                Some(answer),
                whole.as_ref(),
                "after {length} bytes of {}",
                input.escape_ascii()
            );
        }
        assert!(is_open || now.is_some(), "an answer is taken back after {length} bytes");
        let completes = is_open && matches!(now, Some(Ok(_)));
        if completes {
            assert!(
                may_complete(&input[length - 1..length]),
                "completed by another byte than a line feed"
            );
        }
        is_open = now.is_none();
    }
}

fn small() -> HeadLimits {
    HeadLimits {
        head_size: 120,
        field_count: 3,
        field_size: 40,
        field_name_size: 14,
        target_size: 20,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_head_is_the_same_however_it_is_cut(input in crate::generate::head()) {
        check_every_cut(&input, &HeadLimits::default());
        check_every_cut(&input, &small());
    }

    #[test]
    fn any_bytes_are_the_same_however_they_are_cut(input in prop::collection::vec(any::<u8>(), 0..80)) {
        check_every_cut(&input, &HeadLimits::default());
        check_every_cut(&input, &small());
    }
}

/// Data and length of a body read in pieces, or the refusal; `None` if it is incomplete.
type Body = Result<Option<(Vec<u8>, usize)>, Reason>;

fn decode(framing: Framing, input: &[u8], cuts: &[usize]) -> Body {
    let limits = BodyLimits { body_size: 300, chunk_extension_size: 30, trailer_size: 60 };
    let mut decoder = BodyDecoder::new(framing, &limits).map_err(|refusal| refusal.reason())?;
    let (mut data, mut at) = (Vec::new(), 0);
    for &end in cuts.iter().chain([&input.len()]) {
        loop {
            let read = input.get(at..end).unwrap_or_default();
            let (consumed, piece) = decoder.next(read).map_err(|refusal| refusal.reason())?;
            at += consumed;
            match piece {
                BodyPiece::Data(piece) => {
                    assert!(!piece.is_empty());
                    data.extend_from_slice(piece);
                }
                BodyPiece::NeedMore => break,
                BodyPiece::End => return Ok(Some((data, at))),
            }
        }
        assert!(at >= end, "all of a read is consumed");
    }
    Ok(None)
}

fn check_body(framing: Framing, input: &[u8], cuts: &[Index]) {
    let whole = decode(framing, input, &[]);
    let bytes: Vec<usize> = (1..input.len()).collect();
    assert_eq!(decode(framing, input, &bytes), whole, "byte by byte: {}", input.escape_ascii());
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
    cuts.sort_unstable();
    assert_eq!(decode(framing, input, &cuts), whole, "cut at {cuts:?}: {}", input.escape_ascii());
}

/// Chunks, most of them well formed.
fn chunked() -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![
        20 => Just(None),
        1 => prop::sample::select(vec!["0x1", "+1", "1 ", "g", "", "00000000000000000", "ffffffffffffffff", "0"]).prop_map(Some),
    ];
    let extension =
        prop_oneof![5 => Just(""), 1 => Just(";a=b"), 1 => Just(";\u{1}"), 1 => Just(" ;a")];
    let end = prop_oneof![30 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r"), 1 => Just("")];
    let chunk =
        (size, extension, end, "[ -~\r\n]{1,40}").prop_map(|(size, extension, end, data)| {
            let size = size.map_or_else(|| format!("{:x}", data.len()), str::to_owned);
            format!("{size}{extension}\r\n{data}{end}")
        });
    let trailers = prop_oneof![3 => Just(""), 1 => Just("A: \
        b\r\n"), 1 => Just("A : \
        b\r\n"), 1 => Just("A: \
        b\n"), 1 => Just("Content-Length: \
        3\r\n")];
    (prop::collection::vec(chunk, 0..6), trailers).prop_map(|(chunks, trailers)| {
        format!("{}0\r\n{trailers}\r\nGET /", chunks.concat()).into_bytes()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_chunked_body_is_the_same_however_it_is_cut(
        input in chunked(),
        cuts in prop::collection::vec(any::<Index>(), 0..8),
    ) {
        check_body(Framing::Chunked, &input, &cuts);
    }

    #[test]
    fn a_counted_body_is_the_same_however_it_is_cut(
        length in 0..320u64,
        input in prop::collection::vec(any::<u8>(), 0..320),
        cuts in prop::collection::vec(any::<Index>(), 0..8),
    ) {
        check_body(Framing::Length(length), &input, &cuts);
    }

    #[test]
    fn any_bytes_are_the_same_chunked_body_however_they_are_cut(
        input in prop_oneof!["[0-9a-f\r\n;: \t]{0,60}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..60)],
        cuts in prop::collection::vec(any::<Index>(), 0..8),
    ) {
        check_body(Framing::Chunked, &input, &cuts);
    }
}

#[test]
fn the_generators_reach_both_answers() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut accepted, mut refused, mut decoded) = (0, 0, 0);
    for _ in 0..500 {
        let input = crate::generate::head().new_tree(&mut runner).unwrap().current();
        match answer(&input, &HeadLimits::default()) {
            Some(Ok(_)) => accepted += 1,
            Some(Err(_)) => refused += 1,
            None => {}
        }
        let body = chunked().new_tree(&mut runner).unwrap().current();
        decoded += usize::from(matches!(decode(Framing::Chunked, &body, &[]), Ok(Some(_))));
    }
    assert!(accepted > 50 && refused > 50 && decoded > 50, "{accepted} {refused} {decoded}");
}
