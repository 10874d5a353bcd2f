//! Goal: the pages that the server writes itself look as they should and lead where they say, whatever the site adds to
//! its answers. Method: the built binary and a raw client; what a browser makes of them was looked at.
#![expect(clippy::disallowed_types, reason = "a test holds sockets and files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use server::Plan;
use server::client::field;

/// The style of a page of ours stands in the page, where a site's policy for its own pages would not let it in.
#[test]
fn a_policy_of_the_site_is_for_its_own_pages() {
    let config = "[headers]\ncontent-security-policy = \"default-src 'self'\"\nX-Site = \"yes\"\n\
        [files]\nlisting = true\n[error_pages]\n405 = \"/405.html\"\n\
        [[route]]\npath = \"/moved\"\nredirect = { to = \"/a.html\" }\n";
    let server =
        Plan::new().config(config).file("a.html", "<p>a").file("405.html", "<p>ours").start();
    let listing = server.get("/");
    let unchanged = server.request("GET", "/", &[("If-None-Match", field(&listing, "ETag"))]);
    assert_eq!((listing.status, unchanged.status), (200, 304));
    for (what, response) in [
        ("listing", listing),
        ("the same, unchanged", unchanged),
        ("built-in error page", server.get("/none")),
        ("page of a redirect", server.get("/moved")),
    ] {
        let policies: Vec<_> = response.values("Content-Security-Policy").collect();
        let [policy] = policies[..] else { panic!("{what}: {policies:?}") };
        let policy = str::from_utf8(policy).unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{what}: {policy}");
        assert_eq!(field(&response, "X-Site"), "yes", "{what}");
    }
    for (what, response) in [
        ("file", server.get("/a.html")),
        ("listing for programs", server.request("GET", "/", &[("Accept", "application/json")])),
        ("error page of the site", server.request("DELETE", "/a.html", &[])),
    ] {
        let policies: Vec<_> = response.values("Content-Security-Policy").collect();
        assert_eq!(policies, [b"default-src 'self'"], "{what}");
    }
}
