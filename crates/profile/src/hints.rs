//! Functions in a profile that indicate a check of `velodrome tune`.
//!
//! Owns which function indicates which check. It only names the check.

use crate::fold::Folded;

/// A check that the profile indicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// The function that was found.
    pub function: &'static str,
    /// Percent of the samples that contain it.
    pub percent: f64,
    /// The check.
    pub check: &'static str,
}

/// Kernel functions, and their checks.
const SIGNS: [(&str, &str); 18] = [
    ("nf_hook_slow", "stack.netfilter"),
    ("ipt_do_table", "stack.netfilter"),
    ("nft_do_chain", "stack.netfilter"),
    ("nf_conntrack_in", "stack.notrack"),
    ("packet_rcv", "stack.taps"),
    ("tpacket_rcv", "stack.taps"),
    ("dev_queue_xmit_nit", "stack.taps"),
    ("fq_codel_enqueue", "stack.qdisc"),
    ("fq_enqueue", "stack.qdisc"),
    ("__audit_syscall_entry", "cpu.audit"),
    ("__seccomp_filter", "app.seccomp"),
    ("read_hpet", "cpu.clocksource"),
    ("acpi_pm_read", "cpu.clocksource"),
    ("entry_ibpb", "cpu.mitigations"),
    ("veth_xmit", "stack.docker"),
    ("br_nf_pre_routing", "stack.docker"),
    ("compact_zone", "vm.thp"),
    ("bbr_main", "stack.cc"),
];

/// Percent below which a function is ignored.
const LEAST: f64 = 0.5;

/// The checks that the profile indicates, the strongest first; each once.
#[must_use]
pub fn hints(folded: &Folded) -> Vec<Hint> {
    let total = folded.total().max(f64::MIN_POSITIVE);
    let mut found: Vec<Hint> = Vec::new();
    for (function, check) in SIGNS {
        let has = |stack: &[crate::fold::Frame]| stack.iter().any(|frame| frame.name == function);
        let count: f64 =
            folded.stacks.iter().filter(|(stack, _)| has(stack)).map(|(_, count)| count).sum();
        let percent = count * 100.0 / total;
        if percent >= LEAST {
            found.push(Hint { function, percent, check });
        }
    }
    found.sort_by(|one, other| other.percent.total_cmp(&one.percent));
    let mut seen = Vec::new();
    found.retain(|hint| {
        let is_new = !seen.contains(&hint.check);
        seen.push(hint.check);
        is_new
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded_file::tests::folded;

    #[test]
    fn signs_are_named_once_and_small_ones_not() {
        let text = "a;nf_hook_slow_[k];ipt_do_table_[k] 18\na;packet_rcv_[k] 3\na;b 978\na;bbr_main_[k] 1\n";
        let found = hints(&folded(text));
        let found: Vec<_> = found.iter().map(|hint| (hint.function, hint.check)).collect();
        assert_eq!(found, [("nf_hook_slow", "stack.netfilter")]);
        let more = folded("x;packet_rcv_[k] 1\nx;y 9\n");
        assert_eq!(hints(&more)[0].percent, 10.0);
    }
}
