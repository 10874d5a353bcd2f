//! Goal: a browser loads a page with hundreds of parts over one HTTP/2 connection, and listens to many event streams.
//! Method: Chromium with TLS, a page of 200 resources; what it says about each of them, and the server's own count.

use crate::server::browser::Browser;
use crate::server::{Plan, has};
use crate::site::{ENCRYPTED, encrypted};

const CONFIG: &str = "[[channel]]\npattern = \"room.*\"\nhistory = 10\n";

/// A page of 100 pictures, 50 scripts and 50 style sheets; `window.loaded` counts those that came.
fn page() -> String {
    let mut page =
        "<!doctype html><title>parts</title><script>window.loaded = 0</script>\n".to_owned();
    for number in 0..50 {
        page.push_str(&format!(
            "<link rel=stylesheet href=\"/part/{number}.css\" onload=\"loaded++\">\n"
        ));
        page.push_str(&format!("<script async src=\"/part/{number}.js\"></script>\n"));
    }
    for number in 0..100 {
        page.push_str(&format!("<img src=\"/part/{number}.svg\" onload=\"loaded++\">\n"));
    }
    page
}

#[test]
fn a_browser_loads_a_page_of_two_hundred_parts_over_one_connection() {
    const TEST: &str = "a_browser_loads_a_page_of_two_hundred_parts_over_one_connection";
    if !has("chromium", TEST) {
        return;
    }
    let mut plan = Plan::new().config(&format!("{ENCRYPTED}{CONFIG}")).file("index.html", page());
    for number in 0..100 {
        let picture = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"><rect width=\"9\" height=\"9\"/></svg>";
        plan = plan.file(&format!("part/{number}.svg"), picture);
        plan = plan.file(&format!("part/{number}.css"), format!(".part{number} {{ color: red }}"));
        plan = plan.file(&format!("part/{number}.js"), "window.loaded++");
    }
    let (server, address, _) = encrypted(plan.argument("--schedulers=1"));
    let url = format!("https://localhost:{}/", address.port());
    let mut browser = Browser::open(server.directory(), &url);
    browser.until("all parts", "window.loaded === 200 && document.readyState === 'complete'");
    let protocols = "[...new Set(performance.getEntriesByType('resource').concat(\
         performance.getEntriesByType('navigation')).map(entry => entry.nextHopProtocol))].join()";
    assert_eq!(browser.value(protocols), "h2");
    let count = "performance.getEntriesByType('resource').filter(entry => entry.name.includes('/part/')).length";
    assert_eq!(browser.value(count), 200);
    // Over HTTP/1.1 a browser allows six of these.
    let listen = "window.opened = 0; for (let i = 0; i < 40; i++) \
         new EventSource('/channels/room.' + i).onopen = () => window.opened++; true";
    assert_eq!(browser.value(listen), true);
    browser.until("forty event streams", "window.opened === 40");
    server.reaches("/channels/subscriptions", 40);
    // A browser may open a second connection at first, and closes it again.
    server.reaches("/processes/http2", 1);
    assert_eq!(server.printed_troubles(), "");
}
