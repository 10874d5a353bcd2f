//! A report as a person reads it.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use super::{ChannelReport, TimeDistribution, WorkloadReport};

use crate::channel::check::{CheckReport, ExpectedOrder};
use crate::report::figures::{count, duration, percent, rate};
use crate::report::{encryption_lines, sum_faults, write_agents};

impl ChannelReport {
    /// Writes the report for a person.
    ///
    /// # Errors
    /// If `out` accepts no text.
    pub fn write_text(&self, out: &mut impl Write) -> fmt::Result {
        let verdict = if self.valid { "VALID" } else { "INVALID" };
        writeln!(out, "{verdict}")?;
        for reason in &self.reasons {
            writeln!(out, "  {reason}")?;
        }
        writeln!(out, "subscribers {} of {}", count(self.subscribers), count(self.wanted))?;
        if !self.failed.is_empty() {
            writeln!(out, "failed      {}", kinds(&self.failed))?;
        }
        self.write_encryption(out)?;
        let published = count(self.published);
        writeln!(out, "published   {published} messages of {} bytes", count(self.message_bytes))?;
        let elapsed = duration(self.elapsed_ns as f64);
        writeln!(
            out,
            "received    {} in {elapsed}, {} a second",
            count(self.received),
            rate(self.deliveries_per_s)
        )?;
        writeln!(
            out,
            "reach       {}; a subscriber got {} to {}; {} again or out of order",
            percent(self.reach),
            count(self.fewest),
            count(self.most),
            count(self.disordered)
        )?;
        write_check(&self.check, out)?;
        if !self.ended.is_empty() {
            writeln!(out, "ended       {}", kinds(&self.ended))?;
        }
        if let Some(workload) = &self.workload {
            write_workload(workload, out)?;
        }
        write_agents(&self.agents, out)?;
        if self.received > 0 { self.write_times(out) } else { Ok(()) }
    }

    fn write_encryption(&self, out: &mut impl Write) -> fmt::Result {
        let faults = sum_faults(self.tls.iter());
        let lines = self
            .tls_plan
            .as_ref()
            .map(|plan| encryption_lines(plan, self.tls.as_ref(), &faults, self.begun_unix_s));
        for (line, at) in lines.iter().flatten().zip(0..) {
            writeln!(out, "{:<12}{line}", if at == 0 { "tls" } else { "" })?;
        }
        Ok(())
    }

    fn write_times(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(out, "\ntime from when a message was due, to")?;
        writeln!(
            out,
            "              {:>9} {:>9} {:>9} {:>9} {:>9}",
            "min", "p50", "p99", "p99.9", "max"
        )?;
        let mut rows = vec![
            ("a subscriber".to_owned(), self.delivery),
            ("the first".to_owned(), self.first),
            ("the last".to_owned(), self.last),
        ];
        rows.extend(self.same_address.map(|times| ("same address".to_owned(), times)));
        rows.extend(self.other_address.map(|times| ("another one".to_owned(), times)));
        if self.addresses.len() > 1 {
            rows.extend(self.pairs.iter().map(|pair| {
                (format!("{} to {}", pair.pair.from + 1, pair.pair.to + 1), pair.times)
            }));
        }
        for (name, times) in rows {
            let TimeDistribution { min_ns, p50_ns, p99_ns, p999_ns, max_ns } = times;
            let times = [min_ns, p50_ns, p99_ns, p999_ns, max_ns];
            let times = times.map(|time| format!("{:>9}", duration(time as f64)));
            writeln!(out, "{name:<13} {}", times.join(" "))?;
        }
        if self.addresses.len() > 1 {
            for (address, number) in self.addresses.iter().zip(1..) {
                writeln!(out, "{number} is {address}")?;
            }
        }
        self.write_costs(out)
    }

    fn write_costs(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(out)?;
        if let Some(each) = self.server_cpu_ns_per_delivery {
            write!(out, "server      {} of CPU a delivery", duration(each))?;
            if let Some(busy) = self.server_busy {
                write!(out, ", its busiest thread at {}", percent(busy))?;
            }
            writeln!(out)?;
        }
        if let Some(bytes) = self.server_bytes_per_subscriber {
            writeln!(out, "memory      {bytes:.0} bytes of the server a subscriber")?;
        }
        writeln!(out, "generator   its busiest thread at {}", percent(self.generator_busy))
    }
}

fn kinds(counts: &BTreeMap<String, u64>) -> String {
    let each = counts.iter().map(|(kind, number)| format!("{} {kind}", count(*number)));
    each.collect::<Vec<_>>().join(", ")
}

fn write_check(check: &CheckReport, out: &mut impl Write) -> fmt::Result {
    let order = match check.expected {
        ExpectedOrder::All if check.is_cut => "orders compared in part",
        ExpectedOrder::All => "one order expected",
        ExpectedOrder::Publisher => "the order of each publisher expected",
        ExpectedOrder::Unchecked => "nothing expected",
    };
    writeln!(
        out,
        "check       {} gaps, {} doubles, {} late, {} in different orders; {order}",
        count(check.gaps),
        count(check.doubles),
        count(check.late),
        count(check.unordered)
    )?;
    if check.told > 0 {
        writeln!(out, "told        {} messages are lost, said the server", count(check.told))?;
    }
    if check.away > 0 {
        writeln!(out, "away        {} messages, without a position", count(check.away))?;
    }
    Ok(())
}

fn write_workload(workload: &WorkloadReport, out: &mut impl Write) -> fmt::Result {
    let time = |ns: u64| duration(ns as f64);
    if workload.cut > 0 {
        write!(out, "storm       {} cut", count(workload.cut))?;
        match workload.all_back_ns {
            Some(all_back_ns) => write!(out, ", all back in {}", time(all_back_ns))?,
            None => write!(out, ", not all back")?,
        }
        let TimeDistribution { p50_ns, p99_ns, max_ns, .. } = workload.back;
        writeln!(out, "; p50 {}, p99 {}, max {}", time(p50_ns), time(p99_ns), time(max_ns))?;
        if let Some(each) = workload.server_cpu_ns_per_reconnect {
            writeln!(out, "            {} of the server's CPU a reconnect", duration(each))?;
        }
    }
    if workload.left > 0 {
        let TimeDistribution { p50_ns, p99_ns, max_ns, .. } = workload.joined;
        write!(
            out,
            "churn       {} left and came; joined in p50 {}",
            count(workload.left),
            time(p50_ns)
        )?;
        writeln!(out, ", p99 {}, max {}", time(p99_ns), time(max_ns))?;
    }
    if workload.retries > 0 {
        writeln!(out, "            {} attempts to connect failed", count(workload.retries))?;
    }
    Ok(())
}
