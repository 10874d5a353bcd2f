//! Whatever is taken over, what is printed is a valid configuration.

use migrate::{NoFiles, from_caddy, from_nginx};
use proptest::prelude::*;

use super::table;

/// Words of nginx, and what may be wrong with them.
const NGINX: &[&str] = &[
    "server",
    "location",
    "=",
    "^~",
    "~",
    "~*",
    "/",
    "/a",
    "/a/",
    "/a/b",
    "//",
    "/../x",
    "/%41",
    "/a*",
    "\\.php$",
    "\\.(a|b)$",
    "^/a/(.*)$",
    "^/a/([^/]+)$",
    "return",
    "301",
    "302",
    "200",
    "204",
    "206",
    "444",
    "999",
    "/b$uri",
    "https://$host$request_uri",
    "https://$1",
    "$scheme://x",
    "rewrite",
    "permanent",
    "last",
    "root",
    "alias",
    "/srv",
    "relative",
    "index",
    "autoindex",
    "on",
    "try_files",
    "$uri",
    "$uri/",
    "=404",
    "@named",
    "proxy_pass",
    "http://up/x/",
    "https://b",
    "unix:/s",
    "add_header",
    "X-A",
    "Content-Length",
    "Location",
    "a\u{e4}\u{1}",
    "expires",
    "30d",
    "-1",
    "max",
    "allow",
    "deny",
    "all",
    "10.0.0.1/8",
    "listen",
    "80",
    "443",
    "ssl",
    "[::]:80",
    "unix:/a",
    "default_server",
    "server_name",
    "_",
    "example.org",
    "*.example.org",
    "a..b",
    ".x",
    "error_page",
    "404",
    "/404.html",
    "=200",
    "client_max_body_size",
    "10m",
    "0",
    "keepalive_timeout",
    "0s",
    "1h",
    "user",
    "worker_processes",
    "x",
    "access_log",
    "off",
    "auth_basic",
    "auth_basic_user_file",
    "if",
    "($host = a)",
    "upstream",
    "ssl_certificate",
    "ssl_certificate_key",
    "proxy_set_header",
    "Host",
    "http",
    "''",
    "'a\"b'",
    "${",
    "\"${x}\"",
    "proxy_read_timeout",
    "proxy_http_version",
    "2",
    "proxy_cache_path",
    "keys_zone=z:1m",
    "max_size=1",
    "max_size=5g",
    "proxy_cache",
    "z",
    "proxy_cache_valid",
    "proxy_cache_key",
    "proxy_cache_use_stale",
    "updating",
    "proxy_no_cache",
    "$cookie_a",
    "$arg_",
    "$http_a",
];

/// Words of Caddy.
const CADDY: &[&str] = &[
    ":80",
    "example.org",
    "http://a.example",
    "localhost:8443",
    "*.example.org",
    "{$X}",
    "handle",
    "handle_path",
    "route",
    "/a/*",
    "/a",
    "/*",
    "*",
    "*.php",
    "@a",
    "@b",
    "path",
    "header",
    "X-A",
    "!X-A",
    "query",
    "a=b",
    "a=*",
    "method",
    "get",
    "odd",
    "remote_ip",
    "10.0.0.0/8",
    "private_ranges",
    "not",
    "respond",
    "redir",
    "rewrite",
    "permanent",
    "308",
    "200",
    "204",
    "206",
    "abort",
    "error",
    "root",
    "/srv",
    "relative",
    "file_server",
    "browse",
    "try_files",
    "{path}",
    "{uri}",
    "{path}.html",
    "=404",
    "https://{host}{uri}",
    "https://{x}",
    "//evil",
    "reverse_proxy",
    "127.0.0.1:9",
    "unix//s",
    "https://b",
    "{upstreams}",
    "basic_auth",
    "forward_auth",
    "php_fastcgi",
    "encode",
    "gzip",
    "tls",
    "internal",
    "a.pem",
    "log",
    "output",
    "file",
    "format",
    "json",
    "uri",
    "strip_prefix",
    "import",
    "(a)",
    "a",
    "-Server",
    "Cache-Control",
    "no-store",
    "Location",
    "\"a b\"",
    "\"${x}\"",
    "`q\"`",
    "header_up",
    "lb_policy",
    "least_conn",
    "request_body",
    "max_size",
    "10MB",
    "\u{1}",
    "a\u{e4}",
];

/// A text of words, ends and braces; the braces match.
fn text(words: &'static [&'static str], end: &'static str) -> impl Strategy<Value = String> {
    let line =
        prop::collection::vec(prop::sample::select(words), 1..5).prop_map(|words| words.join(" "));
    let simple = line.clone().prop_map(move |line| format!("{line}{end}\n"));
    let block = simple.prop_recursive(3, 24, 5, move |inner| {
        (line.clone(), prop::collection::vec(inner, 0..5))
            .prop_map(|(head, inner)| format!("{head} {{\n{}}}\n", inner.concat()))
    });
    prop::collection::vec(block, 0..6).prop_map(|blocks| blocks.concat())
}

/// The same within what makes most of it meaningful.
fn within(
    words: &'static [&'static str],
    end: &'static str,
    (head, tail): (&'static str, &'static str),
) -> impl Strategy<Value = String> {
    text(words, end).prop_map(move |inner| format!("{head}{inner}{tail}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_output_for_nginx_is_a_valid_configuration(
        text in prop_oneof![
            text(NGINX, ";"),
            within(NGINX, ";", ("http { server { listen 80; server_name \
                                 a;\n", "} server { server_name b; } \
                }")),
            within(NGINX, ";", ("server { location / {\n", "} location /a { return 403; } }")),
        ],
    ) {
        if let Ok(made) = from_nginx(&text, "nginx.conf", &NoFiles) {
            table(&made);
        }
    }

    #[test]
    fn every_output_for_caddy_is_a_valid_configuration(
        text in prop_oneof![
            text(CADDY, ""),
            within(CADDY, "", ("example.org {\n", "}\n:80 {\n respond \"x\"\n}\n")),
            within(CADDY, "", (":80 {\n @a path /a/*\n @b header X-A b\n handle /x/* \
                                {\n", "}\n \
                file_server\n}\n")),
        ],
    ) {
        if let Ok(made) = from_caddy(&text, "Caddyfile", &NoFiles) {
            table(&made);
        }
    }

    #[test]
    fn no_text_makes_a_parser_panic(text in "[ -~\n{};#\"'`$\\\\]{0,200}") {
        for made in [from_nginx(&text, "n", &NoFiles), from_caddy(&text, "c", &NoFiles)].into_iter().flatten() {
            table(&made);
        }
    }
}
