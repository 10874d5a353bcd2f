//! Random changes with a log, then a power failure that leaves the file as it was at its
//! checkpoint: the log has everything that is missing.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use store::{Database, Query, StepOutcome, Sync};

use crate::model::{Model, kept_is, steps};
use crate::place::{FIRST, Place, ask, change, put, run};

/// Records of checkpoints: their offsets and size, and the offsets of the boot id and the checksum.
const RECORDS: [usize; 2] = [0, 4096];
const RECORD: usize = 512;
const BOOT: std::ops::Range<usize> = 24..60;
const SUM: usize = RECORD - 8;

/// Changes the checkpoint to that of an earlier boot.
pub(crate) fn start_kernel(directory: &Path) {
    let path = directory.join("checkpoint");
    let mut bytes = fs::read(&path).unwrap();
    for place in RECORDS {
        let Some(record) = bytes.get_mut(place..place + RECORD) else { continue };
        if record[16..24] == [0; 8] {
            continue;
        }
        record[BOOT].fill(b'0');
        let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let sum = record[..SUM].iter().fold(0xcbf2_9ce4_8422_2325, step);
        record[SUM..].copy_from_slice(&sum.to_ne_bytes());
    }
    fs::write(path, bytes).unwrap();
}

/// The version of a key.
fn version(place: &store::Store, key: &[u8]) -> u64 {
    place.snapshot().unwrap().get(FIRST, key, 0).unwrap().unwrap().version
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn a_log_repeats_any_changes(steps in steps(), checkpoints in prop::collection::vec(any::<bool>(), 25)) {
        let mut place = Place::new();
        place.settings.sync = Sync::Log;
        let mut opened = place.open();
        let mut writer = opened.writer();
        let (mut model, mut now) = (Model::default(), 0);
        for ((pause, removes, step), is_kept) in steps.into_iter().zip(checkpoints) {
            now += pause;
            if removes {
                prop_assert!(!writer.delete_expired(now).unwrap());
            }
            if is_kept && removes {
                writer.sync().unwrap();
            }
            model.apply(&step, now);
            change(&mut writer, step, now);
        }
        change(&mut writer, put("last", "1"), now);
        let last = version(&opened, b"last");
        for round in 0..2 {
            drop((opened, writer));
            start_kernel(&place.settings.directory);
            opened = place.open();
            writer = opened.writer();
            for key in [&b"a"[..], b"ab", b"b", &[0xff; 503]] {
                let get = run(&mut writer, store::StoreOperation::Query(Query::Get(key.into())), now);
                let remaining = ask(&opened, &Query::Remaining(key.into()), now);
                prop_assert!(kept_is(&model, (key, now), &get, &remaining), "{key:?}: {get:?}, \
                    {remaining:?}");
            }
            prop_assert!(writer.check(Database(0)).unwrap().is_ok());
            // Versions continue after those that were repeated, and new writes are kept as well.
            change(&mut writer, put("last", "2"), now);
            prop_assert!(version(&opened, b"last") > last, "round {}", round);
        }
    }
}

#[test]
fn a_store_whose_log_was_repeated_can_lose_its_power_again() {
    let mut place = Place::new();
    place.settings.sync = Sync::Log;
    for round in 0..5 {
        let opened = place.open();
        let mut writer = opened.writer();
        for key in 0..20 {
            change(&mut writer, put(&format!("{round}:{key}"), "value"), 0);
        }
        drop((opened, writer));
        start_kernel(&place.settings.directory);
    }
    let opened = place.open();
    assert_eq!(ask(&opened, &Query::Count, 0), StepOutcome::Number(100));
    assert_eq!(opened.writer().check(FIRST).unwrap(), Ok(100));
}
