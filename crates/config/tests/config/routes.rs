//! Which rule matches which request, and its answer.

use std::borrow::Cow;

use config::RouteAction;
use config::route::{FoundRoute, HostId, RouteRefusal, RouteRequest, RouteTable};

use super::table;

/// The answer to a GET, in short.
pub(crate) fn ask(table: &RouteTable, host: Option<&str>, method: &str, path: &str) -> String {
    asked(table, &RouteRequest::new(host, method, path, None))
}

fn asked(table: &RouteTable, request: &RouteRequest<'_>) -> String {
    let FoundRoute { action, path, rest, location, .. } = table.find(request);
    match action {
        Ok(RouteAction::Files { rules, .. }) => format!("{}:{path}", rules.root.display()),
        Ok(RouteAction::Redirect { status, .. }) => format!("{status} {location}"),
        Ok(RouteAction::Respond(respond)) => format!("{} {}", respond.status, respond.body),
        Ok(RouteAction::Json(text)) => text.clone(),
        Ok(RouteAction::Module(name)) => format!("{name} {path} {rest}"),
        Ok(RouteAction::Proxy(proxy)) => format!("{} {path} {rest}", proxy.upstream),
        Ok(RouteAction::Rewrite { .. }) => panic!("a rewrite is followed"),
        Ok(RouteAction::Map(_)) => format!("map {location}"),
        Ok(RouteAction::Drop) => "dropped".to_owned(),
        Ok(RouteAction::Channels) => format!("channels {path}"),
        Ok(RouteAction::BrowserClient) => format!("client {path}"),
        Ok(RouteAction::Database(name)) => format!("database {name} {path}"),
        Err(RouteRefusal::NoHost) => "400".to_owned(),
        Err(RouteRefusal::NotFound) => "404".to_owned(),
        Err(RouteRefusal::MethodNotAllowed { allow }) => format!("405 {allow}"),
        Err(RouteRefusal::RewriteLoop) => "loop".to_owned(),
    }
}

fn check(text: &str, cases: &[(&str, &str)]) {
    let table = table(text);
    for (path, expected) in cases {
        assert_eq!(ask(&table, None, "GET", path), *expected, "{path}");
    }
}

/// A route that answers with its own name.
fn route(matcher: &str, name: &str) -> String {
    format!("[[route]]\n{matcher}\nrespond = {{ body = \"{name}\" }}\n")
}

#[test]
fn without_routes_every_path_is_a_file() {
    check("", &[("/", "/base:/"), ("/a/b", "/base:/a/b"), ("/ä b", "/base:/ä b")]);
}

#[test]
fn the_path_of_a_file_is_lent_unless_it_is_rewritten() {
    let table = table(
        "[[route]]\npath = \"/a\"\nrewrite = { to = \"/b\" }\n\
         [[route]]\nprefix = \"/s\"\nfiles = { root = \"/x\" }\n",
    );
    for (path, is_lent) in [("/c", true), ("/s/t", true), ("/a", false)] {
        let found = table.find(&RouteRequest::new(None, "GET", path, None));
        assert!(matches!(found.action, Ok(RouteAction::Files { .. })), "{path}");
        assert_eq!(matches!(found.path, Cow::Borrowed(_)), is_lent, "{path}");
    }
}

#[test]
fn paths_prefixes_and_globs_match() {
    let text = [
        route("path = \"/exact\"", "exact"),
        route("prefix = \"/tree/\"", "tree"),
        route("prefix = \"/bare\"", "bare"),
        route("glob = \"/img/*.png\"", "png"),
        route("glob = \"/deep/**/x\"", "deep"),
        route("glob = \"/all/**\"", "all"),
    ]
    .concat();
    check(
        &text,
        &[
            ("/exact", "200 exact"),
            ("/exact/", "/base:/exact/"),
            ("/tree/", "200 tree"),
            ("/tree/a/b", "200 tree"),
            ("/tree", "/base:/tree"),
            ("/bare", "200 bare"),
            ("/bare/", "200 bare"),
            ("/bare/a", "200 bare"),
            ("/barefoot", "/base:/barefoot"),
            ("/img/a.png", "200 png"),
            ("/img/.png", "200 png"),
            ("/img/a/b.png", "/base:/img/a/b.png"),
            ("/img/a.png/", "/base:/img/a.png/"),
            ("/deep/x", "200 deep"),
            ("/deep/a/x", "200 deep"),
            ("/deep/a/b/x", "200 deep"),
            ("/deep/a/bx", "/base:/deep/a/bx"),
            ("/all/", "200 all"),
            ("/all/a/b", "200 all"),
            ("/all", "/base:/all"),
        ],
    );
}

