//! Networks as they are written: `10.0.0.0/8`, `2001:db8::/32`, or one address.
//!
//! Owns the comparison of an address with a network. Never knows what the network is trusted with.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A network: all addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// Why a text is not a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// It is not an address with an optional number after a slash.
    #[error("write a network such as \"10.0.0.0/8\" or \"2001:db8::/32\", or an address")]
    Unreadable,
    /// It has more bits than the address.
    #[error("such an address has {0} bits")]
    TooManyBits(u8),
    /// Bits are set after the prefix. Contains the network that was probably meant.
    #[error("bits are set beyond the network; write \"{0}\"")]
    HostBits(Network),
}

/// Some of all peers: those of a network, or those that use a Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peers {
    /// Programs of this machine that use a Unix socket; their address is unspecified.
    Local,
    /// Peers with an address of this network.
    Of(Network),
}

impl Peers {
    /// Whether a peer with this address is one of them.
    pub fn contain(&self, address: IpAddr) -> bool {
        match self {
            Self::Local => address.is_unspecified(),
            Self::Of(network) => !address.is_unspecified() && network.contains(address),
        }
    }
}

impl fmt::Display for Peers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => out.write_str("unix"),
            Self::Of(network) => network.fmt(out),
        }
    }
}

impl FromStr for Peers {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        if text == "unix" { Ok(Self::Local) } else { text.parse().map(Self::Of) }
    }
}

impl Network {
    /// Whether the network contains this address. An IPv4-mapped IPv6 address counts as the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let shift = 32 - u32::from(self.bits);
                (network.to_bits() ^ address.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let shift = 128 - u32::from(self.bits);
                (network.to_bits() ^ address.to_bits()).checked_shr(shift).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    /// Its first address.
    pub fn first(&self) -> IpAddr {
        self.address
    }

    /// Its last address.
    pub fn last(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                let rest = u32::MAX.checked_shr(u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4((address.to_bits() | rest).into())
            }
            IpAddr::V6(address) => {
                let rest = u128::MAX.checked_shr(u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() | rest))
            }
        }
    }

    /// A network of IPv4-mapped addresses (RFC 4291 section 2.5.5.2) as the one of IPv4 that it means.
    fn unmapped(self) -> Self {
        let address = self.address.to_canonical();
        match self.bits.checked_sub(96) {
            Some(bits) if self.address.is_ipv6() && address.is_ipv4() => Self { address, bits },
            _ => self,
        }
    }

    /// The network with the bits after the prefix cleared.
    fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4((address.to_bits() & mask).into())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Self { address, bits: self.bits }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Unreadable)?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => bits_max,
            Some(bits) => {
                let bits: u32 = bits.parse().map_err(|_| NetworkError::Unreadable)?;
                u8::try_from(bits)
                    .ok()
                    .filter(|bits| *bits <= bits_max)
                    .ok_or(NetworkError::TooManyBits(bits_max))?
            }
        };
        let network = Self { address, bits }.unmapped();
        let masked = network.masked();
        if masked == network { Ok(network) } else { Err(NetworkError::HostBits(masked)) }
    }
}
