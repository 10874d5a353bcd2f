//! The directives of Caddy, and what answers with the configuration that they become.

use migrate::{NoFiles, from_caddy};

use super::{judge, table};

const SITE: &str = include_str!("samples/Caddyfile");

pub(super) fn made(text: &str) -> String {
    from_caddy(text, "Caddyfile", &NoFiles).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The answers of a site for all names with these lines and a root.
fn serves(lines: &str, cases: &[(&str, &str)]) {
    judge(&made(&format!(":80 {{\nroot * /srv\n{lines}\n}}\n")), cases);
}

#[test]
fn a_site_of_caddy_becomes_a_configuration_that_does_the_same() {
    let text = made(SITE);
    let (config, _) = table(&text);
    judge(
        &text,
        &[
            ("0.0.0.0:443 example.org/old", "301 /new"),
            ("0.0.0.0:443 example.org/blog/a", "302 https://blog.example.org/blog/a"),
            ("0.0.0.0:443 example.org/downloads/a", "/srv/downloads/a"),
            ("0.0.0.0:443 example.org/api/x", "upstream /api/x"),
            ("0.0.0.0:443 example.org/v1/x", "upstream /v1/x"),
            ("0.0.0.0:443 example.org/wp-admin/x", "drop"),
            ("0.0.0.0:443 example.org/x.php", "drop"),
            ("0.0.0.0:443 example.org/X.PHP", "501"),
            ("0.0.0.0:443 example.org/health", "200"),
            ("0.0.0.0:443 example.org/beta", "200"),
            ("0.0.0.0:443 example.org/users/7", "/srv/site/users/7"),
            ("0.0.0.0:443 example.org/php/x", "501"),
            ("0.0.0.0:80 example.org/a", "308 https://example.org/a"),
            ("0.0.0.0:443 files.example.org/secret", "/srv/files/secret for password"),
            // Caddy answers names without a site with nothing, and a placeholder of the environment has no counterpart.
            ("0.0.0.0:443 other/x", "200"),
            ("0.0.0.0:8080 other/x", "501"),
        ],
    );
    assert_eq!(config.limits.header_deadline.as_secs(), 5);
    let addresses: Vec<String> =
        config.listeners.iter().map(|listener| listener.address.to_string()).collect();
    assert_eq!(addresses, ["0.0.0.0:443", "0.0.0.0:8080", "0.0.0.0:80"]);
    for note in [
        "files are not rolled: use logrotate",
        "Write these lines into the file users.htpasswd:\n# ann:$2a$14$",
        "body_size = \"10 MB\"",
        "hide = [\"Caddyfile\"]",
        "enabled = false",
    ] {
        assert!(text.contains(note), "{note}\n{text}");
    }
    assert!(!text.contains("encode"), "it needs nothing\n{text}");
}

#[test]
fn a_file_of_one_site_may_have_no_braces() {
    let text = made(":8080\nroot * /srv\nrespond /a 201\nfile_server\n");
    assert_eq!(table(&text).0.listeners[0].address.to_string(), "0.0.0.0:8080");
    judge(&text, &[("x/a", "201"), ("x/b", "/srv/b")]);
}

#[test]
fn blocks_exclude_each_other_and_the_longest_path_is_first() {
    let text = made(
        "(say) {\n respond {args[0]} {args[1]}\n}\n:80 {\n handle {\n import say rest 200\n }\nhandle_path \
         /a/b/* {\n import say ab 201\n }\n handle /a/* {\n import say a 202\n }\n handle /n/* {\n header \
         X-A b\n }\n}\n",
    );
    judge(&text, &[("x/a/b/c", "201"), ("x/a/c", "202"), ("x/c", "200"), ("x/n/x", "200")]);
    // Requests that a block does not answer go on behind it, past the other blocks.
    serves(
        "handle /n/* {\n encode gzip\n }\n handle {\n respond 204\n }\n respond 404",
        &[("x/n/x", "501"), ("x/a", "204")],
    );
    serves(
        "handle /n/* {\n handle {\n respond /n/a 201\n }\n }\n file_server",
        &[("x/n/a", "201"), ("x/n/x", "501")],
    );
    // In a route the order is that of the file.
    serves(
        "route /f/* {\n respond /f/a 201\n respond 202\n respond /f/b 203\n }\n file_server",
        &[("x/f/a", "201"), ("x/f/b", "202"), ("x/g", "/srv/g")],
    );
    // Elsewhere Caddy sorts directives.
    serves(
        "respond 202\n redir /r /s\n respond /a/* 201\n abort /b",
        &[("x/a/x", "201"), ("x/b", "drop"), ("x/r", "302 /s"), ("x/c", "202")],
    );
}

#[test]
fn matchers_take_the_same_requests_or_close_their_place() {
    serves(
        "@re path_regexp ^/(private|uploads)/\n respond @re 404\n respond /p* 405\n @bak path *.bak\n \
         respond @bak 410\n file_server",
        &[
            ("x/private/x", "404"),
            ("x/uploads/x", "404"),
            ("x/p", "405"),
            ("x/pq/r", "405"),
            ("x/x.bak", "410"),
            ("x/x.BAK", "501"),
            ("x/PQ", "501"),
            ("x/a", "/srv/a"),
        ],
    );
    for odd in [
        "@a expression {path}.startsWith(\"/admin\")",
        "@a path_regexp ^/u/\\d+$",
        "@a not path /open/*",
        "@a method GET",
        "@a remote_ip forwarded 10.0.0.0/8",
        "@a header_regexp X-A ^b",
        "@a protocol https",
        "@a vars x y",
        "@a file",
        "@a {\n not {\n path /a\n header X b\n }\n }",
    ] {
        for answer in [
            "respond @a 403",
            "basic_auth @a {\n u $2a$14$abc\n }",
            "handle @a {\n abort\n }",
            "redir @a /x",
        ] {
            serves(&format!("{odd}\n {answer}\n file_server"), &[("x/u/a", "501"), ("x/", "501")]);
        }
    }
    // Only clients of the network come past this.
    serves(
        "@out not remote_ip 192.0.2.0/24\n respond @out 403\n file_server",
        &[("x/a", "/srv/a for address -")],
    );
    serves("@out not remote_ip 192.0.2.0/24\n redir @out /x\n file_server", &[("x/a", "501")]);
    judge(
        &made(
            "http://a.example, http://www.a.example {\n @www host www.a.example\n redir @www \
            http://a.example{uri} 301\n respond 204\n}\n",
        ),
        &[
            ("a.example/x", "204"),
            ("www.a.example/x", "301 http://a.example/x"),
            ("other/x", "200"),
        ],
    );
}

#[test]
fn a_guard_is_on_every_route_behind_it() {
    let auth = "{\n u $2a$14$abc\n }";
    serves(
        &format!(
            "basic_auth /admin/* {auth}\n reverse_proxy /admin/api/* b:1\n respond /open 204\n file_server"
        ),
        &[
            ("x/admin/api/x", "upstream /admin/api/x for password"),
            ("x/admin/x", "/srv/admin/x for password"),
            ("x/a", "/srv/a"),
            ("x/open", "204"),
            ("x/ADMIN/x", "501"),
            ("x/adMin/x", "501"),
        ],
    );
    serves(
        &format!(
            "handle /m/* {{\n basic_auth {auth}\n rewrite * /n{{path}}\n reverse_proxy b:1\n }}\n file_server"
        ),
        &[
            ("x/m/a", "upstream /n/m/a for password"),
            ("x/n/m/a", "/srv/n/m/a"),
            ("x/.velodrome/1/n/m/a", "404"),
        ],
    );
    for guard in [
        "forward_auth 127.0.0.1:9",
        "forward_auth 127.0.0.1:9 {\n uri /auth\n copy_headers A>B\n }",
        "forward_auth 127.0.0.1:9 {\n uri /auth\n copy_headers Content-Length\n }",
        "forward_auth 127.0.0.1:9 {\n uri /auth\n header_up X-A a\n }",
        "forward_auth 127.0.0.1:9 {\n uri /auth{path}\n }",
        "forward_auth a:9 {\n uri /auth\n }\n forward_auth b:9 {\n uri /auth\n }",
        "basic_auth {\n a b\n }",
        "basic_auth scrypt {\n a b\n }",
        "something_new",
        "php_fastcgi unix//run/php.sock",
        "templates",
        "import missing",
        "request_header X-User {http.request.cookie.user}",
        "header X-A {http.request.uuid}",
        "uri replace a b",
        "vars a b",
    ] {
        serves(
            &format!("handle /a/* {{\n {guard}\n file_server\n }}\n file_server"),
            &[("x/a/x", "501"), ("x/A/x", "501"), ("x/b", "/srv/b")],
        );
        serves(&format!("{guard}\n file_server"), &[("x/b", "501")]);
    }
    // Two lists of users are two files.
    let text = made(
        ":80 {\n root * /srv\n handle /a/* {\n basic_auth {\n u $2a$14$abc\n }\n file_server\n }\n handle \
         /b/* {\n basic_auth {\n v $2a$14$abc\n }\n file_server\n }\n}\n",
    );
    assert!(
        text.contains("users = \"users.htpasswd\"")
            && text.contains("users = \"users-2.htpasswd\""),
        "{text}"
    );
}

#[test]
fn paths_change_as_in_caddy() {
    serves(
        "handle_path /v2/* {\n reverse_proxy b:1\n }\n handle /api/* {\n uri strip_prefix /api\n \
         reverse_proxy b:1\n }\nhandle_path /dl/* {\n root * /dl\n respond /no 403\n file_server\n }\n \
         handle_path /go/* {\n redir https://x{uri}\n }\n file_server",
        &[
            ("x/v2/a", "upstream /a"),
            ("x/api/a", "upstream /a"),
            ("x/dl/a", "/dl/a"),
            ("x/dl/no", "403"),
            ("x/go/a", "302 https://x/a"),
            ("x/b", "/srv/b"),
        ],
    );
    serves(
        "rewrite /x /y\n rewrite /z/* /w\n respond /y 403\n file_server",
        &[("x/x", "403"), ("x/z/a", "/srv/w")],
    );
    serves("rewrite /a* /b\n rewrite /b /c\n file_server", &[("x/a", "501")]);
    serves(
        "uri strip_prefix /api\n reverse_proxy b:1",
        &[("x/api/a", "upstream /a"), ("x/apix", "501"), ("x/b", "upstream /b")],
    );
    serves("handle /a/* {\n rewrite /a/b /c\n file_server\n }", &[("x/a/x", "501")]);
    // Directives behind `try_files` see the path that it has chosen.
    serves(
        "try_files {path} /index.html\n respond /health 204\n file_server",
        &[("x/health", "501"), ("x/a", "/srv/a")],
    );
    serves(
        "try_files {path} /index.html\n respond /index.html 403\n file_server",
        &[("x/a", "501")],
    );
    serves("try_files {path} /index.php?{query}\n file_server", &[("x/a", "501")]);
    serves("try_files {path} /index.html\n reverse_proxy b:1", &[("x/a", "501")]);
}

#[test]
fn proxies_change_requests_as_in_caddy_or_are_closed() {
    for option in [
        "header_up X-User {http.request.cookie.user}",
        "header_up X-User {http.auth.user.id}s",
        "header_up X-A a b",
        "handle_response {\n respond 200\n }",
        "rewrite /x",
        "method GET",
        "dynamic srv x",
        "transport fastcgi",
        "transport http {\n proxy_protocol v2\n }",
        "to {upstreams}",
    ] {
        serves(
            &format!("handle /a/* {{\n reverse_proxy b:1 {{\n {option}\n }}\n }}\n file_server"),
            &[("x/a/x", "501"), ("x/b", "/srv/b")],
        );
    }
    let text = made(
        ":80 {\n reverse_proxy https://b.example unix//run/x {\n to c:1\n }\n}\n:81 {\n reverse_proxy \
         https://b.example {\n header_up Host {upstream_hostport}\n header_up X-User {http.auth.user.id}$1\n \
         header_up -X-A\n header_down -Server\n }\n}\n",
    );
    judge(&text, &[("0.0.0.0:80 x/a", "501"), ("0.0.0.0:81 x/a", "upstream /a")]);
    for line in [
        "servers = [\"b.example:443\"]\ntls = true\nhttp2 = true",
        "request_headers = { Host = \"b.example:443\", X-User = \"$user$$1\" }",
        "remove_request_headers = [\"X-A\"]",
        "remove_response_headers = [\"Server\"]",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn servers_are_spoken_to_in_the_versions_of_their_transport() {
    for (servers, versions, wanted) in [
        ("b:1", "h2c 2", "h2c = true"),
        ("b:1", "1.1 2", ""),
        ("h2c://b:1", "", "h2c = true"),
        ("https://b:1", "", "tls = true\nhttp2 = true"),
        ("https://b:1", "h2c 2", "tls = true\nhttp2 = true"),
        ("https://b:1", "1.1", "tls = true"),
        ("https://b:1", "3", "tls = true"),
    ] {
        let versions = if versions.is_empty() { "" } else { &format!("versions {versions}") };
        let text = made(&format!(
            ":80 {{\n reverse_proxy {servers} {{\n transport http {{\n {versions}\n }}\n }}\n}}\n"
        ));
        table(&text);
        let lines = text.lines().skip_while(|line| *line != "servers = [\"b:1\"]").skip(1);
        let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        assert_eq!(lines.join("\n"), wanted, "{servers} {versions}\n{text}");
        assert_eq!(text.contains("no HTTP/3"), versions.ends_with('3'), "{text}");
    }
    for servers in ["h2c://b:1 c:1", "h2c://b:1 https://c:1"] {
        judge(&made(&format!(":80 {{\n reverse_proxy {servers}\n}}\n")), &[("x/a", "501")]);
    }
}

#[test]
fn addresses_names_and_certificates_stay_what_they_were() {
    let text = made(
        "{\n email a@a.example\n}\na.example {\n respond 201\n}\nhttp://b.example:8080 {\n bind 127.0.0.1\n \
        respond 202\n}\n\
         *.a.example:8443 {\n tls /c /k\n respond 203\n}\nlocalhost {\n respond 204\n}\n",
    );
    judge(
        &text,
        &[
            ("0.0.0.0:443 a.example/", "201"),
            ("0.0.0.0:80 a.example/x", "308 https://a.example/x"),
            ("0.0.0.0:443 other/", "200"),
            ("127.0.0.1:8080 b.example/", "202"),
            ("127.0.0.1:8080 a.example/", "200"),
            ("0.0.0.0:8443 x.a.example/", "203"),
            ("0.0.0.0:80 x.a.example/x", "308 https://x.a.example:8443/x"),
        ],
    );
    for line in [
        "address = \"127.0.0.1:8080\"",
        "[acme]\nnames = [\"a.example\"]\nemail = \"a@a.example\"",
        "address = \"0.0.0.0:443\"\ntls = \"acme\"",
        "tls = [{ certificate = \"/c\", key = \"/k\" }]",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let text = made("localhost {\n respond 204\n}\n");
    assert_eq!(table(&text).0.listeners.len(), 1, "the encrypted one has no certificate\n{text}");
    let client = "tls /c /k {\n client_auth {\n mode MODE\n trusted_ca_cert_file /ca\n }\n }";
    let text = made(&format!(
        "a.example {{\n {}\n respond 201\n}}\n",
        client.replace("MODE", "require_and_verify")
    ));
    judge(&text, &[("0.0.0.0:443 a.example/", "201 for certificate")]);
    assert!(text.contains("client_ca = \"/ca\""), "{text}");
    let text =
        made(&format!("a.example {{\n {}\n respond 201\n}}\n", client.replace("MODE", "request")));
    judge(&text, &[("0.0.0.0:443 a.example/", "501")]);
    for option in [
        "order basic_auth last",
        "something_new",
        "servers {\n listener_wrappers {\n proxy_protocol\n }\n }",
    ] {
        judge(&made(&format!("{{\n {option}\n}}\n:80 {{\n respond 200\n}}\n")), &[("x/", "501")]);
    }
}

#[test]
fn directive_without_counterpart_closes_only_its_own_requests() {
    let text = made(
        ":80 {\n root * /srv\n basic_auth /a/* {\n ann $2a$14$x\n }\n basic_auth /b/* {\n ben $2a$14$y\n \
         }\n file_server\n}\n",
    );
    judge(
        &text,
        &[
            ("x/a/x", "/srv/a/x for password"),
            ("x/b/x", "/srv/b/x for password"),
            ("x/c", "/srv/c"),
        ],
    );
    serves(
        "handle_path /ad* {\n respond 404\n }\n handle {\n file_server\n }",
        &[("x/ad/a", "501"), ("x/adx", "501"), ("x/c", "/srv/c")],
    );
    // Without a slash at its end, `{path}` finds no directory.
    let text = made(":80 {\n root * /srv\n try_files {path} /index.html\n file_server\n}\n");
    assert!(text.contains("index = [], try = [\"$path\", \"/index.html\"]"), "{text}");
}

#[test]
fn watched_servers_are_checked() {
    let options = "health_uri /up\nhealth_interval 15s\nhealth_timeout 3s\nhealth_status 204\nfail_duration \
                   30s\nmax_fails 2\nhealth_body x";
    let text = made(&format!(":80 {{\n reverse_proxy b:80 {{\n{options}\n}}\n}}\n"));
    let (config, _) = table(&text);
    let upstream = &config.upstreams[0];
    let check = upstream.check.as_ref().unwrap();
    let seconds = (check.interval.as_secs(), check.timeout.as_secs());
    assert_eq!((&*check.path, seconds, check.status), ("/up", (15, 3), Some(204)), "{text}");
    assert_eq!((upstream.health.failures, upstream.health.pause.as_secs()), (2, 30));
    assert!(text.contains("`health_body x`: no counterpart"), "{text}");
}
