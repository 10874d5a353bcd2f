//! Goal: an error page is a file without code; a page in its place is refused, and its source is never sent. Method:
//! the built binary, its verbs `check` and `serve`, and a site that is edited while it is served.

use std::process::Command;

use crate::server::client::{field, head, text};
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, configuration, errors_of, run};
use conformance::RequestKind;

const SOURCE: &str = "<p>secret <%= 1 + 1 %>";

#[test]
fn a_page_for_an_error_is_refused_with_its_place() {
    for (path, file, told) in [
        (
            "/404.page.html",
            "404.page.html",
            "`404` cannot be \"/404.page.html\": it is a page, and no code is run for an error; name a file \
             without code",
        ),
        ("/404.html", "404.page.html", "`error_pages`: 404 cannot be \"/404.html\": `"),
        (
            "/errors/404",
            "errors/404.page.html",
            "/site/errors/404.page.html` answers it, which is a page",
        ),
    ] {
        let config = format!("[error_pages]\n404 = \"{path}\"\n");
        let plan = Plan::new().config(&config).file(file, SOURCE);
        for verb in ["check", "serve"] {
            let refused = run(Command::new(PROGRAM)
                .arg(verb)
                .arg(plan.directory.join("site"))
                .arg(format!("--config={}", plan.directory.join("velodrome.toml").display())));
            assert!(!refused.status.success(), "{verb} {path}: {refused:?}");
            assert!(errors_of(&refused).contains(told), "{verb} {path}: {}", errors_of(&refused));
        }
    }
}

#[test]
fn an_error_page_that_is_not_there_is_told_by_check() {
    let plan = Plan::new()
        .config("[error_pages]\n404 = \"/404.html\"\n500 = \"/500.html\"\n")
        .file("500.html", "500");
    let check = || {
        run(Command::new(PROGRAM)
            .arg("check")
            .arg(plan.directory.join("site"))
            .arg(format!("--config={}", plan.directory.join("velodrome.toml").display())))
    };
    let told = errors_of(&check());
    assert!(told.contains("404 is \"/404.html\", but there is no file"), "{told}");
    assert!(!told.contains("500.html"), "{told}");
    plan.directory.write("site/404.html", "404");
    let checked = check();
    assert!(checked.status.success(), "{}", errors_of(&checked));
}

#[test]
fn the_source_of_a_page_is_never_sent_for_an_error() {
    let server = Plan::new().config("[error_pages]\n404 = \"/404.html\"\n").start();
    assert!(text(&server.get("/none")).contains("404"));
    // A page that is added later runs if it is requested; for the error the built-in text is sent.
    server.directory().write("site/404.page.html", SOURCE);
    until("the page", || (text(&server.get("/404.html")) == "<p>secret 2").then_some(()));
    let none = server.get("/none");
    assert_eq!(none.status, 404);
    assert!(text(&none).contains("404") && !text(&none).contains("secret"), "{}", text(&none));
    // A reload refuses a configuration that names it.
    server.directory().write("velodrome.toml", configuration("[error_pages]\n404 = \"/404\"\n"));
    assert_eq!(server.ctl_json(&["reload"])["state"], "refused");
    assert!(!text(&server.get("/none")).contains("secret"));
    // A file with the same path works as intended.
    server.directory().write("site/404.html", "<p>ours");
    server
        .directory()
        .write("velodrome.toml", configuration("[error_pages]\n404 = \"/404.html\"\n"));
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    until("the file", || (text(&server.get("/none")) == "<p>ours").then_some(()));
}

/// A page that failed is not run again when the file of its error page was looked up.
#[test]
fn a_page_that_fails_runs_once_whatever_its_error_page_takes() {
    let config = "[error_pages]\n404 = \"/404.txt\"\n500 = \"/500.txt\"\n503 = \"/503.txt\"\n\
        [pages]\ndeadline = \"300ms\"\n";
    let module = "local count = 0 return {
        { 'POST', '/buy', function() count = count + 1 error('sold ' .. count) end },
        { 'GET', '/ask', function() log('asked') return 404 end },
    }";
    let plan = Plan::new().config(config).argument("--schedulers=1");
    plan.directory.write("app/main.lua", module);
    let server = plan
        .file("404.txt", "ours: 404")
        .file("500.txt", "ours: 500")
        .file("503.txt", "ours: 503")
        .file("fail.page.txt", "<% log('run') error('no') %>")
        .file("wait.page.txt", "<% log('wait') sleep(1e6) %>")
        .start();
    for (method, path, status) in [
        ("GET", "/fail", 500),
        ("GET", "/wait", 503),
        ("GET", "/ask", 404),
        ("POST", "/buy", 500),
        ("POST", "/buy", 500),
    ] {
        let answer = server.request(method, path, &[]);
        assert_eq!((answer.status, text(&answer)), (status, &*format!("ours: {status}")), "{path}");
    }
    let printed = server.printed_errors();
    for (words, count) in
        [("/fail: run", 1), ("/wait: wait", 1), (": asked", 1), ("sold 2", 1), ("sold 3", 0)]
    {
        assert_eq!(printed.matches(words).count(), count, "{words}: {printed}");
    }
}

#[test]
fn a_body_that_is_too_large_for_a_page_is_refused_as_its_host_has_it() {
    let route = |path: &str, action: &str| {
        format!("[[route]]\npath = \"{path}\"\n{action}\nbody_size = 5\n\n")
    };
    let config = "[error_pages]\n413 = \"/413.txt\"\n[headers]\nX-All = \"1\"\n".to_owned()
        + &route("/page", "files = {}")
        + &route("/file.txt", "files = {}")
        + &route("/module", "module = \"api\"");
    let plan = Plan::new().config(&config);
    plan.directory.write("app/api.lua", "return function() return 'api' end");
    let server = plan
        .file("413.txt", "ours: 413")
        .file("page.page.txt", "page")
        .file("file.txt", "file")
        .start();
    for path in ["/page", "/file.txt", "/module"] {
        for size in [6, 10, 3_000_000] {
            let mut client = server.client();
            let length = size.to_string();
            // A body that is too large to read is not waited for.
            let sent = if size < 100 { "x".repeat(size) } else { String::new() };
            client.send(head("POST", path, &[("Content-Length", &length)]) + &sent).unwrap();
            let answer = client.response(RequestKind::Other).unwrap();
            assert_eq!((answer.status, text(&answer)), (413, "ours: 413"), "{path} {size}");
            assert_eq!(field(&answer, "X-All"), "1", "{path} {size}");
        }
    }
}

#[test]
fn a_page_that_is_too_long_for_the_cache_is_sent_as_well() {
    let page = format!("<p>{}", "long ".repeat(20_000));
    for size in ["32 KiB", "0 B"] {
        let config =
            format!("[error_pages]\n404 = \"/404.html\"\n[files]\ncache_file_size = \"{size}\"\n");
        let server = Plan::new().config(&config).file("404.html", &page).start();
        for _ in 0..3 {
            let response = server.get("/none");
            assert_eq!((response.status, text(&response) == page), (404, true), "{size}");
            assert_eq!(field(&response, "Content-Type"), "text/html; charset=utf-8");
        }
        let head = server.request("HEAD", "/none", &[]);
        assert_eq!((head.status, field(&head, "Content-Length")), (404, &*page.len().to_string()));
    }
}
