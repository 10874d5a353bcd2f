//! Which servers a request may reach.
//!
//! Owns the question. The requester's side answers it, because its configuration says what is allowed.

use std::fmt;
use std::net::IpAddr;

use crate::origin::OriginTransport;

/// Answers for one kind of requests. Names are asked about before they are looked up, addresses before they are
/// connected to.
pub trait Reach: fmt::Debug {
    /// Whether a host with this name might be reached at some address, so that it is worth looking up.
    fn may_look_up(&self, transport: OriginTransport, name: &str) -> bool;

    /// Whether a host with this name, or an address as text, may be reached at this address.
    fn may_connect(&self, transport: OriginTransport, name: &str, address: IpAddr) -> bool;
}

/// Requests that may reach everything that the host can.
#[derive(Clone, Copy, Debug)]
pub struct Anywhere;

impl Reach for Anywhere {
    fn may_look_up(&self, _transport: OriginTransport, _name: &str) -> bool {
        true
    }

    fn may_connect(&self, _transport: OriginTransport, _name: &str, _address: IpAddr) -> bool {
        true
    }
}
