//! The directives of nginx, and the configuration that they become.

use migrate::{Files, NoFiles, from_nginx};

use super::{has_section, result, table};

const SITE: &str = include_str!("samples/site.conf");

fn made(text: &str) -> String {
    from_nginx(text, "nginx.conf", &NoFiles).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// One server with these lines.
fn server(lines: &str) -> String {
    made(&format!("server {{\n{lines}\n}}\n"))
}

#[test]
fn a_site_of_nginx_becomes_a_configuration_that_does_the_same() {
    let text = made(SITE);
    let (config, table) = table(&text);
    let of = |path: &str| result(&table, "example.org", path);
    for (path, expected) in [
        ("/health", "200, a fixed answer of 2 bytes"),
        ("/a/b", "the file `/a/b` below /srv/site"),
        ("/assets/x.css", "the file `/assets/x.css` below /srv/site"),
        ("/downloads/a", "the file `/a` below /srv/downloads"),
        ("/x.php", "501, a fixed answer of 0 bytes"),
        ("/private/x", "403, a fixed answer of 0 bytes"),
        ("/old", "301, redirected to `/new`"),
        ("/gone", "the connection is closed without an answer"),
        ("/blog/a", "301, redirected to `/articles/a?q=1`"),
        ("/pictures/a.txt", "the file `/img/a.txt` below /srv/site"),
    ] {
        assert_eq!(of(path), expected, "{path}\n{text}");
    }
    let api = of("/api/x");
    assert!(has_section("[[upstream]]") != api.starts_with("501"), "{api}");
    // A location that asked for a password, or another server, never becomes open.
    let files = result(&table, "files.example.org", "/secret");
    assert!(has_section("[[access]]") != files.starts_with("501"), "{files}");
    assert_eq!(result(&table, "old.example.org", "/x"), "501, a fixed answer of 0 bytes");
    assert_eq!(config.limits.body_size, 20 << 20);
    assert_eq!(config.user.as_deref(), Some("www-data"));
    assert!(config.default_host.https.redirect && config.default_host.https.strict_for.is_some());
    let addresses: Vec<String> =
        config.listeners.iter().map(|listener| listener.address.to_string()).collect();
    assert_eq!(addresses, ["0.0.0.0:443", "0.0.0.0:80"]);
    for note in [
        "nginx.conf:18: `log_format main $remote_addr \"$request\" $status`: no counterpart",
        "nginx.conf:28: `map $http_upgrade $connection_upgrade`: no counterpart",
        "nginx.conf:61: `fastcgi_pass 127.0.0.1:9070`: no counterpart",
        "nginx.conf:62: `location ~ /\\.ht`: not needed: names that begin with a dot are hidden",
        "nginx.conf:72: `location ~ ^/users/(?<id>\\d+)$`: this expression has no counterpart",
        "`auth_request /auth`: no counterpart",
    ] {
        assert!(text.contains(note), "{note}\n{text}");
    }
    for quiet in ["gzip", "sendfile", "X-Real-IP", "server_tokens"] {
        assert!(!text.contains(quiet), "{quiet} needs nothing\n{text}");
    }
}

#[test]
fn nginx_chooses_the_exact_the_preferred_an_expression_and_the_longest_prefix() {
    let text = server(
        "location / { return 200 root; } location /a { return 200 a; } location /a/b { return 200 ab; }\n\
         location ^~ /p { return 200 p; } location ~ \\.css$ { return 200 css; } location = /a/x.css { return 200 x; }",
    );
    let (_, table) = table(&text);
    for (path, length) in
        [("/a/x.css", 1), ("/a/y.css", 3), ("/p/y.css", 1), ("/a/b/c", 2), ("/a/c", 1), ("/c", 4)]
    {
        let expected = format!("200, a fixed answer of {length} bytes");
        assert_eq!(result(&table, "x", path), expected, "{path}\n{text}");
    }
}

#[test]
fn redirects_keep_what_their_variables_mean() {
    for (line, path, expected) in [
        ("return 301 https://$host$request_uri;", "/a", "301, redirected to `https://x/a?q=1`"),
        (
            "return 302 $scheme://www.example.org$uri;",
            "/a",
            "302, redirected to `http://www.example.org/a`",
        ),
        ("return https://example.org;", "/a", "302, redirected to `https://example.org`"),
        (
            "rewrite ^/a/(.*)$ https://example.org/$1? permanent;",
            "/a/b",
            "301, redirected to `https://example.org/b`",
        ),
        ("location /a { return 307 /b$is_args$args; }", "/a/x", "307, redirected to `/b?q=1`"),
        (
            "location ~ ^/u/([^/]+)/?$ { return 301 /user/$1; }",
            "/u/ann",
            "301, redirected to `/user/ann`",
        ),
    ] {
        let (_, table) = table(&server(line));
        assert_eq!(result(&table, "x", path), expected, "{line}");
    }
    // A redirect to wherever a client wants, and one without counterpart, become closed routes.
    for line in [
        "location ~ ^/u/(.*)$ { return 301 https://$1; }",
        "location /u/ { return 301 https://$host.$cookie_x/; }",
        "location /u/ { return 301 //evil.example; }",
        "root /srv; return 200 $cookie_x;",
        "root /srv; auth_request /auth;",
    ] {
        let (_, table) = table(&server(line));
        assert!(result(&table, "x", "/u/a").starts_with("501"), "{line}");
    }
}

#[test]
fn values_cannot_leave_their_quotes() {
    let text = server(
        "add_header X-A 'a\"\n[[route]]\npath = \"/x\"\njson = 1\n#'; return 200 '\"]\n{x}';",
    );
    let (config, table) = table(&text);
    assert_eq!(config.default_host.routes.len(), 1, "{text}");
    assert_eq!(result(&table, "x", "/x"), "200, a fixed answer of 6 bytes", "{text}");
    // A comment is one line.
    let text = made("unknown 'a\n[[route]]\npath = \"/x\"\njson = 1';\nserver { listen 80; }\n");
    let (_, table) = super::table(&text);
    assert!(result(&table, "x", "/x").starts_with("404"), "{text}");
}

/// Two files that include each other, and one that is there.
struct Two;

impl Files for Two {
    fn matching(&self, _: &str, pattern: &str) -> Result<Vec<(String, String)>, String> {
        match pattern {
            "a" => Ok(vec![("a".to_owned(), "include b;".to_owned())]),
            "b" => Ok(vec![("b".to_owned(), "include a;".to_owned())]),
            "sites/*" => Ok(vec![("sites/x".to_owned(), "\n server { return 404 }".to_owned())]),
            "more/*" => {
                Ok(vec![("more/x".to_owned(), "\nserver { return 404; odd on; }".to_owned())])
            }
            _ => Err("no such file".to_owned()),
        }
    }
}

#[test]
fn included_files_are_read_and_circles_end() {
    let text = from_nginx("include a; include none; include more/*;", "n", &Two).unwrap();
    assert!(text.contains("too many included files"), "{text}");
    assert!(text.contains("n:1: `include none`: no such file"), "{text}");
    assert!(text.contains("more/x:2: `odd on`: no counterpart"), "{text}");
    let error = from_nginx("include sites/*;", "n", &Two).unwrap_err();
    assert_eq!(error.to_string(), "sites/x:2: the directive does not end with `;`");
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
    let deep = "a {".repeat(100) + &"}".repeat(100);
    assert!(from_nginx(&deep, "nginx.conf", &NoFiles).is_err());
}
