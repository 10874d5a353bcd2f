//! Compresses the answers of pages on the scheduler, a part in each turn, so that a large answer
//! delays no other request.
//!
//! Owns the encoders and the answers being compressed. Never decides which answers those are.

use std::collections::VecDeque;

use ahash::HashMap;
use flate2::{Compress, Compression, FlushCompress, Status};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use wire::http::encoding::{Available, Coding};
use zstd::stream::raw::{Encoder as ZstdEncoder, InBuffer, Operation, OutBuffer};

use crate::limits::{PACK_PER_TURN, PACK_QUEUED};

/// Each answer of a page is compressed for one client only, so the cheapest level is best.
const LEVEL: u32 = 1;

/// The window that gzip readers expect.
const WINDOW_BITS: u8 = 15;

/// The minimum room for the output of an encoder.
const OUTPUT_ROOM: usize = 16 * 1024;

/// The codings in which answers can be compressed.
pub(super) const CODINGS: Available = Available::IDENTITY.with(Coding::Gzip).with(Coding::Zstd);

/// The result of compressing an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Packed {
    /// It is compressed.
    Now(Vec<u8>),
    /// It will be compressed; then its process is resumed.
    Later,
    /// It is sent uncompressed, because it would not shrink or there is no room.
    Never,
}

/// The state of an answer that is compressed over several turns.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PackState {
    Queued,
    Done(Vec<u8>),
    /// The encoder had no memory or failed: the rest of the answer will not come.
    Failed,
}

/// The answers of one scheduler that are being compressed.
pub(super) struct Packer {
    /// For answers that are compressed at once.
    whole: Encoders,
    /// For the first answer in the queue.
    parts: Encoders,
    /// An answer whose client has closed stays in the queue until it is first, and is then skipped.
    queue: VecDeque<Packing>,
    /// Bytes in the queue.
    queued: usize,
    /// The queue number and state of each process's answer.
    answers: HashMap<ProcessId, (u64, PackState)>,
    last: u64,
    /// Bytes that may still be compressed in this turn.
    left: usize,
}

/// An answer that is being compressed.
struct Packing {
    process: ProcessId,
    number: u64,
    coding: Coding,
    body: Vec<u8>,
    /// How many bytes were read.
    read: usize,
    packed: Vec<u8>,
}

impl Default for Packer {
    fn default() -> Self {
        Self {
            whole: Encoders::default(),
            parts: Encoders::default(),
            queue: VecDeque::new(),
            queued: 0,
            answers: HashMap::default(),
            last: 0,
            left: PACK_PER_TURN,
        }
    }
}

impl Packer {
    /// Compresses an answer, or queues it.
    pub(super) fn pack(&mut self, process: ProcessId, coding: Coding, body: &[u8]) -> Packed {
        if body.len() <= self.left {
            self.left -= body.len();
            let mut packed = Vec::new();
            let fits = self.whole.of(coding).is_some_and(|encoder| {
                encoder.run(body, End::Whole, &mut packed).is_some() && packed.len() < body.len()
            });
            return if fits { Packed::Now(packed) } else { Packed::Never };
        }
        if self.queued + body.len() > PACK_QUEUED || self.parts.of(coding).is_none() {
            return Packed::Never;
        }
        self.queued += body.len();
        self.last += 1;
        let (number, body, packed) = (self.last, body.to_vec(), Vec::new());
        self.answers.insert(process, (number, PackState::Queued));
        self.queue.push_back(Packing { process, number, coding, body, read: 0, packed });
        Packed::Later
    }

    /// The state of a process's answer, if it is being compressed. A finished one is handed out.
    #[inline]
    pub(super) fn standing(&mut self, process: ProcessId) -> Option<PackState> {
        if self.answers.is_empty() {
            return None;
        }
        match self.answers.get(&process)? {
            (_, PackState::Queued) => Some(PackState::Queued),
            _ => self.answers.remove(&process).map(|(_, standing)| standing),
        }
    }

    /// The client has closed: its answer is not compressed further.
    #[inline]
    pub(super) fn forget(&mut self, process: ProcessId) {
        if !self.answers.is_empty() {
            self.answers.remove(&process);
        }
    }

