//! The workloads over TLS, their contenders and their targets, as data.
//!
//! Never runs anything.

use crate::bench::contender::{
    Contender, PLAIN, SECURE, SECURE_CADDY, SECURE_HAPROXY, SECURE_NGINX,
};
use crate::bench::sample::Metric;
use crate::bench::target::{Against, Target};
use crate::bench::workload::{Beside, Load, Way, Workload};

const SECURE_FIELD: &[Contender] = &[SECURE_NGINX, SECURE, SECURE_HAPROXY, SECURE_CADDY];

/// The workloads over TLS.
pub(crate) const SECURE_WORKLOADS: &[Workload] = &[
    Workload::new(
        "tls-json",
        "JSON kept alive over TLS, 64 connections",
        "/json",
        Load::Secure { connections: 64, way: Way::Kept },
        &[SECURE_NGINX, SECURE, PLAIN, SECURE_HAPROXY, SECURE_CADDY],
        &[Target::cpu_to("nginx", 0.75), Target::cpu_to("plain", 1.25)],
    ),
    Workload::new(
        "tls-full",
        "JSON, a connection with a full handshake for each request, 16 at a time",
        "/json",
        Load::Secure { connections: 16, way: Way::Full },
        SECURE_FIELD,
        &[Target::cpu_to("nginx", 0.8)],
    ),
    Workload::new(
        "tls-resumed",
        "the same with resumed sessions",
        "/json",
        Load::Secure { connections: 16, way: Way::Resumed },
        SECURE_FIELD,
        &[Target::cpu_to("nginx", 0.8)],
    ),
    Workload::new(
        "tls-file",
        "a file of 1 MiB over TLS, 8 connections",
        "/1024.bin",
        Load::Secure { connections: 8, way: Way::Kept },
        &[SECURE_NGINX, SECURE, SECURE_CADDY],
        &[Target::cpu_to("nginx", 0.9)],
    ),
    Workload::new(
        "tls-flood",
        "JSON kept alive over TLS, 1,000 requests/s, while others begin handshakes as fast as they are \
         answered",
        "/json",
        Load::SecurePaced { connections: 16, rate: 1_000, beside: Beside::Handshakes },
        SECURE_FIELD,
        &[Target::at_most(Metric::LatencyP99, Against::Itself, 5_000.0)],
    ),
    Workload::new(
        "tls-sockets",
        "a message at a time to 1,000 WebSockets over TLS; each delivery is a request",
        "/channels/fan",
        Load::SecureFan { members: 1_000 },
        &[PLAIN, SECURE],
        &[Target::cpu_to("plain", 1.6)],
    ),
    Workload::new(
        "tls-idle",
        "memory of an idle connection over TLS, 15,000 open",
        "/json",
        Load::SecureIdle { connections: 15_000 },
        SECURE_FIELD,
        &[
            Target::at_most(Metric::ResidentBytes, Against::Contender("nginx"), 0.15),
            Target::at_most(Metric::ResidentBytes, Against::Itself, 2_048.0),
        ],
    ),
];
