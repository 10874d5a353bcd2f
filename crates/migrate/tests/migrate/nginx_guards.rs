//! The clients that a converted configuration of nginx lets in, and the servers and files that answer them.

use super::nginx::{made, server, serves};
use super::{judge, table};

#[test]
fn access_is_inherited_and_replaced_as_a_list() {
    serves(
        "allow 10.0.0.0/8; deny all; auth_basic a; auth_basic_user_file /users; location / { }\nlocation \
         /any/ { satisfy any; } location /open/ { allow all; auth_basic off; } location /no/ { deny all; \
         }\nlocation /only/ { deny 10.0.0.1; auth_basic off; } location /early/ { return 204; } location \
         /half/ { auth_basic_user_file /more; }",
        &[
            ("x/a", "/srv/a for address+password -"),
            ("x/any/a", "/srv/any/a for address password -"),
            ("x/open/a", "/srv/open/a for address"),
            ("x/no/a", "403"),
            ("x/only/a", "/srv/only/a for - address"),
            // nginx answers this before it looks who asks.
            ("x/early/a", "204"),
        ],
    );
    for guard in [
        "auth_request /auth;",
        "limit_except GET { deny all; }",
        "limit_req zone=a;",
        "limit_conn a 1;",
        "secure_link $arg_a;",
        "auth_jwt a;",
        "valid_referers none;",
        "something_new on;",
        "auth_basic a;",
        "types { }",
        "fastcgi_pass unix:/x;",
        "error_page 404 = @app;",
        "proxy_pass http://b; proxy_set_header X-User $cookie_user;",
    ] {
        serves(
            &format!("location /a/ {{ {guard} location /a/b/ {{ }} }} location / {{ }}"),
            &[("x/a/x", "501"), ("x/c", "/srv/c")],
        );
    }
    serves("something_new on; location / { }", &[("x/a", "501")]);
    judge(&made("http { something_new on; server { root /srv; } }"), &[("x/a", "501")]);
    judge(&made("something_new on; http { server { root /srv; } }"), &[("x/a", "501")]);
    serves(
        "location /i/ { return 204; internal; } location /j/ { internal; proxy_pass http://b; }",
        &[("x/i/a", "404"), ("x/j/a", "404")],
    );
}

#[test]
fn fields_of_a_server_have_the_values_of_ours_that_mean_the_same() {
    let text = made(
        "server { root /srv; location / { proxy_pass http://b; proxy_set_header X-User $remote_user; \
         proxy_set_header X-Client \"$ssl_client_s_dn of ${ssl_client_i_dn}\"; proxy_set_header Authorization \
         $http_authorization; proxy_set_header X-Two $remote_user$request_id; } location /c { proxy_pass \
         http://b; proxy_set_header X-User ${remote_user}s; } }",
    );
    judge(&text, &[("x/a", "b /a"), ("x/c", "501")]);
    for field in [
        "X-User = \"$user\"",
        "X-Client = \"$tls_client_subject of $tls_client_issuer\"",
        "X-Two = \"$user$request_id\"",
    ] {
        assert!(text.contains(field), "{field}\n{text}");
    }
    assert!(!text.contains("Authorization"), "the client's is passed on\n{text}");
}

