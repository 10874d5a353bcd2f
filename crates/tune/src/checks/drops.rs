//! Packets that this host drops itself, where neither end of a connection is told.
//!
//! Owns which of the kernel's reasons are a setting that somebody made. Reasons that other checks see are not here.

use std::collections::BTreeMap;

use crate::check::{Check, Gain, Risk};
use crate::drops::{DroppedPackets, PLACE};
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;

use super::pairs::Pairs;
use super::transport::AFTER_TIMEOUT;

pub(super) const CHECKS: &[Check] = &[Check {
    id: "net.drops",
    title: "packets that this host drops",
    gain: Gain::of(20.0, 60.0, 5.0, 0.0),
    expected: "each dropped segment keeps its connection waiting for 200 ms and more",
    risk: Risk::Security,
    lost: "what the rule or program was made for",
    why: "A packet filter, a filter of tc, a BPF program or a check of addresses drops packets without a word. If they \
          are requests, only the client sends again, after a timeout; the server sees nothing of it.",
    fix: "nft list ruleset, iptables -vnL; tc -s filter show dev DEVICE ingress; bpftool prog; the reasons are those \
          of the tracepoint skb:kfree_skb (perf trace -e skb:kfree_skb).",
    source: "include/net/dropreason-core.h of Linux",
    judge: dropped,
}];

/// Reasons of the kernel by their causes.
const CAUSES: [(&[&str], &str); 9] = [
    (&["NETFILTER_DROP"], "by a rule of nftables or iptables"),
    (&["TC_INGRESS", "TC_EGRESS"], "by a filter of tc"),
    (&["XDP"], "by a BPF program of a device (XDP)"),
    (&["BPF_CGROUP_EGRESS", "SOCKET_FILTER"], "by a BPF program of a control group or a socket"),
    (
        &["IP_RPFILTER", "IP_LOCAL_SOURCE", "IP_LOCALNET"],
        "because of their source: rp_filter, route_localnet",
    ),
    (&["SECURITY_HOOK", "XFRM_POLICY"], "by a security module or a policy of IPsec"),
    (
        &["TCP_CSUM", "IP_CSUM", "SKB_CSUM", "UDP_CSUM"],
        "for wrong checksums, as of a broken offload",
    ),
    (
        &["NEIGH_FAILED", "NEIGH_CREATEFAIL", "NEIGH_QUEUEFULL"],
        "for want of the neighbour's address: net.ipv4.neigh.default.gc_thresh3",
    ),
    (
        &["PKT_TOO_BIG", "FULL_RING", "NOMEM"],
        "because they are too large, or a ring or the memory is full",
    ),
];

/// Dropped packets a second, and their part of all that TCP has received, from which they cost.
const WORTH_RATE: f64 = 5.0;
const WORTH_SHARE: f64 = 0.001;

/// The part from which TCP hardly gets on, so that the whole gain is to be had.
const WHOLE_SHARE: f64 = 0.1;

fn dropped(host: &HostReading) -> Judged {
    let text = Finding::known(host.text(PLACE), "they were not recorded")?;
    let (seconds, counts) = match DroppedPackets::read(&text) {
        DroppedPackets::Seen { seconds, counts } => (seconds, counts),
        DroppedPackets::Unseen(why) => {
            return Finding::unknown(format!("they may not be seen: {why}"));
        }
    };
    let of =
        |reasons: &[&str]| reasons.iter().filter_map(|reason| counts.get(*reason)).sum::<u64>();
    let worst = CAUSES.iter().map(|(reasons, cause)| (of(reasons), cause)).max_by_key(|one| one.0);
    let (count, cause) = Finding::known(worst, "no cause is known")?;
    let received = host.moved(|counters| counters.network("Tcp.InSegs")).unwrap_or(0);
    let received = received as f64 / Finding::known(host.seconds, "needs two readings")?;
    let rate = count as f64 / seconds.max(1e-3);
    let part = rate / (rate + received).max(1.0);
    if rate < WORTH_RATE || part < WORTH_SHARE {
        return Finding::good(in_words(&counts));
    }
    let text = format!(
        "{rate:.0} packets a second are dropped {cause}, {:.1} % of those that TCP gets; whose they are is not told",
        part * 100.0
    );
    let Ok(pairs) = Pairs::of_connections(host) else {
        return Finding::seen(text, part / WHOLE_SHARE);
    };
    let waits = 100.0 * rate * AFTER_TIMEOUT.1 / pairs.count() as f64;
    Finding::scaled(text, Percent::between(0.0, waits.min(95.0)))
}

/// Whether `net.drops` tells of packets that this host drops.
pub(super) fn drops_are_told(host: &HostReading) -> bool {
    matches!(dropped(host), Ok(Finding::Costs(..)))
}

fn in_words(counts: &BTreeMap<String, u64>) -> String {
    match counts.iter().max_by_key(|(_, count)| **count) {
        None => "none".to_owned(),
        Some((reason, count)) => format!("few, most of them for {reason} ({count})"),
    }
}
