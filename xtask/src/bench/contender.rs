//! The servers that are compared.
//!
//! Owns their list. `running` starts them.

/// A server that shows the certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecureServer {
    /// `velodrome serve`.
    Velodrome,
    /// The same without TLS.
    Plain,
    /// nginx from the distribution.
    Nginx,
    /// HAProxy from the distribution, which serves no files.
    Haproxy,
    /// Caddy from the distribution.
    Caddy,
    /// h2o from the distribution.
    H2o,
    /// Apache from the distribution, with one process.
    Apache,
    /// `velodrome serve` that is asked over HTTP/1.1 where the others are asked over HTTP/2.
    Http1,
    /// `velodrome serve` without TLS, over HTTP/2 with prior knowledge.
    Clear,
}

impl SecureServer {
    /// The beginning of a URL of it.
    pub(crate) fn scheme(self) -> &'static str {
        if matches!(self, SecureServer::Plain | SecureServer::Clear) { "http" } else { "https" }
    }

    /// The version in which a workload of HTTP/2 asks it.
    pub(crate) fn version(self) -> Version {
        match self {
            SecureServer::Http1 | SecureServer::Plain => Version::Http1,
            _ => Version::Http2,
        }
    }
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Http1,
    Http2,
}

/// A proxy, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// Our server answers by itself.
    None,
    Ours,
    /// With answers in memory.
    OursCached,
    /// With answers on a disk alone.
    OursOnDisk,
    Nginx,
    /// With `proxy_cache`.
    NginxCached,
    Ha,
}