#[test]
fn the_first_route_of_the_file_decides() {
    let text = [
        route("glob = \"/a/*\"", "glob"),
        route("path = \"/b/x\"", "exact"),
        route("prefix = \"/b\"", "prefix"),
        route("path = \"/d/x\"", "exact"),
        route("prefix = \"/d\"", "prefix"),
        route("methods = [\"PUT\"]\npath = \"/c\"", "put"),
        route("path = \"/c\"", "rest"),
    ]
    .concat();
    check(
        &text,
        &[
            ("/a/x", "200 glob"),
            ("/b/x", "200 exact"),
            ("/b/y", "200 prefix"),
            ("/d/x", "200 exact"),
            ("/d/y", "200 prefix"),
            ("/c", "200 rest"),
        ],
    );
    // An exact path after a glob that matches it with another method, and the other way round.
    let text = [
        route("methods = [\"GET\"]\nglob = \"/a/*\"", "glob"),
        route("methods = [\"POST\"]\npath = \"/a/x\"", "exact"),
        route("methods = [\"POST\"]\nprefix = \"/a\"", "prefix"),
    ]
    .concat();
    let table = table(&text);
    assert_eq!(ask(&table, None, "GET", "/a/x"), "200 glob");
    assert_eq!(ask(&table, None, "POST", "/a/x"), "200 exact");
    assert_eq!(ask(&table, None, "POST", "/a/y"), "200 prefix");
}

#[test]
fn methods_that_no_route_takes_are_refused() {
    let text = [
        route("methods = [\"GET\"]\npath = \"/a\"", "get"),
        route("methods = [\"DELETE\", \"POST\"]\nprefix = \"/a\"", "change"),
    ]
    .concat();
    let table = table(&text);
    for (method, path, expected) in [
        ("GET", "/a", "200 get"),
        ("HEAD", "/a", "200 get"),
        ("POST", "/a", "200 change"),
        ("PUT", "/a", "405 GET, HEAD, POST, DELETE, OPTIONS"),
        ("get", "/a", "405 GET, HEAD, POST, DELETE, OPTIONS"),
        ("GET", "/a/b", "405 POST, DELETE, OPTIONS"),
        ("PUT", "/b", "/base:/b"),
    ] {
        assert_eq!(ask(&table, None, method, path), expected, "{method} {path}");
    }
}

#[test]
fn hosts_are_found_by_name_then_by_the_longest_wildcard() {
    let text = "root = \"/d\"\n[[host]]\nnames = [\"example.org\", \"[::1]\"]\nroot = \"/exact\"\n\
         [[host]]\nnames = [\"*.example.org\"]\nroot = \"/wild\"\n\
         [[host]]\nnames = [\"*.b.example.org\"]\nroot = \"/long\"\n\
         [[route]]\npath = \"/filtered\"\nhost = \"*.net\"\nrespond = { body = \"net\" }\n";
    let table = table(text);
    for (host, expected) in [
        (None, "/d:/"),
        (Some(""), "/d:/"),
        (Some("other"), "/d:/"),
        (Some("example.org"), "/exact:/"),
        (Some("EXAMPLE.org:8080"), "/exact:/"),
        (Some("example.org."), "/exact:/"),
        (Some("[::1]"), "/exact:/"),
        (Some("[::1]:80"), "/exact:/"),
        (Some("[::1"), "/d:/"),
        (Some("::1"), "/d:/"),
        (Some("a.example.org"), "/wild:/"),
        (Some("a.c.Example.org"), "/wild:/"),
        (Some("a.b.example.org"), "/long:/"),
        (Some("b.example.org"), "/wild:/"),
        (Some(".example.org"), "/d:/"),
        (Some("notexample.org"), "/d:/"),
    ] {
        assert_eq!(ask(&table, host, "GET", "/"), expected, "{host:?}");
    }
    let long = format!("{}.example.org", "a".repeat(242));
    assert_eq!(ask(&table, Some(&long), "GET", "/"), "/d:/", "longer than a name can be");
    assert_eq!(ask(&table, Some("A.net:1"), "GET", "/filtered"), "200 net");
    assert_eq!(ask(&table, Some("net"), "GET", "/filtered"), "/d:/filtered");
}

