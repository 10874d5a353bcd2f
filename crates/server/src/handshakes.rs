//! Handshakes of clients: how many one address may have under way, and why some failed.
//!
//! Owns these counts. Never ends a connection.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use ahash::HashMap;
use runtime::transport::{CertificateFault, Violation};

/// Room for addresses that is kept when none has a handshake under way; more is given back.
const SPARE_ADDRESSES: usize = 64;

/// The handshakes of one scheduler.
#[derive(Debug)]
pub(crate) struct Handshakes {
    /// Those that one address may have under way.
    most: u64,
    /// Under way, by address; IPv6 by network, as one client has all of it.
    under_way: Rc<RefCell<HashMap<IpAddr, u32>>>,
    failures: HandshakeFailures,
}

/// A handshake that is under way: it counts until this is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay {
    all: Rc<RefCell<HashMap<IpAddr, u32>>>,
    network: IpAddr,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut all = self.all.borrow_mut();
        if let Some(count) = all.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.network);
            }
        }
        if all.is_empty() && all.capacity() > SPARE_ADDRESSES {
            *all = HashMap::default();
        }
    }
}

/// Handshakes that failed, by reason; those that a client ended by an alert, by its name as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandshakeFailures {
    reasons: Counts,
    alerts: Counts,
}

/// Numbers by name. A few names occur.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts(Vec<(&'static str, u64)>);

impl Handshakes {
    /// So many may be under way of one address.
    pub(crate) fn of(most: u64) -> Self {
        Self { most, under_way: Rc::default(), failures: HandshakeFailures::default() }
    }

    /// Sets how many one address may have under way.
    pub(crate) fn set_most(&mut self, most: u64) {
        self.most = most;
    }

    /// Whether one more of this address may begin.
    pub(crate) fn may_begin(&self, address: IpAddr) -> bool {
        let under_way = self.under_way.borrow();
        let of_address = under_way.get(&network_of(address));
        of_address.is_none_or(|count| u64::from(*count) < self.most)
    }

    pub(crate) fn begin(&self, address: IpAddr) -> UnderWay {
        let network = network_of(address);
        *self.under_way.borrow_mut().entry(network).or_default() += 1;
        UnderWay { all: Rc::clone(&self.under_way), network }
    }

    /// One failed.
    pub(crate) fn note_failure(&mut self, why: Violation) {
        self.failures.reasons.add(reason(why));
        if let Violation::Alert(code) = why {
            self.failures.alerts.add(tls::alert_name(code));
        }
    }

    /// One was not begun because of its address.
    pub(crate) fn note_refusal(&mut self) {
        self.failures.reasons.add("too_many_of_one_address");
    }

    /// Those that failed, by reason.
    pub(crate) fn failures(&self) -> &HandshakeFailures {
        &self.failures
    }
}

impl Counts {
    fn add(&mut self, name: &'static str) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.0.push((name, 1)),
        }
    }
}

impl HandshakeFailures {
    /// The reasons so far and their counts.
    pub fn reasons(&self) -> Vec<(&'static str, u64)> {
        self.reasons.0.clone()
    }

    /// The alerts of clients so far and their counts.
    pub fn alerts(&self) -> Vec<(&'static str, u64)> {
        self.alerts.0.clone()
    }
}

/// One address, or the network of 64 bits that one subscriber has (RFC 6177).
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address => address,
    }
}

/// The name of a reason in statistics.
fn reason(why: Violation) -> &'static str {
    match why {
        Violation::Protocol => "protocol",
        Violation::OtherProtocol => "other_protocol",
        Violation::NothingInCommon => "nothing_in_common",
        Violation::UnknownName => "unknown_name",
        Violation::Cut => "cut",
        Violation::Certificate(fault) => match fault {
            CertificateFault::Missing => "certificate_missing",
            CertificateFault::Expired => "certificate_expired",
            CertificateFault::NotYetValid => "certificate_not_yet_valid",
            CertificateFault::WrongName => "certificate_wrong_name",
            CertificateFault::UnknownAuthority => "certificate_unknown_authority",
            CertificateFault::Revoked => "certificate_revoked",
            CertificateFault::Invalid => "certificate_invalid",
        },
        Violation::Alert(_) => "alert",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_share_and_gets_it_back() {
        const MOST: u64 = 3;
        let handshakes = Handshakes::of(MOST);
        let (one, other): (IpAddr, IpAddr) =
            ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let mut held = Vec::new();
        for _ in 0..MOST {
            assert!(handshakes.may_begin(one));
            held.push(handshakes.begin(one));
        }
        assert!(!handshakes.may_begin(one));
        assert!(!handshakes.may_begin("::ffff:10.0.0.1".parse().unwrap()), "the same client");
        assert!(handshakes.may_begin(other));
        held.pop();
        assert!(handshakes.may_begin(one));
        let (near, far): (IpAddr, IpAddr) =
            ("2001:db8::1".parse().unwrap(), "2001:db8:0:1::1".parse().unwrap());
        held.extend((0..MOST).map(|_| handshakes.begin(near)));
        assert!(!handshakes.may_begin("2001:db8::2".parse().unwrap()));
        assert!(handshakes.may_begin(far));
        held.clear();
        assert!(handshakes.may_begin(near));
        assert!(handshakes.under_way.borrow().is_empty(), "nothing is kept");
    }

    #[test]
    fn failures_are_counted_by_reason() {
        let mut handshakes = Handshakes::of(1);
        handshakes.note_failure(Violation::Alert(48));
        handshakes.note_failure(Violation::Cut);
        handshakes.note_failure(Violation::Alert(48));
        let failures = handshakes.failures();
        assert_eq!(failures.reasons(), [("alert", 2), ("cut", 1)]);
        assert_eq!(failures.alerts(), [("unknown_ca", 2)]);
    }
}
