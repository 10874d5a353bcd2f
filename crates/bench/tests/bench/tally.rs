//! Merged tallies of several threads, and distributions as other tools write and read them.

use bench::limits::{LATENCY_MAXIMUM_NS, SECONDS_MAXIMUM};
use bench::tally::{
    Answering, BlobError, FailureKind, Latency, Loop, Opening, Second, Sending, Tally,
};
use hdrhistogram::serialization::{Serializer, V2Serializer};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: sys::allocation::CountingAllocator = sys::allocation::CountingAllocator;

const SECOND_NS: u64 = 1_000_000_000;

/// An event of a thread.
#[derive(Debug, Clone, Copy)]
enum Happening {
    Ask,
    Send { late_ns: u64, busy_ns: u64 },
    Answer { service_ns: u64, waited_ns: u64 },
    Fail(FailureKind),
    Open(u64),
    Refuse,
    Close,
}

fn happening() -> impl Strategy<Value = Happening> {
    // Times over the whole range, short ones as likely as long ones.
    let time = || (0u32..37).prop_flat_map(|bits| 0..=(1u64 << bits));
    prop_oneof![
        Just(Happening::Ask),
        (time(), time()).prop_map(|(late_ns, busy_ns)| Happening::Send { late_ns, busy_ns }),
        (time(), time())
            .prop_map(|(service_ns, waited_ns)| Happening::Answer { service_ns, waited_ns }),
        (0..FailureKind::COUNT).prop_map(|kind| Happening::Fail(FailureKind::ALL[kind])),
        time().prop_map(Happening::Open),
        Just(Happening::Refuse),
        Just(Happening::Close),
    ]
}

fn apply(tally: &mut Tally, now_ns: u64, happening: Happening) {
    match happening {
        Happening::Ask => tally.ask(),
        Happening::Send { late_ns, busy_ns } => {
            let free_ns = now_ns.saturating_sub(late_ns);
            let due_ns = free_ns.saturating_sub(busy_ns);
            tally.send(Sending { due_ns, free_ns, sent_ns: now_ns });
        }
        Happening::Answer { service_ns, waited_ns } => {
            let sent_ns = now_ns.saturating_sub(service_ns);
            let due_ns = sent_ns.saturating_sub(waited_ns);
            tally.answer(Answering { due_ns, sent_ns, answered_ns: now_ns });
        }
        Happening::Fail(kind) => tally.fail(kind, now_ns),
        Happening::Open(connect_ns) => {
            tally.connected(connect_ns);
            tally.open();
        }
        Happening::Refuse => tally.refuse(7),
        Happening::Close => tally.close(),
    }
}

