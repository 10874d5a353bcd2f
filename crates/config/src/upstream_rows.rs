//! The keys of `[[upstream]]`.
//!
//! Owns the rows. `upstream_keys` reads them, because the meaning of one depends on others.

use super::key::{Absent, ChangeEffect, ConfigKey, SectionKeys, Value};

/// A row that `upstream_keys` or `upstream_cache` reads.
pub(super) const fn key(
    name: &'static str,
    takes: &'static str,
    absent: &'static str,
    text: &'static str,
) -> ConfigKey {
    ConfigKey {
        name,
        value: Value::Apart { takes },
        absent: Absent::Words(absent),
        change: ChangeEffect::Reload,
        text,
    }
}

pub(super) static UPSTREAM: SectionKeys = SectionKeys {
    name: "[[upstream]]",
    own: &[
        key(
            "name",
            "name",
            "must be given",
            "The name for `proxy` of routes, for logs and for metrics.",
        ),
        key(
            "servers",
            "list",
            "must be given",
            "The servers: `\"127.0.0.1:9000\"`, `\"app.internal:9000\"` (looked up again every 30 s), \
             `\"unix:/run/app.sock\"`, or `{ address = \"127.0.0.1:9000\", weight = 2 }` for one that gets \
             twice the requests. At most 64.",
        ),
        key(
            "balance",
            "`\"two-choices\"`, `\"round-robin\"`, `\"least\"` or `\"hash\"`",
            "`\"two-choices\"`",
            "How a server is chosen: of two at random the one with fewer open requests; in turn; the one \
             with the fewest; or the same one for the same value of `hash`.",
        ),
        key(
            "hash",
            "`\"path\"`, `\"address\"`, `\"field:NAME\"` or `\"cookie:NAME\"`",
            "none",
            "The value for `balance = \"hash\"`. If a server is added or removed, only its own part of the \
             values changes servers. A request without the field or cookie goes to any server.",
        ),
        key(
            "sticky",
            "name of a cookie",
            "none",
            "Keeps a client at one server with a cookie of this name, as long as that server answers.",
        ),
        key("tls", "true or false", "`false`", "Connects to the servers over TLS."),
        key(
            "ca",
            "path",
            "the authorities of the system",
            "A PEM file with the authorities that may have issued the certificates of the servers.",
        ),
        key(
            "certificate",
            "path",
            "none",
            "A PEM file with the certificate that is shown to the servers. With `key`.",
        ),
        key("key", "path", "none", "A PEM file with the private key of `certificate`."),
        key(
            "server_name",
            "name",
            "that of the address",
            "The name that the certificates of the servers must have, also sent as the name of the server \
             (SNI). Needed for addresses and Unix sockets.",
        ),
        key(
            "proxy_protocol",
            "`\"v1\"` or `\"v2\"`",
            "none",
            "Begins each connection to a server with a PROXY header, in front of TLS: the client's address \
             (after `trusted_proxies`), and that of the listener. Each request then has a connection of its \
             own.",
        ),
        key(
            "connect_timeout",
            "duration above zero",
            "`\"5s\"`",
            "How long a connection may take: looking up the name and the handshakes.",
        ),
        key(
            "first_byte_timeout",
            "duration above zero",
            "`\"60s\"`",
            "How long the first byte of an answer may take once the request was sent; 504 above.",
        ),
        key(
            "idle_timeout",
            "duration above zero",
            "`\"60s\"`",
            "How long a server may pause within an answer, or while it reads a request. An event stream \
             without events is a pause; a WebSocket is not.",
        ),
        key(
            "timeout",
            "duration above zero",
            "none",
            "How long a request may take as a whole, with its answer.",
        ),
        key(
            "connections",
            "whole number, 1 to 65535",
            "`1024`",
            "The most open requests of a scheduler at one server. More wait.",
        ),
        key(
            "queue",
            "whole number, 0 to 1000000",
            "`1024`",
            "How many requests of a scheduler may wait for a server; 503 above.",
        ),
        key(
            "queue_timeout",
            "duration above zero",
            "`\"10s\"`",
            "How long a request may wait for a server; 503 above.",
        ),
        key(
            "buffer_request",
            "true or false",
            "`false`",
            "Collects the body of a request in memory, up to `body_size` of its route, before a server gets \
             it: a slow client holds no place at a server, and a longer body can be sent again.",
        ),
        key(
            "retries",
            "whole number, 0 to 10",
            "`1`",
            "How many times a request may go to another server after a failure. Only a request of which \
             nothing was sent, or that does no harm twice: without a body, or with one of at most 64 KiB, \
             and one of GET, HEAD, PUT, DELETE, OPTIONS. All repetitions together are at most a fifth of \
             the requests.",
        ),
        key(
            "next_on",
            "list of statuses, 400 to 599",
            "none",
            "Answers with one of these statuses count as failures of the server, and the request goes to \
             the next one by the rules of `retries`. If it cannot, the client gets the answer.",
        ),
        key(
            "failures",
            "whole number, 1 to 1000000",
            "`3`",
            "Failures in a row after which a server gets no requests for `failure_pause`. The last server \
             always gets them.",
        ),
        key(
            "failure_pause",
            "duration above zero",
            "`\"10s\"`",
            "How long a failed server gets no requests. Then it gets one; if that fails too, the pause is \
             twice as long, up to 32 times.",
        ),
        key(
            "slow_start",
            "duration above zero",
            "none",
            "How long the share of a server grows that is well again, that was drained, or that a reload \
             has added: from a tenth of its weight to all of it.",
        ),
        key(
            "slow_after",
            "duration above zero",
            "none",
            "A first byte that takes longer counts as a failure of the server; the client still gets the \
             answer.",
        ),
        key(
            "check",
            "path",
            "none",
            "Each scheduler requests this path of each server regularly. A server that does not answer well \
             `failures` times in a row gets no requests until it does.",
        ),
        key(
            "check_interval",
            "duration, 100ms to 1h",
            "`\"5s\"`",
            "How often. Each time is up to a tenth earlier or later, so that the requests of schedulers \
             spread.",
        ),
        key(
            "check_timeout",
            "duration above zero",
            "`\"2s\"`",
            "How long the whole answer may take.",
        ),
        key(
            "check_status",
            "whole number, 200 to 599",
            "200 to 399",
            "The status that the answer must have.",
        ),
        key("check_body", "text", "none", "A text that must be in the first 64 KiB of the answer."),
        ConfigKey {
            name: "cache",
            value: Value::Section { takes: "table, see below" },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "Keeps answers of the servers and uses them again.",
        },
    ],
    shared: &[],
    shared_in: "",
};
