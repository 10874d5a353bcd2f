//! What pages may reach, as the client asks for it.
//!
//! Owns nothing: the rules are the configuration's.

use std::net::IpAddr;

use client::Reach;
use config::FetchRules;

/// The rules of a configuration.
#[derive(Debug, Default)]
pub(super) struct Rules(pub(super) FetchRules);

impl Reach for Rules {
    fn may_look_up(&self, name: &str) -> bool {
        self.0.allow_name(name) || self.0.allow_networks()
    }

    fn may_connect(&self, name: &str, address: IpAddr) -> bool {
        self.0.allow(name, address)
    }
}
