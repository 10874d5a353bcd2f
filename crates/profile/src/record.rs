//! Records of perf events: samples with their stacks, and how many were lost.
//!
//! Owns their format (perf_event_open(2), `PERF_RECORD_*`).

/// The addresses of a sample, from the innermost frame on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stack {
    /// The thread.
    pub thread: u32,
    /// Frames in the kernel.
    pub kernel: Vec<u64>,
    /// Frames in the program.
    pub user: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Sample(Sample),
    /// A thread leaves a CPU, or gets one.
    Switch(Switch),
    /// This many records of a thread were lost because the ring buffer was full.
    Lost(u32, u64),
    Other,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) time_ns: u64,
    pub(crate) stack: Stack,
    /// The bytes after the stack: the fields of a tracepoint, or the top of the stack at a probe; empty for other
    /// events.
    pub(crate) behind: Vec<u8>,
}

impl Sample {
    /// The fields of a tracepoint, which follow their length in four bytes.
    pub(crate) fn fields(&self) -> &[u8] {
        let length = self.behind.first_chunk().map_or(0, |length| u32::from_ne_bytes(*length));
        self.behind.get(4..4 + length as usize).unwrap_or_default()
    }

    /// The word at the top of the stack, after its length: at the entry of a function, its return address.
    pub(crate) fn stack_top(&self) -> Option<u64> {
        let word = self.behind.get(8..16)?.first_chunk()?;
        Some(u64::from_ne_bytes(*word))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch {
    pub(crate) time_ns: u64,
    pub(crate) thread: u32,
    pub(crate) way: Way,
}

/// The direction of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The thread gets a CPU.
    On,
    /// It leaves the CPU to wait.
    Off,
    /// It was preempted: it could have gone on.
    Preempted,
}

const LOST: u32 = 2;
const SAMPLE: u32 = 9;
const SWITCH: u32 = 14;

/// Bits of a record of a switch (`PERF_RECORD_MISC_SWITCH_OUT`, `…_PREEMPT`), above its kind.
const SWITCH_OFF: u64 = 1 << (32 + 13);
const SWITCH_PREEMPTED: u64 = 1 << (32 + 14);

/// Markers in a call chain: kernel or user addresses follow (`PERF_CONTEXT_*`). All markers are larger than every
/// address.
const KERNEL: u64 = -128_i64 as u64;
const USER: u64 = -512_i64 as u64;
const FIRST_MARK: u64 = -4095_i64 as u64;

pub(crate) fn read(record: &[u8]) -> Record {
    let mut words = record
        .chunks_exact(8)
        .map(|word| word.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word)));
    let Some(head) = words.next() else { return Record::Other };
    match head as u32 {
        LOST => {
            let count = words.nth(1).unwrap_or(0);
            Record::Lost((words.next().unwrap_or(0) >> 32) as u32, count)
        }
        SAMPLE => {
            // The address is also the first of the chain, so it is skipped here.
            let thread = words.nth(1).unwrap_or(0) >> 32;
            let time_ns = words.next().unwrap_or(0);
            let count = words.next().unwrap_or(0);
            let mut stack = Stack { thread: thread as u32, ..Stack::default() };
            let (mut is_kernel, mut is_innermost) = (false, true);
            for address in words.by_ref().take(usize::try_from(count).unwrap_or(0)) {
                match address {
                    KERNEL => is_kernel = true,
                    USER => is_kernel = false,
                    FIRST_MARK.. => {}
                    address => {
                        // All but the innermost are return addresses: the call is one byte before.
                        let address =
                            if is_innermost { address } else { address.saturating_sub(1) };
                        is_innermost = false;
                        let chain = if is_kernel { &mut stack.kernel } else { &mut stack.user };
                        chain.push(address);
                    }
                }
            }
            let behind = words.flat_map(u64::to_ne_bytes).collect();
            Record::Sample(Sample { time_ns, stack, behind })
        }
        SWITCH => {
            let thread = (words.next().unwrap_or(0) >> 32) as u32;
            let time_ns = words.next().unwrap_or(0);
            let way = match (head & SWITCH_OFF != 0, head & SWITCH_PREEMPTED != 0) {
                (false, _) => Way::On,
                (true, false) => Way::Off,
                (true, true) => Way::Preempted,
            };
            Record::Switch(Switch { time_ns, thread, way })
        }
        _ => Record::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn marks_tell_the_kernel_from_the_program() {
        let chain = record(&[
            9,
            0xffff_0001,
            (7 << 32) | 5,
            99,
            6,
            KERNEL,
            0xffff_0001,
            0xffff_0002,
            USER,
            0x10,
            0x20,
        ]);
        let stack =
            Stack { thread: 7, kernel: vec![0xffff_0001, 0xffff_0001], user: vec![0x0f, 0x1f] };
        let sample = |stack| Sample { time_ns: 99, stack, behind: Vec::new() };
        assert_eq!(read(&chain), Record::Sample(sample(stack)));
        assert_eq!(read(&record(&[2, 1, 12, 7 << 32])), Record::Lost(7, 12));
        assert_eq!(read(&record(&[1, 1])), Record::Other);
        // A count that is larger than the record.
        let short = record(&[9, 0, 7 << 32, 99, 100, USER, 0x10]);
        let stack = Stack { thread: 7, user: vec![0x10], ..Stack::default() };
        assert_eq!(read(&short), Record::Sample(sample(stack)));
        assert_eq!(read(b"abc"), Record::Other);
    }

    #[test]
    fn fields_of_tracepoints_and_switches_are_read() {
        let fields = record(&[9, 0x10, 7 << 32, 5, 1, 0x10, 8 | (0x0102 << 32), 0x55]);
        let Record::Sample(sample) = read(&fields) else { panic!("a sample") };
        assert_eq!(sample.fields(), [2, 1, 0, 0, 0x55, 0, 0, 0]);
        let top = record(&[9, 0x10, 7 << 32, 5, 1, 0x10, 8, 0x5555, 8]);
        let Record::Sample(sample) = read(&top) else { panic!("a sample") };
        assert_eq!((sample.stack_top(), sample.stack.user.len()), (Some(0x5555), 1));
        for (bits, way) in [(0, Way::On), (1 << 45, Way::Off), (3 << 45, Way::Preempted)] {
            let switch = Switch { time_ns: 88, thread: 7, way };
            assert_eq!(read(&record(&[14 | bits, 7 << 32, 88])), Record::Switch(switch));
        }
        // Fields whose length exceeds the record are ignored.
        let Record::Sample(sample) = read(&record(&[9, 0, 0, 0, 0, 100])) else { panic!("one") };
        assert!(sample.fields().is_empty());
    }
}
