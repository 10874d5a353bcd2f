//! RFC 9110 section 14 and 15.3.7.

use proptest::prelude::*;
use wire::http::range::{
    ByteRange, Multipart, Ranges, evaluate, write_content_range, write_unsatisfied_range,
};
use wire::limits::RANGES_MAXIMUM;

fn one(first: u64, length: u64) -> Ranges {
    Ranges::One(ByteRange { first, length })
}

fn pairs(ranges: &Ranges) -> Vec<(u64, u64)> {
    match ranges {
        Ranges::Whole | Ranges::Unsatisfiable => vec![],
        Ranges::One(range) => vec![(range.first, range.length)],
        Ranges::Many(list) => list.iter().map(|range| (range.first, range.length)).collect(),
    }
}

fn many(field: &str, size: u64) -> Vec<(u64, u64)> {
    let ranges = evaluate(field.as_bytes(), size);
    assert!(matches!(ranges, Ranges::Many(_)), "{field}: {ranges:?}");
    pairs(&ranges)
}

#[test]
fn rfc_9110_14_1_2_examples() {
    assert_eq!(evaluate(b"bytes=0-499", 10_000), one(0, 500));
    assert_eq!(evaluate(b"bytes=500-999", 10_000), one(500, 500));
    assert_eq!(evaluate(b"bytes=-500", 10_000), one(9_500, 500));
    assert_eq!(evaluate(b"bytes=9500-", 10_000), one(9_500, 500));
    assert_eq!(many("bytes=0-0,-1", 10_000), [(0, 1), (9_999, 1)]);
    assert_eq!(
        many("bytes= 0-999, 4500-5499, -1000", 10_000),
        [(0, 1_000), (4_500, 1_000), (9_000, 1_000)]
    );
}

#[test]
fn rfc_9110_14_1_2_the_end_is_cut_to_the_size() {
    assert_eq!(evaluate(b"bytes=5-100", 10), one(5, 5));
    assert_eq!(evaluate(b"bytes=-100", 10), one(0, 10));
    assert_eq!(evaluate(b"bytes=9-", 10), one(9, 1));
    assert_eq!(evaluate(b"bytes=0-", 10), one(0, 10));
}

#[test]
fn rfc_9110_14_1_2_unsatisfiable() {
    for field in ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=10-,-0,99-100"] {
        assert_eq!(evaluate(field.as_bytes(), 10), Ranges::Unsatisfiable, "{field}");
    }
    assert_eq!(evaluate(b"bytes=10-,3-4,-0", 10), one(3, 2));
}

#[test]
fn rfc_9110_14_1_2_empty_representation() {
    assert_eq!(evaluate(b"bytes=0-", 0), Ranges::Unsatisfiable);
    assert_eq!(evaluate(b"bytes=0-0", 0), Ranges::Unsatisfiable);
    assert_eq!(evaluate(b"bytes=-0", 0), Ranges::Unsatisfiable);
    assert_eq!(evaluate(b"bytes=-1", 0), Ranges::Whole);
}

#[test]
fn rfc_9110_14_2_malformed_or_foreign_is_ignored() {
    for field in [
        "",
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes=-",
        "bytes=1",
        "bytes=a-",
        "bytes=1-b",
        "bytes=2-1",
        "bytes=0-1,2-1",
        "bytes=0-1;2-3",
        "bytes=1-2-3",
        "bytes=+1-2",
        "bytes=1 -2",
        "bytes=0x1-2",
        "bytes=--1",
        "bytes 0-1",
        "bytes =0-1",
        "items=0-1",
        "bytes=0-1 2-3",
        "bytes=0-1,x",
    ] {
        assert_eq!(evaluate(field.as_bytes(), 10), Ranges::Whole, "{field}");
    }
}

#[test]
fn rfc_9110_14_1_unit_in_any_case() {
    assert_eq!(evaluate(b"Bytes=0-1", 10), one(0, 2));
}

