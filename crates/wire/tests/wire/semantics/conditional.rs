//! RFC 9110 section 13, in the order of 13.2.2.

use proptest::prelude::*;
use wire::http::conditional::{
    Precondition, Preconditions, RangeUse, SafeMethod, Strength, Validators, evaluate, write_etag,
};
use wire::http::date;
use wire::http::encoding::Coding;
use wire::limits::{ETAG_DIGEST_BYTES, LAST_MODIFIED_STRONG_AFTER_S, TAG_LINES_MAXIMUM};

const MODIFIED: u64 = 784_111_777;
const NOW: u64 = MODIFIED + 1_000_000;
const FILE: Validators<'static> = Validators { etag: b"\"a\"", last_modified: MODIFIED };
const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const SAME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

const PROCEED: Precondition = Precondition::Proceed { use_range: RangeUse::Ignore };
const WITH_RANGE: Precondition = Precondition::Proceed { use_range: RangeUse::Apply };

type Fields<'a> = &'a [(&'a str, &'a str)];

fn outcome(method: SafeMethod, fields: Fields<'_>, file: Option<&Validators<'_>>) -> Precondition {
    let mut preconditions = Preconditions::default();
    for (name, value) in fields {
        preconditions.note(name.as_bytes(), value.as_bytes());
    }
    evaluate(method, &preconditions, file, NOW)
}

fn get(fields: Fields<'_>) -> Precondition {
    outcome(SafeMethod::Get, fields, Some(&FILE))
}

fn put(fields: Fields<'_>) -> Precondition {
    outcome(SafeMethod::Other, fields, Some(&FILE))
}

#[test]
fn without_preconditions() {
    assert_eq!(get(&[]), PROCEED);
    assert_eq!(get(&[("Range", "bytes=0-0")]), WITH_RANGE);
    assert_eq!(get(&[("Host", "a"), ("X-Range", "b")]), PROCEED);
}

#[test]
fn rfc_9110_13_1_1_if_match_compares_strongly() {
    assert_eq!(put(&[("If-Match", "\"a\"")]), PROCEED);
    assert_eq!(put(&[("If-Match", "\"b\", \"a\"")]), PROCEED);
    assert_eq!(put(&[("If-Match", "*")]), PROCEED);
    for value in ["\"b\"", "W/\"a\"", "a", "", "\"a", "\"A\"", "**", "\"b\"; \"a\""] {
        assert_eq!(put(&[("If-Match", value)]), Precondition::Failed, "{value}");
        assert_eq!(get(&[("If-Match", value)]), Precondition::Failed, "{value}");
    }
}

#[test]
fn rfc_9110_13_1_1_if_match_without_representation_fails() {
    assert_eq!(outcome(SafeMethod::Other, &[("If-Match", "*")], None), Precondition::Failed);
    assert_eq!(outcome(SafeMethod::Other, &[("If-Match", "\"a\"")], None), Precondition::Failed);
}

#[test]
fn rfc_9110_13_1_4_if_unmodified_since() {
    let field = "If-Unmodified-Since";
    assert_eq!(put(&[(field, SAME)]), PROCEED);
    assert_eq!(put(&[(field, AFTER)]), PROCEED);
    assert_eq!(put(&[(field, BEFORE)]), Precondition::Failed);
    assert_eq!(get(&[(field, BEFORE)]), Precondition::Failed);
    assert_eq!(put(&[(field, "yesterday")]), PROCEED);
    assert_eq!(outcome(SafeMethod::Other, &[(field, BEFORE)], None), PROCEED);
    // 13.2.2 step 2: only without If-Match.
    assert_eq!(put(&[(field, BEFORE), ("If-Match", "\"a\"")]), PROCEED);
    assert_eq!(put(&[(field, AFTER), ("If-Match", "\"b\"")]), Precondition::Failed);
}

#[test]
fn rfc_9110_13_1_2_if_none_match_compares_weakly() {
    for value in
        ["\"a\"", "W/\"a\"", "\"b\", W/\"a\"", "\"b\",,\"a\" , \"c\"", "*", " * ", "\"x,y\",\"a\""]
    {
        assert_eq!(get(&[("If-None-Match", value)]), Precondition::NotModified, "{value}");
        assert_eq!(
            outcome(SafeMethod::Head, &[("If-None-Match", value)], Some(&FILE)),
            Precondition::NotModified
        );
        assert_eq!(put(&[("If-None-Match", value)]), Precondition::Failed, "{value}");
        assert_eq!(outcome(SafeMethod::Get, &[("If-None-Match", value)], None), PROCEED, "{value}");
    }
    for value in ["\"b\"", "a", "", "w/\"a\"", "\"b, \"a\"", "\"a", "\"b\" \"a\"", "*, \"b\""] {
        assert_eq!(get(&[("If-None-Match", value)]), PROCEED, "{value}");
        assert_eq!(put(&[("If-None-Match", value)]), PROCEED, "{value}");
    }
}

