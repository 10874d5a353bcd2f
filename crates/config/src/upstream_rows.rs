//! The keys of `[[upstream]]`.
//!
//! Owns the rows. `upstream_keys` reads them, because the meaning of one depends on others.

use super::key::{SectionKeys, section};

pub(super) static UPSTREAM: SectionKeys = section! {
    "[[upstream]]";
    "name": apart("name"), "must be given", Reload,
        "The name for `proxy` of routes, for logs and for metrics.";
    "servers": apart("list"), "must be given", Reload,
        "The servers: `\"127.0.0.1:9000\"`, `\"app.internal:9000\"` (looked up again every 30 s), \
        `\"unix:/run/app.sock\"`, or `{ address = \"127.0.0.1:9000\", weight = 2 }` for one that gets \
        twice the requests. At most 64.";
    "balance": apart("`\"two-choices\"`, `\"round-robin\"`, `\"least\"` or `\"hash\"`"), "`\"two-choices\"`", Reload,
        "How a server is chosen: of two at random the one with fewer open requests; in turn; the one \
        with the fewest; or the same one for the same value of `hash`.";
    "hash": apart("`\"path\"`, `\"address\"`, `\"field:NAME\"` or `\"cookie:NAME\"`"), "none", Reload,
        "The value for `balance = \"hash\"`. If a server is added or removed, only its own part of the \
        values changes servers. A request without the field or cookie goes to any server.";
    "sticky": apart("name of a cookie"), "none", Reload,
        "Keeps a client at one server with a cookie of this name, as long as that server answers.";
    "tls": apart("true or false"), "`false`", Reload,
        "Connects to the servers over TLS.";
    "ca": apart("path"), "the authorities of the system", Reload,
        "A PEM file with the authorities that may have issued the certificates of the servers.";
    "certificate": apart("path"), "none", Reload,
        "A PEM file with the certificate that is shown to the servers. With `key`.";
    "key": apart("path"), "none", Reload,
        "A PEM file with the private key of `certificate`.";
    "server_name": apart("name"), "that of the address", Reload,
        "The name that the certificates of the servers must have, also sent as the name of the server \
        (SNI). Needed for addresses and Unix sockets.";
    "proxy_protocol": apart("`\"v1\"` or `\"v2\"`"), "none", Reload,
        "Begins each connection to a server with a PROXY header, in front of TLS: the client's address \
        (after `trusted_proxies`), and that of the listener. Each request then has a connection of its \
        own.";
    "connect_timeout": apart("duration above zero"), "`\"5s\"`", Reload,
        "How long a connection may take: looking up the name and the handshakes.";
    "first_byte_timeout": apart("duration above zero"), "`\"60s\"`", Reload,
        "How long the first byte of an answer may take once the request was sent; 504 above.";
    "idle_timeout": apart("duration above zero"), "`\"60s\"`", Reload,
        "How long a server may pause within an answer, or while it reads a request. An event stream \
        without events is a pause; a WebSocket is not.";
    "timeout": apart("duration above zero"), "none", Reload,
        "How long a request may take as a whole, with its answer.";
    "connections": apart("whole number, 1 to 65535"), "`1024`", Reload,
        "The most open requests of a scheduler at one server. More wait.";
    "queue": apart("whole number, 0 to 1000000"), "`1024`", Reload,
        "How many requests of a scheduler may wait for a server; 503 above.";
    "queue_timeout": apart("duration above zero"), "`\"10s\"`", Reload,
        "How long a request may wait for a server; 503 above.";
    "buffer_request": apart("true or false"), "`false`", Reload,
        "Collects the body of a request in memory, up to `body_size` of its route, before a server gets \
        it: a slow client holds no place at a server, and a longer body can be sent again.";
    "retries": apart("whole number, 0 to 10"), "`1`", Reload,
        "How many times a request may go to another server after a failure. Only a request of which \
        nothing was sent, or that does no harm twice: without a body, or with one of at most 64 KiB, \
        and one of GET, HEAD, PUT, DELETE, OPTIONS. All repetitions together are at most a fifth of \
        the requests.";
    "next_on": apart("list of statuses, 400 to 599"), "none", Reload,
        "Answers with one of these statuses count as failures of the server, and the request goes to \
        the next one by the rules of `retries`. If it cannot, the client gets the answer.";
    "failures": apart("whole number, 1 to 1000000"), "`3`", Reload,
        "Failures in a row after which a server gets no requests for `failure_pause`. The last server \
        always gets them.";
    "failure_pause": apart("duration above zero"), "`\"10s\"`", Reload,
        "How long a failed server gets no requests. Then it gets one; if that fails too, the pause is \
        twice as long, up to 32 times.";
    "slow_start": apart("duration above zero"), "none", Reload,
        "How long the share of a server grows that is well again, that was drained, or that a reload \
        has added: from a tenth of its weight to all of it.";
    "slow_after": apart("duration above zero"), "none", Reload,
        "A first byte that takes longer counts as a failure of the server; the client still gets the \
        answer.";
    "check": apart("path"), "none", Reload,
        "Each scheduler requests this path of each server regularly. A server that does not answer well \
        `failures` times in a row gets no requests until it does.";
    "check_interval": apart("duration, 100ms to 1h"), "`\"5s\"`", Reload,
        "How often. Each time is up to a tenth earlier or later, so that the requests of schedulers \
        spread.";
    "check_timeout": apart("duration above zero"), "`\"2s\"`", Reload,
        "How long the whole answer may take.";
    "check_status": apart("whole number, 200 to 599"), "200 to 399", Reload,
        "The status that the answer must have.";
    "check_body": apart("text"), "none", Reload,
        "A text that must be in the first 64 KiB of the answer.";
    "cache": section("table, see below"), "none", Reload,
        "Keeps answers of the servers and uses them again.";
};
