//! The configured limits and deadlines of a connection.

use std::sync::Arc;

use runtime::clock::milliseconds;
use wire::http::body::BodyLimits;
use wire::http::head::HeadLimits;
use wire::network::Network;

use crate::limits;

/// Limits and deadlines of every connection of a server.
///
/// ```
/// use http::Settings;
///
/// let settings = Settings { requests_per_connection: Some(1_000), ..Settings::default() };
/// assert_eq!(settings.keep_alive_ms, Some(75_000));
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
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
    /// What each listener requires of its connections, in their order. Further listeners require nothing.
    pub listeners: Vec<ListenerRules>,
}

/// What a listener requires of its connections.
///
/// ```
/// use http::{App, ListenerRules, Response, Settings};
/// use world::Stage;
///
/// let from = |networks: &[&str]| {
///     networks.iter().map(|network| network.parse().expect("a network")).collect()
/// };
/// let rules = ListenerRules { proxy_protocol_from: from(&["0.0.0.0/0"]) };
/// let settings = Settings { listeners: vec![rules], ..Settings::default() };
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
}

impl Default for Settings {
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
        }
    }
}
