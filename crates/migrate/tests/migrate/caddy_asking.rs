//! Servers that Caddy asks first, and those that ours asks.

use super::caddy::made;
use super::judge;

#[test]
fn a_server_is_asked_before_all_that_follows_in_its_block() {
    let text = made(
        ":80 {\n root * /srv\n handle /a/* {\n forward_auth b:9 {\n uri /verify?x=1\n copy_headers {\n X-User\n \
         Remote-Groups\n }\n lb_policy round_robin\n }\n handle /a/files/* {\n file_server\n }\n \
         reverse_proxy c:1\n }\n file_server\n}\n",
    );
    judge(
        &text,
        &[
            ("x/a/x", "upstream-2 /a/x"),
            ("x/a/files/y", "/srv/a/files/y"),
            ("x/A/x", "501"),
            ("x/b", "/srv/b"),
        ],
    );
    let asked = "forward_auth = { upstream = \"upstream\", path = \"/verify?x=1\", copy = [\"X-User\", \
                 \"Remote-Groups\"] }";
    let routes = text.split("[[route]]").skip(1);
    let below: Vec<&str> = routes.filter(|route| route.contains("\"/a/")).collect();
    assert_eq!(below.len(), 2, "{text}");
    assert!(below.iter().all(|route| route.contains(asked)), "{text}");
    assert_eq!(text.matches("\nforward_auth = ").count(), 2, "{text}");
}

#[test]
fn a_server_that_would_be_asked_with_other_fields_than_the_client_sent_is_not_asked() {
    let asked = "forward_auth b:9 {\n uri /verify\n copy_headers X-User\n }\n";
    for (block, closed) in [
        (format!("route {{\n request_header -X-User\n {asked} reverse_proxy c:1\n }}"), 1),
        (
            format!(
                "route {{\n request_header X-Key k\n handle {{\n {asked} reverse_proxy c:1\n }}\n }}"
            ),
            1,
        ),
        // Here Caddy asks first, in this order too.
        (format!("request_header X-Key k\n {asked} reverse_proxy c:1\n"), 0),
        (format!("route {{\n {asked} request_header X-Key k\n reverse_proxy c:1\n }}"), 0),
    ] {
        let text = made(&format!(":80 {{\n {block}\n}}\n"));
        assert_eq!(text.matches("status = 501").count(), closed, "{text}");
        assert_eq!(text.matches("\nforward_auth = ").count(), 1 - closed, "{text}");
    }
}
