//! The CPUs of the machine: how long each was busy, and with what, as the difference of two readings of `/proc/stat`.
//!
//! Owns its fields (proc_stat(5)), and which samples of a CPU are those of an idle one.

use std::collections::BTreeMap;

use sys::text::of_kernel_file;

use crate::fold::{Folded, Frame, Mode};

/// The counters of each CPU at one time.
#[derive(Clone, Debug, Default)]
pub struct CpuActivity(BTreeMap<u32, Vec<u64>>);

/// The activities of a CPU, and the places of their ticks.
const PARTS: [(&str, &[usize]); 5] = [
    ("programs", &[0, 1]),
    ("their kernel", &[2]),
    ("softirqs", &[6]),
    ("interrupts", &[5]),
    ("stolen by other guests", &[7]),
];

/// The places of ticks in which it did nothing.
const IDLE: [usize; 2] = [3, 4];

/// Fields of a CPU; those after them are parts of the first ones.
const FIELDS: usize = 8;

impl CpuActivity {
    /// Reads the counters.
    pub fn read() -> Self {
        Self::of(&of_kernel_file("/proc/stat").unwrap_or_default())
    }

    fn of(text: &str) -> Self {
        let cpu = |line: &str| {
            let (name, rest) = line.split_once(' ')?;
            let number = name.strip_prefix("cpu")?.parse().ok()?;
            let ticks = rest.split_whitespace().take(FIELDS);
            Some((number, ticks.map(|ticks| ticks.parse().unwrap_or(0)).collect()))
        };
        Self(text.lines().filter_map(cpu).collect())
    }

    /// A line for each CPU: what it did since an earlier reading.
    pub fn lines_since(&self, before: &Self) -> Vec<String> {
        let line = |(cpu, now): (&u32, &Vec<u64>)| {
            let then = before.0.get(cpu);
            let change = |at: usize| {
                let then = then.and_then(|then| then.get(at)).copied().unwrap_or(0);
                now.get(at).copied().unwrap_or(0).saturating_sub(then)
            };
            let all = (0..FIELDS).map(change).sum::<u64>().max(1) as f64;
            let percent = |places: &[usize]| {
                places.iter().map(|at| change(*at)).sum::<u64>() as f64 * 100.0 / all
            };
            let part =
                |(name, places): &(&str, &[usize])| format!("{name} {:.0} %", percent(places));
            let parts: Vec<String> = PARTS.iter().map(part).collect();
            format!("CPU {cpu}: idle {:.0} %, {}", percent(&IDLE), parts.join(", "))
        };
        self.0.iter().map(line).collect()
    }
}

/// Begins of names of kernel functions in which an idle CPU waits.
const WAITS: [&str; 10] = [
    "pv_native_safe_halt",
    "native_safe_halt",
    "acpi_safe_halt",
    "default_idle",
    "mwait_idle",
    "intel_idle",
    "poll_idle",
    "cpuidle_",
    "do_idle",
    "haltpoll",
];

/// Whether a stack is that of a CPU that does nothing.
pub fn is_idle_cpu(stack: &[Frame]) -> bool {
    let last = stack.last().filter(|frame| frame.mode == Mode::Kernel);
    last.is_some_and(|frame| WAITS.iter().any(|begin| frame.name.starts_with(begin)))
}

/// Functions of the kernel that handle softirqs, which run on whichever CPU an interrupt came to, in anybody's time.
const SOFTIRQS: [&str; 9] = [
    "net_rx_action",
    "net_tx_action",
    "run_timer_softirq",
    "tasklet_action",
    "rcu_core",
    "blk_done_softirq",
    "sched_balance_softirq",
    "run_rebalance_domains",
    "hrtimer_run_softirq",
];

/// The share of samples in softirqs, by handler, in one line; `None` if there is none.
pub fn softirqs(folded: &Folded) -> Option<String> {
    let total = folded.total().max(f64::MIN_POSITIVE);
    let mut found: Vec<(&str, f64)> = Vec::new();
    for handler in SOFTIRQS {
        let has = |stack: &[Frame]| {
            stack.iter().any(|frame| frame.mode == Mode::Kernel && frame.name.starts_with(handler))
        };
        let count: f64 =
            folded.stacks.iter().filter(|(stack, _)| has(stack)).map(|(_, count)| count).sum();
        if count > 0.0 {
            found.push((handler, count * 100.0 / total));
        }
    }
    found.sort_by(|one, other| other.1.total_cmp(&one.1));
    let told = |(handler, percent): &(&str, f64)| format!("{handler} {percent:.1} %");
    let list: Vec<String> = found.iter().map(told).collect();
    (!list.is_empty()).then(|| format!("softirqs, of all samples: {}", list.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded_file::tests::folded;

    #[test]
    fn each_cpu_has_its_parts_between_two_readings() {
        let before = CpuActivity::of("cpu  9 9\ncpu0 100 0 100 100 0 0 0 0 0 0\nctxt 5\n");
        let now = CpuActivity::of("cpu  9 9\ncpu0 110 10 130 130 0 0 20 0 0 0\nctxt 9\n");
        let line = "CPU 0: idle 30 %, programs 20 %, their kernel 30 %, softirqs 20 %, interrupts 0 %, stolen by other \
                    guests 0 %";
        assert_eq!(now.lines_since(&before), [line]);
    }

    #[test]
    fn softirqs_are_counted_and_an_idle_cpu_is_known() {
        let text = "a;handle_softirqs_[k];net_rx_action_[k];x_[k] 30\nb 70\n";
        let told = softirqs(&folded(text));
        assert_eq!(told.as_deref(), Some("softirqs, of all samples: net_rx_action 30.0 %"));
        assert_eq!(softirqs(&folded("b 70\n")), None);
        let idle = folded(
            "swapper;do_idle_[k];pv_native_safe_halt_[k] 1\nswapper;do_idle_[k];irq_[k] 1\n",
        );
        let is_idle: Vec<bool> = idle.stacks.keys().map(|stack| is_idle_cpu(stack)).collect();
        assert_eq!(is_idle, [false, true]);
    }
}
