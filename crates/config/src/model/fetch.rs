//! Which targets pages may fetch from, and the comparison of a target with that.
//!
//! Owns the shape. Never reads text: `fetch` does.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use wire::http::url::Scheme;
use wire::network::Network;

use crate::host_name::HostName;

/// Which targets may be fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FetchRules {
    /// All.
    #[default]
    All,
    /// None.
    None,
    /// Only these.
    Listed(Arc<[FetchRule]>),
}

/// Targets that may be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRule {
    /// How they may be fetched.
    pub schemes: FetchSchemes,
    /// The hosts.
    pub hosts: FetchHosts,
}

/// How targets may be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchSchemes {
    /// By either scheme.
    Both,
    /// Only over TLS.
    Https,
}

/// Hosts that may be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchHosts {
    /// Hosts with this name in the URL, whatever their address.
    Named(HostName),
    /// Hosts whose address is in this network, whatever their name.
    Network(Network),
}

impl FetchRules {
    /// Whether a host with that name may be fetched at this address. A link-local address has to be listed itself,
    /// because clouds serve the credentials of a machine there, and the owner of a name chooses its address.
    pub fn allow(&self, scheme: Scheme, name: &str, address: IpAddr) -> bool {
        let is_listed = self.lists(scheme, |hosts| match hosts {
            FetchHosts::Named(_) => false,
            FetchHosts::Network(network) => network.contains(address),
        });
        is_listed || !is_link_local(address) && self.allow_name(scheme, name)
    }

    /// Whether a host with that name may be fetched at ordinary addresses.
    pub fn allow_name(&self, scheme: Scheme, name: &str) -> bool {
        let is_match = |hosts: &FetchHosts| match hosts {
            FetchHosts::Named(host) => host.is_match(name.as_bytes()),
            FetchHosts::Network(_) => false,
        };
        *self == Self::All || self.lists(scheme, is_match)
    }

    /// Whether a name could lead to an allowed address, so that it is worth looking up.
    pub fn allow_networks(&self, scheme: Scheme) -> bool {
        let is_network = |hosts: &FetchHosts| matches!(hosts, FetchHosts::Network(_));
        *self == Self::All || self.lists(scheme, is_network)
    }

    /// Whether a rule for this scheme has such hosts.
    fn lists(&self, scheme: Scheme, is_match: impl Fn(&FetchHosts) -> bool) -> bool {
        let Self::Listed(rules) = self else { return false };
        rules.iter().any(|rule| rule.schemes.allow(scheme) && is_match(&rule.hosts))
    }
}

impl FetchSchemes {
    fn allow(self, scheme: Scheme) -> bool {
        self == Self::Both || scheme == Scheme::Https
    }

    /// The text that is written before the hosts.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Both => "",
            Self::Https => HTTPS,
        }
    }
}

/// The text that is written before hosts that may be fetched over TLS only.
pub(crate) const HTTPS: &str = "https://";

/// Whether an address is link-local: 169.254.0.0/16 (RFC 3927) and fe80::/10 (RFC 4291 section 2.5.6), the first also
/// if it is embedded in an IPv6 address.
fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => {
            address.is_unicast_link_local()
                || within(address).is_some_and(|address| address.is_link_local())
        }
    }
}

/// The IPv4 address embedded in an IPv6 address: mapped or compatible (RFC 4291 section 2.5.5), of a translator (RFC
/// 6052), or of 6to4 (RFC 3056).
fn within(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(of(high, low))
        }
        [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}
