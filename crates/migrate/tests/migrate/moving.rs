//! Goal: the page for those who move says what is printed. Method: each row of its first table is converted, and what
//! the row says is looked for in the result; a row without a sample here fails.

use super::{caddy, nginx, table};

const PAGE: &str = include_str!("../../../../docs/moving.md");

const CACHED: &str = "http { proxy_cache_path /c keys_zone=z:1m; server { location / { proxy_pass http://b; \
     proxy_cache z; proxy_cache_valid 1m; proxy_cache_use_stale error updating; proxy_no_cache \
     $http_authorization; } } }";

/// The first cells of a row, what nginx and Caddy say, and an empty text where one has no counterpart.
const ROWS: [(&str, &str, &str); 41] = [
    (
        "`server`, `server_name`",
        "server { listen 80; server_name a.example; root /a; } server { listen 80; server_name b.example; \
         root /b; }",
        "http://a.example {\nrespond a\n}\nhttp://b.example {\nrespond b\n}",
    ),
    (
        "`listen`",
        "server { listen 127.0.0.1:81; root /a; } server { listen 80; root /b; location /b { deny all; } }",
        ":81 {\nbind 127.0.0.1\nrespond a\n}\n:80 {\nrespond /b b\n}",
    ),
    (
        "`ssl_certificate`",
        "server { listen 443 ssl; ssl_certificate /c; ssl_certificate_key /k; root /a; }",
        "a.example {\ntls /c /k\n}",
    ),
    ("-", "", "a.example {\nrespond a\n}"),
    (
        "`ssl_verify_client on`",
        "server { listen 443 ssl; ssl_certificate /c; ssl_certificate_key /k; ssl_client_certificate /ca; \
         ssl_verify_client on; root /a; }",
        "a.example {\ntls /c /k {\nclient_auth {\ntrusted_ca_cert_file /ca\n}\n}\nrespond a\n}",
    ),
    (
        "`return 301 https://$host$request_uri`",
        "return 301 https://$host$request_uri;",
        "=a.example {\nrespond a\n}",
    ),
    ("`location = /a`", "location = /a { return 204; }", "handle /a {\nrespond a\n}"),
    ("`location /a/`", "location /a/ { return 204; }", "handle /a/* {\nrespond a\n}"),
    ("`location /a`", "location /a { return 204; }", "handle /a* {\nrespond a\n}"),
    ("`location ~ \\.php$`", "location ~ \\.php$ { return 404; }", "@a path *.php\nrespond @a 404"),
    (
        "`root` in a location",
        "location /a/ { root /r; }",
        "handle /a/* {\nroot * /r\nfile_server\n}",
    ),
    (
        "`alias`",
        "location /a/ { alias /r; } location = /b { alias /b.txt; }",
        "handle_path /a/* {\nroot * /r\nfile_server\n}",
    ),
    (
        "`try_files $uri $uri/ /index.html`",
        "try_files $uri $uri/ /index.html;",
        "try_files {path} {path}/ /index.html\nfile_server",
    ),
    (
        "`try_files $uri $uri/ @app`",
        "location / { try_files $uri $uri/ @app; } location @app { proxy_pass http://127.0.0.1:3000; }",
        "",
    ),
    ("`autoindex on`", "autoindex on;", "file_server browse"),
    (
        "`return 301 /b`, `rewrite ... permanent`",
        "location = /a { return 301 /b; }",
        "redir /a /b permanent",
    ),
    ("`rewrite ... last`", "rewrite ^/a$ /b last;", "rewrite /a /b\nfile_server"),
    ("`return 444`", "location /a/ { return 444; }", "abort /a/*"),
    ("`return 200 \"ok\"`", "location = /a { return 200 ok; }", "respond /a ok"),
    (
        "`if ($http_x = a)` with `return`",
        "if ($http_x = a) { return 403; }",
        "@h header X a\nrespond @h 403\n@q query a=b\nrespond @q 404\n@m method POST\nrespond @m 405\n\
         @i remote_ip 10.0.0.0/8\nrespond @i 410",
    ),
    (
        "`if ($request_method !~ ^(GET\\|HEAD)$)`",
        "if ($request_method !~ ^(GET|HEAD)$) { return 405; }",
        "",
    ),
    (
        "`allow`, `deny`, `satisfy`",
        "allow 10.0.0.0/8; deny all;",
        "@out not remote_ip 10.0.0.0/8\nrespond @out 403\nfile_server",
    ),
    (
        "`auth_basic`",
        "auth_basic a; auth_basic_user_file FILE;",
        "basic_auth {\nann $2a$14$x\n}\nfile_server",
    ),
    (
        "`auth_request`: closed",
        "",
        "forward_auth b:80 {\nuri /verify\ncopy_headers X-User\n}\nfile_server",
    ),
    ("`proxy_pass`, `upstream`", "location / { proxy_pass http://b; }", "reverse_proxy b:80"),
    (
        "`proxy_http_version 2`",
        "location /a/ { proxy_http_version 2; proxy_pass https://b; } location /c/ { proxy_http_version 2; \
         proxy_pass http://d; }",
        "reverse_proxy b:1 {\ntransport http {\nversions h2c 2\n}\n}",
    ),
    ("`proxy_cache`, `proxy_cache_path`", CACHED, ""),
    ("`proxy_cache_valid`, `proxy_cache_use_stale`", CACHED, ""),
    ("`proxy_cache_bypass`, `proxy_no_cache`", CACHED, ""),
    (
        "`proxy_pass` with a path",
        "location /a/ { proxy_pass http://b/; } location /c/ { proxy_pass http://b/d/; }",
        "handle_path /a/* {\nreverse_proxy b:80\n}\nhandle /c/* {\nrewrite * /d{path}\nreverse_proxy b:80\n}",
    ),
    (
        "`max_fails`, `fail_timeout`",
        "http { upstream u { server a:1 max_fails=2 fail_timeout=5s; } server { location / { proxy_pass \
         http://u; } } }",
        "reverse_proxy b:80 {\nhealth_uri /up\nmax_fails 2\nfail_duration 5s\n}",
    ),
    (
        "`proxy_next_upstream`, `proxy_next_upstream_tries`",
        "location / { proxy_pass http://b; proxy_next_upstream error http_502; proxy_next_upstream_tries 3; }",
        "",
    ),
    (
        "`set_real_ip_from` with `real_ip_recursive on`",
        "http { set_real_ip_from 10.0.0.0/8; real_ip_header X-Forwarded-For; real_ip_recursive on; server { \
         root /a; } }",
        "{\nservers {\ntrusted_proxies static 10.0.0.0/8\n}\n}\n:80 {\nrespond a\n}",
    ),
    ("`add_header`", "add_header X-A b;", "header X-A b\nfile_server"),
    ("`expires`", "expires 1h;", "header Cache-Control max-age=3600\nfile_server"),
    ("`error_page 404 /404.html`", "error_page 404 /404.html;", ""),
    (
        "`client_max_body_size`",
        "client_max_body_size 2m;",
        "request_body {\nmax_size 2MB\n}\nfile_server",
    ),
    ("`access_log off` in a location", "location /a/ { access_log off; }", ""),
    (
        "`log_format` of the log of `http`",
        "http { log_format a '$status $request_time'; access_log /a.log a; server { root /a; } }",
        "",
    ),
    (
        "`limit_req`, `limit_conn` with their zones",
        "http { limit_req_zone $remote_addr zone=a:1m rate=1r/s; limit_conn_zone $remote_addr zone=b:1m;\n\
         server { root /a; limit_conn b 5; location /a { limit_req zone=a; } } }",
        "",
    ),
    (
        "`$request_uri`, `$uri`, `$host`, `$scheme`",
        "location /a/ { return 302 https://$host$request_uri; }",
        "redir /a/* {scheme}://{host}{uri}",
    ),
];

