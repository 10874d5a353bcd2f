//! The steps reported by `velodrome check --explain`.

use config::route::RouteRequest;

use super::table;

const TEXT: &str = "
[[route]]
path = \"/health\"
respond = { body = \"ok\" }

[[route]]
prefix = \"/api/\"
methods = [\"POST\"]
host = \"api.example.org\"
json = {}

[[route]]
glob = \"/old/**\"
rewrite = { to = \"/new/$1\" }

[[route]]
prefix = \"/new\"
files = { root = \"/srv\" }

[[route]]
path = \"/moved\"
redirect = { to = \"/x\" }

[[host]]
names = [\"*.example.com\"]
root = \"/com\"

[[host.route]]
path = \"/only\"
methods = [\"PUT\"]
json = 1
";

fn explained(host: Option<&str>, method: &str, path: &str) -> String {
    table(TEXT).explain(&RouteRequest::new(host, method, path, None)).to_string()
}

#[test]
fn a_rewrite_and_the_file_behind_it() {
    assert_eq!(
        explained(None, "GET", "/old/a/b"),
        "no host is named: the default host\n\
         velodrome.toml:2:1 path `/health` (respond): no, `/old/a/b` does not fit\n\
         velodrome.toml:6:1 prefix `/api/` (json): no, it is for the host `api.example.org`\n\
         velodrome.toml:12:1 glob `/old/**` (rewrite): yes, continues as `/new/a/b`\n\
         velodrome.toml:16:1 prefix `/new` (files): yes\n\
         result: the file `/a/b` below /srv"
    );
}

#[test]
fn a_method_that_is_not_taken() {
    assert_eq!(
        explained(Some("API.example.org:80"), "DELETE", "/api/x"),
        "host `api.example.org`: no [[host]] has this name, so the default host\n\
         velodrome.toml:2:1 path `/health` (respond): no, `/api/x` does not fit\n\
         velodrome.toml:6:1 prefix `/api/` (json): the path fits, but the method DELETE is not among POST\n\
         velodrome.toml:12:1 glob `/old/**` (rewrite): no, `/api/x` does not fit\n\
         velodrome.toml:16:1 prefix `/new` (files): no, `/api/x` does not fit\n\
         velodrome.toml:20:1 path `/moved` (redirect): no, `/api/x` does not fit\n\
         no other route takes it\n\
         result: 405, allowed are POST, OPTIONS"
    );
}

#[test]
fn a_virtual_host_and_its_files() {
    assert_eq!(
        explained(Some("www.example.com"), "GET", "/a"),
        "host `www.example.com`: the [[host]] at velodrome.toml:24:1\n\
         velodrome.toml:28:1 path `/only` (json): no, `/a` does not fit\n\
         no route takes it: the files of the host\n\
         result: the file `/a` below /com"
    );
}

#[test]
fn the_other_results() {
    let last = |method, path| explained(None, method, path).lines().last().unwrap().to_owned();
    assert_eq!(last("GET", "/health"), "result: 200, a fixed answer of 2 bytes");
    assert_eq!(last("GET", "/moved"), "result: 302, redirected to `/x`");
    let host = table(TEXT).explain(&RouteRequest::new(Some("a.example.com"), "PUT", "/only", None));
    assert_eq!(host.result, "200, JSON of 1 bytes");
}

#[test]
fn a_built_in_route_and_the_route_that_guards_it() {
    let text = "[[channel]]\npattern = \"*\"\n[[route]]\nprefix = \"/\"\njson = 1\n";
    let explained =
        |path| table(text).explain(&RouteRequest::new(None, "GET", path, None)).to_string();
    assert_eq!(
        explained("/channels/a"),
        "no host is named: the default host\n\
         velodrome.toml:3:1 prefix `/` (json): yes\n\
         prefix `/channels` (channels): built in, yes, before all routes; that of the path gives access, fields and limits\n\
         result: the channels"
    );
    assert!(explained("/channel").ends_with("result: 200, JSON of 1 bytes"));
}

#[test]
fn the_links_that_come_before_an_answer() {
    let text = "[[route]]\npath = \"/a\"\nmodule = \"slow\"\n\
                early_hints = [\"</a.css>; rel=preload\", \"</b.js>; rel=preload\"]\n";
    assert_eq!(
        table(text).explain(&RouteRequest::new(None, "GET", "/a", None)).to_string(),
        "no host is named: the default host\n\
         velodrome.toml:1:1 path `/a` (module): yes\n\
         if the answer takes time, 103 Early Hints first: </a.css>; rel=preload, </b.js>; rel=preload\n\
         result: the module `slow`, with `/a` to look for"
    );
}
