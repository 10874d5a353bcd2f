//! The routes of channels, of the client script and of the store, which no file writes.

use config::route::RouteRequest;

use super::routes::ask;
use super::table;

const BUILT_IN: &str = "
[store]
path = \"/var/store\"
[[database]]
name = \"0\"
http = true
[[channel]]
pattern = \"*\"
[[route]]
prefix = \"/channels/guarded\"
headers = { X-Of = \"route\" }
access = [{ deny = \"192.0.2.0/24\" }, { allow = \"all\" }]
json = 2
[[route]]
path = \"/velodrome.js\"
methods = [\"PUT\"]
json = 3
[[route]]
prefix = \"/\"
json = 1
[[host]]
names = [\"b\"]
";

#[test]
fn channels_and_store_answer_before_the_routes_which_still_guard_them() {
    let table = table(BUILT_IN);
    for (path, expected) in [
        ("/channels", "channels /channels"),
        ("/channels/a/b", "channels /channels/a/b"),
        ("/channels/guarded", "channels /channels/guarded"),
        ("/channelsa", "1"),
        ("/velodrome.js", "client /velodrome.js"),
        ("/velodrome.d.ts", "client /velodrome.d.ts"),
        ("/store/0", "database 0 /store/0"),
        ("/store/0/k", "database 0 /store/0/k"),
        ("/store/1/k", "1"),
        ("/store/00", "1"),
        ("/store", "1"),
    ] {
        for host in [None, Some("b")] {
            let expected = match (host, expected) {
                (Some(_), "1") => format!("/base:{path}"),
                _ => expected.to_owned(),
            };
            assert_eq!(ask(&table, host, "GET", path), expected, "{host:?} {path}");
        }
        let found = table.find(&RouteRequest::new(None, "GET", path, None));
        assert_eq!(table.recall(&found.clone().keep(path), path), found, "{path}");
    }
    let guarded = table.find(&RouteRequest::new(None, "GET", "/channels/guarded", None));
    let open = table.find(&RouteRequest::new(None, "GET", "/channels/open", None));
    assert_eq!((guarded.terms.access.len(), open.terms.access.len()), (2, 0));
    assert!(guarded.terms.headers.fields().has("x-of") && !open.terms.headers.fields().has("x-of"));
    // Without channels and store, these are paths like all others.
    let plain = super::table("");
    for path in ["/channels/a", "/velodrome.js", "/store/0"] {
        assert_eq!(ask(&plain, None, "GET", path), format!("/base:{path}"));
    }
}