#[test]
fn rfc_9110_5_6_1_2_empty_elements_are_ignored() {
    assert_eq!(many("bytes=,0-0, ,\t8-8,", 10), [(0, 1), (8, 1)]);
}

#[test]
fn numbers_past_every_end() {
    let huge = "9".repeat(400);
    assert_eq!(evaluate(format!("bytes=0-{huge}").as_bytes(), 10), one(0, 10));
    assert_eq!(evaluate(format!("bytes=-{huge}").as_bytes(), 10), one(0, 10));
    assert_eq!(evaluate(format!("bytes={huge}-").as_bytes(), 10), Ranges::Unsatisfiable);
    // 2^64 + 4, which would wrap to 4.
    assert_eq!(evaluate(b"bytes=18446744073709551620-", 10), Ranges::Unsatisfiable);
    assert_eq!(evaluate(b"bytes=0-", u64::MAX), one(0, u64::MAX));
    assert_eq!(
        evaluate(b"bytes=18446744073709551614-18446744073709551615", u64::MAX),
        one(u64::MAX - 1, 1)
    );
    assert_eq!(evaluate(b"bytes=18446744073709551615-", u64::MAX), Ranges::Unsatisfiable);
}

#[test]
fn rfc_9110_15_3_7_2_overlapping_touching_and_descending_are_merged() {
    assert_eq!(evaluate(b"bytes=0-5,3-8", 10), one(0, 9));
    assert_eq!(evaluate(b"bytes=0-4,5-9", 10), one(0, 10));
    assert_eq!(evaluate(b"bytes=0-,0-,0-,0-", 10), one(0, 10));
    assert_eq!(evaluate(b"bytes=0-9,2-3", 10), one(0, 10));
    assert_eq!(many("bytes=8-9,0-1", 10), [(0, 2), (8, 2)]);
    assert_eq!(many("bytes=6-7,0-1,1-2,-1", 10), [(0, 3), (6, 2), (9, 1)]);
}

#[test]
fn seventeen_ranges_are_the_whole() {
    let specifiers = |count: usize| {
        let specifiers: Vec<_> = (0..count).map(|at| format!("{0}-{0}", at * 2)).collect();
        format!("bytes={}", specifiers.join(","))
    };
    assert_eq!(many(&specifiers(RANGES_MAXIMUM), 1000).len(), RANGES_MAXIMUM);
    assert_eq!(evaluate(specifiers(RANGES_MAXIMUM + 1).as_bytes(), 1000), Ranges::Whole);
    // Ranges that begin beyond the end count too.
    assert_eq!(evaluate(specifiers(RANGES_MAXIMUM + 1).as_bytes(), 1), Ranges::Whole);
}

#[test]
fn rfc_9110_14_4_content_range() {
    let mut out = Vec::new();
    write_content_range(&mut out, ByteRange { first: 42, length: 1192 }, 1234);
    out.push(b'|');
    write_unsatisfied_range(&mut out, 1234);
    assert_eq!(out, b"bytes 42-1233/1234|bytes */1234");
    write_content_range(&mut out, ByteRange { first: 0, length: 0 }, 0);
    assert!(out.ends_with(b"bytes 0-0/0"));
}

#[test]
fn rfc_9110_14_6_multipart() {
    let multipart = Multipart::new(0xAB);
    let mut out = Vec::new();
    multipart.content_type(&mut out);
    assert_eq!(out, b"multipart/byteranges; boundary=000000000000000000000000000000ab");

    let mut body = Vec::new();
    multipart.part_head(ByteRange { first: 500, length: 2 }, 8000, b"text/plain", &mut body);
    body.extend(b"xy");
    multipart.closing(&mut body);
    let expected = "\r\n--000000000000000000000000000000ab\r\nContent-Type: text/plain\r\n\
        Content-Range: bytes 500-501/8000\r\n\r\nxy\r\n--000000000000000000000000000000ab--\r\n";
    assert_eq!(String::from_utf8(body).unwrap(), expected);
}

