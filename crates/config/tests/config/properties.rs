//! Properties of every text, pattern and path.

use config::RouteAction;
use config::route::RouteRequest;
use config::{Captures, PathGlob};
use proptest::prelude::*;

use super::{read, table};

/// The meaning of a pattern by trying everything, segment by segment.
fn naive(pattern: &[&str], path: &[&str]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((&"**", [])) => !path.is_empty(),
        Some((&"**", rest)) => (0..=path.len()).any(|skipped| naive(rest, &path[skipped..])),
        Some((segment, rest)) => {
            let segment: Vec<char> = segment.chars().collect();
            path.split_first().is_some_and(|(first, after)| {
                naive_segment(&segment, &first.chars().collect::<Vec<_>>()) && naive(rest, after)
            })
        }
    }
}

fn naive_segment(pattern: &[char], text: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('*', rest)) => (0..=text.len()).any(|skipped| naive_segment(rest, &text[skipped..])),
        Some((character, rest)) => text
            .split_first()
            .is_some_and(|(first, after)| first == character && naive_segment(rest, after)),
    }
}

/// The pattern with its wildcards replaced by what they matched.
fn filled(pattern: &str, captures: &Captures, path: &str) -> String {
    let mut out = String::new();
    let mut number = 0;
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('*') {
        number += 1;
        out.push_str(before);
        let part = captures.part(number, path);
        out.push_str(part);
        rest = after;
        if let Some(after) = rest.strip_prefix('*') {
            // No segments for `/**/` leaves one slash of the two.
            let is_none =
                part.is_empty() && after.starts_with('/') && !path.starts_with(&format!("{out}/"));
            rest = if is_none { after.strip_prefix('/').unwrap() } else { after };
        }
    }
    out.push_str(rest);
    out
}

fn segment() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[ab*ä]{0,4}".prop_filter("stars \
        alone", |text| !text.contains("**")), 1 => Just("**".to_owned())]
}

