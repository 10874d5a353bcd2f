//! Goal: the pages that the server writes itself look right and link right, whatever the site adds to
//! its answers. Method: the built binary and a raw client; their look in a browser was checked by hand.

use crate::server::Plan;
use crate::server::client::{field, text};

/// The style of our own page is inline, which a site's policy for its own pages may forbid.
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

/// RFC 9110 section 15.4: the content usually contains a short note with a link.
#[test]
fn the_page_of_a_redirect_has_a_link() {
    let config = "[[route]]\nprefix = \"/old\"\nredirect = { to = \"https://new.example/$1$query\", status \
                  = 308 }\n[[route]]\npath = \"/see\"\nmethods = [\"GET\", \"POST\"]\nredirect = { to = \
                  \"/other\", status = 303 }\n";
    let server = Plan::new().config(config).file("below/a.txt", "a\n").start();
    for (path, status, location, link) in [
        (
            "/old/a%20b?c=1&d='e'",
            308,
            "https://new.example/a%20b?c=1&d='e'",
            "a%20b?c=1&amp;d=&#39;e&#39;",
        ),
        ("/see", 303, "/other", "\"/other\""),
        ("/below?a=1&b=2", 301, "/below/?a=1&b=2", "\"/below/?a=1&amp;b=2\""),
    ] {
        let response = server.get(path);
        assert_eq!((response.status, field(&response, "Location")), (status, location), "{path}");
        assert_eq!(response.values("Location").count(), 1, "{path}");
        let page = text(&response);
        let links: Vec<&str> = page.split("<a ").skip(1).collect();
        assert_eq!(links.len(), 1, "{page}");
        assert!(links[0].starts_with("href=\"") && links[0].contains(link), "{page}");
        let head = server.request("HEAD", path, &[]);
        assert_eq!(field(&head, "Content-Length"), response.body.len().to_string(), "{path}");
    }
    assert!(!text(&server.get("/none")).contains("<a "), "an error leads nowhere");
}
