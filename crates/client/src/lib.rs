//! The HTTP client of a scheduler: requests to other servers over connections, plain or with TLS, that the scheduler
//! opens and keeps.
//!
//! It speaks HTTP/1.1, one exchange after the other on a connection, and HTTP/2 (`h2`), many at once, where a handshake
//! agrees on it or the server is known to.
//!
//! Owns an exchange from its request to the end of its answer or its failure: names, the pool of connections of each
//! [`ServerOrigin`], deadlines, retries, and how much of a body is held in each direction. A requester is a process of
//! the same scheduler or the service itself ([`Requester`]); it is woken when there is [`ExchangeNews`]. Makes no
//! system call: a helper resolves names, and the runtime opens connections. Knows nothing of pages, proxies or
//! configuration; a request carries what it may reach.
//!
//! A service that uses it: keeps one [`Client`], makes [`Outbound`] one of its kinds of process and hands it input and
//! events, passes [`Client::on_connect`] and [`Client::transport`], sends the [`questions`](Client::questions) to a
//! [`NameHelper`] and its answers to [`Client::learn`], and calls [`Client::end_turn`] at the end of each turn.

mod answer_fault;
mod begun;
mod behind;
mod body;
mod client;
mod deadlines;
mod events;
mod exchange;
mod failure;
mod forward;
mod framed;
mod h2;
mod head;
mod helper;
mod id;
mod incoming;
mod led;
pub mod limits;
mod names;
mod news;
mod origin;
mod outbound;
mod outgoing;
mod pool;
mod reach;
mod request;
mod secure;
mod sessions;
mod shared;
mod stats;
mod table;
mod traffic;
mod url;
mod version;
mod way;

pub use answer_fault::AnswerFault;
pub use body::{BodyLength, ContinueWait, OutgoingBody, TrailedBody};
pub use client::{Client, ClientBounds};
pub use deadlines::Deadlines;
pub use exchange::Held;
pub use failure::{Deadline, ExchangeFailure, FailureAt};
pub use forward::{Forward, ForwardTarget};
pub use head::HeadWriter;
pub use helper::{NameHelper, ResolvedName};
pub use id::{ExchangeId, Requester};
pub use names::{FoundAddresses, NameLookup};
pub use news::{ExchangeNews, ResponseHead};
pub use origin::{OriginHost, OriginTransport, ServerOrigin};
pub use outbound::Outbound;
pub use reach::{Anywhere, Reach};
pub use request::OutgoingRequest;
pub use stats::ClientStats;
pub use url::{Url, UrlError};
pub use version::{HTTP1, HTTP2};
