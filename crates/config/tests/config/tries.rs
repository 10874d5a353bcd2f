//! The paths that `try` makes of a request, `alias`, and the variables of redirects.

use std::path::Path;

use config::route::{RouteRefusal, RouteRequest};
use config::{Logging, RouteAction};
use wire::http::url::Scheme;

use super::{errors, table};

fn tries(list: &str, path: &str) -> Vec<Option<String>> {
    let table = table(&format!("[[route]]\nprefix = \"/\"\nfiles = {{ try = {list} }}\n"));
    let found = table.find(&RouteRequest::new(None, "GET", path, None));
    let Ok(RouteAction::Files { tries, .. }) = found.action else { panic!("{:?}", found.action) };
    tries.iter().map(|target| target.path_from(path)).collect()
}

#[test]
fn the_paths_of_try_are_made_of_the_path() {
    let list = "[\"$path\", \"$path.html\", \"$path/\", \"/index.html\"]";
    let of = |paths: [&str; 4]| paths.map(|path| Some(path.to_owned())).to_vec();
    assert_eq!(tries(list, "/a/b"), of(["/a/b", "/a/b.html", "/a/b/", "/index.html"]));
    assert_eq!(tries(list, "/a/"), of(["/a/", "/a/.html", "/a/", "/index.html"]));
    assert_eq!(tries(list, "/"), of(["/", "/.html", "/", "/index.html"]));
    // No part of a request can name the directory above.
    assert_eq!(tries("[\"/x/.$path\", \"/x$path\"]", "/./a"), [None, None]);
    assert_eq!(tries("[\"/x/.$path\"]", "/a"), [Some("/x/./a".to_owned())].map(|_| None));
}

#[test]
fn route_of_files_that_leads_on_is_not_asked_again() {
    let table = table(
        "[[route]]\nprefix = \"/\"\nfiles = { root = \"a\", try = [\"$path\", \"next\"] }\n\
         [[route]]\nprefix = \"/old\"\nrewrite = { to = \"/new/$1\" }\n\
         [[route]]\nprefix = \"/\"\nfiles = { root = \"b\", try = [\"/x$path\", \"next\"] }\n\
         [[route]]\nprefix = \"/\"\nmethods = [\"GET\"]\njson = 1\n",
    );
    let walk = |path: &str, method: &str| {
        let request = RouteRequest::new(None, method, path, None);
        let mut found = table.find(&request);
        let mut all = Vec::new();
        loop {
            all.push((found.rule.0, found.path.clone().into_owned()));
            if !found.action.as_ref().is_ok_and(|action| action.leads_on()) {
                return (all, found.action.clone().err());
            }
            found = table.find_after(&request, found.rule);
        }
    };
    let of =
        |all: &[(u32, &str)]| all.iter().map(|(rule, path)| (*rule, (*path).to_owned())).collect();
    assert_eq!(walk("/a", "GET"), (of(&[(0, "/a"), (2, "/a"), (3, "/a")]), None));
    assert_eq!(walk("/old/a", "GET"), (of(&[(0, "/old/a"), (2, "/new/a"), (3, "/new/a")]), None));
    let allow = "GET, HEAD, OPTIONS".to_owned();
    let refused = Some(RouteRefusal::MethodNotAllowed { allow });
    assert_eq!(walk("/a", "POST"), (of(&[(0, "/a"), (2, "/a"), (3, "/")]), refused));
}

#[test]
fn explanation_goes_on_behind_the_route_that_leads_on() {
    let table = table(
        "[[route]]\nprefix = \"/old\"\nrewrite = { to = \"/new/$1\" }\n\
         [[route]]\nprefix = \"/new\"\nfiles = { root = \"a\", try = [\"$path\", \"next\"] }\n\
         [[route]]\nprefix = \"/other\"\njson = 1\n\
         [[route]]\nprefix = \"/\"\njson = 22\n",
    );
    let request = RouteRequest::new(None, "GET", "/old/a", None);
    let first = table.explain(&request);
    assert_eq!(first.result, "the file `/a` below /base/a, or that of the routes after this one");
    let next = table.explain_after(&request, first.rule);
    assert_eq!(next.result, "200, JSON of 2 bytes");
    let steps = next.steps.join("\n");
    assert!(steps.contains("prefix `/other` (json): no, `/new/a` does not fit"), "{steps}");
    assert_eq!(next.steps.len(), 2, "{steps}");
}

#[test]
fn route_that_leads_on_does_not_guard_what_is_built_in() {
    let table = table(
        "[[channel]]\npattern = \"a\"\n\
         [[route]]\nprefix = \"/\"\nfiles = { root = \"a\", try = [\"$path\", \"next\"] }\n\
         [[route]]\nprefix = \"/channels\"\nfiles = { root = \"b\", try = [\"$path\", \"next\"] }\n\
         [[route]]\nprefix = \"/\"\naccess = [{ allow = \"10.0.0.0/8\" }]\nlog = false\njson = 1\n",
    );
    for (method, path) in
        [("GET", "/channels/a"), ("POST", "/channels/a"), ("GET", "/velodrome.js")]
    {
        let request = RouteRequest::new(None, method, path, None);
        let found = table.find(&request);
        assert_eq!(
            (found.terms.access.len(), found.terms.log),
            (1, Logging::Off),
            "{method} {path}"
        );
        assert!(!matches!(found.action, Ok(RouteAction::Files { .. })), "{method} {path}");
        let explained = table.explain(&request);
        assert_eq!(explained.rule, found.rule, "{explained}");
        let steps = explained.steps.join("\n");
        let passed = "velodrome.toml:3:1 prefix `/` (files): the path fits, but it leads on to those after it";
        assert!(steps.contains(passed) && steps.contains("(json): yes"), "{steps}");
    }
}