    /// Compresses some of the queue at the end of a turn.
    #[inline]
    pub(super) fn on_turn_end<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        self.left = PACK_PER_TURN;
        if self.queue.is_empty() {
            return;
        }
        for process in self.go_on() {
            context.command(SchedulerCommand::Resume(process));
        }
        if !self.queue.is_empty() {
            context.wake_at_ns(context.now.monotonic_ns);
        }
    }

    /// Compresses as much as a turn may; returns the processes whose answers are finished.
    fn go_on(&mut self) -> Vec<ProcessId> {
        let (mut left, mut over) = (PACK_PER_TURN, Vec::new());
        while left > 0
            && let Some(packing) = self.queue.front_mut()
        {
            let known = self.answers.get_mut(&packing.process);
            let wanted = known.filter(|(number, _)| *number == packing.number);
            let Some((_, standing)) = wanted else {
                if packing.read > 0 {
                    self.parts.reset(packing.coding);
                }
                self.queued -= packing.body.len();
                self.queue.pop_front();
                continue;
            };
            let rest = packing.body.get(packing.read..).unwrap_or_default();
            let part = rest.get(..left).unwrap_or(rest);
            let end = if part.len() == rest.len() { End::Whole } else { End::Partial };
            let encoder = self.parts.of(packing.coding);
            let run = encoder.and_then(|encoder| encoder.run(part, end, &mut packing.packed));
            left -= part.len();
            packing.read += part.len();
            *standing = match (run, end) {
                (Some(()), End::Partial) => continue,
                (Some(()), End::Whole) => PackState::Done(std::mem::take(&mut packing.packed)),
                (None, _) => {
                    self.parts.reset(packing.coding);
                    PackState::Failed
                }
            };
            over.push(packing.process);
            self.queued -= packing.body.len();
            self.queue.pop_front();
        }
        over
    }
}

/// Whether a part is the last of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Partial,
    Whole,
}

/// One encoder for each coding, created when first needed and reused.
#[derive(Default)]
struct Encoders {
    gzip: Option<Encoder>,
    zstd: Option<Encoder>,
}

impl Encoders {
    /// `None` for codings without an encoder, or if there is no memory.
    fn of(&mut self, coding: Coding) -> Option<&mut Encoder> {
        let place = match coding {
            Coding::Gzip => &mut self.gzip,
            Coding::Zstd => &mut self.zstd,
            Coding::Identity | Coding::Brotli => return None,
        };
        if place.is_none() {
            *place = Encoder::of(coding);
        }
        place.as_mut()
    }

    /// Drops an encoder in the middle of an answer; the next answer gets a new one.
    fn reset(&mut self, coding: Coding) {
        match coding {
            Coding::Gzip => self.gzip = None,
            Coding::Zstd => self.zstd = None,
            Coding::Identity | Coding::Brotli => {}
        }
    }
}

enum Encoder {
    Gzip(Compress),
    Zstd(Box<ZstdEncoder<'static>>),
}

impl Encoder {
    fn of(coding: Coding) -> Option<Self> {
        Some(match coding {
            Coding::Gzip => Self::Gzip(Compress::new_gzip(Compression::new(LEVEL), WINDOW_BITS)),
            Coding::Zstd => Self::Zstd(Box::new(ZstdEncoder::new(LEVEL.cast_signed()).ok()?)),
            Coding::Identity | Coding::Brotli => return None,
        })
    }

    /// Compresses the next part; after the last one the encoder is ready for another answer. `None`: the encoder
    /// failed.
    fn run(&mut self, part: &[u8], end: End, packed: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Gzip(gzip) => run_gzip(gzip, part, end, packed),
            Self::Zstd(zstd) => run_zstd(zstd, part, end, packed),
        }
    }
}

fn run_gzip(gzip: &mut Compress, part: &[u8], end: End, packed: &mut Vec<u8>) -> Option<()> {
    let flush = if end == End::Whole { FlushCompress::Finish } else { FlushCompress::None };
    let before = gzip.total_in();
    loop {
        packed.reserve(OUTPUT_ROOM);
        let read = usize::try_from(gzip.total_in() - before).ok()?;
        let status = gzip.compress_vec(part.get(read..)?, packed, flush).ok()?;
        let is_read = gzip.total_in() - before == part.len() as u64;
        match (end, status) {
            (End::Whole, Status::StreamEnd) => {
                gzip.reset();
                return Some(());
            }
            // If there is room left, it has nothing more to write.
            (End::Partial, _) if is_read && packed.len() < packed.capacity() => return Some(()),
            _ => {}
        }
    }
}

