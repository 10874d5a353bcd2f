//! The workloads over HTTP/2, their contenders and their targets, as data.
//!
//! Never runs anything.

use crate::bench::contender::{
    CLEAR, Contender, OVER_HTTP1, PLAIN, SECURE, SECURE_APACHE, SECURE_CADDY, SECURE_H2O,
    SECURE_HAPROXY, SECURE_NGINX, SOCKETS_BESIDE, STREAMS,
};
use crate::bench::sample::Metric;
use crate::bench::target::{Against, Target};
use crate::bench::workload::{Beside, Load, Way, Workload};

/// The servers whose clients are measured beside others.
const BESIDE: &[Contender] = &[SECURE_NGINX, SECURE_H2O, SECURE];

/// The workloads over HTTP/2.
pub(crate) const STREAM_WORKLOADS: &[Workload] = &[
    Workload::new(
        "h2-json",
        "JSON over HTTP/2 with TLS, 16 connections with 100 streams each",
        "/json",
        Load::Secure { connections: 16, way: Way::Streams(100) },
        &[SECURE_H2O, SECURE, SECURE_NGINX, SECURE_HAPROXY, SECURE_CADDY, SECURE_APACHE],
        &[Target::cpu_to("h2o", 1.0), Target::cpu_to("nginx", 0.4)],
    ),
    Workload::new(
        "h2-one",
        "JSON over HTTP/2 with TLS, 64 connections with one stream at a time, next to HTTP/1.1 with TLS",
        "/json",
        Load::Secure { connections: 64, way: Way::Streams(1) },
        &[OVER_HTTP1, SECURE, SECURE_H2O, SECURE_NGINX],
        &[Target::cpu_to("http1", 1.15)],
    ),
    Workload::new(
        "h2-file",
        "a file of 1 MiB over HTTP/2 with TLS, 8 connections with one stream at a time",
        "/1024.bin",
        Load::Secure { connections: 8, way: Way::Streams(1) },
        &[SECURE_NGINX, SECURE, SECURE_H2O, SECURE_CADDY, SECURE_APACHE],
        &[Target::cpu_to("nginx", 1.0)],
    ),
    Workload::new(
        "h2-events",
        "a message at a time to 1,000 event streams on 10 connections of HTTP/2, next to 1,000 WebSockets; each \
         delivery is a request",
        "/",
        Load::Fan { members: 1_000, lines: 1 },
        &[SOCKETS_BESIDE, STREAMS],
        &[Target::cpu_to("websockets", 1.0)],
    ),
    Workload::new(
        "h2-alone",
        "JSON kept alive over TLS, 1,000 requests/s on 16 connections",
        "/json",
        Load::SecurePaced { connections: 16, rate: 1_000, beside: Beside::Nobody },
        BESIDE,
        &[],
    ),
    Workload::new(
        "h2-beside",
        "the same beside one connection of HTTP/2 with 100 streams that ask for the same all the time",
        "/json",
        Load::SecurePaced { connections: 16, rate: 1_000, beside: Beside::Streams(100) },
        BESIDE,
        &[],
    ),
    Workload::new(
        "h2-idle",
        "memory of an idle connection of HTTP/2 without TLS, 15,000 open, next to HTTP/1.1",
        "/json",
        Load::IdleStreams { connections: 15_000 },
        &[PLAIN, CLEAR],
        &[Target::at_most(Metric::ResidentBytes, Against::Itself, 1_024.0)],
    ),
];
