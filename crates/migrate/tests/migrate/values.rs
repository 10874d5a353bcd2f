//! No value leaves its quotes: whatever is in it, the printed configuration has that value and nothing else.

use config::{Config, RouteAction};
use migrate::{NoFiles, from_caddy, from_nginx};
use proptest::prelude::*;

use super::table;

/// A text as nginx writes it.
fn nginx_quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The bodies of all answers, and how many routes there are.
fn bodies(config: &Config) -> Vec<String> {
    let routes = config.hosts.iter().chain([&config.default_host]).flat_map(|host| &host.routes);
    let body = |action: &RouteAction| match action {
        RouteAction::Respond(respond) => respond.body.clone(),
        other => format!("{other:?}"),
    };
    routes.map(|route| body(&route.action)).collect()
}

/// Texts with what could end a value, and any others.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\"",
        "\\",
        "\n",
        "\r\n",
        "\t",
        "'",
        "'''",
        "\"\"\"",
        "#",
        "]",
        "}",
        "[[route]]\n",
        "path = \"/x\"\n",
        "${",
        "${HOME}",
        "$${",
        "${file:/etc/passwd}",
        "\u{0}",
        "\u{1b}",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "a",
        " ",
        "=",
        "\\u0041",
    ]);
    prop_oneof![
        prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat()),
        "\\PC{0,40}",
        any::<String>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_value_of_nginx_is_that_value_and_nothing_else(text in texts().prop_filter("variables are others",
    |text| !text.contains('$'))) {
        let made = from_nginx(&format!("server {{ return 200 {}; \
                                        }}", nginx_quoted(&text)), "n", &NoFiles).unwrap();
        prop_assert_eq!(bodies(&table(&made).0), [text]);
    }

    #[test]
    fn a_value_of_caddy_is_that_value_and_nothing_else(text in texts().prop_filter("these are not quoted",
    |text| !text.contains(['{', '`']))) {
        let made = from_caddy(&format!(":80 {{\n respond * `{text}` 200\n}}\n"), "c", &NoFiles).unwrap();
        prop_assert_eq!(bodies(&table(&made).0), [text]);
    }

    #[test]
    fn no_value_anywhere_makes_a_route(text in texts()) {
        let value = nginx_quoted(&text);
        let made = from_nginx(
            &format!(
                "user {value}; http {{ keepalive_requests {value}; client_max_body_size {value}; \
                 keepalive_timeout {value}; access_log {value};\nupstream u {{ server {value}; }}\nserver \
                 {{ server_name {value}; listen {value}; ssl_certificate {value}; ssl_certificate_key \
                 {value};\nadd_header Strict-Transport-Security {value}; add_header {value} {value}; \
                 error_page 404 {value}; index {value}; root {value};\nauth_basic {value}; \
                 auth_basic_user_file {value}; expires {value}; location / {{ proxy_pass http://u; \
                 proxy_set_header {value} {value}; }} }} }}"
            ),
            "n",
            &NoFiles,
        );
        if let Ok(made) = made {
            let (config, _) = table(&made);
            let routes: usize = config.hosts.iter().chain([&config.default_host]).map(|host| host.routes.len()).sum();
            prop_assert!(routes <= 4, "{}", made);
            prop_assert!(!made.lines().any(|line| line == "path = \"/x\""), "{}", made);
        }
    }

    #[test]
    fn a_comment_is_one_line(text in texts()) {
        let made = from_nginx(&format!("http {{ map a {} {{ }} server {{ return 204; }} }}",
        nginx_quoted(&text)), "n", &NoFiles).unwrap();
        prop_assert_eq!(bodies(&table(&made).0), [""]);
    }
}