fn specifier() -> impl Strategy<Value = String> {
    let number = prop_oneof![0_u64..300, any::<u64>()];
    (proptest::option::of(number.clone()), proptest::option::of(number)).prop_map(
        |(first, last)| {
            let text =
                |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
            format!("{}-{}", text(first), text(last))
        },
    )
}

fn field() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(specifier(), 0..20).prop_map(|specifiers| format!(
            "bytes={}",
            specifiers.join(",")
        )
        .into_bytes()),
        // Mostly satisfiable, often overlapping.
        proptest::collection::vec((0_u64..200, 0_u64..40), 1..=RANGES_MAXIMUM).prop_map(|pairs| {
            let text: Vec<_> =
                pairs.iter().map(|(first, length)| format!("{first}-{}", first + length)).collect();
            format!("bytes={}", text.join(", ")).into_bytes()
        }),
        "bytes=[0-9,\\- ]{0,40}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..40),
    ]
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..300, any::<u64>(), Just(u64::MAX)]
}

/// The requested bytes below 300, computed in the simplest way; `None` if the field must
/// be ignored.
fn asked_for(field: &[u8], size: u64) -> Option<Vec<u64>> {
    let set = std::str::from_utf8(field).ok()?.strip_prefix("bytes=")?;
    let specifiers: Vec<_> = set.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    let mut asked = vec![];
    for specifier in specifiers {
        let (first, last) = specifier.split_once('-')?;
        let (first, last) = match (first.parse::<u64>().ok(), last.parse::<u64>().ok()) {
            (Some(first), Some(last)) => (first, last),
            (Some(first), None) => (first, u64::MAX),
            (None, Some(suffix)) => (size.saturating_sub(suffix), u64::MAX),
            (None, None) => return None,
        };
        asked.extend((0..size.min(300)).filter(|at| (first..=last).contains(at)));
    }
    asked.sort_unstable();
    asked.dedup();
    Some(asked)
}

proptest! {
    #[test]
    fn ranges_stay_inside_apart_and_in_order(field in field(), size in size()) {
        let ranges = evaluate(&field, size);
        let pairs = pairs(&ranges);
        prop_assert!(!matches!(ranges, Ranges::Many(_)) || pairs.len() >= 2);
        prop_assert!(pairs.len() <= RANGES_MAXIMUM);
        let mut end = None;
        let mut sum = 0_u64;
        for (first, length) in pairs {
            prop_assert!(length > 0);
            prop_assert!(end.is_none_or(|end| first > end));
            end = Some(first.checked_add(length).unwrap());
            prop_assert!(end <= Some(size));
            sum = sum.checked_add(length).unwrap();
        }
        prop_assert!(sum <= size);
    }

    #[test]
    fn ranges_are_the_bytes_asked_for(field in field(), size in 1_u64..300) {
        let ranges = evaluate(&field, size);
        let given: Vec<u64> =
            pairs(&ranges).iter().flat_map(|(first, length)| *first..first + length).collect();
        match ranges {
            Ranges::Whole => {}
            Ranges::Unsatisfiable => prop_assert_eq!(asked_for(&field, size), Some(vec![])),
            Ranges::One(_) | Ranges::Many(_) => {
                prop_assert_eq!(asked_for(&field, size), Some(given));
            }
        }
    }

    #[test]
    fn multipart_length_is_what_is_written(
        ranges in proptest::collection::vec((any::<u64>(), 1_u64..50), 1..5),
        size in any::<u64>(),
        content_type in "[a-z/]{0,30}",
        unique in any::<u128>(),
    ) {
        let ranges: Vec<_> =
            ranges.into_iter().map(|(first, length)| ByteRange { first, length }).collect();
        let multipart = Multipart::new(unique);
        let mut body = Vec::new();
        for range in &ranges {
            multipart.part_head(*range, size, content_type.as_bytes(), &mut body);
            body.resize(body.len() + usize::try_from(range.length).unwrap(), b'x');
        }
        multipart.closing(&mut body);
        let length = multipart.total_length(&ranges, size, content_type.as_bytes());
        prop_assert_eq!(body.len() as u64, length);
    }
}
