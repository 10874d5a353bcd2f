//! Goal: what a route chooses by, beyond its path: files that are there, conditions, maps, and whether the site is
//! maintained. Method: the built binary and a raw client, with what attackers put into paths, fields and rows.

use std::process::Command;

use conformance::RequestKind;

use crate::server::client::{End, field, head, text};
use crate::server::patience::until;
use crate::server::{Plan, Server, configuration};

const TRIES: &str = "[[route]]\nprefix = \"/\"\nfiles = { try = [\"$path\", \"$path.html\", \"$path/\", \
                     \"/index.html\"] }\n";

/// A site for `try`: a file, a file with an extension, a directory, and the application.
fn application() -> Plan {
    let plan = Plan::new().config(TRIES).file("index.html", "<p>app").file("a.css", "a {}");
    plan.file("about.html", "<p>about").file("docs/index.html", "<p>docs").file(".secret", "no")
}

/// The words of `velodrome check` for the site of a server.
pub(crate) fn explained(server: &Server, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_velodrome"))
        .args(["check", server.directory().join("site").to_str().unwrap()])
        .arg(format!("--config={}", server.directory().join("velodrome.toml").display()))
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_first_file_of_try_answers_as_itself() {
    let server = application().start();
    for (path, body, media_type) in [
        ("/a.css", "a {}", "text/css"),
        ("/about", "<p>about", "text/html"),
        ("/about.html", "<p>about", "text/html"),
        ("/docs/", "<p>docs", "text/html"),
        ("/", "<p>app", "text/html"),
        ("/users/7", "<p>app", "text/html"),
        ("/users/7/", "<p>app", "text/html"),
    ] {
        let response = server.get(path);
        assert_eq!((response.status, text(&response)), (200, body), "{path}");
        assert!(field(&response, "Content-Type").starts_with(media_type), "{path}");
        assert_eq!(field(&response, "Content-Length"), body.len().to_string(), "{path}");
        // The validators are those of the file that answers, so a client can keep it.
        let known = [("If-None-Match", field(&response, "ETag"))];
        assert_eq!(server.request("GET", path, &known).status, 304, "{path}");
        let head = server.request("HEAD", path, &[]);
        assert_eq!(field(&head, "ETag"), field(&response, "ETag"), "{path}");
        let part = server.request("GET", path, &[("Range", "bytes=0-1")]);
        assert_eq!((part.status, text(&part)), (206, &body[..2]), "{path}");
    }
    let redirect = server.get("/docs?a=b");
    assert_eq!((redirect.status, field(&redirect, "Location")), (301, "/docs/?a=b"));
    let post = server.request("POST", "/users/7", &[("Content-Length", "0")]);
    assert_eq!((post.status, field(&post, "Allow")), (405, "GET, HEAD, OPTIONS"));
    let explained = explained(&server, &["--explain", "/users/7"]);
    for line in [
        "try `$path`: `/users/7` is not there",
        "try `$path/`: `/users/7/` is not there",
        "try `/index.html`: `/index.html` is there",
        "result: the file `/index.html` below",
    ] {
        assert!(explained.contains(line), "{line}: {explained}");
    }
}

/// Everything that a path may hide: the application answers, or nobody, and never a file outside.
#[test]
fn no_path_of_try_leaves_the_root_or_shows_what_is_hidden() {
    let plan = application();
    plan.directory.write("secret.html", "outside");
    plan.directory.write("velodrome-secret", "outside");
    let server = plan.start();
    for path in [
        "/../secret",
        "/..%2fsecret",
        "/%2e%2e/secret",
        "/docs/../../secret",
        "/docs/%2e%2e/%2e%2e/secret",
        "/docs%2f..%2f..%2fsecret",
        "/docs/..%5c..%5csecret",
        "/secret%00",
        "/secret%00.html",
        "/.secret",
        "/docs/..;/secret",
        "/....//secret",
        "/%252e%252e/secret",
        "/docs/.",
        "/a.css/..",
        "//secret",
        "/\u{c0}\u{ae}",
    ] {
        let mut client = server.client();
        client.send(head("GET", path, &[("Host", "a")])).unwrap();
        let (answer, _) = {
            client.send(head("GET", "/last", &[("Host", "a"), ("Connection", "close")])).unwrap();
            client.rest().unwrap()
        };
        let answer = String::from_utf8_lossy(&answer);
        assert!(!answer.contains("outside") && !answer.contains("no\r\n"), "{path}: {answer}");
        assert!(answer.starts_with("HTTP/1.1 "), "{path}: {answer}");
    }
    assert_eq!(text(&server.get("/still")), "<p>app");
}

#[test]
fn a_page_can_be_the_last_of_try_and_gets_bodies() {
    let config = "[[route]]\nprefix = \"/\"\nfiles = { try = [\"$path\", \"/front.html\"] }\n";
    let page = "<%= request.method %> <%= request.path %> <%= request.body or '' %>";
    let plan = Plan::new().config(config).file("a.txt", "a").file("front.page.html", page);
    let server = plan.start();
    assert_eq!(text(&server.get("/a.txt")), "a");
    assert_eq!(text(&server.get("/users/7")), "GET /users/7 ");
    let mut client = server.client();
    client.send(head("POST", "/users/8", &[("Content-Length", "2")]) + "hi").unwrap();
    let answer = client.response(conformance::RequestKind::Other).unwrap();
    assert_eq!(text(&answer), "POST /users/8 hi");
    let front = server.get("/front.page.html");
    assert!(!text(&front).contains("<%"), "{}", text(&front));
}

#[test]
fn an_alias_is_one_file_for_every_path_and_nothing_beside_it() {
    let config = "[[route]]\nprefix = \"/terms\"\nfiles = { alias = \"legal/terms.html\" }\n\
        [[route]]\npath = \"/robots.txt\"\nfiles = { alias = \"legal/.robots\" }\n\
        [[route]]\npath = \"/none\"\nfiles = { alias = \"legal/none\" }\n\
        [[route]]\npath = \"/directory\"\nfiles = { alias = \"legal\" }\n";
    let plan = Plan::new().config(config).file("a.txt", "a");
    plan.directory.write("legal/terms.html", "<p>terms");
    plan.directory.write("legal/.robots", "robots");
    plan.directory.write("legal/other.page.html", "<% error('it is no page') %>");
    let server = plan.start();
    for (path, status, body) in [
        ("/terms", 200, "<p>terms"),
        ("/terms/other.page.html", 200, "<p>terms"),
        ("/terms/", 200, "<p>terms"),
        ("/robots.txt", 200, "robots"),
        ("/other.page.html", 404, ""),
        ("/none", 404, ""),
        ("/directory", 404, ""),
    ] {
        let response = server.get(path);
        assert_eq!(response.status, status, "{path}");
        assert!(status == 404 || text(&response) == body, "{path}: {}", text(&response));
    }
    assert!(field(&server.get("/terms"), "Content-Type").starts_with("text/html"));
}

#[test]
fn a_directory_below_a_root_of_its_own_is_redirected_to_below_its_prefix() {
    let config = "[[route]]\nprefix = \"/static\"\nfiles = { root = \"assets\" }\n";
    let plan = Plan::new().config(config);
    plan.directory.write("assets/docs/index.html", "docs");
    let server = plan.start();
    let redirect = server.get("/static/docs?a");
    assert_eq!((redirect.status, field(&redirect, "Location")), (301, "/static/docs/?a"));
    assert_eq!(text(&server.get("/static/docs/")), "docs");
}

#[test]
fn a_redirect_keeps_the_host_and_cannot_be_split() {
    let config = "[[route]]\nprefix = \"/\"\nredirect = { to = \"https://$host$path$query\", status = 308 \
                  }\n";
    let server = Plan::new().config(config).start();
    let to = |host: &str, path: &str| {
        let response = server.request("GET", path, &[("Host", host)]);
        assert!(response.field("Set-Cookie").is_none(), "{host} {path}: {:?}", response.fields);
        (response.status, field(&response, "Location").to_owned())
    };
    let found = |location: &str| (308, location.to_owned());
    assert_eq!(to("Example.org:8080", "/a%20b?c=d"), found("https://example.org/a%20b?c=d"));
    assert_eq!(to("[::1]:80", "/"), found("https://[::1]/"));
    assert_eq!(to("a", "//evil.example/x"), found("https://a/evil.example/x"));
    assert_eq!(to("a", "/%5cevil.example").0, 400);
    assert_eq!(to("a", "/%0d%0aSet-Cookie:x").0, 400);
    assert_eq!(to("a", "/@evil.example"), found("https://a/@evil.example"));
    for host in
        ["a/", "a/@evil.example", "a?x", "a#x", "user@a", "a%0d%0aSet-Cookie:x", "", "a..b\\c"]
    {
        let (status, location) = to(host, "/x");
        assert!(status == 400 && location.is_empty(), "{host}: {status} {location}");
    }
    // An old client without Host cannot be told where.
    let mut client = server.client();
    client.send("GET /x HTTP/1.0\r\n\r\n").unwrap();
    let (answer, _) = client.rest().unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 400 ") || answer.starts_with(b"HTTP/1.0 400 "));
}

#[test]
fn a_dropped_request_gets_no_byte_and_is_logged_as_444() {
    let config = "[[route]]\nglob = \"/**/*.php\"\ndrop = true\n[log]\naccess = \"access.log\"\n";
    let server = Plan::new().config(config).file("a.txt", "a").start();
    for method in ["GET", "HEAD", "POST"] {
        let mut client = server.client();
        let fields = [("Content-Length", "2")];
        client.send(head(method, "/wp/x.php", &fields) + "hi").unwrap();
        let (answer, end) = client.rest().unwrap();
        assert!(answer.is_empty(), "{method}: {}", answer.escape_ascii());
        assert!(matches!(end, End::Closed | End::Reset), "{method}");
    }
    // Earlier answers on the same connection arrive.
    let mut client = server.client();
    client.send(head("GET", "/a.txt", &[]) + &head("GET", "/x.php", &[])).unwrap();
    let (answer, _) = client.rest().unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    until("the log", || {
        let log = server.directory().text("access.log");
        (log.matches(" 444 ").count() == 4).then_some(())
    });
    assert_eq!(text(&server.get("/a.txt")), "a");
}

#[test]
fn maintenance_is_switched_by_ctl_and_by_a_file() {
    let config = "[error_pages]\n503 = \"/closed.html\"\n\
        [maintenance]\nfile = \"run/closed\"\nretry_after = \"90s\"\n";
    let plan = Plan::new().config(config).file("a.txt", "a").file("closed.html", "<p>closed");
    let server = plan.start();
    assert_eq!(server.get("/a.txt").status, 200);
    let set = |switch: &str| {
        let output = server.ctl(&["set", "maintenance", switch]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let is_closed = || {
        let response = server.get("/a.txt");
        let is_closed = response.status == 503;
        assert_eq!(is_closed, text(&response) == "<p>closed", "{response:?}");
        assert_eq!(is_closed, field(&response, "Retry-After") == "90", "{response:?}");
        assert_eq!(is_closed, field(&response, "Cache-Control") == "no-store", "{response:?}");
        is_closed
    };
    assert_eq!(set("on"), "maintenance: on, by ctl\n");
    until("the schedulers", || is_closed().then_some(()));
    assert_eq!(server.told("/status")["maintenance"], "on, by ctl");
    let post = server.request("POST", "/none", &[("Content-Length", "0")]);
    assert_eq!(post.status, 503);
    // A reload does not open the site.
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    assert!(is_closed());
    assert_eq!(set("off"), "maintenance: off\n");
    until("the schedulers", || (!is_closed()).then_some(()));
    server.directory().write("run/closed", "");
    until("the file", || is_closed().then_some(()));
    assert_eq!(set("off"), "maintenance: on, by the file\n");
    assert!(is_closed());
    std::fs::remove_file(server.directory().join("run/closed")).unwrap();
    until("its end", || (!is_closed()).then_some(()));
    assert_eq!(server.ctl(&["set", "maintenance", "maybe"]).status.code(), Some(2));
}

#[test]
fn a_request_that_waits_when_maintenance_begins_is_answered() {
    let server = Plan::new()
        .argument("--schedulers=1")
        .config("[[channel]]\npattern = \"*\"\nhistory = 2\n")
        .start();
    let mut client = server.client();
    client.send(head("GET", "/channels/news?wait=2", &[])).unwrap();
    server.reaches("/channels/known", 1);
    assert!(server.ctl(&["set", "maintenance", "on"]).status.success());
    until("maintenance", || (server.get("/").status == 503).then_some(()));
    assert_eq!(client.response(RequestKind::Other).unwrap().status, 200);
    assert_eq!(client.get("/channels/news").unwrap().status, 503);
}

#[test]
fn administrators_are_served_during_maintenance() {
    let config = "[maintenance]\nallow = [\"127.0.0.0/8\"]\n";
    let server = Plan::new().config(config).file("a.txt", "a").start();
    assert!(server.ctl(&["set", "maintenance", "on"]).status.success());
    assert_eq!(server.told("/status")["maintenance"], "on, by ctl");
    assert_eq!(text(&server.get("/a.txt")), "a");
}

#[test]
fn conditions_choose_the_route() {
    let respond = |name: &str| format!("respond = {{ body = \"{name}\" }}\n");
    let config = [
        "countries = \"countries.csv\"\n",
        "[[listener]]\naddress = \"127.0.0.1:0\"\nproxy_protocol_from = [\"127.0.0.0/8\"]\n",
        "[[route]]\npath = \"/\"\nwhen = { header = { X-Beta = \"yes*\" }, query = { v = \"2\" } }\n",
        &respond("beta"),
        "[[route]]\npath = \"/\"\nwhen = { address = [\"192.0.2.0/24\"] }\n",
        &respond("network"),
        "[[route]]\npath = \"/\"\nwhen = { country = [\"de\"] }\n",
        &respond("country"),
        "[[route]]\npath = \"/\"\n",
        &respond("others"),
    ]
    .concat();
    let plan = Plan::new().config(&config);
    plan.directory.write("countries.csv", "198.51.100.0/24,DE\n");
    let server = plan.listen_as_configured(1).start();
    let ask = |address: &str, path: &str, fields: &[(&str, &str)]| {
        let mut client = server.client();
        client.send(format!("PROXY TCP4 {address} 192.0.2.1 4000 80\r\n")).unwrap();
        client.send(head("GET", path, fields)).unwrap();
        text(&client.response(conformance::RequestKind::Other).unwrap()).to_owned()
    };
    let beta = [("X-Beta", "yes, please")];
    for (address, path, fields, expected) in [
        ("203.0.113.1", "/?v=2", &beta[..], "beta"),
        ("203.0.113.1", "/?v=3", &beta[..], "others"),
        ("203.0.113.1", "/?v=2", &[], "others"),
        ("203.0.113.1", "/?v=2", &[("X-Beta", "no"), ("X-Beta", "yes")], "beta"),
        ("192.0.2.9", "/", &[], "network"),
        ("198.51.100.9", "/", &[], "country"),
    ] {
        assert_eq!(ask(address, path, fields), expected, "{address} {path} {fields:?}");
    }
    let words = ["--explain", "/?v=2", "--header", "X-Beta: yes", "--address", "192.0.2.9"];
    let told = explained(&server, &words);
    assert!(told.ends_with("result: 200, a fixed answer of 4 bytes\n"), "{told}");
    let told = explained(&server, &["--explain", "/", "--address", "198.51.100.9"]);
    assert!(told.contains("it needs an address in 192.0.2.0/24"), "{told}");
    assert!(told.ends_with("result: 200, a fixed answer of 7 bytes\n"), "{told}");
}

/// One of two listeners: the port is not known before, so the condition is about a socket.
#[test]
fn a_route_can_be_for_one_listener() {
    let plan = Plan::new();
    let socket = plan.directory.join("run/web.sock");
    let address = format!("unix:{}", socket.display());
    let config = format!(
        "[[listener]]\naddress = \"127.0.0.1:0\"\n[[listener]]\naddress = \"{address}\"\n[[route]]\npath = \
         \"/\"\nwhen = {{ listener = [\"{address}\"] }}\nrespond = {{ body = \"inside\" }}\n[[route]]\npath \
         = \"/\"\nrespond = {{ body = \"outside\" }}\n"
    );
    let server = plan.config(&config).listen_as_configured(2).start();
    let mut client = crate::server::client::Client::connect_unix(&socket).unwrap();
    assert_eq!(text(&client.get("/").unwrap()), "inside");
    assert_eq!(text(&server.get("/")), "outside");
}

#[test]
fn a_map_is_read_again_on_reload_and_a_bad_one_is_refused() {
    let config = "[[route]]\nprefix = \"/\"\nmap = \"old.csv\"\n";
    let plan = Plan::new().config(config).file("a.txt", "a");
    let rows: String =
        (0..100_000).map(|number| format!("/old/{number},/new/{number},301\n")).collect();
    plan.directory.write("old.csv", &rows);
    let server = plan.start();
    let last = server.get("/old/99999?x=1");
    assert_eq!((last.status, field(&last, "Location")), (301, "/new/99999"));
    assert_eq!(text(&server.get("/a.txt")), "a");
    assert_eq!(server.get("/old/100000").status, 404);
    server.directory().write("old.csv", rows + "/old/100000,/new,302\n");
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    until("the new row", || (server.get("/old/100000").status == 302).then_some(()));
    server.directory().write("old.csv", "/a,\"/b\r\nSet-Cookie: x\"\n/c,//evil.example\n");
    let report = server.ctl_json(&["reload"]);
    assert_eq!(report["state"], "refused");
    let problems = report["problems"].to_string();
    assert!(problems.contains("line 1: ") && problems.contains("line 3: "), "{problems}");
    assert_eq!(server.get("/old/100000").status, 302, "the old one stays");
    server.directory().write("velodrome.toml", configuration(config));
}