/// The code in a cell, without the marks.
fn spans(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The texts that the result must have, from code of the page: what is around that which the page leaves out.
fn wanted(span: &str) -> impl Iterator<Item = &str> {
    span.split("...").map(|part| part.trim_end_matches([' ', '}', ']']))
}

#[test]
fn each_row_of_the_page_is_true() {
    let first = PAGE.split("## What is what").nth(1).unwrap().split("\n\n").nth(1).unwrap();
    let (mut count, mut missing) = (0, Vec::new());
    for row in first.lines().skip(2) {
        let row = row.replace("\\|", "\u{1}");
        let cells: Vec<String> = row
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().replace('\u{1}', "\\|"))
            .collect();
        let [of_nginx, _, ours] = cells.as_slice() else { panic!("{row}") };
        if of_nginx.starts_with("`include") {
            continue;
        }
        let known = ROWS.iter().find(|(cell, _, _)| cell == of_nginx);
        let (_, of_nginx, of_caddy) = known.unwrap_or_else(|| panic!("no sample of {of_nginx}"));
        count += 1;
        let mut printed = Vec::new();
        if !of_nginx.is_empty() {
            let is_whole = of_nginx.starts_with("server") || of_nginx.starts_with("http");
            printed.push(if is_whole { nginx::made(of_nginx) } else { nginx::server(of_nginx) });
        }
        if !of_caddy.is_empty() {
            let whole = of_caddy.strip_prefix('=').unwrap_or(of_caddy);
            let is_whole =
                ["=", "{", ":", "a.example", "http:"].iter().any(|sign| of_caddy.starts_with(sign));
            printed.push(if is_whole {
                caddy::made(whole)
            } else {
                caddy::made(&format!(":80 {{\nroot * /srv\n{of_caddy}\n}}\n"))
            });
        }
        for text in &printed {
            table(text);
        }
        for span in spans(ours) {
            let is_there = printed.iter().any(|text| wanted(span).all(|part| text.contains(part)));
            if !is_there {
                missing.push(format!("{span}\n--- in\n{}", printed.join("\n---\n")));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n=====\n"));
    assert_eq!(count, ROWS.len(), "each sample is of a row");
}

#[test]
fn the_closed_route_of_the_page_is_what_is_printed() {
    let text = nginx::made(
        "server { listen 80; root /srv; location = /a { return 204; } location /app/ { auth_request /auth; \
         } }",
    );
    let shown = "`auth_request /auth`: no counterpart\n[[route]]\nprefix = \"/app/\"\nrespond = { status = \
                 501 }\n";
    assert!(PAGE.contains(shown) && text.contains(shown), "{text}");
}