#[test]
fn certificates_of_clients_are_demanded_or_the_server_is_closed() {
    let tls = "listen 443 ssl; ssl_certificate /c; ssl_certificate_key /k;";
    let text = made(&format!(
        "server {{ {tls} server_name a.example; root /srv; ssl_client_certificate /ca; ssl_verify_client \
         on; location /r {{ return 204; }} }}\nserver {{ {tls} server_name b.example; root /open; \
         }}\nserver {{ {tls} server_name c.example; root /srv; ssl_client_certificate /other; \
         ssl_verify_client on; }}\nserver {{ {tls} server_name d.example; root /srv; ssl_verify_client on; \
         }}",
    ));
    judge(
        &text,
        &[
            ("0.0.0.0:443 a.example/x", "/srv/x for certificate"),
            ("0.0.0.0:443 a.example/r", "204 for certificate"),
            ("0.0.0.0:443 b.example/x", "/open/x"),
            ("0.0.0.0:443 c.example/x", "501"),
            ("0.0.0.0:443 d.example/x", "501"),
        ],
    );
    assert!(text.contains("client_ca = \"/ca\"\nclient_certificates = \"asked\""), "{text}");
    judge(&made("server { listen 80 proxy_protocol; root /srv; }"), &[("x/a", "501")]);
    // Without a certificate the listener would be plain.
    let text = made("server { listen 443 ssl; listen 80; root /srv; }");
    assert_eq!(table(&text).0.listeners.len(), 1, "{text}");
    let text = made("server { ssl on; listen 443; root /srv; } server { listen 80; }");
    assert_eq!(table(&text).0.listeners.len(), 1, "{text}");
}

#[test]
fn an_index_or_a_fallback_that_another_location_answers_is_closed() {
    serves(
        "index index.php index.html; location / { try_files $uri $uri/ =404; } location ~ \\.php$ { \
         fastcgi_pass x; }",
        &[("x/", "501"), ("x/a/", "501"), ("x/a", "/srv/a"), ("x/index.php", "501")],
    );
    serves(
        "location / { } location = /index.html { deny all; }",
        &[("x/", "501"), ("x/a/", "/srv/a/"), ("x/index.html", "403")],
    );
    serves(
        "location / { try_files $uri /index.html; } location = /index.html { add_header Cache-Control \
         no-store; }",
        &[("x/", "/srv/"), ("x/a", "/srv/a"), ("x/index.html", "/srv/index.html")],
    );
    for last in ["@app", "/index.php?$args", "=403", "/private/x"] {
        serves(
            &format!("location / {{ try_files $uri {last}; }} location /private/ {{ deny all; }}"),
            &[("x/a", "501")],
        );
    }
    serves(
        "location / { try_files $uri =404; } location /i { alias /img; }",
        &[("x/i/a", "/img/a"), ("x/ix", "501")],
    );
    judge(
        &made("server { location / { } location /r/ { root html; } }"),
        &[("x/a", "501"), ("x/r/a", "501")],
    );
}

