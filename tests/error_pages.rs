//! Goal: an error page is a file without code; a page in its place is refused, and its source is never sent. Method: the
//! built binary, its verbs `check` and `serve`, a site that is edited under it.
#![expect(clippy::disallowed_types, reason = "a test holds sockets and files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::process::Command;

use server::client::text;
use server::patience::until;
use server::{PROGRAM, Plan, configuration, errors_of, run};

const SOURCE: &str = "<p>secret <%= 1 + 1 %>";

#[test]
fn a_page_for_an_error_is_refused_with_its_place() {
    for (path, file, told) in [
        (
            "/404.page.html",
            "404.page.html",
            "`404` cannot be \"/404.page.html\": it is a page, and no code is run for an error; name a file without code",
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
fn the_source_of_a_page_is_never_sent_for_an_error() {
    let server = Plan::new().config("[error_pages]\n404 = \"/404.html\"\n").start();
    assert!(text(&server.get("/none")).contains("404"));
    // One that comes later runs where it is asked for; for the error there is the built-in text.
    server.directory().write("site/404.page.html", SOURCE);
    until("the page", || (text(&server.get("/404.html")) == "<p>secret 2").then_some(()));
    let none = server.get("/none");
    assert_eq!(none.status, 404);
    assert!(text(&none).contains("404") && !text(&none).contains("secret"), "{}", text(&none));
    // It takes over no configuration that has it.
    server.directory().write("velodrome.toml", configuration("[error_pages]\n404 = \"/404\"\n"));
    assert_eq!(server.ctl_json(&["reload"])["state"], "refused");
    assert!(!text(&server.get("/none")).contains("secret"));
    // A file of the same path is what it was meant to be.
    server.directory().write("site/404.html", "<p>ours");
    server
        .directory()
        .write("velodrome.toml", configuration("[error_pages]\n404 = \"/404.html\"\n"));
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    until("the file", || (text(&server.get("/none")) == "<p>ours").then_some(()));
}
