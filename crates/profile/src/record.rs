//! Records of perf events: samples with their stacks, and how many were lost.
//!
//! Owns their format (perf_event_open(2), `PERF_RECORD_*`).

/// The addresses of a sample, from the innermost frame on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stack {
    /// The process.
    pub process: u32,
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
    /// Of how many events it is one.
    pub(crate) period: u64,
    /// The bytes after the chain: the fields of a tracepoint, or the top of the stack at a probe; then the copied
    /// registers and stack, if they were asked for.
    pub(crate) behind: Vec<u8>,
}

/// The registers of the program and the begin of its stack, from which callers can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopiedStack<'s> {
    /// In the order of the kernel's numbers.
    pub(crate) registers: &'s [u8],
    /// The bytes from the stack pointer on.
    pub(crate) bytes: &'s [u8],
}

/// How many registers a sample has.
const REGISTERS: usize = if cfg!(target_arch = "aarch64") { 4 } else { 3 };

impl Sample {
    /// The fields of a tracepoint, which follow their length in four bytes.
    pub(crate) fn fields(&self) -> &[u8] {
        let length = self.behind.first_chunk().map_or(0, |length| u32::from_ne_bytes(*length));
        self.behind.get(4..4 + length as usize).unwrap_or_default()
    }

    /// The copied stack, which is behind the fields if there are some.
    pub(crate) fn copied(&self, order: BehindChain) -> Option<CopiedStack<'_>> {
        let length = self.behind.first_chunk().map_or(0, |length| u32::from_ne_bytes(*length));
        let at = match order {
            BehindChain::Fields => 4 + length as usize,
            BehindChain::Copied => 0,
        };
        let word = |at: usize| {
            self.behind.get(at..at + 8)?.first_chunk().map(|word| u64::from_ne_bytes(*word))
        };
        // Which registers these are: 0 is none, 1 and 2 those of programs with 32 and 64 bits.
        if word(at)? != 2 {
            return None;
        }
        let behind = at + 8 + 8 * REGISTERS;
        let registers = self.behind.get(at + 8..behind)?;
        let size = usize::try_from(word(behind)?).ok()?;
        // After the room for the stack: how much of it is used.
        let used = word(behind.checked_add(8)?.checked_add(size)?).unwrap_or(0);
        let used = usize::try_from(used).ok()?.min(size);
        let bytes = self.behind.get(behind + 8..behind + 8 + used)?;
        Some(CopiedStack { registers, bytes })
    }

    /// The word at the top of the stack, after its length: at the entry of a function, its return address.
    pub(crate) fn stack_top(&self) -> Option<u64> {
        let length = u64::from_ne_bytes(*self.behind.first_chunk()?);
        let word = self.behind.get(8..16).filter(|_| length == 8)?.first_chunk()?;
        Some(u64::from_ne_bytes(*word))
    }
}

/// The first of the parts behind the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BehindChain {
    /// The fields of a tracepoint.
    Fields,
    /// The copied registers and stack.
    Copied,
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

/// Words of a sample before its chain: head, address, process and thread, time, period, length of the chain.
const HEAD: usize = 6;

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
            let ids = words.nth(1).unwrap_or(0);
            let time_ns = words.next().unwrap_or(0);
            let period = words.next().unwrap_or(0);
            let count = words.next().unwrap_or(0);
            let (process, thread) = (ids as u32, (ids >> 32) as u32);
            let mut stack = Stack { process, thread, ..Stack::default() };
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
            let behind = usize::try_from(count).ok().and_then(|count| count.checked_add(HEAD));
            let behind = behind.and_then(|words| record.get(words.checked_mul(8)?..));
            let behind = behind.unwrap_or_default().to_vec();
            Record::Sample(Sample { time_ns, stack, period, behind })
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
            1,
            6,
            KERNEL,
            0xffff_0001,
            0xffff_0002,
            USER,
            0x10,
            0x20,
        ]);
        let kernel = vec![0xffff_0001, 0xffff_0001];
        let stack = Stack { process: 5, thread: 7, kernel, user: vec![0x0f, 0x1f] };
        let sample = |stack| Sample { time_ns: 99, stack, period: 1, behind: Vec::new() };
        assert_eq!(read(&chain), Record::Sample(sample(stack)));
        assert_eq!(read(&record(&[2, 1, 12, 7 << 32])), Record::Lost(7, 12));
        assert_eq!(read(&record(&[1, 1])), Record::Other);
        // A count that is larger than the record.
        let short = record(&[9, 0, 7 << 32, 99, 1, 100, USER, 0x10]);
        let stack = Stack { thread: 7, user: vec![0x10], ..Stack::default() };
        assert_eq!(read(&short), Record::Sample(sample(stack)));
        assert_eq!(read(b"abc"), Record::Other);
    }

    #[test]
    fn fields_of_tracepoints_and_switches_are_read() {
        let fields = record(&[9, 0x10, 7 << 32, 5, 1, 1, 0x10, 8 | (0x0102 << 32), 0x55]);
        let Record::Sample(sample) = read(&fields) else { panic!("a sample") };
        assert_eq!(sample.fields(), [2, 1, 0, 0, 0x55, 0, 0, 0]);
        let top = record(&[9, 0x10, 7 << 32, 5, 1, 1, 0x10, 8, 0x5555, 8]);
        let Record::Sample(sample) = read(&top) else { panic!("a sample") };
        assert_eq!((sample.stack_top(), sample.stack.user.len()), (Some(0x5555), 1));
        for (bits, way) in [(0, Way::On), (1 << 45, Way::Off), (3 << 45, Way::Preempted)] {
            let switch = Switch { time_ns: 88, thread: 7, way };
            assert_eq!(read(&record(&[14 | bits, 7 << 32, 88])), Record::Switch(switch));
        }
        // Fields whose length exceeds the record are ignored.
        let Record::Sample(sample) = read(&record(&[9, 0, 0, 0, 1, 0, 100])) else { panic!("one") };
        assert!(sample.fields().is_empty());
    }

    #[test]
    fn copied_registers_and_stacks_are_found_behind_the_fields() {
        let registers = (0..REGISTERS as u64).map(|number| 0x70 + number);
        // Two words of the four are used.
        let copied: Vec<u64> =
            std::iter::once(2).chain(registers).chain([32, 1, 2, 0, 0, 16]).collect();
        let head = [9, 0x10, 7 << 32, 5, 1, 0];
        let at = |fields: &[u64], order| {
            let Record::Sample(sample) = read(&record(&[&head, fields, &copied[..]].concat()))
            else {
                panic!("a sample")
            };
            let copied = sample.copied(order)?;
            Some((copied.registers[0], copied.bytes.to_vec()))
        };
        let found = Some((0x70, record(&[1, 2])));
        assert_eq!(at(&[], BehindChain::Copied), found);
        assert_eq!(at(&[12 | (0x0102 << 32), 0x55], BehindChain::Fields), found);
        // A thread of the kernel has neither.
        assert_eq!(at(&[0], BehindChain::Copied), None);
        let short = Sample { behind: record(&[2, 0, 0]), ..Sample::default() };
        assert_eq!(short.copied(BehindChain::Copied), None);
    }
}
