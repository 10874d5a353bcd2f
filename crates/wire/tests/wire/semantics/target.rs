//! RFC 3986 sections 2.1, 3.3 and 5.2.4; RFC 9112 section 3.2.

use proptest::prelude::*;
use wire::http::target::{
    DotFiles, PathError, SlashReadings, encode_path, query_pairs, resolve, resolve_with, split,
};

fn resolved(path: &str) -> Result<String, PathError> {
    resolve(path.as_bytes(), &mut Vec::new()).map(str::to_owned)
}

fn encoded(path: &str) -> String {
    let mut out = Vec::new();
    encode_path(path, &mut out);
    String::from_utf8(out).unwrap()
}

fn all_resolve_to(paths: &[&str], expected: &str) {
    for path in paths {
        assert_eq!(resolved(path).as_deref(), Ok(expected), "{path}");
    }
}

fn all_fail_with(paths: &[&str], error: PathError) {
    for path in paths {
        assert_eq!(resolved(path), Err(error), "{path}");
    }
}

#[test]
fn rfc_3986_3_4_split_at_the_first_question_mark() {
    assert_eq!(split(b"/a/b?c=d?e"), (b"/a/b".as_slice(), Some(b"c=d?e".as_slice())));
    assert_eq!(split(b"/a?"), (b"/a".as_slice(), Some(b"".as_slice())));
    assert_eq!(split(b"/a"), (b"/a".as_slice(), None));
    assert_eq!(split(b"*"), (b"*".as_slice(), None));
    assert_eq!(split(b""), (b"".as_slice(), None));
}

#[test]
fn rfc_9112_3_2_2_absolute_form_without_scheme_and_authority() {
    assert_eq!(split(b"http://host:80/a?b"), (b"/a".as_slice(), Some(b"b".as_slice())));
    assert_eq!(split(b"HTTPS://host/a"), (b"/a".as_slice(), None));
    assert_eq!(split(b"http://host"), (b"".as_slice(), None));
    assert_eq!(split(b"http://host?b"), (b"".as_slice(), Some(b"b".as_slice())));
    assert_eq!(split(b"/http://host/a"), (b"/http://host/a".as_slice(), None));
    assert_eq!(split(b"//host/a"), (b"//host/a".as_slice(), None));
}

#[test]
fn rfc_3986_3_3_plain_paths_stay() {
    for path in
        ["/", "/a", "/a/", "/a.b/c-d_e~f", "/a;b=c,d", "/a.", "/a..", "/a..b/c", "/:@!$&'()*+"]
    {
        all_resolve_to(&[path], path);
    }
    all_resolve_to(&[""], "/");
}

#[test]
fn rfc_3986_2_1_decoded_once() {
    all_resolve_to(&["/%61%2D%7e", "/a%2d~"], "/a-~");
    all_resolve_to(&["/a%20b"], "/a b");
    all_resolve_to(&["/%252e%252e/a"], "/%2e%2e/a");
    all_resolve_to(&["/a%3Fb%23c%25"], "/a?b#c%");
    all_resolve_to(&["/%C3%A9%e6%97%A5"], "/é日");
}

#[test]
fn rfc_3986_2_1_invalid_escapes() {
    all_fail_with(
        &["/%", "/%4", "/%g0", "/%0g", "/%%41", "/a%u0041", "/%+1", "/% 1"],
        PathError::Escape,
    );
}

#[test]
fn controls_are_refused() {
    all_fail_with(
        &["/%00", "/a%00.txt", "/%0a", "/%0D%0A", "/%1F", "/%7f", "/%00/../a"],
        PathError::Control,
    );
    all_fail_with(&["/a b", "/a\0", "/a\n", "/\x7f", "/é", "/a#b", "/a?b"], PathError::Character);
}

#[test]
fn only_utf_8_is_a_path() {
    let overlong_slash = "/%c0%af";
    let overlong_dots = "/%c0%ae%c0%ae/a";
    let surrogate = "/%ed%a0%80";
    let past_unicode = "/%f4%90%80%80";
    all_fail_with(
        &[
            overlong_slash,
            overlong_dots,
            surrogate,
            past_unicode,
            "/%ff",
            "/%80",
            "/%c3",
            "/%c3/%a9",
        ],
        PathError::Encoding,
    );
    // A segment that a dot segment removes is checked too.
    all_fail_with(&["/%ff/../a", "/%c3/..//a"], PathError::Encoding);
}

#[test]
fn separators_by_policy() {
    all_fail_with(
        &["/a%2Fb", "/a%2fb", "/a\\b", "/a%5cb", "/..%2f..%2f", "/%5C..%5C"],
        PathError::Separator,
    );
}