#[test]
fn rfc_9110_13_1_2_a_weak_tag_of_ours_matches_weakly_only() {
    let weak = Validators { etag: b"W/\"a\"", ..FILE };
    let ask = |field| outcome(SafeMethod::Get, &[(field, "W/\"a\"")], Some(&weak));
    assert_eq!(ask("If-None-Match"), Precondition::NotModified);
    assert_eq!(ask("If-Match"), Precondition::Failed);
    let strong = outcome(SafeMethod::Get, &[("If-Match", "\"a\"")], Some(&weak));
    assert_eq!(strong, Precondition::Failed);
}

#[test]
fn rfc_9110_13_1_3_if_modified_since() {
    let field = "If-Modified-Since";
    assert_eq!(get(&[(field, SAME)]), Precondition::NotModified);
    assert_eq!(get(&[(field, AFTER)]), Precondition::NotModified);
    assert_eq!(get(&[(field, BEFORE)]), PROCEED);
    assert_eq!(outcome(SafeMethod::Head, &[(field, SAME)], Some(&FILE)), Precondition::NotModified);
    assert_eq!(get(&[(field, "Sunday, 06-Nov-94 08:49:37 GMT")]), Precondition::NotModified);
    for invalid in ["", "now", "Mon, 06 Nov 1994 08:49:37 GMT", "784111777"] {
        assert_eq!(get(&[(field, invalid)]), PROCEED, "{invalid}");
    }
    // Only for GET and HEAD, and only without If-None-Match.
    assert_eq!(put(&[(field, SAME)]), PROCEED);
    assert_eq!(get(&[(field, SAME), ("If-None-Match", "\"b\"")]), PROCEED);
    assert_eq!(outcome(SafeMethod::Get, &[(field, SAME)], None), PROCEED);
}

#[test]
fn rfc_9110_13_2_2_if_match_comes_before_if_none_match() {
    assert_eq!(get(&[("If-None-Match", "\"a\""), ("If-Match", "\"b\"")]), Precondition::Failed);
    assert_eq!(
        get(&[("If-None-Match", "\"a\""), ("If-Match", "\"a\"")]),
        Precondition::NotModified
    );
    assert_eq!(
        get(&[("If-Unmodified-Since", BEFORE), ("If-None-Match", "\"a\"")]),
        Precondition::Failed
    );
}

#[test]
fn rfc_9110_13_1_5_if_range_with_a_tag() {
    let ask = |tag| get(&[("Range", "bytes=0-0"), ("If-Range", tag)]);
    assert_eq!(ask("\"a\""), WITH_RANGE);
    for tag in ["\"b\"", "W/\"a\"", "*", "", "a", "\"a\", \"b\"", "\"b\", \"a\""] {
        assert_eq!(ask(tag), PROCEED, "{tag}");
    }
    // Without Range it has no effect.
    assert_eq!(get(&[("If-Range", "\"b\"")]), PROCEED);
}

#[test]
fn rfc_9110_13_1_5_if_range_with_a_date_needs_the_exact_one() {
    let ask = |date| get(&[("Range", "bytes=0-0"), ("If-Range", date)]);
    assert_eq!(ask(SAME), WITH_RANGE);
    assert_eq!(ask(BEFORE), PROCEED);
    assert_eq!(ask(AFTER), PROCEED);
}

#[test]
fn rfc_9110_8_8_2_2_a_young_date_is_weak() {
    let mut preconditions = Preconditions::default();
    preconditions.note(b"range", b"bytes=0-0");
    preconditions.note(b"if-range", SAME.as_bytes());
    let at = |now| evaluate(SafeMethod::Get, &preconditions, Some(&FILE), now);
    assert_eq!(at(MODIFIED + LAST_MODIFIED_STRONG_AFTER_S), WITH_RANGE);
    assert_eq!(at(MODIFIED + LAST_MODIFIED_STRONG_AFTER_S - 1), PROCEED);
    assert_eq!(at(MODIFIED - 1), PROCEED);
    assert_eq!(at(0), PROCEED);
}

