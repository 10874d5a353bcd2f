//! A module that authorises a client's subscription or message.
//!
//! Owns what it sees of the question: the channel, the message, the claims of the client's token,
//! and the client's request, which may be long ago. Never decides.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use config::HostName;
use http::{Request, Scheme};
use runtime::clock::Now;
use runtime::transport::Agreed;
use script::engine::{self, HostAnswer, PageHost, PageLogLevel, PublishedValue, RequestPart};

use super::host::write_line;
use super::log_gate::GatedWriter;
use super::publications::Publications;
use super::records::StoreRecords;
use super::request_parts::{each_argument, each_cookie, list_headers, list_values};
use super::secured::{self, scheme_of};

/// A name, and a value.
type Field = (Box<str>, Box<[u8]>);

/// The content of a client's request, kept as long as the client is connected.
#[derive(Debug)]
pub struct KeptRequest {
    query: Box<[u8]>,
    fields: Box<[Field]>,
    peer: IpAddr,
    scheme: Scheme,
    secured: Option<Rc<Agreed>>,
    /// The name of its host, if it is one of `[[host]]`.
    site: Option<HostName>,
}

impl KeptRequest {
    /// The head of a request.
    pub fn of(request: &Request<'_>, query: Option<&[u8]>, site: Option<&HostName>) -> Self {
        let fields = request.head.fields.iter();
        Self {
            query: query.unwrap_or_default().into(),
            fields: fields.map(|(name, value)| (name.into(), value.into())).collect(),
            peer: request.peer.address,
            scheme: request.scheme(),
            secured: request.secured.cloned(),
            site: site.cloned(),
        }
    }

    /// Only an address, for a client of another protocol.
    pub fn of_address(peer: IpAddr) -> Self {
        let scheme = Scheme::Http;
        let (query, fields) = (Box::default(), Box::default());
        Self { query, fields, peer, scheme, secured: None, site: None }
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        let fields = self.fields().map(|(name, value)| name.len() + value.len());
        self.query.len() + fields.sum::<usize>()
    }

    fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> + Clone {
        self.fields.iter().map(|(name, value)| (&**name, &**value))
    }
}

/// A client's wish.
#[derive(Clone, Copy, Debug)]
pub enum RequestedAction<'w> {
    /// Subscribe to a channel.
    Subscribe,
    /// Publish a message to a channel.
    Publish {
        /// The message.
        message: &'w [u8],
        /// Whether it is text or JSON.
        value: MessageValue,
    },
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageValue {
    /// Text, or any bytes.
    Text,
    /// JSON.
    Json,
}

/// The host of a module that is asked.
pub struct AskHost<'a> {
    /// The client's wish.
    pub wish: RequestedAction<'a>,
    /// The channel.
    pub channel: &'a str,
    /// The claims of the client's token, in JSON.
    pub claims: Option<&'a str>,
    /// The content of the client's request.
    pub request: &'a KeptRequest,
    /// The writer of the module's log lines.
    pub writer: GatedWriter<'a>,
    /// The turn's time.
    pub now: Now,
    /// Receives the messages it publishes.
    pub publications: &'a Publications,
    /// Reads the store.
    pub records: &'a StoreRecords,
}

impl PageHost for AskHost<'_> {
    fn request(&mut self, part: RequestPart, answer: &mut HostAnswer) {
        let request = self.request;
        match part {
            RequestPart::Method => answer.text(match self.wish {
                RequestedAction::Subscribe => b"SUBSCRIBE",
                RequestedAction::Publish { .. } => b"PUBLISH",
            }),
            RequestPart::Path => answer.text(format!("/channels/{}", self.channel).as_bytes()),
            RequestPart::Rest => answer.text(format!("/{}", self.channel).as_bytes()),
            RequestPart::QueryText => answer.text(&request.query),
            RequestPart::Query => {
                answer.fields();
                each_argument(&request.query, |name, value| answer.field(name, value));
            }
            RequestPart::QueryLists => {
                list_values(answer, |take| each_argument(&request.query, take))
            }
            RequestPart::Headers => list_headers(request.fields(), answer),
            RequestPart::Cookies => {
                answer.fields();
                each_cookie(request.fields(), |name, value| answer.field(name, value));
            }
            RequestPart::CookieLists => {
                list_values(answer, |take| each_cookie(request.fields(), take))
            }
            RequestPart::Peer => answer.text(request.peer.to_string().as_bytes()),
            RequestPart::Scheme => answer.text(scheme_of(request.scheme)),
            RequestPart::Tls => secured::tell(request.secured.as_ref(), answer),
            // The token names the subscriber: `request.claims`.
            RequestPart::User | RequestPart::Id | RequestPart::Trace => {}
            RequestPart::Channel => answer.text(self.channel.as_bytes()),
            RequestPart::Claims => {
                if let Some(claims) = self.claims {
                    answer.text(claims.as_bytes());
                }
            }
            RequestPart::Message => match self.wish {
                RequestedAction::Publish { message, value: MessageValue::Text } => {
                    answer.field(b"text", message);
                }
                RequestedAction::Publish { message, value: MessageValue::Json } => {
                    answer.field(b"json", message);
                }
                RequestedAction::Subscribe => {}
            },
            RequestPart::Body => answer.text(b""),
            RequestPart::Trailers
            | RequestPart::Form
            | RequestPart::FormLists
            | RequestPart::Files => answer.fields(),
        }
    }

    fn now(&mut self) -> Duration {
        Duration::from_millis(self.now.unix_ms())
    }

    fn clock(&mut self) -> Duration {
        Duration::from_nanos(sys::clock::monotonic_ns())
    }

    fn site(&mut self, name: &mut Vec<u8>) {
        if let Some(site) = &self.request.site {
            name.extend_from_slice(site.to_string().as_bytes());
        }
    }

    fn publish(&mut self, channel: &[u8], value: PublishedValue<'_>) -> Result<(), String> {
        self.publications.publish(channel, value)
    }

    fn record(
        &mut self,
        database: &[u8],
        key: &[u8],
        answer: &mut HostAnswer,
    ) -> Result<(), String> {
        self.records.record(database, key, self.now.unix_ms(), answer)
    }

    fn records(
        &mut self,
        wanted: engine::RecordScan<'_>,
        answer: &mut HostAnswer,
    ) -> Result<(), String> {
        self.records.records(wanted, self.now.unix_ms(), answer)
    }

    fn log(&mut self, level: PageLogLevel, text: &[u8]) {
        write_line(level, self.writer, self.channel, text);
    }
}