/// A tally that began so late that every difference in the tests is positive.
fn begun(pace: Loop) -> (Tally, u64) {
    let start_ns = 1000 * SECOND_NS;
    let mut tally = Tally::new(pace, 0, 5 * SECOND_NS);
    tally.begin(start_ns, Opening::Cleared);
    (tally, start_ns)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn merging_is_as_if_one_thread_had_measured_all(
        pace in prop_oneof![Just(Loop::Closed), Just(Loop::Open)],
        happenings in prop::collection::vec((0..SECOND_NS / 4, any::<bool>(), happening()), 0..60),
    ) {
        let (mut all, start_ns) = begun(pace);
        let (mut left, _) = begun(pace);
        let (mut right, _) = begun(pace);
        // Closing more than are open changes nothing, and would do so for each thread separately.
        for (tally, connections) in [(&mut all, 120), (&mut left, 60), (&mut right, 60)] {
            (0..connections).for_each(|_| tally.open());
        }
        let mut now_ns = start_ns;
        for (pause_ns, goes_left, happening) in happenings {
            now_ns += pause_ns;
            apply(&mut all, now_ns, happening);
            apply(if goes_left { &mut left } else { &mut right }, now_ns, happening);
        }
        left.merge(&right);
        // The peaks of two threads may be at different times.
        prop_assert!(left.connections.open >= all.connections.open);
        left.connections.open = all.connections.open;
        prop_assert_eq!(left, all);
    }

    #[test]
    fn a_blob_comes_back_as_it_was_and_merges_as_the_distribution_does(
        first in prop::collection::vec((0u32..37).prop_flat_map(|bits| 0..=(1u64 << bits)), 0..200),
        second in prop::collection::vec(0..2 * LATENCY_MAXIMUM_NS, 0..200),
    ) {
        let of = |times: &[u64]| {
            let mut latency = Latency::new();
            times.iter().for_each(|time| latency.record(*time));
            latency
        };
        let mut merged = of(&first);
        merged.merge(&of(&second));
        let mut from_blobs = Latency::from_blob(&of(&first).to_blob()).unwrap();
        from_blobs.merge(&Latency::from_text(&of(&second).to_text()).unwrap());
        prop_assert_eq!(from_blobs.to_blob(), merged.to_blob());
        prop_assert_eq!(from_blobs.count(), merged.count());
        for share in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
            prop_assert_eq!(from_blobs.quantile_ns(share), merged.quantile_ns(share));
        }
    }

    #[test]
    fn quantiles_are_within_their_precision_of_the_sorted_times(
        mut times in prop::collection::vec((0u32..35).prop_flat_map(|bits| 0..=(1u64 << bits)), 1..300),
        share in 0.0..=1.0f64,
    ) {
        let (mut tally, start_ns) = begun(Loop::Closed);
        for time in &times {
            tally.answer(Answering { due_ns: 0, sent_ns: start_ns - time, answered_ns: start_ns });
        }
        times.sort_unstable();
        let rank = ((share * times.len() as f64).ceil() as usize).clamp(1, times.len());
        let exact = times[rank - 1];
        let whole = tally.service().quantile_ns(share);
        prop_assert!(whole >= exact && whole <= exact + exact / 1000, "{whole} for {exact}");
        let of_second = tally.seconds().quantile_ns(0, share);
        prop_assert!(of_second >= exact && of_second <= exact + exact / 32, "{of_second} for {exact}");
    }

    #[test]
    fn no_bytes_make_the_reader_of_blobs_panic(
        flips in prop::collection::vec((0usize..200, any::<u8>()), 0..8),
        length in 0usize..200,
        is_compressed in any::<bool>(),
    ) {
        let mut latency = Latency::new();
        (0..500).for_each(|time| latency.record(time * time));
        let mut blob = if is_compressed { latency.to_blob_compressed() } else { latency.to_blob() };
        blob.truncate(length);
        for (at, byte) in flips {
            if let Some(slot) = blob.get_mut(at) {
                *slot = byte;
            }
        }
        if let Ok(read) = Latency::from_blob(&blob) {
            prop_assert!(read.maximum_ns() <= LATENCY_MAXIMUM_NS);
        }
    }
}

#[test]
fn a_blob_of_another_tool_is_read() {
    // Written by HdrHistogram_py 0.10.8 with the same range: 0 once, 1 twice, 812 three times, 38,123 a thousand
    // times, 1,234,567 twenty times, 59,999,999,999 once.
    let text = "HISTFAAAADF4nJNpmSzMwMAgwAABzFCaEYh5f7hHMNh/gAgwsVzmYfsceoF/ZoBG909GJgDAFgnY";
    let latency = Latency::from_text(text).unwrap();
    assert_eq!((latency.count(), latency.clamped()), (1027, 0));
    assert_eq!(latency.minimum_ns(), 0);
    // The values that tool reports.
    assert_eq!(latency.quantile_ns(0.5), 38_143);
    assert_eq!(latency.quantile_ns(0.99), 1_234_943);
    assert_eq!(latency.maximum_ns(), LATENCY_MAXIMUM_NS);
    // The same times recorded here make the same blob.
    let mut own = Latency::new();
    let times = [(0, 1), (1, 2), (812, 3), (38_123, 1000), (1_234_567, 20), (59_999_999_999, 1)];
    for (time, count) in times {
        (0..count).for_each(|_| own.record(time));
    }
    assert_eq!(own.to_blob(), latency.to_blob());
}

#[test]
fn a_blob_of_a_longer_range_is_clamped_and_of_a_coarser_one_keeps_its_middle() {
    let mut foreign = hdrhistogram::Histogram::<u64>::new_with_max(1 << 40, 1).unwrap();
    foreign.record_n(1_000_000, 3).unwrap();
    foreign.record_n(100 * SECOND_NS, 2).unwrap();
    let mut blob = Vec::new();
    V2Serializer::new().serialize(&foreign, &mut blob).unwrap();
    let latency = Latency::from_blob(&blob).unwrap();
    assert_eq!((latency.count(), latency.clamped()), (5, 2));
    assert_eq!(latency.maximum_ns(), LATENCY_MAXIMUM_NS);
    // One digit means buckets of a sixteenth of 2^19: 983,040 to 1,015,807.
    let middle_ns = latency.quantile_ns(0.5);
    assert!((999_424..999_424 + 1000).contains(&middle_ns), "{middle_ns}");
}

