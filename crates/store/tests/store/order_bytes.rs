//! Orders and results as bytes: what is read is what was written, whatever is cut or damaged.

use proptest::prelude::*;
use store::{
    Database, DatabaseChange, Executed, Expiry, ExpiryOnly, KeyTransfer, Misuse, Old, Only, Order,
    OrderCondition, OrderUnread, PageOf, Query, Remaining, ScanPage, StepOutcome, StoreFailure,
    StoreOperation, StoredEntry, Value, ValueKind, With, decode_orders, decode_results,
    encode_orders, encode_results,
};

use crate::model::steps;

fn names() -> Vec<String> {
    ["first", "second"].map(str::to_owned).into()
}

fn queries() -> Vec<Query> {
    let page = |after: Option<&[u8]>, with| {
        let after = after.map(Into::into);
        Query::Page(PageOf { prefix: (*b"p").into(), after, keys: 7, with })
    };
    let key = || Box::from(*b"key");
    vec![
        Query::Get(key()),
        Query::GetMany(vec![key(), Box::from(*b"")]),
        Query::Exists(vec![key()]),
        Query::Length(key()),
        Query::Remaining(key()),
        Query::Kind(key()),
        page(None, With::Keys),
        page(Some(b"a"), With::Versions),
        page(Some(b""), With::Values),
        Query::Ending,
        Query::Count,
    ]
}

fn results() -> Vec<Result<Executed, StoreFailure>> {
    let entry =
        |kind, expiry_ms| StoredEntry { kind, version: 9, expiry_ms, bytes: (*b"v").into() };
    let entries =
        vec![None, Some(entry(ValueKind::Number, None)), Some(entry(ValueKind::Table, Some(5)))];
    let misuses = [
        Misuse::KeySize,
        Misuse::ValueSize,
        Misuse::NotANumber,
        Misuse::Overflow,
        Misuse::NotAFloat,
        Misuse::NotFinite,
        Misuse::NoSuchKey,
    ];
    let keys = vec![((*b"k").into(), entries[1].clone()), ((*b"l").into(), None)];
    let mut outcomes = vec![
        StepOutcome::Made(true),
        StepOutcome::Made(false),
        StepOutcome::Number(-3),
        StepOutcome::Value(entries[2].clone()),
        StepOutcome::Values(entries.clone()),
        StepOutcome::Put(false, None),
        StepOutcome::Put(true, entries[1].clone()),
        StepOutcome::Remaining(Remaining::Missing),
        StepOutcome::Remaining(Remaining::Endless),
        StepOutcome::Remaining(Remaining::Until(7)),
        StepOutcome::Kind(None),
        StepOutcome::Kind(Some(ValueKind::Bytes)),
        StepOutcome::Page(ScanPage { keys, next: Some((*b"l").into()) }),
        StepOutcome::Page(ScanPage::default()),
    ];
    outcomes.extend(misuses.map(StepOutcome::Misuse));
    let failures = [
        StoreFailure::Full,
        StoreFailure::LargerThanStore,
        StoreFailure::DiskFull,
        StoreFailure::TooManyReaders,
        StoreFailure::InUse,
        StoreFailure::TooMuch,
        StoreFailure::Replica,
        StoreFailure::LeaderAway,
        StoreFailure::LeaderSilent,
        StoreFailure::Storage("its words".to_owned()),
    ];
    let mut results = vec![Ok(Executed::Done(outcomes)), Ok(Executed::Refused)];
    results.extend(failures.map(Err));
    results
}

fn all_queries() -> Order {
    let steps = queries().into_iter().map(|query| (Database(1), StoreOperation::Query(query)));
    let condition = OrderCondition { database: Database(0), key: (*b"seen").into(), version: 3 };
    Order { conditions: vec![condition], steps: steps.collect() }
}

proptest! {
    #[test]
    fn orders_are_read_as_they_were_written(steps in steps(), cut: prop::sample::Index, bit in 0_u8..8) {
        let changes = steps.into_iter().map(|(.., change)| (Database(0), StoreOperation::Change(change)));
        let orders = vec![Order { conditions: Vec::new(), steps: changes.collect() }, all_queries()];
        let bytes = encode_orders(&orders, &names());
        prop_assert_eq!(decode_orders(&bytes, &names()), Ok(orders));
        let cut = cut.index(bytes.len());
        prop_assert!(decode_orders(&bytes[..cut], &names()).is_err());
        // Damage may make other orders, and never a panic.
        let mut damaged = bytes;
        damaged[cut] ^= 1 << bit;
        let _other_or_none = decode_orders(&damaged, &names());
    }
}

#[test]
fn results_are_read_as_they_were_written() {
    let results = results();
    let bytes = encode_results(&results);
    assert_eq!(decode_results(&bytes), Ok(results));
    for cut in 0..bytes.len() {
        assert!(decode_results(&bytes[..cut]).is_err(), "{cut}");
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[cut] ^= 1 << bit;
            let _other_or_none = decode_results(&damaged);
        }
    }
    // A count beyond what is there allocates nothing.
    assert!(decode_results(&[0xff; 4]).is_err());
}

#[test]
fn databases_are_found_by_their_names() {
    let orders = [all_queries()];
    let bytes = encode_orders(&orders, &names());
    let turned: Vec<String> = ["second", "more", "first"].map(str::to_owned).into();
    let there = decode_orders(&bytes, &turned).unwrap();
    assert_eq!(there[0].conditions[0].database, Database(2));
    assert!(there[0].steps.iter().all(|(database, _)| *database == Database(0)));
    let missing = OrderUnread::NoDatabase("first".to_owned());
    assert_eq!(decode_orders(&bytes, &turned[..2]), Err(missing));
}

/// Nodes of other versions read them: only new numbers may be added.
#[test]
fn the_bytes_of_changes_and_results_are_what_they_were() {
    let key = || Box::from(*b"key");
    let (expiry, kind) = (Expiry::At(500), ValueKind::Number);
    let value = Value { kind, bytes: key() };
    let only = Only::IfVersion(6);
    let changes = [
        DatabaseChange::Put { key: key(), value, expiry, only, old: Old::Given },
        DatabaseChange::PutAll { pairs: vec![(key(), key())], only: Only::IfPresent },
        DatabaseChange::Copy { from: key(), to: key(), only, source: KeyTransfer::Move },
        DatabaseChange::Expire { key: key(), expiry, only: ExpiryOnly::IfAnyAndSooner },
        DatabaseChange::Touch(key(), Expiry::Keep),
        DatabaseChange::Delete(vec![key(), key()]),
        DatabaseChange::DeleteVersion(key(), 4),
        DatabaseChange::Take(key()),
        DatabaseChange::Add(key(), -4),
        DatabaseChange::Append(key(), key()),
        DatabaseChange::Overwrite(key(), 3, key()),
        DatabaseChange::AddDecimal(key(), key()),
        DatabaseChange::Clear,
        DatabaseChange::ClearAll,
    ];
    let changes = changes.map(|change| (Database(0), StoreOperation::Change(change)));
    let orders = [Order { conditions: Vec::new(), steps: changes.into() }, all_queries()];
    let hash = |bytes: &[u8]| {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        (bytes.len(), bytes.iter().fold(0, step))
    };
    assert_eq!(hash(&encode_orders(&orders, &names())), (621, 2_654_630_250_485_945_811));
    assert_eq!(hash(&encode_results(&results())), (201, 13_834_384_359_753_134_433));
}
