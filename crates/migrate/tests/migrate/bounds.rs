//! The bounds of included files and snippets: the largest that are read, and the first that are refused.

use migrate::limits::{INCLUDED_SIZE_MAX, INCLUDES_MAX, TEXT_SIZE_MAX};
use migrate::{IncludedFiles, NoFiles, from_caddy, from_nginx};

use super::judge;

/// Files that are made of their names.
struct Made;

impl IncludedFiles for Made {
    fn matching(&self, from: &str, pattern: &str) -> Result<Vec<(String, String)>, String> {
        let one = |text: String| Ok(vec![(pattern.to_owned(), text)]);
        match pattern {
            "a" => one("include b;".to_owned()),
            "b" => one("include a;".to_owned()),
            "broken" => one("\n server { return 404 }".to_owned()),
            "odd" => one("\nserver { return 404; odd on; }".to_owned()),
            "long" => one(format!("# {}", "x".repeat(INCLUDED_SIZE_MAX / 4))),
            "none/*" => Ok(Vec::new()),
            "sub/x.caddy" => one("import y.caddy\n".to_owned()),
            "y.caddy" if from == "sub/x.caddy" => one("respond /y 201\n".to_owned()),
            _ => Err("no such file".to_owned()),
        }
    }
}

fn nginx(text: &str) -> String {
    from_nginx(text, "n", &Made).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn include_that_cannot_be_read_closes_its_place() {
    let server = |include: &str| {
        format!("server {{ root /srv; location / {{ }} location /a/ {{ {include} }} }}")
    };
    for (include, why) in
        [("include a;", "it includes itself"), ("include missing;", "no such file")]
    {
        let text = nginx(&server(include));
        assert!(text.contains(why), "{why}\n{text}");
        judge(&text, &[("x/a/x", "501"), ("x/b", "/srv/b")]);
    }
    judge(&nginx(&server("include none/*;")), &[("x/a/x", "/srv/a/x")]);
    judge(&nginx("include odd;"), &[("x/a", "501")]);
    assert!(nginx("include odd;").contains("odd:2: `odd on`: no counterpart"));
    let error = from_nginx("include broken;", "n", &Made).unwrap_err();
    assert_eq!(error.to_string(), "broken:2: the directive does not end with `;`");
}

#[test]
fn the_number_and_the_size_of_included_files_are_bounded() {
    let many = "include none/*;\n".repeat(INCLUDES_MAX);
    judge(&nginx(&format!("server {{ root /srv; {many} }}")), &[("x/a", "/srv/a")]);
    let text = nginx(&format!("server {{ root /srv; {many} include none/*; }}"));
    assert!(text.contains("there are too many included files"), "{text}");
    judge(&text, &[("x/a", "501")]);
    let text = nginx(&format!("server {{ root /srv; {} }}", "include long;".repeat(3)));
    judge(&text, &[("x/a", "/srv/a")]);
    let text = nginx(&format!("server {{ root /srv; {} }}", "include long;".repeat(4)));
    assert!(text.contains("the included files are too long"), "{text}");
    judge(&text, &[("x/a", "501")]);
}

#[test]
fn snippets_neither_include_themselves_nor_grow_without_bound() {
    let caddy =
        |text: &str| from_caddy(text, "c", &Made).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let text = caddy("(a) {\n import a\n}\n:80 {\n import a\n respond 200\n}\n");
    assert!(text.contains("it includes itself"), "{text}");
    judge(&text, &[("x/", "501")]);
    // Each one doubles what it is given.
    let mut text = String::new();
    for number in 0..30 {
        text += &format!("(s{number}) {{\n import s{} {{args[0]}}{{args[0]}}\n}}\n", number + 1);
    }
    let text = caddy(&(text + "(s30) {\n respond {args[0]}\n}\n:80 {\n import s0 xx\n}\n"));
    assert!(text.contains("the imported lines are too long"), "{text}");
    judge(&text, &[("x/", "501")]);
    // A file is relative to the one that imports it.
    judge(&caddy(":80 {\n import sub/x.caddy\n}\n"), &[("x/y", "201"), ("x/z", "200")]);
}

#[test]
fn a_text_that_is_no_configuration_is_refused_with_its_line() {
    for (text, expected) in [
        ("http {\n server {\n}", "nginx.conf:3: a block does not end"),
        ("http { }\n}", "nginx.conf:2: there is a `}` too many"),
        ("a 'b", "nginx.conf:1: a quote does not end"),
        ("a b", "nginx.conf:1: the directive does not end with `;`"),
        ("\n;", "nginx.conf:2: there is no directive before `;` or `{`, or too many blocks"),
        ("{ }", "nginx.conf:1: there is no directive before `;` or `{`, or too many blocks"),
    ] {
        let error = from_nginx(text, "nginx.conf", &NoFiles).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
    for (text, expected) in [
        (":80 {\n respond 200\n", "Caddyfile:2: a block does not end"),
        (":80 {\n}\n}", "Caddyfile:3: there is a `}` too many"),
        (":80 {\n respond \"x\n}", "Caddyfile:2: a quote does not end"),
    ] {
        let error = from_caddy(text, "Caddyfile", &NoFiles).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
    let deep = "a {".repeat(100) + &"}".repeat(100);
    assert!(from_nginx(&deep, "nginx.conf", &NoFiles).is_err());
    assert!(from_caddy(&"a {\n".repeat(100), "Caddyfile", &NoFiles).is_err());
    let long = "#".repeat(TEXT_SIZE_MAX + 1);
    assert!(from_nginx(&long, "nginx.conf", &NoFiles).is_err());
    assert!(from_caddy(&long, "Caddyfile", &NoFiles).is_err());
}

#[test]
fn site_without_any_counterpart_answers_501_with_the_reason() {
    let many = "location /a { return 200; }".replace("/a", "/NUMBER");
    let many: String =
        (0..5000).map(|number| many.replace("NUMBER", &number.to_string())).collect();
    let text = from_nginx(&format!("server {{ root /srv; {many} }}"), "n", &NoFiles).unwrap();
    assert!(
        text.contains("# closed: there are too many routes\n# Nothing below is in force."),
        "{}",
        &text[..400]
    );
    judge(&text, &[("x/a", "501"), ("x/1", "501")]);
}