fn pattern() -> impl Strategy<Value = String> {
    prop::collection::vec(segment(), 1..6).prop_map(|segments| format!("/{}", segments.join("/")))
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec("[abä]{0,4}", 1..7)
        .prop_map(|segments| format!("/{}", segments.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, max_global_rejects: 100_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_glob_is_what_trying_everything_finds(pattern in pattern(), path in path()) {
        if let Ok(glob) = PathGlob::parse(&pattern) {
            let wanted: Vec<&str> = pattern.split('/').skip(1).collect();
            let given: Vec<&str> = path.split('/').skip(1).collect();
            prop_assert_eq!(glob.is_match(&path), naive(&wanted, &given), "{} on {}", pattern, path);
            if let Some(captures) = glob.captures(&path) && !path.contains("//") {
                prop_assert_eq!(filled(&pattern, &captures, &path), path);
            }
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = read(&text).map_err(|errors| errors.to_string());
    }

    #[test]
    fn no_text_that_looks_like_a_file_panics(lines in prop::collection::vec(line(), 0..12)) {
        let text = lines.join("\n");
        match read(&text) {
            Ok(config) => { let _ = config::route::RouteTable::compile(&config); }
            Err(errors) => {
                prop_assert!(!errors.problems().is_empty());
                let told = errors.to_string();
                // Also a file that the text happens to include.
                let files = ["velodrome.toml:", "redirects.csv:", "countries.csv:"];
                let has_place = |line: &str| files.iter().any(|file| line.starts_with(file));
                prop_assert!(told.lines().all(has_place), "{}", told);
            }
        }
    }

    #[test]
    fn explaining_and_finding_agree(
        routes in prop::collection::vec(route(), 0..7),
        host in prop::option::of("(a|b|x\\.a)"),
        method in "(GET|POST|PUT)",
        path in "(/[ab]){1,3}",
    ) {
        let text = routes.concat();
        let config = read(&text).map_err(|errors| TestCaseError::fail(errors.to_string()))?;
        let table = config::route::RouteTable::compile(&config);
        prop_assume!(table.is_ok(), "some routes are never reached");
        let table = table.unwrap();
        let request = RouteRequest::new(host.as_deref(), &method, &path, None);
        let found = table.find(&request);
        let explained = table.explain(&request);
        prop_assert_eq!(found.rule, explained.rule, "{}\n{}", text, explained);
        if let Ok(RouteAction::Redirect { .. }) = found.action {
            let location = &found.location;
            prop_assert!(location.starts_with('/') && !location.starts_with("//"), "{}", location);
        }
    }

    #[test]
    fn a_location_is_visible_ascii(path in "/\\PC{0,30}[\r\n\0]?", query in prop::option::of("\\PC{0,20}\n?")) {
        let table = table("[[route]]\nprefix = \"/\"\nredirect = { to = \"/x/$1?y=$path\" }\n");
        let request = RouteRequest::new(None, "GET", &path, query.as_deref());
        let location = table.find(&request).location;
        prop_assert!(!location.is_empty());
        prop_assert!(location.bytes().all(|byte| byte.is_ascii_graphic()), "{}", location);
    }
}

fn line() -> impl Strategy<Value = String> {
    let keys: Vec<&'static str> =
        config::SECTIONS.iter().flat_map(|section| section.names()).collect();
    let headers: Vec<&'static str> = config::SECTIONS
        .iter()
        .map(|section| section.name)
        .filter(|name| name.starts_with('['))
        .collect();
    let value = prop_oneof![
        Just("true".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        (0_u64..2000, "(us|ms|s|m|KiB|MB| B/s)")
            .prop_map(|(number, unit)| format!("\"{number}{unit}\"")),
        "\"[/a-z$*:.0-9?#]{0,12}\"",
        Just("[\"/a\", \"b\"]".to_owned()),
        Just("{ to = \"/$1\", status = 301, root = \"x\" }".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("1.5".to_owned()),
    ];
    prop_oneof![
        1 => prop::sample::select(headers).prop_map(str::to_owned),
        4 => (prop::sample::select(keys), value).prop_map(|(key, value)| format!("{key} = {value}")),
    ]
}

/// A route of the default host, usually a valid one.
fn route() -> impl Strategy<Value = String> {
    let matcher = prop::sample::select(vec![
        "path = \"/a\"",
        "path = \"/b\"",
        "path = \"/a/b\"",
        "path = \"/a/a\"",
        "prefix = \"/a\"",
        "prefix = \"/b/\"",
        "prefix = \"/a/a\"",
        "glob = \"/*\"",
        "glob = \"/a/*\"",
        "glob = \"/**/b\"",
    ]);
    let action = prop_oneof![
        Just("json = 1"),
        Just("files = { root = \"x\" }"),
        Just("rewrite = { to = \"/a$path\" }"),
        Just("rewrite = { to = \"/a/b\" }"),
        Just("redirect = { to = \"$path/b\" }"),
    ];
    let methods = prop_oneof![
        2 => Just(""),
        1 => Just("methods = [\"GET\"]\n"),
        1 => Just("methods = [\"POST\", \"PUT\"]\n"),
    ];
    let host =
        prop_oneof![2 => Just(""), 1 => Just("host = \"a\"\n"), 1 => Just("host = \"*.a\"\n")];
    (matcher, action, methods, host).prop_map(|(matcher, action, methods, host)| {
        format!("[[route]]\n{matcher}\n{methods}{host}{action}\n")
    })
}

#[test]
fn a_long_path_that_almost_fits_is_refused() {
    // Trying everything would take longer than the universe has time.
    let glob = PathGlob::parse("/**/a*a*a*a*b/**/c").unwrap();
    let path = format!("/{}", "a".repeat(8000));
    assert!(!glob.is_match(&path));
    let path = "/a".repeat(4000);
    assert!(!glob.is_match(&path));
}