#[test]
fn invalid_histogram_blob_is_refused_with_reason() {
    let latency = Latency::new();
    let (plain, compressed) = (latency.to_blob(), latency.to_blob_compressed());
    assert_eq!(Latency::from_blob(&[]), Err(BlobError::Cut));
    assert_eq!(Latency::from_blob(&plain[..20]), Err(BlobError::Cut));
    assert_eq!(Latency::from_blob(&compressed[..12]), Err(BlobError::Cut));
    assert_eq!(Latency::from_text("no base64!"), Err(BlobError::Encoding));
    let mut greedy = plain.clone();
    greedy[4] = 0xff;
    assert_eq!(Latency::from_blob(&greedy), Err(BlobError::Cut), "it claims 4 GB of counts");
    let mut strange = plain;
    strange[0] = 0;
    assert_eq!(Latency::from_blob(&strange), Err(BlobError::Format));
    assert_eq!(Latency::from_text(&"A".repeat(5 << 20)), Err(BlobError::TooLong));
}

#[test]
fn long_times_are_clamped_and_counted_but_the_mean_is_exact() {
    let mut latency = Latency::new();
    for seconds in [1, 3, 59, 60, 61, 176] {
        latency.record(seconds * SECOND_NS);
    }
    assert_eq!((latency.count(), latency.clamped()), (6, 2));
    assert_eq!(latency.maximum_ns(), 60 * SECOND_NS);
    assert_eq!(latency.mean_ns(), 60.0 * SECOND_NS as f64);
    assert_eq!(latency.sum_ns(), 360 * SECOND_NS);
}

#[test]
fn an_open_loop_counts_from_the_moment_due_and_blames_only_its_own_delay() {
    let (mut tally, start_ns) = begun(Loop::Open);
    // Due at 1 ms, a connection was free all the time, sent 3 us late, answered 40 us after that.
    let (due_ns, sent_ns) = (start_ns + 1_000_000, start_ns + 1_003_000);
    tally.ask();
    tally.send(Sending { due_ns, free_ns: start_ns, sent_ns });
    tally.answer(Answering { due_ns, sent_ns, answered_ns: sent_ns + 40_000 });
    // Due at 2 ms, but the server held every connection until 102 ms; sent 1 us after that, answered 40 us later.
    let (due_ns, free_ns) = (start_ns + 2_000_000, start_ns + 102_000_000);
    let sent_ns = free_ns + 1000;
    tally.ask();
    tally.send(Sending { due_ns, free_ns, sent_ns });
    tally.answer(Answering { due_ns, sent_ns, answered_ns: sent_ns + 40_000 });

    assert_eq!((tally.asked, tally.sent, tally.waited, tally.answered), (2, 2, 1, 2));
    assert_eq!(tally.service().sum_ns(), 80_000);
    assert_eq!(tally.response().sum_ns(), 43_000 + 100_041_000);
    assert_eq!(tally.late().sum_ns(), 3000 + 1000);
    // The series shows the stall too: within a thirty-second above 100.041 ms.
    let stall_ns = tally.seconds().quantile_ns(0, 0.99);
    assert!((100_041_000..=103_167_281).contains(&stall_ns), "{stall_ns}");
}

#[test]
fn a_closed_loop_has_one_time_and_no_lateness() {
    let (mut tally, start_ns) = begun(Loop::Closed);
    tally.ask();
    tally.send(Sending { due_ns: start_ns, free_ns: start_ns, sent_ns: start_ns });
    tally.answer(Answering { due_ns: start_ns, sent_ns: start_ns, answered_ns: start_ns + 5000 });
    assert_eq!(tally.response(), tally.service());
    assert_eq!(tally.service().sum_ns(), 5000);
    assert!(tally.late().is_empty());
}

#[test]
fn the_warm_up_is_forgotten_and_what_was_under_way_is_carried_over() {
    let mut tally = Tally::new(Loop::Closed, 2, SECOND_NS);
    for connect_ns in [700, 900] {
        tally.connected(connect_ns);
        tally.open();
    }
    let sending = Sending { due_ns: 10, free_ns: 10, sent_ns: 10 };
    for _ in 0..3 {
        tally.ask();
        tally.send(sending);
    }
    tally.answer(Answering { due_ns: 10, sent_ns: 10, answered_ns: 30 });
    tally.begin(100, Opening::Kept);
    assert_eq!((tally.asked, tally.answered, tally.in_flight_start), (0, 0, 2));
    assert_eq!((tally.connections.open, tally.connections.opened), (2, 2));
    assert_eq!(tally.connect().sum_ns(), 1600, "the opening counts where connections are kept");
    assert!(tally.service().is_empty());
    tally.answer(Answering { due_ns: 10, sent_ns: 10, answered_ns: 150 });
    tally.fail(FailureKind::Timeout, 160);
    assert_eq!(tally.in_flight(), 0);
    assert_eq!(
        tally.seconds().counts(),
        [Second {
            sent: 0,
            answered: 1,
            failed: 1,
            answered_tenths: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        }]
    );
    tally.close();
    tally.begin(200, Opening::Cleared);
    assert_eq!((tally.open_now, tally.connections.open), (1, 1));
    assert_eq!((tally.connections.opened, tally.connections.closed), (0, 0));
    assert!(tally.connect().is_empty());
}