#[test]
fn one_file_answers_every_path_of_an_alias() {
    let text = "[[route]]\nprefix = \"/terms\"\nfiles = { alias = \"legal/terms.html\" }\n";
    let table = table(text);
    for path in ["/terms", "/terms/a/b"] {
        let found = table.find(&RouteRequest::new(None, "GET", path, None));
        assert_eq!(found.path, "/terms.html");
        let Ok(RouteAction::Files { rules, .. }) = found.action else {
            panic!("{:?}", found.action)
        };
        assert_eq!(rules.root, Path::new("/base/legal"));
    }
}

#[test]
fn wrong_values_of_try_and_alias_are_refused_with_the_mend() {
    let route = |files: &str| errors(&format!("[[route]]\npath = \"/a\"\nfiles = {{ {files} }}\n"));
    for (files, why) in [
        ("try = []", "`try` is empty; leave it out to look for the path itself"),
        ("try = [\"a\"]", "`try` cannot be \"a\": it must begin with `/`"),
        (
            "try = [\"/a/../b\"]",
            "`try` cannot be \"/a/../b\": `.` and `..` never are in a normalised path",
        ),
        ("try = [\"/a/front.page.html\"]", "write the address of the page, as in"),
        ("try = [\"$1\"]", "there is no `$1`: the route has no wildcard"),
        ("try = [\"$host\"]", "`$host` and `$scheme` are for redirects"),
        (
            "try = [\"/1\",\"/2\",\"/3\",\"/4\",\"/5\",\"/6\",\"/7\",\"/8\",\"/9\"]",
            "`try` has more than 8 paths",
        ),
        ("try = [\"next\"]", "`try` has no path before `\"next\"`, such as \"$path\""),
        ("try = [\"next\", \"$path\"]", "`\"next\"` is the last word of `try`"),
        ("try = [\"$path\", \"next\", \"next\"]", "`\"next\"` is the last word of `try`"),
        ("alias = \"x\", root = \"y\"", "`root` has no effect beside `alias`"),
        ("alias = \"x.page.html\"", "`alias` cannot be a page"),
    ] {
        let told = route(files);
        assert!(told.contains(why), "{files}: {told}");
    }
    // A guard of the files would be none of what is behind them.
    let told = errors(
        "[[route]]\nprefix = \"/\"\naccess = [{ deny = \"all\" }]\nfiles = { try = [\"$path\", \"next\"] }\n",
    );
    let why =
        "velodrome.toml:3:1: `access` does not guard the routes after a `try` with `\"next\"`";
    assert!(told.contains(why), "{told}");
}

fn redirected(to: &str, host: Option<&str>, scheme: Scheme) -> Result<String, RouteRefusal> {
    let table = table(&format!("[[route]]\nprefix = \"/a\"\nredirect = {{ to = \"{to}\" }}\n"));
    let mut request = RouteRequest::new(host, "GET", "/a/b c", Some("q=1"));
    request.circumstances.scheme = scheme;
    let found = table.find(&request);
    found.action.map(|_| found.location.into_owned())
}

#[test]
fn a_redirect_can_keep_host_scheme_path_and_query() {
    let host = Some("Example.org:8080");
    for (to, scheme, expected) in [
        ("https://$host$path$query", Scheme::Http, "https://example.org/a/b%20c?q=1"),
        ("$scheme://www.$host$path", Scheme::Https, "https://www.example.org/a/b%20c"),
        ("$scheme://$host:8443$path", Scheme::Http, "http://example.org:8443/a/b%20c"),
        ("https://$host", Scheme::Http, "https://example.org"),
        ("https://$host/x/$1", Scheme::Http, "https://example.org/x/b%20c"),
        (
            "https://login.example/?to=$scheme://$host$path",
            Scheme::Http,
            "https://login.example/?to=http://example.org/a/b%20c",
        ),
    ] {
        assert_eq!(redirected(to, host, scheme), Ok(expected.to_owned()), "{to}");
    }
    // A host that a URL cannot have, or that would be more than a host.
    for host in [
        None,
        Some(""),
        Some("evil.example/@"),
        Some("a@evil.example"),
        Some("a b"),
        Some("[::1"),
        Some("a%0d"),
    ] {
        let found = redirected("https://$host$path", host, Scheme::Http);
        assert_eq!(found, Err(RouteRefusal::NoHost), "{host:?}");
    }
    assert_eq!(
        redirected("https://$host$path", Some("[::1]:80"), Scheme::Http).unwrap(),
        "https://[::1]/a/b%20c"
    );
}

#[test]
fn a_redirect_never_goes_to_a_host_made_of_the_path() {
    for to in [
        "https://$1",
        "https://$host$1",
        "https://$host.$1",
        "https://$host@evil.example",
        "https://$host:$1",
        "https://$host:80$1",
        "https://$host$host",
        "https://x@$host",
        "https://x$host",
        "$scheme:$path",
        "$host/",
        "$scheme",
        "https://example.org$host",
        "https://example.org$scheme",
        "https://$host.evil.example/",
    ] {
        let told = errors(&format!("[[route]]\nprefix = \"/a\"\nredirect = {{ to = \"{to}\" }}\n"));
        assert!(told.contains("`to` cannot be"), "{to}: {told}");
    }
}

#[test]
fn a_dropped_connection_has_no_other_settings() {
    for (text, why) in [
        ("drop = false", "`drop` can only be true"),
        ("drop = 1", "`drop` must be true or false"),
        ("drop = true\nheaders = { X-A = \"b\" }", "`headers` beside `drop` has no effect"),
    ] {
        let told = errors(&format!("[[route]]\npath = \"/a\"\n{text}\n"));
        assert!(told.contains(why), "{text}: {told}");
    }
}