#[test]
fn a_root_of_its_own_stands_for_the_prefix() {
    let text = "[[route]]\nprefix = \"/a/\"\nfiles = { root = \"/x\" }\n\
         [[route]]\nprefix = \"/b\"\nfiles = { root = \"/y\" }\n\
         [[route]]\nprefix = \"/c\"\nfiles = { listing = true }\n\
         [[route]]\nglob = \"/d/*\"\nfiles = { root = \"/z\" }\n\
         [[route]]\nglob = \"/e/*\"\nrewrite = { to = \"/f/$1\" }\n\
         [[route]]\nprefix = \"/f\"\nfiles = { root = \"/w\" }\n";
    check(
        text,
        &[
            ("/a/", "/x:/"),
            ("/a/s/t", "/x:/s/t"),
            ("/b", "/y:/"),
            ("/b/", "/y:/"),
            ("/b/s", "/y:/s"),
            ("/c/s", "/base:/c/s"),
            ("/d/s", "/z:/d/s"),
            ("/e/s", "/w:/s"),
            ("/e/", "/w:/"),
        ],
    );
}

#[test]
fn redirects_are_filled_in_and_encoded() {
    let text = "[[route]]\nprefix = \"/old\"\nredirect = { to = \"/new/$1$query\", status = 301 }\n\
         [[route]]\nglob = \"/b/*/**\"\nredirect = { to = \"/c/$2?x=$1\" }\n\
         [[route]]\npath = \"/k\"\nredirect = { to = \"/constant ä?a=b#c\" }\n\
         [[route]]\nprefix = \"/s\"\nredirect = { to = \"https://example.org$path$query\", status = 308 }\n\
         [[route]]\nprefix = \"/p\"\nredirect = { to = \"$path/x\" }\n\
         [[route]]\nglob = \"/t/**\"\nredirect = { to = \"/$1\" }\n\
         [[route]]\npath = \"/m\"\nredirect = { to = \"/$$1\" }\n";
    let table = table(text);
    for (path, query, expected) in [
        ("/old", None, "301 /new/"),
        ("/old/a b", None, "301 /new/a%20b"),
        ("/old/a", Some("x=%20&y"), "301 /new/a?x=%20&y"),
        ("/old/a", Some("x\r\nSet-Cookie: a"), "301 /new/a?x%0D%0ASet-Cookie:%20a"),
        ("/old/a?b#c%d", None, "301 /new/a%3Fb%23c%25d"),
        ("/old/\r\nX: y\0", None, "301 /new/%0D%0AX:%20y%00"),
        ("/old/ä\u{7f}\\", None, "301 /new/%C3%A4%7F%5C"),
        ("/b/q&r=1+2/s/t", None, "302 /c/s/t?x=q%26r%3D1%2B2"),
        ("/k", Some("dropped"), "302 /constant%20%C3%A4?a=b#c"),
        ("/s/a", Some("q"), "308 https://example.org/s/a?q"),
        ("/p/a", None, "302 /p/a/x"),
        // Paths with `//` are normalised before this, but must not lead to another host if one gets through.
        ("/t//evil.example", None, "302 /evil.example"),
        ("/t/\\evil.example", None, "302 /%5Cevil.example"),
        ("/t/", None, "302 /"),
        ("/m", None, "302 /$1"),
    ] {
        let request = RouteRequest::new(None, "GET", path, query);
        assert_eq!(asked(&table, &request), expected, "{path}");
    }
}

#[test]
fn a_path_at_the_beginning_of_a_redirect_stays_on_this_host() {
    let table = table("[[route]]\nglob = \"/**\"\nredirect = { to = \"$path/\" }\n");
    assert_eq!(ask(&table, None, "GET", "//evil.example"), "302 /evil.example/");
}

#[test]
fn rewrites_go_on_with_the_following_routes() {
    let text = format!(
        "[[route]]\npath = \"/r2\"\nrespond = {{ body = \"earlier\" }}\n\
         [[route]]\npath = \"/r1\"\nrewrite = {{ to = \"/r2\" }}\n\
         [[route]]\nprefix = \"/x\"\nrewrite = {{ to = \"/y/$1\" }}\n\
         [[route]]\nglob = \"/dot/*\"\nrewrite = {{ to = \"/a/.$1\" }}\n{}{}",
        route("path = \"/r2\"", "later"),
        route("prefix = \"/y\"\nmethods = [\"POST\"]", "y"),
    );
    check(
        &text,
        &[
            ("/r1", "200 later"),
            ("/r2", "200 earlier"),
            ("/x/a", "405 POST, OPTIONS"),
            ("/dot/well-known", "/base:/a/.well-known"),
            ("/dot/", "404"),
            ("/dot/.", "404"),
        ],
    );
}

#[test]
fn more_rewrites_than_the_bound_are_a_loop() {
    let step = "[[route]]\nglob = \"/**\"\nrewrite = { to = \"/a$path\" }\n";
    check(&step.repeat(8), &[("/x", "/base:/a/a/a/a/a/a/a/a/x")]);
    check(&step.repeat(9), &[("/x", "loop")]);
}