#[test]
fn encoded_slashes_have_two_readings_without_dot_segments_and_empty_ones() {
    let readings =
        |path: &[u8]| SlashReadings::of(path).map(|readings| [readings.slashes, readings.letters]);
    let both = |one: &str, other: &str| Ok([one.to_owned(), other.to_owned()]);
    assert_eq!(readings(b"/a%2Fb/c%20d"), both("/a/b/c d", "/a%2Fb/c d"));
    assert_eq!(readings(b"/a%2fb%2F"), both("/a/b/", "/a%2Fb%2F"));
    for path in ["/a%2F%2Fb", "/%2F", "/a/%2Fb", "/a%2F.", "/..%2Fa", "/a%2F%2e%2e/b", "/a//b%2F"] {
        assert_eq!(readings(path.as_bytes()), Err(PathError::Separator), "{path}");
    }
    assert_eq!(readings(b"/a%2Fb\\"), Err(PathError::Separator));
    assert_eq!(readings(b"/a%2F%00"), Err(PathError::Control));
    assert_eq!(readings(b"/a%2F%ff"), Err(PathError::Encoding));
    assert_eq!(readings(b"%2Fa"), Err(PathError::NotAbsolute));
}

#[test]
fn rfc_3986_5_2_4_dot_segments_go_after_decoding() {
    all_resolve_to(&["/a/b/c/./../../g", "/a/b/%2e%2e/g", "/a/b/.%2E/g", "/a/%2e/g"], "/a/g");
    all_resolve_to(&["/a/b/..", "/a/b/../", "/a/.", "/a/./", "/a/b/../."], "/a/");
    all_resolve_to(&["/.", "/./", "/a/..", "/a/../", "/./a/.././"], "/");
}

#[test]
fn rfc_3986_5_2_4_never_above_the_root() {
    all_fail_with(
        &[
            "/..",
            "/../",
            "/../a",
            "/a/../..",
            "/a/../../a",
            "/%2e%2e/a",
            "/./..",
            "//..",
            "/a//../../b",
        ],
        PathError::AboveRoot,
    );
}

#[test]
fn empty_segments_are_looked_up_as_none() {
    all_resolve_to(&["//a//b", "/a///b", "///a/b"], "/a/b");
    all_resolve_to(&["//", "///"], "/");
    all_resolve_to(&["/a//"], "/a/");
    all_resolve_to(&["/a/b//.."], "/a/");
}

#[test]
fn hidden_names_are_not_there() {
    all_fail_with(
        &[
            "/.git",
            "/.git/config",
            "/a/.env",
            "/%2Egit",
            "/...",
            "/a/..b",
            "/.well-known-not",
            "/.well-known/.a",
            "/a/.well-known/b",
            "/./.a",
            "//.a",
        ],
        PathError::Hidden,
    );
    all_resolve_to(&["/.well-known"], "/.well-known");
    all_resolve_to(&["/.well-known/acme-challenge/x"], "/.well-known/acme-challenge/x");
    all_resolve_to(&["/.git/../a"], "/a");
    assert_eq!(resolve_with(b"/.git/...", DotFiles::Show, &mut Vec::new()), Ok("/.git/..."));
}

#[test]
fn only_absolute_paths() {
    all_fail_with(&["*", "a", "../a", "%2Fa", "\\a", "host:80"], PathError::NotAbsolute);
}

#[test]
fn statuses() {
    assert_eq!(PathError::Hidden.status(), 404);
    for error in [
        PathError::NotAbsolute,
        PathError::Character,
        PathError::Escape,
        PathError::Control,
        PathError::Encoding,
        PathError::Separator,
        PathError::AboveRoot,
    ] {
        assert_eq!(error.status(), 400, "{error}");
    }
}

#[test]
fn scratch_is_used_again() {
    let mut scratch = b"left over".to_vec();
    assert_eq!(resolve(b"/a", &mut scratch), Ok("/a"));
    assert_eq!(resolve(b"/%zz", &mut scratch), Err(PathError::Escape));
    assert_eq!(resolve(b"/b/../c", &mut scratch), Ok("/c"));
}

#[test]
fn location_cannot_be_split_or_leave_the_host() {
    assert_eq!(encoded("/a\r\nSet-Cookie: x"), "/a%0D%0ASet-Cookie:%20x");
    assert_eq!(encoded("/a?b#c%d\\e\"f'g<h>"), "/a%3Fb%23c%25d%5Ce%22f%27g%3Ch%3E");
    assert_eq!(encoded("/é"), "/%C3%A9");
    assert_eq!(encoded("//evil.example/a"), "/evil.example/a");
    assert_eq!(encoded("////evil.example"), "/evil.example");
    assert_eq!(encoded("/\\evil.example"), "/%5Cevil.example");
    assert_eq!(encoded("evil.example"), "/evil.example");
    assert_eq!(encoded("javascript:alert(1)"), "/javascript:alert(1)");
    assert_eq!(encoded(""), "/");
}