#[test]
fn upstreams_keep_their_servers() {
    let text = made(
        "upstream a { server unix:/run/app.sock weight=2; server b.example backup; server c.example down; \
        server d.example:81; }\n\
         upstream gone { server b.example backup; }\n\
         server { location / { proxy_pass http://a; } location /g/ { proxy_pass http://gone; \
         } location /u/ { proxy_pass http://unix:/run/x.sock:/y/; }\n\
         location /t/ { proxy_pass https://b.example; } location /p/ { proxy_pass http://b.example; } \
         client_max_body_size 0; }",
    );
    judge(
        &text,
        &[
            ("x/a", "a /a"),
            ("x/g/a", "501"),
            ("x/u/a", "unix--run-x.sock /y/a"),
            ("x/t/a", "b.example /t/a"),
            ("x/p/a", "b.example-2 /p/a"),
        ],
    );
    for line in [
        "servers = [{ address = \"unix:/run/app.sock\", weight = 2 }, \"d.example:81\"]",
        "servers = [\"unix:/run/x.sock\"]",
        "servers = [\"b.example:443\"]\ntls = true",
        "body_size = \"1 TiB\"",
        "left out, because it is `backup`",
        "left out, because it is `down`",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    for (size, line) in
        [("10m", "\"10 MiB\""), ("8k", "\"8 KiB\""), ("1g", "\"1 GiB\""), ("0", "\"1 TiB\"")]
    {
        let text = server(&format!("client_max_body_size {size};"));
        assert!(text.contains(&format!("body_size = {line}")), "{size}\n{text}");
    }
}

#[test]
fn an_index_is_closed_in_those_directories_only_that_another_location_answers() {
    serves(
        "location / { } location /admin { deny all; } location ~ \\.(php|bak)$ { deny all; } location ~ \
         /\\.ht { deny all; }",
        &[("x/", "/srv/"), ("x/a/", "/srv/a/"), ("x/admin/", "403"), ("x/a.php", "403")],
    );
    serves(
        "location / { } location = /index.html { deny all; } location = /a/index.html { deny all; }",
        &[("x/", "501"), ("x/a/", "501"), ("x/b/", "/srv/b/")],
    );
    serves("location / { } location /index { deny all; }", &[("x/", "501")]);
    serves(
        "deny all; location = /a/ { allow all; }",
        &[("x/a/", "501"), ("x/a/index.html", "403")],
    );
    // Without a slash at its end, `$uri` finds no directory, and so no index.
    let text = server("location / { try_files $uri =404; } location = /index.html { deny all; }");
    assert!(text.contains("index = [], try = [\"$path\"]"), "{text}");
    judge(&text, &[("x/", "/srv/"), ("x/index.html", "403")]);
}

#[test]
fn a_path_without_its_slash_is_led_to_the_location_that_passes_requests_on() {
    serves(
        "location / { proxy_pass http://b; } location /p/ { deny all; proxy_pass http://b; } location ~ ^/r \
         { return 403; }\nlocation = /q { return 204; } location /q/ { proxy_pass http://b; } location /r/ \
         { fastcgi_pass b; } location /f/ { }",
        &[
            ("x/p", "301 /p/"),
            ("x/p/a", "403"),
            ("x/px", "b /px"),
            ("x/q", "204"),
            ("x/r", "301 /r/"),
            ("x/f", "b /f"),
        ],
    );
}

#[test]
fn an_alias_with_the_extension_of_its_path_is_a_file() {
    let text =
        server("location /favicon.ico { alias /img/i.ico; } location /d { alias /img/d.e; }");
    assert!(text.contains("path = \"/favicon.ico\"\nfiles = { alias = \"/img/i.ico\" }"), "{text}");
    judge(&text, &[("x/favicon.ico/a", "501"), ("x/favicon.icox", "501"), ("x/d/a", "/img/d.e/a")]);
}

#[test]
fn zones_become_limits_of_the_paths_of_their_locations() {
    let text = made(
        "http {\n limit_req_zone $binary_remote_addr zone=one:10m rate=10r/s;\nlimit_req_zone \
         $http_x_api_key zone=key:1m rate=30r/m;\n limit_conn_zone $remote_addr \
         zone=open:1m;\nlimit_req_zone $scheme zone=odd:1m rate=1r/s;\nserver { root /srv; limit_conn open \
         20;\nlocation /login { limit_req zone=one burst=5 nodelay; location /login/help { } }\nlocation = \
         /x { limit_req zone=one burst=5 nodelay; }\nlocation /api/ { limit_req zone=key burst=4; limit_req \
         zone=one burst=9 delay=2; }\nlocation /odd/ { limit_req zone=odd; }\n location /none/ { limit_req \
         zone=gone; }\n location / { } } }",
    );
    let (config, _) = table(&text);
    let limits: Vec<String> = config.quotas.iter().map(|quota| format!("{quota:?}")).collect();
    assert_eq!(limits.len(), 4, "{text}");
    for line in [
        "name = \"open\"\nopen = 20\n",
        "name = \"one\"\nrequests = \"10/s\"\nburst = 6\n\
         paths = [\"/login\", \"/login/\", \"/login/**\", \"/login*\", \"/login*/**\", \"/x\"]\n",
        "name = \"key\"\nby = \"field:x-api-key\"\nrequests = \"30/m\"\nburst = 1\ndelay = \"8000ms\"\n\
         paths = [\"/api/\", \"/api/**\"]\n",
        "name = \"one-2\"\nrequests = \"10/s\"\nburst = 3\ndelay = \"700ms\"\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    judge(
        &text,
        &[("x/login", "/srv/login"), ("x/odd/a", "501"), ("x/none/a", "501"), ("x/y", "/srv/y")],
    );
}