#[test]
fn rfc_9110_14_2_range_only_for_get_of_something() {
    let range = [("Range", "bytes=0-0")];
    assert_eq!(outcome(SafeMethod::Head, &range, Some(&FILE)), PROCEED);
    assert_eq!(outcome(SafeMethod::Other, &range, Some(&FILE)), PROCEED);
    assert_eq!(outcome(SafeMethod::Get, &range, None), PROCEED);
}

#[test]
fn without_validators_only_the_star_matches() {
    let bare = Validators { etag: b"", last_modified: 0 };
    let ask = |field, value| {
        outcome(SafeMethod::Get, &[("Range", "bytes=0-0"), (field, value)], Some(&bare))
    };
    assert_eq!(ask("If-None-Match", "\"\""), WITH_RANGE);
    assert_eq!(ask("If-None-Match", "*"), Precondition::NotModified);
    assert_eq!(ask("If-Match", "\"a\""), Precondition::Failed);
    assert_eq!(ask("If-Modified-Since", SAME), WITH_RANGE);
    assert_eq!(ask("If-Unmodified-Since", BEFORE), WITH_RANGE);
    assert_eq!(ask("If-Range", "Thu, 01 Jan 1970 00:00:00 GMT"), PROCEED);
}

#[test]
fn rfc_9110_5_3_several_lines_of_tags_are_one() {
    assert_eq!(
        get(&[("If-None-Match", "\"b\""), ("if-none-match", "\"a\"")]),
        Precondition::NotModified
    );
    assert_eq!(put(&[("If-Match", "\"b\""), ("IF-MATCH", "\"a\"")]), PROCEED);
    assert_eq!(put(&[("If-Match", "\"b\""), ("If-Match", "\"c\"")]), Precondition::Failed);
}

#[test]
fn rfc_9110_5_3_a_second_line_of_a_single_value_is_malformed() {
    for (name, value) in [("If-Modified-Since", SAME), ("If-Unmodified-Since", BEFORE)] {
        assert_ne!(get(&[(name, value)]), PROCEED);
        assert_eq!(get(&[(name, value), (name, value)]), PROCEED, "{name}");
    }
    let range = ("Range", "bytes=0-0");
    assert_eq!(get(&[range, ("If-Range", SAME), ("If-Range", SAME)]), PROCEED);
    let mut preconditions = Preconditions::default();
    preconditions.note(b"Range", b"bytes=0-0");
    preconditions.note(b"Range", b"bytes=1-1");
    assert_eq!(preconditions.range, Some(b"".as_slice()));
}

#[test]
fn too_many_lines_are_judged_for_safety() {
    let with = |name, last| {
        let mut fields = vec![(name, "\"b\""); TAG_LINES_MAXIMUM];
        fields.push((name, last));
        fields
    };
    assert_eq!(put(&with("If-Match", "\"a\"")), Precondition::Failed);
    assert_eq!(put(&with("If-None-Match", "\"c\"")), Precondition::Failed);
    assert_eq!(get(&with("If-None-Match", "\"a\"")), PROCEED);
    assert_eq!(outcome(SafeMethod::Other, &with("If-None-Match", "*"), None), PROCEED);
    let mut read = with("If-None-Match", "\"c\"");
    read[0].1 = "\"a\"";
    assert_eq!(get(&read), Precondition::NotModified);
}

fn etag(strength: Strength, facts: &[&[u8]], coding: Coding) -> String {
    let mut out = Vec::new();
    write_etag(&mut out, strength, facts, coding);
    String::from_utf8(out).unwrap()
}