fn pairs(query: &str, maximum: usize) -> Vec<(String, String)> {
    query_pairs(query.as_bytes(), maximum)
        .map(|(name, value)| {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            (text(&name), text(&value))
        })
        .collect()
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn query_pairs_are_decoded() {
    assert_eq!(pairs("a=1&b=2", 100), [pair("a", "1"), pair("b", "2")]);
    assert_eq!(pairs("a+b=c%20d%2B", 100), [pair("a b", "c d+")]);
    assert_eq!(
        pairs("a&b=&=c&a==", 100),
        [pair("a", ""), pair("b", ""), pair("", "c"), pair("a", "=")]
    );
    assert_eq!(pairs("&&a=1&&", 100), [pair("a", "1")]);
    assert_eq!(
        pairs("a=%&b=%4&c=%zz%41", 100),
        [pair("a", "%"), pair("b", "%4"), pair("c", "%zzA")]
    );
    assert_eq!(pairs("", 100), []);
    assert_eq!(query_pairs(b"a=%ff", 1).next().unwrap().1.as_ref(), b"\xff");
}

#[test]
fn query_pairs_have_a_bound() {
    let mut limited = query_pairs(b"a&b&c&&", 2);
    assert_eq!(limited.by_ref().count(), 2);
    assert!(limited.has_more());
    let mut exact = query_pairs(b"a&b&c&&", 3);
    assert_eq!(exact.by_ref().count(), 3);
    assert!(!exact.has_more());
    assert_eq!(pairs("a&b", 0), []);
}

/// Paths made of the pieces that matter, in any order.
fn path() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop_oneof!["/", "\\.", "\\.\\.", "%2e", "%2E%2e", "//", "/\\.\\./"],
        2 => prop_oneof!["%2f", "%5c", "\\\\", "%25", "%00", "%c3%a9", "%ff", "%c0%af", "%", "%3f"],
        4 => "[a-c]{1,2}",
        1 => any::<String>(),
    ];
    prop_oneof![
        4 => proptest::collection::vec(piece, 0..12)
            .prop_map(|pieces| format!("/{}", pieces.concat()).into_bytes()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
    ]
}

proptest! {
    #[test]
    fn resolved_never_leaves_the_root_and_resolves_to_itself(
        path in path(),
        dot_files in prop_oneof![Just(DotFiles::Hide), Just(DotFiles::Show)],
    ) {
        let mut scratch = Vec::new();
        if let Ok(resolved) = resolve_with(&path, dot_files, &mut scratch) {
            prop_assert!(resolved.starts_with('/'));
            prop_assert!(!resolved.contains("//"));
            prop_assert!(!resolved.split('/').any(|segment| segment == ".." || segment == "."));
            prop_assert!(!resolved.bytes().any(|byte| byte < 0x20 || byte == 0x7F));
            prop_assert!(resolved.len() <= path.len().max(1));

            let again = encoded(resolved);
            let mut scratch = Vec::new();
            prop_assert_eq!(resolve_with(again.as_bytes(), dot_files, &mut scratch), Ok(resolved));
        }
    }

    #[test]
    fn readings_of_encoded_slashes_are_resolved_and_differ_in_these_alone(path in path()) {
        if let Ok(SlashReadings { slashes, letters }) = SlashReadings::of(&path) {
            let mut scratch = Vec::new();
            for reading in [&slashes, &letters] {
                let path = encoded(reading);
                prop_assert_eq!(resolve_with(path.as_bytes(), DotFiles::Show, &mut scratch), Ok(&**reading));
            }
            // Where a name has these letters itself, it is decoded once in both.
            if !slashes.contains("%2F") {
                prop_assert_eq!(letters.replace("%2F", "/"), slashes);
            }
        }
    }

    #[test]
    fn path_that_resolves_with_dot_files_hidden_resolves_the_same_with_them_shown(path in path()) {
        let (mut scratch, mut other) = (Vec::new(), Vec::new());
        if let Ok(strict) = resolve(&path, &mut scratch) {
            prop_assert_eq!(resolve_with(&path, DotFiles::Show, &mut other), Ok(strict));
        }
    }

    #[test]
    fn encoded_is_a_path_of_this_host(path in any::<String>()) {
        let encoded = encoded(&path);
        prop_assert!(encoded.starts_with('/') && !encoded.starts_with("//"));
        prop_assert!(encoded.bytes().all(|byte| byte.is_ascii_graphic()));
        prop_assert!(!encoded.contains(['"', '\'', '?', '#', '\\', '<', '>']));
    }

    #[test]
    fn query_pairs_never_panic_and_keep_their_bound(
        query in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..60),
            "[a%2f=&+]{0,40}".prop_map(String::into_bytes),
        ],
        maximum in 0_usize..5,
    ) {
        let pairs: Vec<_> = query_pairs(&query, maximum).collect();
        prop_assert!(pairs.len() <= maximum);
        let decoded: usize = pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
        prop_assert!(decoded <= query.len());
    }
}
