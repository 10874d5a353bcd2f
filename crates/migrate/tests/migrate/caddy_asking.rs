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
