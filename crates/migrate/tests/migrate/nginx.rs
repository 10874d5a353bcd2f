//! The directives of nginx, and what answers with the configuration that they become.

use config::route::RouteRequest;
use config::{Otherwise, RouteAction};
use migrate::{NoFiles, from_nginx};

use super::{judge, table};

const SITE: &str = include_str!("samples/site.conf");

pub(super) fn made(text: &str) -> String {
    from_nginx(text, "nginx.conf", &NoFiles).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// One server with these lines and a root.
pub(super) fn server(lines: &str) -> String {
    made(&format!("server {{\n listen 80; server_name a.example; root /srv;\n{lines}\n}}\n"))
}

/// The answers of one server with these lines.
pub(super) fn serves(lines: &str, cases: &[(&str, &str)]) {
    judge(&server(lines), cases);
}

#[test]
fn named_location_of_try_files_becomes_the_route_behind_the_files() {
    let app = "location @app { proxy_pass http://127.0.0.1:3000; }";
    let text = server(&format!("location / {{ try_files $uri $uri/ @app; }} {app}"));
    let (config, table) = table(&text);
    let request = RouteRequest::new(Some("a.example"), "GET", "/x", None);
    let files = table.find(&request);
    assert!(
        matches!(files.action, Ok(RouteAction::Files { otherwise: Otherwise::NextRoute, .. })),
        "{text}"
    );
    let next = table.find_after(&request, files.rule);
    let Ok(RouteAction::Proxy(proxy)) = next.action else { panic!("{text}") };
    let upstream = config.upstreams.iter().find(|one| one.name == proxy.upstream).unwrap();
    assert_eq!(upstream.servers.len(), 1, "{text}");
    // A route of files that leads on has no guards, and a location that is more than a server is no route.
    for lines in [
        format!("location / {{ deny all; try_files $uri @app; }} {app}"),
        format!("location / {{ try_files $uri @other; }} {app}"),
        "location / { try_files $uri @app; } location @app { deny all; proxy_pass http://127.0.0.1:3000; }".to_owned(),
        "location / { try_files $uri @app; } location @app { return 302 /a; }".to_owned(),
        "location / { try_files $uri @app; } location @app { fastcgi_pass 127.0.0.1:9000; }".to_owned(),
    ] {
        serves(&lines, &[("a.example/x", "501")]);
    }
}

#[test]
fn a_site_of_nginx_becomes_a_configuration_that_does_the_same() {
    let text = made(SITE);
    let (config, _) = table(&text);
    judge(
        &text,
        &[
            ("0.0.0.0:443 example.org/health", "200"),
            ("0.0.0.0:443 example.org/a/b", "/srv/site/a/b"),
            ("0.0.0.0:443 example.org/assets/x.css", "501"),
            ("0.0.0.0:443 example.org/downloads/a", "/srv/downloads/a"),
            ("0.0.0.0:443 example.org/x.php", "501"),
            ("0.0.0.0:443 example.org/private", "403"),
            ("0.0.0.0:443 example.org/private-too", "403"),
            ("0.0.0.0:443 example.org/old", "301 /new"),
            ("0.0.0.0:443 example.org/gone", "drop"),
            ("0.0.0.0:443 example.org/blog/a", "301 /articles/a"),
            ("0.0.0.0:443 example.org/api/x", "app /api/x"),
            ("0.0.0.0:443 example.org/users/7", "501"),
            ("0.0.0.0:443 files.example.org/secret", "/srv/files/secret for password"),
            ("0.0.0.0:443 old.example.org/x", "301 https://old.example.org/x"),
            ("0.0.0.0:80 example.org/a", "301 https://example.org/a"),
        ],
    );
    assert_eq!(config.limits.body_size, 20 << 20);
    assert_eq!(config.user.as_deref(), Some("www-data"));
    assert_eq!(config.log.format.to_string(), "${peer} \"${request}\" ${status}");
    assert_eq!(config.upstreams.len(), 1);
    let addresses: Vec<String> =
        config.listeners.iter().map(|listener| listener.address.to_string()).collect();
    assert_eq!(addresses, ["0.0.0.0:80", "0.0.0.0:443"]);
    for note in [
        "closed: nginx.conf:61: `fastcgi_pass 127.0.0.1:9070`: no counterpart",
        "closed: nginx.conf:72: `location ~ ^/users/(?<id>\\d+)$`: this expression has no counterpart",
        "enabled = false",
    ] {
        assert!(text.contains(note), "{note}\n{text}");
    }
    for quiet in ["gzip", "sendfile", "server_tokens"] {
        assert!(!text.contains(quiet), "{quiet} needs nothing\n{text}");
    }
}

#[test]
fn nginx_chooses_the_exact_the_preferred_an_expression_and_the_longest_prefix() {
    serves(
        "location / { return 200; } location /a { return 201; } location /a/b { return 202; }\nlocation ^~ \
         /p { return 203; } location ~ \\.css$ { return 404; } location = /a/x.css { return 410; \
         }\nlocation ~ ^/a/y { return 405; } location ^~ /c/ { return 406; } location /c/old/ { return 407; \
         }",
        &[
            ("x/a/x.css", "410"),
            ("x/a/y.css", "404"),
            ("x/a/y", "405"),
            ("x/p/y.css", "203"),
            ("x/px", "203"),
            ("x/a/b/c", "202"),
            ("x/a/c", "201"),
            ("x/ab", "201"),
            ("x/c", "200"),
            ("x/c/x.css", "406"),
            ("x/c/old/x", "407"),
            ("x/c/old/x.css", "404"),
        ],
    );
    // A location in another one is chosen among those below it.
    serves(
        "location /a/ { return 200; location /a/b/ { return 201; } location ~ x$ { return 404; } }\n\
         location ~ y$ { return 405; } location / { return 202; }",
        &[
            ("x/a/b/c", "201"),
            ("x/a/b/x", "404"),
            ("x/a/b/y", "405"),
            ("x/a/c", "200"),
            ("x/x", "202"),
            ("x/y", "405"),
        ],
    );
}

#[test]
fn an_expression_is_never_wider_than_it_was() {
    for (expression, path) in [
        ("~ ^/u/(\\d+)$", "x/u/ann"),
        ("~ ^/u/[0-9]+/x", "x/u/ann/x"),
        ("~ ^/u/.+$", "x/u/"),
        ("~ ^/u/[^/]+$", "x/u/"),
        ("~ ^/u/(?!open)", "x/u/open"),
    ] {
        serves(
            &format!("location {expression} {{ root /open; }} location / {{ deny all; }}"),
            &[(path, "501")],
        );
    }
    serves(
        "location ~ ^/u/([^/]+)/?$ { return 301 /user/$1; } location ~* \\.(sql|bak)$ { deny all; }",
        &[
            ("x/u/ann", "301 /user/ann"),
            ("x/x.sql", "403"),
            ("x/x.SqL", "403"),
            ("x/x.sq", "/srv/x.sq"),
        ],
    );
}

#[test]
fn a_server_gets_the_path_that_nginx_would_send() {
    serves(
        "location /v1/ { proxy_pass http://b/v2/; } location /s/ { proxy_pass http://b/; } location /n { \
        proxy_pass http://b; }\n\
         location /k/ { proxy_pass http://b/v2; } location /w { proxy_pass http://b/c; \
         } location = /one { proxy_pass http://b/two; }\n\
         location /var/ { proxy_pass http://b$request_uri; } location /r/ { rewrite ^/r/(.*)$ /$1 break; \
         proxy_pass http://b; }\n\
         location /q/ { rewrite ^/q/([0-9]+)$ /$1 break; proxy_pass http://b; }",
        &[
            ("x/v1/a", "b /v2/a"),
            ("x/v2/a", "/srv/v2/a"),
            ("x/s/a", "b /a"),
            ("x/n/a", "b /n/a"),
            ("x/nx", "b /nx"),
            ("x/k/a", "b /v2a"),
            ("x/w", "b /c"),
            ("x/w/a", "b /c/a"),
            ("x/wa", "b /ca"),
            ("x/one", "b /two"),
            ("x/var/a", "501"),
            ("x/r/a", "b /a"),
            ("x/q/a", "501"),
            // Only the rewrites lead there.
            ("x/.velodrome/1/secret", "404"),
        ],
    );
    // A rewrite to wherever a client wants does not lead there either.
    serves(
        "rewrite ^/go/(.*)$ /$1; location /v1/ { proxy_pass http://b/secret/; }",
        &[("x/go/.velodrome/1/secret/a", "404"), ("x/go/v1/a", "b /secret/a")],
    );
}

#[test]
fn rewrites_and_conditions_keep_their_order_or_close_their_place() {
    serves(
        "if ($request_method = POST) { return 405; } rewrite ^/old/(.*)$ /new/$1 last; rewrite ^/x/(.*)$ \
         https://b.example/$1 permanent;\nlocation /new/ { return 204; } location /l/ { rewrite ^/l/(.*)$ \
         /new/$1 last; } location /b/ { rewrite ^/b/(.*)$ /q.php last; }\nlocation ~ \\.php$ { deny all; } \
         location /c/ { if ($http_x = yes) { return 403; } } location /d/ { if ($cookie_a) { return 403; } \
         }",
        &[
            ("x/old/a", "204"),
            ("x/x/a", "301 https://b.example/a"),
            ("POST x/a", "405"),
            ("x/l/a", "501"),
            ("x/b/a", "501"),
            ("x/c/a", "/srv/c/a"),
            ("x/d/a", "501"),
        ],
    );
    serves("if ($http_user_agent ~* bad) { return 403; } location / { }", &[("x/a", "501")]);
    serves(
        "if ($request_method !~ ^(GET|HEAD)$) { return 444; }",
        &[("x/a", "/srv/a"), ("DELETE x/a", "drop")],
    );
    serves("location / { set $a b; proxy_pass http://$a; }", &[("x/a", "501")]);
}

#[test]
fn redirects_keep_what_their_variables_mean() {
    for (lines, request, wanted) in [
        ("return 301 https://$host$request_uri;", "x/a", "301 https://x/a"),
        ("return 302 $scheme://www.example.org$uri;", "x/a", "302 http://www.example.org/a"),
        ("return https://example.org;", "x/a", "302 https://example.org"),
        (
            "rewrite ^/a/(.*)$ https://example.org/$1? permanent;",
            "x/a/b",
            "301 https://example.org/b",
        ),
        ("location /a { return 307 /b$is_args$args; }", "x/a/x", "307 /b"),
        ("return 301 https://$server_name/;", "x/a", "301 https://a.example/"),
        ("location ~ ^/u/(.*)$ { return 301 https://$1; }", "x/u/a", "501"),
        ("location /u/ { return 301 https://$host.$cookie_x/; }", "x/u/a", "501"),
        ("location /u/ { return 301 //evil.example; }", "x/u/a", "501"),
        ("return 200 $cookie_x;", "x/a", "501"),
    ] {
        serves(lines, &[(request, wanted)]);
    }
}

#[test]
fn addresses_tell_servers_apart() {
    let text = made(
        "server { listen 192.0.2.1:80; server_name a.example; root /public; }\n\
         server { listen 127.0.0.1:80; server_name admin.example; root /admin; }\n\
         server { listen 127.0.0.1:80; server_name a.example; return 204; }",
    );
    judge(
        &text,
        &[
            ("192.0.2.1:80 a.example/x", "/public/x"),
            ("192.0.2.1:80 admin.example/x", "/public/x"),
            ("192.0.2.1:80 other/x", "/public/x"),
            ("127.0.0.1:80 admin.example/x", "/admin/x"),
            ("127.0.0.1:80 other/x", "/admin/x"),
            ("127.0.0.1:80 a.example/x", "204"),
        ],
    );
    let addresses: Vec<String> =
        table(&text).0.listeners.iter().map(|listener| listener.address.to_string()).collect();
    assert_eq!(addresses, ["192.0.2.1:80", "127.0.0.1:80"], "none is of all addresses");
    judge(
        &made(
            "server { listen 80; server_name a.example; return 200; } server { listen 80 default_server; \
             return 404; }\nserver { listen 80; server_name *.a.example; return 201; } server { listen 80; \
             server_name .b.example; return 202; }\nserver { listen 80; server_name a.example; return 500; \
             }",
        ),
        &[
            ("0.0.0.0:80 a.example/", "200"),
            ("0.0.0.0:80 x.a.example/", "201"),
            ("0.0.0.0:80 b.example/", "202"),
            ("0.0.0.0:80 x.b.example/", "202"),
            ("0.0.0.0:80 other/", "404"),
        ],
    );
    // Names that cannot be told from others may be any that no server has.
    judge(
        &made(
            "server { listen 80; server_name ~^x; root /x; } server { listen 80 default_server; root /y; }",
        ),
        &[("0.0.0.0:80 x1/", "501")],
    );
}

#[test]
fn the_two_servers_that_certbot_writes_become_a_redirect_and_the_site() {
    let text = made(
        "server { server_name a.example www.a.example; root /srv;\n\
         location / { try_files $uri $uri/ =404; }\n\
         listen 443 ssl; ssl_certificate /live/fullchain.pem; ssl_certificate_key /live/privkey.pem;\n\
         include /etc/letsencrypt/options-ssl-nginx.conf; ssl_dhparam /etc/letsencrypt/ssl-dhparams.pem; }\n\
         server { if ($host = www.a.example) { return 301 https://$host$request_uri; }\n\
         if ($host = a.example) { return 301 https://$host$request_uri; }\n\
         listen 80; server_name a.example www.a.example; return 404; }",
    );
    // The file that could not be included may have had any directive.
    judge(&text, &[("0.0.0.0:443 a.example/x", "501")]);
    assert!(
        text.contains(
            "`include /etc/letsencrypt/options-ssl-nginx.conf`: no other file can be read here"
        ),
        "{text}"
    );
    let text = made(
        "server { server_name a.example www.a.example; root /srv; location / { try_files $uri $uri/ =404; }\n\
         listen 443 ssl; ssl_certificate /live/fullchain.pem; ssl_certificate_key /live/privkey.pem; }\n\
         server { if ($host = www.a.example) { return 301 https://$host$request_uri; }\n\
         if ($host = a.example) { return 301 https://$host$request_uri; }\n\
         listen 80; server_name a.example www.a.example; return 404; }",
    );
    judge(
        &text,
        &[
            ("0.0.0.0:443 a.example/x", "/srv/x"),
            ("0.0.0.0:80 a.example/x", "301 https://a.example/x"),
            ("0.0.0.0:80 www.a.example/x", "301 https://www.a.example/x"),
            ("0.0.0.0:80 other/x", "404"),
        ],
    );
    assert!(text.contains("certificate = \"/live/fullchain.pem\""), "{text}");
}

#[test]
fn failed_server_leads_to_the_next_one_as_the_directive_says() {
    let upstream = |lines: &str| {
        let (config, _) = table(&server(&format!("location / {{ proxy_pass http://b; {lines} }}")));
        (config.upstreams[0].next_on.clone(), config.upstreams[0].retries)
    };
    assert_eq!(upstream(""), (vec![], 1));
    assert_eq!(upstream("proxy_next_upstream error timeout http_503 http_404;"), (vec![503], 1));
    assert_eq!(
        upstream("proxy_next_upstream http_502; proxy_next_upstream_tries 4;"),
        (vec![502], 3)
    );
    assert_eq!(upstream("proxy_next_upstream off;"), (vec![], 0));
    assert_eq!(upstream("proxy_next_upstream_tries 0;"), (vec![], 1));
    let text = server("location / { proxy_pass http://b; proxy_next_upstream non_idempotent; }");
    assert!(text.contains("`non_idempotent` has no counterpart"), "{text}");
}

#[test]
fn lost_fields_and_redirects_of_servers_are_told() {
    let fallback = "location / { try_files $uri /index.html; } location = /index.html { add_header \
                    Cache-Control no-cache; }";
    let told = "the fields that another location gives `/index.html` are not in these answers";
    assert!(server(fallback).contains(told));
    assert!(!server("try_files $uri /index.html; expires 1h;").contains(told));
    let redirect = |value: &str| {
        server(&format!("location / {{ proxy_pass http://b; proxy_redirect {value}; }}"))
    };
    assert!(redirect("http://b/ /").contains("`proxy_redirect http://b/ /`: no counterpart"));
    assert!(!redirect("off").contains("proxy_redirect"));
}

#[test]
fn format_of_log_lines_is_that_of_nginx_or_is_told() {
    let with = |format: &str| {
        made(&format!(
            "http {{ {format} access_log /var/log/a.log main; server {{ listen 80; root /a; }} }}"
        ))
    };
    let text = with(
        r#"log_format main '$remote_addr - $remote_user [$time_iso8601] "$request" '
        '$status ${request_time}s $http_x_forwarded_for';"#,
    );
    let (config, _) = table(&text);
    let wanted = r#"${peer} - ${user} [${time}] "${request}" ${status} ${duration_ms}s ${field:x-forwarded-for}"#;
    assert_eq!(config.log.format.to_string(), wanted);
    assert!(text.contains("times such as `duration_ms` are in milliseconds"), "{text}");
    for lost in ["escape=json '{\"a\":\"$status\"}'", "'$status $connection'", "'$status $pipe'"] {
        let text = with(&format!("log_format main {lost};"));
        table(&text);
        assert!(!text.contains("\nformat"), "{text}");
        assert!(text.contains("a part of it has no counterpart"), "{text}");
    }
}
