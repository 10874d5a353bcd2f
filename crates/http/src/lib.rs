//! HTTP/1.1 connections as processes: from bytes to a request, from a reply to bytes.
//!
//! Owns the connection's states and deadlines and the shape of a reply. Never touches a socket or a
//! clock, and knows nothing of files: an [`Application`] answers. [`App`] is one with routes and
//! handlers, [`serve`] the shortest one.

mod answering;
mod app;
mod application;
mod connection;
mod framing;
mod function;
mod json;
pub mod limits;
mod log;
mod pending;
mod reply;
mod request;
mod service;
mod settings;
mod shared;
mod stats;
mod stream;

pub use app::{App, AppMessage, Call, Failure, HandlerResult, Response, Running, Server, Stop};
pub use application::{Answer, AnswerContext, Application, BodyPolicy, Intake, Interest};
pub use connection::Connection;
pub use function::{Function, serve};
pub use log::{AccessLine, AccessLog, LogFormat};
pub use reply::Reply;
pub use request::Request;
pub use settings::{ListenerRules, Settings};
pub use shared::Http;
pub use stats::HttpStats;
pub use stream::{Added, Stream};

pub use wire::http::body::BodyLimits;
pub use wire::http::head::{HeadLimits, Version};
pub use wire::http::method::Method;
pub use wire::http::status::Status;
pub use wire::network::Network;