#[test]
fn seconds_begin_with_the_counting_and_the_last_one_takes_the_rest() {
    let (mut tally, start_ns) = begun(Loop::Closed);
    let answer_at = |tally: &mut Tally, after_ns: u64| {
        let answered_ns = start_ns + after_ns;
        tally.answer(Answering { due_ns: 0, sent_ns: answered_ns - 7, answered_ns });
    };
    answer_at(&mut tally, 0);
    answer_at(&mut tally, SECOND_NS - 1);
    answer_at(&mut tally, SECOND_NS);
    answer_at(&mut tally, 3 * SECOND_NS + 5);
    let answered = |tally: &Tally| -> Vec<u64> {
        tally.seconds().counts().iter().map(|second| second.answered).collect()
    };
    assert_eq!(answered(&tally), [2, 1, 0, 1]);
    assert_eq!(tally.seconds().quantile_ns(0, 0.5), 7);
    assert_eq!(tally.seconds().quantile_ns(2, 0.5), 0, "nothing was answered in that one");
    answer_at(&mut tally, 500 * SECOND_NS);
    assert_eq!(answered(&tally), [2, 1, 0, 1, 0, 1], "five seconds and one for the end");
    let endless = Tally::new(Loop::Closed, 0, u64::MAX);
    assert_eq!(endless.seconds().capacity(), SECONDS_MAXIMUM);
}

#[test]
fn recent_window_forgets_older_values() {
    let mut tally = Tally::new(Loop::Closed, 1, 10 * SECOND_NS);
    let answer = |tally: &mut Tally, at_ms: u64, service_ns: u64| {
        let answered_ns = at_ms * 1_000_000;
        let sent_ns = answered_ns - service_ns;
        tally.answer(Answering { due_ns: sent_ns, sent_ns, answered_ns });
    };
    let begin_ns = 5 * SECOND_NS;
    tally.warm_up(begin_ns);
    (0..100).for_each(|_| answer(&mut tally, 5_500, 50));
    assert_eq!(tally.seconds().recent_quantile_ns(begin_ns, 0.99), 50, "the warm-up is seen");
    answer(&mut tally, 6_500, 30);
    answer(&mut tally, 7_500, 20);
    let at =
        |tally: &Tally, now_ms: u64| tally.seconds().recent_quantile_ns(now_ms * 1_000_000, 0.99);
    assert_eq!(at(&tally, 7_900), 30, "the second that runs, and the one before");
    assert_eq!(at(&tally, 8_100), 20, "nothing was answered in the second that runs");
    assert_eq!(at(&tally, 9_100), 0, "nothing was answered for a second");
    // The values of the last second are recent, however late it is.
    answer(&mut tally, 90_000, 10);
    assert_eq!(at(&tally, 95_000), 10);
    tally.begin(begin_ns, Opening::Kept);
    assert_eq!(at(&tally, 5_500), 0, "the warm-up is forgotten");
}

#[test]
fn nothing_is_allocated_once_a_tally_is_built() {
    let mut tally = Tally::new(Loop::Open, 1, 3 * SECOND_NS);
    let before = sys::allocation::allocations_of_this_thread();
    tally.answer(Answering { due_ns: 0, sent_ns: 0, answered_ns: 90 * SECOND_NS });
    assert_eq!(tally.seconds().counts().len(), 1, "the warm-up has no seconds");
    tally.begin(0, Opening::Kept);
    tally.connected(5000);
    tally.open();
    for request in 0..10_000u64 {
        let due_ns = request * 1_000_000;
        let sent_ns = due_ns + request % 977;
        tally.ask();
        tally.send(Sending { due_ns, free_ns: 0, sent_ns });
        tally.answer(Answering { due_ns, sent_ns, answered_ns: sent_ns + request * request });
        tally.fail(FailureKind::Reset, sent_ns);
    }
    assert_eq!(sys::allocation::allocations_of_this_thread() - before, 0);
    assert_eq!(tally.answered, 10_000);
}
