//! Bytes to meaning and back: HTTP/1.1, HTTP/2, WebSocket, RESP, NATS, JSON, PROXY protocol, log escaping.
//!
//! Owns every codec of the server. Never does I/O, never reads a clock (time is an argument), never keeps
//! a descriptor. That is what lets the simulator run the whole server and the load generator share it.

pub mod access_log;
pub mod escape;
pub mod h2;
pub mod hpack;
pub mod http;
pub mod json;
pub mod limits;
pub mod nats;
pub mod network;
pub mod proxy;
pub mod proxy_header;
pub mod resp;
pub mod websocket;
