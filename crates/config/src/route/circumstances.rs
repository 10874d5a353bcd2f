//! The parts of a request beyond its host, method, path and query.
//!
//! Owns the shape. `crate::when` compares it, and `$scheme` of redirects is from here.

use std::net::IpAddr;

use wire::http::head::Fields;
use wire::http::url::Scheme;

use crate::address::ListenerAddress;

/// The parts of a request that conditions and redirects look at, beyond host, method, path and query.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances<'a> {
    /// How the client came.
    pub scheme: Scheme,
    /// The fields of the request.
    pub fields: Option<&'a Fields<'a, 'a>>,
    /// The client's address; `None` for a Unix socket.
    pub address: Option<IpAddr>,
    /// The address of the listener through which it came.
    pub listener: Option<&'a ListenerAddress>,
}
