//! The part of a configuration on other servers that answer requests: `[[upstream]]`, and `proxy` of a route.
//!
//! Owns the shape. `upstream` and `proxy_route` read it. Never looks up a name.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wire::proxy_header::ProxyVersion;

use crate::model::header::HeaderEdits;
use crate::problem::TextPosition;

/// One `[[upstream]]`: servers of which any may answer a request.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamSettings {
    /// Its place in the file.
    pub place: TextPosition,
    /// Its name, for routes.
    pub name: String,
    /// The servers; at least one.
    pub servers: Vec<UpstreamServer>,
    /// How a server is chosen.
    pub balance: BalanceMethod,
    /// The cookie that keeps a client at one server.
    pub sticky: Option<String>,
    /// How connections are encrypted; `None`: they are plain.
    pub tls: Option<UpstreamTls>,
    /// The version of HTTP that is spoken with servers.
    pub version: UpstreamVersion,
    /// How servers are told of clients before the first byte; `None`: they are not.
    pub proxy_protocol: Option<ProxyVersion>,
    /// How long its exchanges may take.
    pub timeouts: UpstreamTimeouts,
    /// The most requests at a time of one scheduler to one server.
    pub connections: u64,
    /// How many requests of a scheduler may wait for a server.
    pub queue: u64,
    /// How long a request may wait for a server.
    pub queue_timeout: Duration,
    /// Whether a server gets a request when its body is complete, or while it arrives.
    pub bodies: ProxiedBodies,
    /// How many times a request may be sent again.
    pub retries: u64,
    /// Statuses with which an answer counts as a failure of its server.
    pub next_on: Vec<u16>,
    /// How long the share of a server grows that is well again; `None`: it has all of it at once.
    pub slow_start: Option<Duration>,
    /// When a server counts as failed.
    pub health: PassiveHealth,
    /// How servers are asked whether they are well; `None`: they are not.
    pub check: Option<ActiveCheck>,
    /// Which of its answers are stored; `None`: none.
    pub cache: Option<UpstreamCache>,
}

impl UpstreamSettings {
    /// The directory of its cache, if that has one.
    pub fn cache_directory(&self) -> Option<&Path> {
        self.cache.as_ref()?.disk.as_ref().map(|disk| &*disk.directory)
    }
}

/// Which answers of an upstream are stored, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamCache {
    /// Bytes of memory, of all schedulers together.
    pub memory: u64,
    /// The longest body that is stored, in bytes.
    pub object: u64,
    /// The disk that stores answers, too; `None`: there is none.
    pub disk: Option<CacheDisk>,
    /// The parts that distinguish requests.
    pub key: CacheKey,
    /// How long an answer is fresh that says nothing of it; `None`: it is not stored.
    pub default_ttl: Option<Duration>,
    /// The same for an answer with an error; zero: it is not stored.
    pub error_ttl: Option<Duration>,
    /// Whether freshness is guessed by `Last-Modified`.
    pub heuristic: bool,
    /// How long a stale answer is used while it is validated.
    pub stale_while_revalidate: Duration,
    /// How long a stale answer is used if the servers fail.
    pub stale_if_error: Duration,
    /// Whether answers with `Set-Cookie` are stored, without that field.
    pub remove_set_cookie: bool,
    /// Whether `Cache-Control` of requests counts.
    pub obey_requests: bool,
    /// How long a request waits for the answer to another one.
    pub wait: Duration,
    /// The report of answers on the cache.
    pub report: CacheReport,
}

/// The part of a cache on a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDisk {
    /// Its directory, which nothing else uses.
    pub directory: PathBuf,
    /// Bytes that its files may use.
    pub size: u64,
    /// How many files there may be.
    pub files: u64,
    /// The longest body, in bytes.
    pub object: u64,
}

/// The parts of a request that distinguish it in a cache, besides its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheKey {
    /// `http` or `https`.
    pub scheme: bool,
    /// The host and its port.
    pub host: bool,
    /// The query.
    pub query: bool,
}

/// The contents of `Cache-Status` in answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheReport {
    /// Nothing.
    Off,
    /// The action of the cache.
    Short,
    /// The same, and for which key.
    Full,
}

