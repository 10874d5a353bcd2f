//! The configured limits and deadlines of a connection.

use std::net::IpAddr;
use std::sync::Arc;

use runtime::clock::milliseconds;
use wire::http::body::BodyLimits;
use wire::http::forwarded::ForwardingField;
use wire::http::head::HeadLimits;
use wire::network::{Network, Peers};

use crate::limits;

/// Limits and deadlines of every connection of a server.
///
/// ```
/// use http::HttpSettings;
///
/// let settings = HttpSettings { requests_per_connection: Some(1_000), ..HttpSettings::default() };
/// assert_eq!(settings.keep_alive_ms, Some(75_000));
/// ```
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Limits of a request head.
    pub head: HeadLimits,
    /// Limits of chunk extensions and trailers. The limit of the body comes from the application.
    pub body: BodyLimits,
    /// Bytes of an unwanted body that are read so that the connection can continue.
    pub unread_body_size: u64,
    /// Milliseconds for a whole head, from its first byte or from the accept.
    pub header_deadline_ms: u64,
    /// Milliseconds that a body may pause.
    pub body_idle_ms: u64,
    /// Bytes per second that a body must bring after that time.
    pub body_rate: u64,
    /// Milliseconds that an idle connection is kept; `None` for no limit.
    pub keep_alive_ms: Option<u64>,
    /// Requests answered on one connection; `None` for no limit.
    pub requests_per_connection: Option<u32>,
    /// Milliseconds that an application may make a request wait.
    pub answer_deadline_ms: u64,
    /// The requirements of each listener on its connections, in their order. Further listeners require nothing.
    pub listeners: Vec<ListenerRules>,
    /// Nanoseconds from which on the application is told of a request that took so long; `None`: it is told of none.
    pub slow_ns: Option<u64>,
    /// The proxies that are trusted to tell who their clients are.
    pub trusted: TrustedProxies,
}

/// The proxies in front of the server, and by which fields they tell who their clients are. The fields of all others
/// are removed.
///
/// ```
/// use http::{App, Response, HttpSettings, TrustedProxies};
/// use world::Stage;
///
/// let peers = ["0.0.0.0/0".parse().expect("a network")].into();
/// let trusted = TrustedProxies { peers, ..TrustedProxies::default() };
/// let settings = HttpSettings { trusted, ..HttpSettings::default() };
/// let app = || App::new(()).get("/", |call| Ok(Response::text(call.request().peer.address.to_string())));
/// let mut stage = Stage::new(1, || http::Http::new(app(), settings.clone().into(), None));
/// let client = stage.connect();
/// let fields = "Host: a\r\nX-Forwarded-For: 2001:db8::7\r\n";
/// let answer = stage.exchange(client, &format!("GET / HTTP/1.1\r\n{fields}\r\n"));
/// assert!(answer.ends_with("2001:db8::7"), "{answer}");
/// ```
#[derive(Clone, Debug)]
pub struct TrustedProxies {
    /// Their addresses.
    pub peers: Arc<[Peers]>,
    /// The fields that count.
    pub fields: Arc<[ForwardingField]>,
}

impl TrustedProxies {
    /// Whether one of them has this address.
    pub fn contain(&self, address: IpAddr) -> bool {
        self.peers.iter().any(|peers| peers.contain(address))
    }
}

impl Default for TrustedProxies {
    fn default() -> Self {
        Self { peers: Arc::from([]), fields: Arc::from(ForwardingField::ALL) }
    }
}

/// The requirement of a listener on its connections.
///
/// ```
/// use http::{App, ListenerRules, Response, HttpSettings};
/// use world::Stage;
///
/// let from = |networks: &[&str]| {
///     networks.iter().map(|network| network.parse().expect("a network")).collect()
/// };
/// let rules = ListenerRules { proxy_protocol_from: from(&["0.0.0.0/0"]), ..ListenerRules::default() };
/// let settings = HttpSettings { listeners: vec![rules], ..HttpSettings::default() };
/// let app = || App::new(()).get("/", |call| Ok(Response::text(call.request().peer.address.to_string())));
/// let mut stage = Stage::new(1, || http::Http::new(app(), settings.clone().into(), None));
/// let client = stage.connect();
/// let header = "PROXY TCP4 192.0.2.7 198.51.100.1 4242 80\r\n";
/// let answer = stage.exchange(client, &format!("{header}GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
/// assert!(answer.contains("192.0.2.7"), "{answer}");
/// ```
#[derive(Clone, Debug, Default)]
pub struct ListenerRules {
    /// Networks whose PROXY header is trusted, and required. Empty: no header is expected.
    pub proxy_protocol_from: Arc<[Network]>,
    /// Whether a connection without encryption may begin with HTTP/2.
    pub prior_knowledge: PriorKnowledge,
}

/// Whether a client of a listener without encryption may begin with the preface of HTTP/2 (RFC 9113, 3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PriorKnowledge {
    /// No: it is answered like any unknown method.
    #[default]
    Refused,
    /// Yes.
    Served,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            head: HeadLimits::default(),
            body: BodyLimits::default(),
            unread_body_size: limits::UNREAD_BODY_SIZE,
            header_deadline_ms: milliseconds(limits::HEADER_DEADLINE),
            body_idle_ms: milliseconds(limits::BODY_IDLE),
            body_rate: limits::BODY_RATE,
            keep_alive_ms: Some(milliseconds(limits::KEEP_ALIVE)),
            requests_per_connection: None,
            answer_deadline_ms: milliseconds(limits::ANSWER_DEADLINE),
            listeners: Vec::new(),
            slow_ns: None,
            trusted: TrustedProxies::default(),
        }
    }
}
