//! The servers that pages may reach, as the client asks for them.
//!
//! Owns nothing: the rules are the configuration's.

use std::net::IpAddr;

use client::{OriginTransport, Reach};
use config::FetchRules;
use wire::http::url::Scheme;

/// The rules of a configuration.
#[derive(Debug, Default)]
pub(super) struct Rules(FetchRules);

impl From<FetchRules> for Rules {
    fn from(rules: FetchRules) -> Self {
        Self(rules)
    }
}

impl Reach for Rules {
    fn may_look_up(&self, transport: OriginTransport, name: &str) -> bool {
        let scheme = scheme_of(transport);
        self.0.allow_name(scheme, name) || self.0.allow_networks(scheme)
    }

    fn may_connect(&self, transport: OriginTransport, name: &str, address: IpAddr) -> bool {
        self.0.allow(scheme_of(transport), name, address)
    }
}

fn scheme_of(transport: OriginTransport) -> Scheme {
    match transport {
        OriginTransport::Plain => Scheme::Http,
        OriginTransport::Encrypted => Scheme::Https,
    }
}