/// How servers are asked whether they are well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveCheck {
    /// The path that is requested.
    pub path: String,
    /// How often.
    pub interval: Duration,
    /// How long the answer may take.
    pub timeout: Duration,
    /// The status that it must have; `None`: 200 to 399.
    pub status: Option<u16>,
    /// The text that must be in it.
    pub body: Option<String>,
}

/// One server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UpstreamServer {
    /// Where it is.
    pub address: ServerAddress,
    /// Its part of the requests, compared with that of the others.
    pub weight: u16,
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ServerAddress {
    /// An address and a port.
    Tcp(IpAddr, u16),
    /// A name, in lower case, which is looked up while the server runs; and a port.
    Name(String, u16),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(IpAddr::V6(address), port) => write!(out, "[{address}]:{port}"),
            Self::Tcp(address, port) => write!(out, "{address}:{port}"),
            Self::Name(name, port) => write!(out, "{name}:{port}"),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

/// How a server is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BalanceMethod {
    /// Two at random, and of these the one with fewer open requests.
    TwoChoices,
    /// In turn.
    RoundRobin,
    /// The one with the fewest open requests.
    Least,
    /// The same server for the same value.
    Hash(HashBy),
}

/// The value that a server is chosen by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HashBy {
    /// The path of the request.
    Path,
    /// The address of the client.
    Address,
    /// A header field of the request, in lower case.
    Field(String),
    /// A cookie of the request.
    Cookie(String),
}

/// When a server gets a request with a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProxiedBodies {
    /// While the body arrives.
    #[default]
    Streamed,
    /// When it is complete.
    Buffered,
}

/// The version of HTTP that is spoken with servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UpstreamVersion {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2: where the handshake of TLS agrees on it, and always without TLS.
    Http2,
}

/// How connections to servers are encrypted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpstreamTls {
    /// The file with the authorities that are trusted; `None`: those of the system.
    pub authorities: Option<PathBuf>,
    /// The certificate that is shown, and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The name that a server's certificate must have; `None`: that of its address.
    pub server_name: Option<String>,
}

impl UpstreamTls {
    /// The files that it names.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let own = self.certificate.iter().flat_map(|(certificate, key)| [certificate, key]);
        self.authorities.iter().chain(own).map(PathBuf::as_path)
    }
}

/// How long the parts of an exchange may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpstreamTimeouts {
    /// The lookup of a name and the handshakes of a connection.
    pub connect: Duration,
    /// From the end of the request to the first byte of the answer.
    pub first_byte: Duration,
    /// Between two bytes.
    pub idle: Duration,
    /// All of it; `None`: no limit.
    pub whole: Option<Duration>,
}

/// When a server counts as failed by what its requests meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassiveHealth {
    /// Failures one after the other.
    pub failures: u64,
    /// How long it then gets no requests; doubled each time that it fails again at once.
    pub pause: Duration,
    /// A first byte that takes longer than this counts as a failure; `None`: it does not.
    pub slow_after: Option<Duration>,
}

/// `proxy` of a route: the requests go to a server of an upstream.
#[derive(Debug, Clone, PartialEq)]
pub struct ProxyRoute {
    /// The place of the key in the file.
    pub place: TextPosition,
    /// The name of the upstream.
    pub upstream: String,
    /// The path that a server gets.
    pub path: ProxiedPath,
    /// Whether the cache of the upstream is used.
    pub cached: bool,
    /// Changes to the fields of a request.
    pub request_headers: HeaderEdits,
    /// Changes to the fields of an answer.
    pub response_headers: HeaderEdits,
    /// Statuses of answers in place of which the client gets the site's error page.
    pub intercept_errors: Vec<u16>,
    /// Protocols to which a connection may change, in lower case.
    pub upgrade: Vec<String>,
}

/// `forward_auth` of a route: a server of an upstream says whether a request may pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardAuth {
    /// The place of the key in the file.
    pub place: TextPosition,
    /// The name of the upstream.
    pub upstream: String,
    /// The path that is asked for, perhaps with a query.
    pub path: String,
    /// Names of fields of its answer that the request gets, in lower case.
    pub copy: Vec<String>,
}

/// The path that a server gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProxiedPath {
    /// All of it.
    #[default]
    Whole,
    /// The part of the path behind the prefix of the route.
    Rest,
}
