//! The directives of Caddy, and the configuration that they become.

use migrate::{NoFiles, from_caddy};

use super::{has_section, result, table};

const SITE: &str = include_str!("samples/Caddyfile");

fn made(text: &str) -> String {
    from_caddy(text, "Caddyfile", &NoFiles).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn a_site_of_caddy_becomes_a_configuration_that_does_the_same() {
    let text = made(SITE);
    let (config, table) = table(&text);
    let of = |path: &str| result(&table, "example.org", path);
    for (path, expected) in [
        ("/health", "200, a fixed answer of 2 bytes"),
        ("/old", "301, redirected to `/new`"),
        ("/blog/a", "302, redirected to `https://blog.example.org/blog/a?q=1`"),
        ("/downloads/a", "the file `/a` below /srv/downloads"),
        ("/wp-admin/x", "the connection is closed without an answer"),
        ("/x.php", "the connection is closed without an answer"),
        ("/assets/a.css", "the file `/assets/a.css` below /srv/site"),
        ("/users/7", "the file `/users/7` below /srv/site"),
    ] {
        assert_eq!(of(path), expected, "{path}\n{text}");
    }
    for path in ["/api/x", "/v1/x"] {
        let found = of(path);
        assert!(has_section("[[upstream]]") != found.starts_with("501"), "{found}");
    }
    let files = result(&table, "files.example.org", "/secret");
    assert!(has_section("[[access]]") != files.starts_with("501"), "{files}");
    // A placeholder of the environment of Caddy has no counterpart in an answer.
    assert!(result(&table, "other", "/").starts_with("501"), "{text}");
    assert_eq!(config.limits.body_size, 10_000_000);
    assert_eq!(config.limits.header_deadline.as_secs(), 5);
    let addresses: Vec<String> =
        config.listeners.iter().map(|listener| listener.address.to_string()).collect();
    assert_eq!(addresses, ["0.0.0.0:80", "0.0.0.0:443", "0.0.0.0:8080"]);
    for note in [
        "Caddyfile:2: `email admin@example.org`: certificates are files here",
        "files are not rolled: use logrotate",
        "`handle_errors`: no counterpart",
        "`php_fastcgi /php/* unix//run/php.sock`: no counterpart",
        "ann:$2a$14$",
    ] {
        assert!(text.contains(note), "{note}\n{text}");
    }
    assert!(!text.contains("encode"), "it needs nothing\n{text}");
}

#[test]
fn a_file_of_one_site_may_have_no_braces() {
    let text = made(":8080\nroot * /srv\nrespond /a \"a\"\nfile_server\n");
    let (config, table) = table(&text);
    assert_eq!(config.listeners[0].address.to_string(), "0.0.0.0:8080");
    assert_eq!(result(&table, "x", "/a"), "200, a fixed answer of 1 bytes");
    assert_eq!(result(&table, "x", "/b"), "the file `/b` below /srv");
}

#[test]
fn handles_choose_the_longest_path_and_snippets_have_arguments() {
    let text = made(
        "(say) {\n respond {args[0]} {args[1]}\n}\n:80 {\n handle {\n import say rest 200\n }\n\
         handle /a/b/* {\n import say ab 200\n }\n handle /a/* {\n import say a 201\n }\n}\n",
    );
    let (_, table) = table(&text);
    assert_eq!(result(&table, "x", "/a/b/c"), "200, a fixed answer of 2 bytes", "{text}");
    assert_eq!(result(&table, "x", "/a/c"), "201, a fixed answer of 1 bytes");
    assert_eq!(result(&table, "x", "/c"), "200, a fixed answer of 4 bytes");
}

#[test]
fn a_block_with_a_guard_that_has_no_counterpart_never_becomes_open() {
    for guard in [
        "forward_auth 127.0.0.1:9 {\n uri /auth\n}",
        "basic_auth {\n a b\n}",
        "@odd expression {http.request.host} == \"x\"\n respond @odd 403",
    ] {
        let text = made(&format!(":80 {{\n root * /srv\n {guard}\n respond \"secret\"\n}}\n"));
        let (_, table) = table(&text);
        let found = result(&table, "x", "/");
        let is_closed = found.starts_with("501");
        let is_known = guard.starts_with("basic") && has_section("[[access]]");
        assert!(is_closed || is_known || guard.starts_with('@'), "{guard}: {found}\n{text}");
    }
}

#[test]
fn a_text_that_is_no_caddyfile_is_refused_with_its_line() {
    for (text, expected) in [
        (":80 {\n respond 200\n", "Caddyfile:2: a block does not end"),
        (":80 {\n}\n}", "Caddyfile:3: there is a `}` too many"),
        (":80 {\n respond \"x\n}", "Caddyfile:2: a quote does not end"),
    ] {
        let error = from_caddy(text, "Caddyfile", &NoFiles).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
    let circle = made("(a) {\n import a\n}\n:80 {\n import a\n respond \"x\"\n}\n");
    assert!(circle.contains("there is too much to import"), "{circle}");
}
