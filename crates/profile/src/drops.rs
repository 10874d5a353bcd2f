//! Packets that the kernel drops, by the reasons that it gives (Linux 5.17).
//!
//! Owns the tracepoint and its format, which differs from kernel to kernel. Knows no cause, and not whose packets they
//! are: they are those of the whole machine.

use std::collections::BTreeMap;
use std::io;

use sys::sampling::{Modes, Room, SampleForm, SampleTrigger, UserStacks};

use crate::record::Record;
use crate::threads::{Scope, Threads};
use crate::tracepoints::{file_of, number};

const DROP: &str = "skb/kfree_skb";

/// A recording of dropped packets.
#[derive(Debug)]
pub struct DropWatch {
    cpus: Threads,
    reasons: DropReasons,
    counts: BTreeMap<u32, u64>,
    is_full: bool,
}

impl DropWatch {
    /// Begins to record, on all CPUs.
    ///
    /// # Errors
    /// `PermissionDenied`; `Unsupported` if the kernel gives no reasons.
    pub fn begin() -> io::Result<Self> {
        let reasons = DropReasons::read(&file_of(DROP, "format")?).ok_or_else(|| {
            io::Error::new(io::ErrorKind::Unsupported, "this kernel gives no reasons for drops")
        })?;
        let form = SampleForm {
            modes: Modes::Stackless,
            user: UserStacks::FramePointers,
            hertz: 0,
            room: Room::Small,
        };
        let triggers = [SampleTrigger::Tracepoint(number(DROP)?)];
        let cpus = Threads::of(Scope::Machine, &triggers, form)?;
        Ok(Self { cpus, reasons, counts: BTreeMap::new(), is_full: false })
    }

    /// Reads the records that have arrived.
    pub fn drain(&mut self) {
        let (at, counts, is_full) = (self.reasons.at, &mut self.counts, &mut self.is_full);
        self.cpus.drain(|record| match record {
            Record::Sample(sample) => {
                let reason = sample.fields().get(at..).and_then(|bytes| bytes.first_chunk());
                if let Some(reason) = reason {
                    *counts.entry(u32::from_ne_bytes(*reason)).or_default() += 1;
                }
            }
            Record::Lost(..) => *is_full = true,
            Record::Switch(_) | Record::Other => {}
        });
    }

    /// The number of packets so far.
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Whether records were lost because a ring buffer was full.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Ends the recording: how many packets were dropped, by the kernel's name of the reason (`NETFILTER_DROP`).
    #[must_use]
    pub fn end(mut self) -> BTreeMap<String, u64> {
        self.drain();
        let named = |(reason, count): (u32, u64)| (self.reasons.name(reason), count);
        self.counts.into_iter().map(named).collect()
    }
}

/// The reasons as the format of the tracepoint lists them.
#[derive(Debug)]
struct DropReasons {
    /// The place of the reason in a record.
    at: usize,
    names: BTreeMap<u32, String>,
}

impl DropReasons {
    /// Reads a format: `field:enum skb_drop_reason reason; offset:36;` and `{ 2, "NOT_SPECIFIED" }, ...`. `None` if it
    /// has no reasons.
    fn read(format: &str) -> Option<Self> {
        let field = format.lines().find(|line| line.contains(" reason;"))?;
        let at = field.split_once("offset:")?.1.split(';').next()?.parse().ok()?;
        let list = format.split_once("REC->reason,")?.1;
        let name = |entry: &str| {
            let (number, name) = entry.split_once(',')?;
            let name = name.trim().trim_end_matches(['}', ')', ',', ' ', '\n']).trim_matches('"');
            Some((number.trim().parse().ok()?, name.to_owned()))
        };
        Some(Self { at, names: list.split('{').filter_map(name).collect() })
    }

    fn name(&self, reason: u32) -> String {
        self.names.get(&reason).cloned().unwrap_or_else(|| format!("reason {reason}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_from_the_format_of_their_kernel() {
        let format = "\tfield:unsigned short protocol;\toffset:32;\tsize:2;\tsigned:0;\n\
            \tfield:enum skb_drop_reason reason;\toffset:36;\tsize:4;\tsigned:0;\n\n\
            print fmt: \"reason: %s\", REC->location, __print_symbolic(REC->reason, { 2, \
            \"NOT_SPECIFIED\" }, { 12, \"NETFILTER_DROP\" }, { 128, \"MAX\" })\n";
        let reasons = DropReasons::read(format).expect("it has reasons");
        assert_eq!((reasons.at, reasons.names.len()), (36, 3));
        let names = [2, 12, 128, 500].map(|reason| reasons.name(reason));
        assert_eq!(names, ["NOT_SPECIFIED", "NETFILTER_DROP", "MAX", "reason 500"]);
        assert!(DropReasons::read("\tfield:void * location;\toffset:16;\n").is_none());
    }
}