#[test]
fn rfc_9110_8_8_3_etag_of_a_representation() {
    let of = |facts: &[&[u8]], coding| etag(Strength::Strong, facts, coding);
    let plain = of(&[b"a", b"bc"], Coding::Identity);
    let digest = plain.trim_matches('"');
    assert_eq!(digest.len(), 2 * ETAG_DIGEST_BYTES);
    assert!(digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{digest}");
    assert_eq!(of(&[b"a", b"bc"], Coding::Gzip), format!("\"{digest}-gzip\""));
    assert_eq!(of(&[b"a", b"bc"], Coding::Brotli), format!("\"{digest}-br\""));
    assert_eq!(etag(Strength::Weak, &[b"a", b"bc"], Coding::Zstd), format!("W/\"{digest}-zstd\""));
    assert_ne!(of(&[b"ab", b"c"], Coding::Identity), plain, "facts are not joined");
}

#[test]
fn a_weak_tag_allows_no_part_of_what_the_client_has() {
    let tag = etag(Strength::Weak, &[b"a"], Coding::Identity);
    let file = Validators { etag: tag.as_bytes(), last_modified: 0 };
    let ask = |fields: Fields<'_>| outcome(SafeMethod::Get, fields, Some(&file));
    assert_eq!(ask(&[("If-None-Match", &tag)]), Precondition::NotModified);
    let strong = tag.trim_start_matches("W/");
    for tag in [&*tag, strong] {
        assert_eq!(ask(&[("Range", "bytes=0-"), ("If-Range", tag)]), PROCEED);
        assert_eq!(ask(&[("If-Match", tag)]), Precondition::Failed);
    }
}

fn coding() -> impl Strategy<Value = Coding> {
    prop_oneof![
        Just(Coding::Identity),
        Just(Coding::Gzip),
        Just(Coding::Brotli),
        Just(Coding::Zstd)
    ]
}

fn file() -> impl Strategy<Value = (Vec<u8>, Vec<u8>, Coding)> {
    let fact = proptest::collection::vec(any::<u8>(), 0..4);
    (fact.clone(), fact, coding())
}

fn strong_etag((one, other, coding): &(Vec<u8>, Vec<u8>, Coding)) -> String {
    etag(Strength::Strong, &[one, other], *coding)
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("*".to_owned()),
        "((W/)?\"[ab,]{0,2}\"[, ]{0,2}){0,4}",
        (MODIFIED - 2..MODIFIED + 2)
            .prop_map(|at| String::from_utf8(date::format(at).to_vec()).unwrap()),
        any::<String>(),
    ]
}

fn method() -> impl Strategy<Value = SafeMethod> {
    prop_oneof![Just(SafeMethod::Get), Just(SafeMethod::Head), Just(SafeMethod::Other)]
}

fn field() -> impl Strategy<Value = (&'static str, String)> {
    let name = prop_oneof![
        Just("If-Match"),
        Just("If-None-Match"),
        Just("If-Range"),
        Just("Range"),
        Just("If-Modified-Since"),
        Just("If-Unmodified-Since"),
    ];
    (name, value())
}

proptest! {
    #[test]
    fn different_files_and_codings_have_different_etags(one in file(), other in file()) {
        if one != other {
            prop_assert_ne!(strong_etag(&one), strong_etag(&other));
        }
    }

    #[test]
    fn our_etag_is_recognised(file in file(), before in value()) {
        let tag = strong_etag(&file);
        let file = Validators { etag: tag.as_bytes(), last_modified: MODIFIED };
        let ask = |fields: Fields<'_>| outcome(SafeMethod::Get, fields, Some(&file));
        let cached = ask(&[("If-None-Match", &before), ("If-None-Match", &tag)]);
        prop_assert_eq!(cached, Precondition::NotModified);
        let resumed = ask(&[("Range", "bytes=0-"), ("If-Range", &tag), ("If-Match", &tag)]);
        prop_assert_eq!(resumed, WITH_RANGE);
    }

    #[test]
    fn whatever_comes_keeps_the_rules(
        fields in proptest::collection::vec(field(), 0..8),
        method in method(),
        is_there in any::<bool>(),
    ) {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let has = |name| fields.iter().any(|field| field.0 == name);
        match outcome(method, &fields, is_there.then_some(&FILE)) {
            Precondition::NotModified => {
                prop_assert!(method != SafeMethod::Other && is_there);
                prop_assert!(has("If-None-Match") || has("If-Modified-Since"));
            }
            Precondition::Failed => {
                let may_fail = has("If-Match") || has("If-Unmodified-Since");
                prop_assert!(may_fail || (method == SafeMethod::Other && has("If-None-Match")));
                prop_assert!(is_there || has("If-Match"));
            }
            Precondition::Proceed { use_range: RangeUse::Apply } => {
                prop_assert!(method == SafeMethod::Get && is_there && has("Range"));
            }
            Precondition::Proceed { use_range: RangeUse::Ignore } => {
                let could_apply = method == SafeMethod::Get && is_there && has("Range");
                prop_assert!(!could_apply || has("If-Range"));
            }
        }
    }
}
