//! Goal: pages fetch over HTTP/2 where the other server takes it, and over HTTP/1.1 where not, without a difference in
//! what they get. Method: pages of one server that fetch from another one of ours.

use std::net::SocketAddr;
use std::thread;

use crate::server::client::text;
use crate::server::{Plan, Server};
use crate::site::{ENCRYPTED, encrypted};

/// Tells what was spoken, and sends back what it got.
const ORIGIN: &str = "<% if request.query.wait then sleep(0.3) end \
    response.headers['x-spoken'] = request.tls.protocol response:write(request.body or '') -%>";

const FETCH: &str = "<% local answer, why = fetch(request.query.url, \
    { body = request.query.size and ('x'):rep(tonumber(request.query.size)), stream = true }) \
    if not answer then response:write(why) return end \
    local size = 0 for piece in answer:pieces() do size = size + #piece end \
    response:write(answer.status, ' ', answer.headers['x-spoken'] or '-', ' ', size) -%>";

/// The fetched server with these keys of its listener, and one whose pages fetch from it.
fn sides(keys: &str) -> (Server, Server, SocketAddr) {
    let plan = Plan::new().config(&format!("{ENCRYPTED}{keys}")).argument("--schedulers=1");
    let plan = plan.file("origin.page.txt", ORIGIN).file("large.bin", vec![b'x'; 3_000_000]);
    let (origin, address, ca) = encrypted(plan);
    let config = format!("[pages]\nfetch_ca = \"{}\"\n", ca.display());
    let plan = Plan::new().config(&config).argument("--schedulers=1");
    (origin, plan.file("fetch.page.txt", FETCH).start(), address)
}

fn fetch(server: &Server, address: SocketAddr, path: &str) -> String {
    let url = format!("/fetch?url=https://localhost:{}{path}", address.port());
    text(&server.get(&url)).to_owned()
}

#[test]
fn a_page_fetches_over_the_version_that_the_other_server_takes() {
    for (keys, spoken) in [("", "h2"), ("http2 = false\n", "http/1.1")] {
        let (_origin, server, address) = sides(keys);
        for _ in 0..2 {
            assert_eq!(fetch(&server, address, "/origin"), format!("200 {spoken} 0"));
            let echoed = fetch(&server, address, "/origin&size=700000");
            assert_eq!(echoed, format!("200 {spoken} 700000"), "{}", server.printed_errors());
        }
        assert_eq!(fetch(&server, address, "/large.bin"), "200 - 3000000");
        assert_eq!(fetch(&server, address, "/none").split(' ').next(), Some("404"));
    }
}

#[test]
fn fetches_of_a_scheduler_share_one_connection() {
    let (origin, server, address) = sides("");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let page = fetch(&server, address, "/origin%3Fwait=1");
                assert_eq!(page, "200 h2 0", "{}", server.printed_errors());
            });
        }
    });
    assert_eq!(origin.count("/network/accepts"), 1);
}
