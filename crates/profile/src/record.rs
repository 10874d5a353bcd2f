//! Records of the kernel: samples with their stacks, and how many were lost.
//!
//! Owns their form (perf_event_open(2), `PERF_RECORD_*`).

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

/// What a record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Sample(Stack),
    /// So many records had no room.
    Lost(u64),
    Other,
}

const LOST: u32 = 2;
const SAMPLE: u32 = 9;

/// Marks within a call chain: what follows is of the kernel, of the program (`PERF_CONTEXT_*`). All marks are beyond every address.
const KERNEL: u64 = -128_i64 as u64;
const USER: u64 = -512_i64 as u64;
const FIRST_MARK: u64 = -4095_i64 as u64;

pub(crate) fn read(record: &[u8]) -> Record {
    let mut words = record
        .chunks_exact(8)
        .map(|word| word.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word)));
    let Some(head) = words.next() else { return Record::Other };
    match head as u32 {
        LOST => Record::Lost(words.nth(1).unwrap_or(0)),
        SAMPLE => {
            // The address is the first of the chain, too.
            let thread = words.nth(1).unwrap_or(0) >> 32;
            let count = words.nth(1).unwrap_or(0);
            let mut stack = Stack { thread: thread as u32, ..Stack::default() };
            let (mut is_kernel, mut is_innermost) = (false, true);
            for address in words.take(usize::try_from(count).unwrap_or(0)) {
                match address {
                    KERNEL => is_kernel = true,
                    USER => is_kernel = false,
                    FIRST_MARK.. => {}
                    address => {
                        // All but the innermost are where a call returns to: the call itself is before that.
                        let address =
                            if is_innermost { address } else { address.saturating_sub(1) };
                        is_innermost = false;
                        let chain = if is_kernel { &mut stack.kernel } else { &mut stack.user };
                        chain.push(address);
                    }
                }
            }
            Record::Sample(stack)
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
        let sample = record(&[
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
        assert_eq!(read(&sample), Record::Sample(stack));
        assert_eq!(read(&record(&[2, 1, 12])), Record::Lost(12));
        assert_eq!(read(&record(&[1, 1])), Record::Other);
        // A count that says more than there is.
        let short = record(&[9, 0, 7 << 32, 0, 100, USER, 0x10]);
        assert_eq!(
            read(&short),
            Record::Sample(Stack { thread: 7, user: vec![0x10], ..Stack::default() })
        );
        assert_eq!(read(b"abc"), Record::Other);
    }
}