/// How a contender is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// The do-nothing server with its mode and the size of its body.
    Floor { mode: &'static str, body_bytes: usize },
    /// A program of examples/, which takes its address as first argument.
    Example(&'static str),
    /// `velodrome serve` on the folder of the site.
    Serve,
    /// `velodrome serve` with a channel, whose members use this protocol.
    Channels { protocol: &'static str },
    /// Redis from the distribution.
    Redis,
    /// `velodrome serve` with a store and this `sync` setting.
    Store { sync: &'static str },
    /// Redis as a store, with this `appendfsync` setting; `never` means without a log.
    RedisStore { fsync: &'static str },
    /// memcached from the distribution.
    Memcached,
    /// NATS from the distribution.
    Nats,
    /// nginx from the distribution with its module nchan.
    Nchan,
    /// nginx from the distribution, with a configuration of its own.
    Nginx,
    /// A server of the workloads over TLS.
    Secure(SecureServer),
    /// A proxy, or our server without one, before a server whose answers have this many bytes.
    Proxied { proxy: Proxy, body_bytes: usize },
    /// yaws from the distribution, for pages only.
    Yaws,
    /// A program given on the command line, which takes its address as first argument.
    Given { program: &'static str },
}

impl Start {
    /// The protocol of members of a broadcast, as `floor-fan` names it.
    pub(crate) fn protocol(self) -> &'static str {
        match self {
            Start::Channels { protocol } => protocol,
            Start::Redis => "resp",
            Start::Nats => "nats",
            Start::Nchan => "nchan",
            _ => "lines",
        }
    }

    /// Whether an HTTP request shows that it runs; otherwise a line that it echoes.
    pub(crate) fn answers(self) -> bool {
        !matches!(
            self,
            Start::Channels { protocol: "resp" } | Start::Redis | Start::Nats | Start::Secure(_)
        )
    }
}

/// One server in a comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) start: Start,
}

impl Contender {
    /// A contender given on the command line as `NAME=PROGRAM`; `None` if it does not have that form. Its strings are
    /// kept until the end of this program.
    pub(crate) fn given(text: &str) -> Option<Contender> {
        let kept = |word: &str| -> &'static str { Box::leak(word.to_owned().into_boxed_str()) };
        let (name, program) = text.split_once('=')?;
        let is_whole = !name.is_empty() && !program.is_empty();
        let start = Start::Given { program: kept(program) };
        is_whole.then(|| Contender { name: kept(name), start })
    }
}

const JSON_BODY_BYTES: usize = 27;

/// Bytes of a value in comparisons of stores: a usual size.
pub(crate) const VALUE_BYTES: usize = 100;

/// The size of the file of workload (d): an ordinary small page.
pub(crate) const FILE_BYTES: usize = 1_406;

pub(crate) const FLOOR_KEPT: Contender = floor("kept", JSON_BODY_BYTES);
/// Also keeps connections of clients that send `Connection: keep-alive`.
pub(crate) const FLOOR_PERSISTENT: Contender = floor("persistent", JSON_BODY_BYTES);
pub(crate) const FLOOR_PIPELINED: Contender = floor("pipelined", JSON_BODY_BYTES);
pub(crate) const FLOOR_SHORT: Contender = floor("short", JSON_BODY_BYTES);
/// Answers every RESP command with the same value.
pub(crate) const FLOOR_RESP: Contender = floor("resp", VALUE_BYTES);
/// Sends each message to all connections.
pub(crate) const FLOOR_HUB: Contender = floor("hub", 0);
/// Answers once per millisecond: it sets the rate, whichever client keeps up with it.
pub(crate) const FLOOR_TICKING: Contender = floor("ticking", JSON_BODY_BYTES);
/// Stalls for a tenth of every second.
pub(crate) const FLOOR_STALLING: Contender = floor("stalling", JSON_BODY_BYTES);
/// Sends as many body bytes as the file has, so that only serving the file differs.
pub(crate) const FLOOR_FILE: Contender = floor("kept", FILE_BYTES);
pub(crate) const JSON: Contender = Contender { name: OURS, start: Start::Example("json") };
pub(crate) const CHAT: Contender = Contender { name: OURS, start: Start::Example("chat") };
pub(crate) const SERVE: Contender = Contender { name: OURS, start: Start::Serve };
pub(crate) const SOCKETS: Contender = channels(OURS, "websocket");
pub(crate) const EVENTS: Contender = channels("as events", "events");
pub(crate) const RESP: Contender = channels("as RESP", "resp");
pub(crate) const REDIS: Contender = Contender { name: "redis", start: Start::Redis };
pub(crate) const NATS: Contender = Contender { name: "nats", start: Start::Nats };
pub(crate) const NCHAN: Contender = Contender { name: "nchan", start: Start::Nchan };
pub(crate) const NGINX: Contender = Contender { name: "nginx", start: Start::Nginx };

pub(crate) const SECURE: Contender = secure(OURS, SecureServer::Velodrome);
/// Ours without TLS.
pub(crate) const PLAIN: Contender = secure("plain", SecureServer::Plain);
pub(crate) const SECURE_NGINX: Contender = secure("nginx", SecureServer::Nginx);
pub(crate) const SECURE_HAPROXY: Contender = secure("haproxy", SecureServer::Haproxy);
pub(crate) const SECURE_CADDY: Contender = secure("caddy", SecureServer::Caddy);
pub(crate) const SECURE_H2O: Contender = secure("h2o", SecureServer::H2o);
pub(crate) const SECURE_APACHE: Contender = secure("apache", SecureServer::Apache);
/// Ours over HTTP/1.1.
pub(crate) const OVER_HTTP1: Contender = secure("http1", SecureServer::Http1);
/// Ours over HTTP/2 without TLS.
pub(crate) const CLEAR: Contender = secure(OURS, SecureServer::Clear);
/// A hundred event streams on each connection.
pub(crate) const STREAMS: Contender = channels(OURS, "streams");
/// A WebSocket on each connection.
pub(crate) const SOCKETS_BESIDE: Contender = channels("websockets", "websocket");

/// The contender that targets are about.
pub(crate) const OURS: &str = "velodrome";

const fn secure(name: &'static str, server: SecureServer) -> Contender {
    Contender { name, start: Start::Secure(server) }
}

const fn channels(name: &'static str, protocol: &'static str) -> Contender {
    Contender { name, start: Start::Channels { protocol } }
}

const fn floor(mode: &'static str, body_bytes: usize) -> Contender {
    Contender { name: "floor", start: Start::Floor { mode, body_bytes } }
}

/// The same JSON through each proxy.
pub(crate) const PROXIES: &[Contender] = &[
    proxied("direct", Proxy::None, JSON_BODY_BYTES),
    proxied(OURS, Proxy::Ours, JSON_BODY_BYTES),
    proxied("nginx", Proxy::Nginx, JSON_BODY_BYTES),
    proxied("haproxy", Proxy::Ha, JSON_BODY_BYTES),
];

const LONG_BYTES: usize = 1024 * 1024;

/// A long body through each proxy.
pub(crate) const LONG_PROXIES: &[Contender] = &[
    proxied("nginx", Proxy::Nginx, LONG_BYTES),
    proxied(OURS, Proxy::Ours, LONG_BYTES),
    proxied("haproxy", Proxy::Ha, LONG_BYTES),
];

/// A short answer to an upload through each proxy.
pub(crate) const UPLOAD_PROXIES: &[Contender] = &[
    proxied("nginx", Proxy::Nginx, JSON_BODY_BYTES),
    proxied(OURS, Proxy::Ours, JSON_BODY_BYTES),
    proxied("haproxy", Proxy::Ha, JSON_BODY_BYTES),
];

/// The same JSON from each cache.
pub(crate) const CACHES: &[Contender] = &[
    proxied("direct", Proxy::None, JSON_BODY_BYTES),
    proxied(OURS, Proxy::OursCached, JSON_BODY_BYTES),
    proxied("ours-disk", Proxy::OursOnDisk, JSON_BODY_BYTES),
    proxied("ours-miss", Proxy::Ours, JSON_BODY_BYTES),
    proxied("nginx", Proxy::NginxCached, JSON_BODY_BYTES),
];

/// A long body from each cache.
pub(crate) const LONG_CACHES: &[Contender] = &[
    proxied("nginx", Proxy::NginxCached, LONG_BYTES),
    proxied(OURS, Proxy::OursCached, LONG_BYTES),
    proxied("ours-disk", Proxy::OursOnDisk, LONG_BYTES),
];

const fn proxied(name: &'static str, proxy: Proxy, body_bytes: usize) -> Contender {
    Contender { name, start: Start::Proxied { proxy, body_bytes } }
}