#[test]
fn options_of_answers_are_read() {
    let text = "headers = { X-A = \"server\", X-B = \"server\" }\n[limits]\nbody_size = 5\n[[route]]\npath \
                = \"/a\"\njson = 1\nheaders = { x-b = \"route\" }\nbody_size = 7\ncache_control = \
                \"no-store\"\n[[host]]\nnames = [\"h\"]\nheaders = { X-A = \"host\" }\nerror_pages = { 404 \
                = \"/no\" }\n[[host.route]]\npath = \"/a\"\nmethods = [\"POST\"]\njson = 2\nheaders = { X-C \
                = \"route\" }\n";
    let table = table(text);
    let fields = |host, path| {
        let found = table.find(&RouteRequest::new(host, "GET", path, None));
        let fields: Vec<String> = found
            .terms
            .headers
            .fields()
            .iter()
            .map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value)))
            .collect();
        (fields.join(" "), found.terms.body_size, found.terms.cache_control.clone(), found.host)
    };
    let server = HostId::DEFAULT;
    assert_eq!(fields(None, "/"), ("X-A=server X-B=server".into(), 5, None, server));
    let expected = ("X-A=server X-B=route".into(), 7, Some("no-store".into()), server);
    assert_eq!(fields(None, "/a"), expected);
    assert_eq!(fields(Some("h"), "/"), ("X-B=server X-A=host".into(), 5, None, HostId(1)));
    // Not the route's own fields, because it did not answer.
    assert_eq!(fields(Some("h"), "/a"), ("X-B=server X-A=host".into(), 5, None, HostId(1)));
    assert_eq!(table.error_page(HostId(1), 404), Some("/no"));
    assert_eq!(table.error_page(HostId(1), 500), None);
    assert_eq!(table.error_page(server, 404), None);
}

#[test]
fn a_rule_knows_its_place() {
    let table = table("\n[[route]]\npath = \"/a\"\njson = 1\n");
    let find = |path| table.find(&RouteRequest::new(None, "GET", path, None));
    assert_eq!(table.place_of(find("/a").rule).map(|place| place.line), Some(2));
    assert_eq!(table.place_of(find("/b").rule), None);
}

#[test]
fn a_module_looks_at_what_follows_the_prefix() {
    let table = table(
        "[[route]]\npath = \"/exact\"\nmodule = \"one\"\n\
         [[route]]\nprefix = \"/a/\"\nmodule = \"slash\"\n\
         [[route]]\nprefix = \"/b\"\nmodule = \"plain\"\n\
         [[route]]\nglob = \"/g/*\"\nmodule = \"glob\"\n\
         [[route]]\nprefix = \"/old\"\nrewrite = { to = \"/new/$1\" }\n\
         [[route]]\nprefix = \"/\"\nmodule = \"all\"\n",
    );
    let rest = |path: &str| {
        let request = RouteRequest::new(None, "GET", path, None);
        let found = table.find(&request);
        let Ok(RouteAction::Module(name)) = found.action else {
            panic!("{path} is not a module's")
        };
        format!("{name} {}", &found.path[found.rest..])
    };
    for (path, expected) in [
        ("/exact", "one /exact"),
        ("/a/", "slash "),
        ("/a/b", "slash /b"),
        ("/b", "plain "),
        ("/b/", "plain "),
        ("/b/c/d", "plain /c/d"),
        ("/g/x", "glob /g/x"),
        ("/old/x", "all /new/x"),
        ("/bc", "all /bc"),
        ("/", "all "),
    ] {
        assert_eq!(rest(path), expected, "{path}");
    }
}

#[test]
fn a_kept_route_is_the_one_that_was_found() {
    let table = table(
        "headers = { X-A = \"server\" }\n\
         [[route]]\npath = \"/json\"\nmethods = [\"GET\"]\njson = 1\nheaders = { X-B = \"route\" }\n\
         [[route]]\nprefix = \"/below\"\nfiles = { root = \"/srv\" }\n\
         [[route]]\nprefix = \"/module\"\nmodule = \"one\"\n\
         [[route]]\nprefix = \"/old\"\nredirect = { to = \"/new/$1\" }\n\
         [[route]]\nprefix = \"/again\"\nrewrite = { to = \"/module/$1\" }\n\
         [[host]]\nnames = [\"h\"]\n",
    );
    for host in [None, Some("h")] {
        for method in ["GET", "PUT"] {
            for path in ["/", "/json", "/below/a", "/module/a", "/old/a", "/again/b", "/a"] {
                let request = RouteRequest::new(host, method, path, None);
                let found = table.find(&request);
                let kept = found.clone().keep(path);
                assert_eq!(table.recall(&kept, path), found, "{method} {path}");
            }
        }
    }
}