fn run_zstd(
    zstd: &mut ZstdEncoder<'static>,
    part: &[u8],
    end: End,
    packed: &mut Vec<u8>,
) -> Option<()> {
    let mut input = InBuffer::around(part);
    while input.pos() < part.len() {
        packed.reserve(OUTPUT_ROOM);
        let position = packed.len();
        zstd.run(&mut input, &mut OutBuffer::around_pos(packed, position)).ok()?;
    }
    if end == End::Partial {
        return Some(());
    }
    loop {
        packed.reserve(OUTPUT_ROOM);
        let position = packed.len();
        let left = zstd.finish(&mut OutBuffer::around_pos(packed, position), true).ok()?;
        if left == 0 {
            break;
        }
    }
    zstd.reinit().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;

    fn process(number: u64) -> ProcessId {
        ProcessId::from_bits(number)
    }

    fn unpacked(coding: Coding, packed: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        match coding {
            Coding::Gzip => {
                let mut reader = flate2::bufread::GzDecoder::new(packed);
                reader.read_to_end(&mut bytes).unwrap();
                assert!(reader.into_inner().is_empty(), "one member and nothing behind it");
            }
            _ => bytes = zstd::stream::decode_all(packed).unwrap(),
        }
        bytes
    }

    /// Random bytes with this many different values.
    fn bytes(length: usize, seed: u64, values: u8) -> Vec<u8> {
        let mut state = seed | 1;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b'a'.wrapping_add((state >> 33) as u8 % values)
        };
        (0..length).map(next).collect()
    }

    /// Text with repetitions.
    fn text(length: usize, seed: u64) -> Vec<u8> {
        bytes(length, seed, 4)
    }

    /// Runs turns until a process has its answer.
    fn wait(packer: &mut Packer, of: ProcessId) -> (usize, Vec<u8>) {
        for turn in 1.. {
            packer.left = PACK_PER_TURN;
            let done = packer.go_on();
            if done.contains(&of) {
                match packer.standing(of) {
                    Some(PackState::Done(packed)) => return (turn, packed),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(packer.standing(of), Some(PackState::Queued));
        }
        unreachable!("it is done or in the queue")
    }

    #[test]
    fn large_output_is_compressed_over_several_turns() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let mut packer = Packer::default();
            let small = text(PACK_PER_TURN / 2, 1);
            for _ in 0..2 {
                match packer.pack(process(1), coding, &small) {
                    Packed::Now(packed) => assert_eq!(unpacked(coding, &packed), small),
                    other => panic!("{other:?}"),
                }
            }
            // The turn has used its share.
            assert_eq!(packer.pack(process(2), coding, &small), Packed::Later);
            let large = text(3 * PACK_PER_TURN, 2);
            assert_eq!(packer.pack(process(3), coding, &large), Packed::Later);
            let (turns, packed) = wait(&mut packer, process(3));
            assert_eq!((turns, unpacked(coding, &packed)), (4, large));
            assert!(matches!(packer.standing(process(2)), Some(PackState::Done(_))));
            assert_eq!((packer.standing(process(3)), packer.queued), (None, 0));
        }
    }

    #[test]
    fn incompressible_or_oversized_output_is_sent_uncompressed() {
        let mut packer = Packer::default();
        let noise = bytes(2000, 6, 255);
        assert_eq!(packer.pack(process(1), Coding::Gzip, &noise), Packed::Never);
        assert_eq!(packer.pack(process(1), Coding::Brotli, &text(2000, 1)), Packed::Never);
        let large = text(PACK_QUEUED / 2, 3);
        assert_eq!(packer.pack(process(1), Coding::Zstd, &large), Packed::Later);
        assert_eq!(packer.pack(process(2), Coding::Zstd, &large), Packed::Later);
        assert_eq!(packer.pack(process(3), Coding::Zstd, &large), Packed::Never);
    }

    #[test]
    fn a_client_that_closes_takes_its_answer_with_it_and_no_other() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let mut packer = Packer::default();
            let (first, second) = (text(3 * PACK_PER_TURN, 4), text(2 * PACK_PER_TURN, 5));
            assert_eq!(packer.pack(process(1), coding, &first), Packed::Later);
            assert_eq!(packer.pack(process(2), coding, &second), Packed::Later);
            assert_eq!(packer.go_on(), []);
            packer.forget(process(1));
            assert_eq!(packer.standing(process(1)), None);
            // Its connection meanwhile asks for something else.
            assert_eq!(packer.pack(process(1), coding, &first), Packed::Later);
            assert_eq!(unpacked(coding, &wait(&mut packer, process(2)).1), second);
            assert_eq!(unpacked(coding, &wait(&mut packer, process(1)).1), first);
            assert_eq!(packer.pack(process(3), coding, &first), Packed::Later);
            packer.forget(process(3));
            packer.forget(process(3));
            assert_eq!(packer.go_on(), []);
            assert_eq!((packer.queued, packer.answers.len()), (0, 0));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn parts_of_any_size_make_one_whole(
            sizes in prop::collection::vec(0_usize..50_000, 1..6),
            seed: u64,
        ) {
            for coding in [Coding::Gzip, Coding::Zstd] {
                let mut encoder = Encoder::of(coding).unwrap();
                // Twice, because the encoder is reused.
                for _ in 0..2 {
                    let (mut packed, mut expected) = (Vec::new(), Vec::new());
                    for size in &sizes {
                        let part = text(*size, seed);
                        encoder.run(&part, End::Partial, &mut packed).unwrap();
                        expected.extend_from_slice(&part);
                    }
                    encoder.run(b"end", End::Whole, &mut packed).unwrap();
                    expected.extend_from_slice(b"end");
                    prop_assert_eq!(unpacked(coding, &packed), expected);
                }
            }
        }
    }
}
