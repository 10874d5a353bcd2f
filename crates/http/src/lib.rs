//! HTTP connections and streams as processes: from bytes or values to a request, from a reply to bytes or values.
//!
//! Owns the states and deadlines of a request, whatever carries it, and the shape of a reply. Never touches a socket
//! or a clock, and knows nothing of files: an [`Application`] answers. [`App`] is one with routes and handlers,
//! [`serve`] the shortest one.

mod answer_context;
mod app;
mod application;
mod asked;
mod begun;
mod body_writer;
mod both_versions;
mod connection;
mod encoder;
mod exchange;
mod forwarding;
mod framing;
mod function;
mod h2;
mod h2_streams;
mod json;
pub mod limits;
mod log;
mod mistakable;
mod notes;
mod refused;
mod reply;
mod request;
mod sent;
mod service;
mod settings;
mod shared;
mod slow;
mod stats;
mod stream;
mod time_stamp;
mod times;
pub mod traced;
mod unanswered;
mod waiting;

pub use answer_context::AnswerContext;
pub use app::{App, AppMessage, Call, Failure, HandlerResult, Response, Running, Server, Stop};
pub use application::{Answer, Application, BodyPolicy, ClientInterest, Intake};

pub use body_writer::{Added, BodyWriter};
pub use both_versions::{BothVersions, HttpProcess};
pub use connection::Connection;
pub use encoder::block::HeadBlock;
pub use encoder::{Dating, PassedHead};
pub use function::{Function, serve};
pub use h2::{HTTP2_PROTOCOL, Http2Connection};
pub use log::{AccessLine, AccessLog};
pub use notes::{Notes, ProxiedNotes, TimedAs};
pub use reply::Reply;
pub use request::{Begin, Request};
pub use settings::{HttpSettings, ListenerRules, PriorKnowledge, TrustedProxies};
pub use shared::Http;
pub use slow::SlowRequest;
pub use stats::HttpStats;
pub use stream::Stream;
pub use times::RequestTimes;
pub use unanswered::Unanswered;
pub use waiting::{Patience, Urgency};

pub use wire::access_log::LogFormat;
pub use wire::http::body::BodyLimits;
pub use wire::http::fields::FieldList;
pub use wire::http::forwarded::ForwardingField;
pub use wire::http::head::{Fields, HeadLimits, HttpVersion};
pub use wire::http::kept::{HeadValues, KeptHead, StreamContent};
pub use wire::http::method::Method;
pub use wire::http::status::Status;
pub use wire::http::url::Scheme;
pub use wire::network::{Network, Peers};
