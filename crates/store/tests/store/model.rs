//! Random changes at random times, compared with a map in memory.

use std::collections::BTreeMap;

use proptest::prelude::*;
use store::{
    DatabaseChange, Expiry, ExpiryOnly, KeyTransfer, Misuse, Old, Only, PageOf, Query, Remaining,
    StepOutcome, StoreOperation, Value, ValueKind, With,
};

use crate::place::{Place, ask, change, run};

#[derive(Clone, Debug, PartialEq)]
struct Kept {
    bytes: Vec<u8>,
    expiry: Option<u64>,
}

fn holds(is_there: bool, only: Only) -> bool {
    match only {
        Only::Always => true,
        Only::IfAbsent => !is_there,
        Only::IfPresent => is_there,
        Only::IfVersion(_) => false,
    }
}

/// The expected content of a store.
#[derive(Default)]
pub(crate) struct Model {
    keys: BTreeMap<Vec<u8>, Kept>,
}

impl Model {
    fn get(&self, key: &[u8], now: u64) -> Option<&Kept> {
        self.keys.get(key).filter(|kept| kept.expiry.is_none_or(|expiry| now < expiry))
    }

    fn put(&mut self, key: &[u8], bytes: &[u8], expiry: Expiry, now: u64) {
        let expiry = match expiry {
            Expiry::Never => None,
            Expiry::At(time) => Some(time),
            Expiry::Keep => self.get(key, now).and_then(|kept| kept.expiry),
        };
        self.keys.insert(key.to_vec(), Kept { bytes: bytes.to_vec(), expiry });
    }

    fn delete(&mut self, key: &[u8], now: u64) -> bool {
        let is_there = self.get(key, now).is_some();
        self.keys.remove(key);
        is_there
    }

    fn expire(&mut self, key: &[u8], expiry: Expiry, now: u64) {
        match expiry {
            Expiry::Keep => {}
            Expiry::At(time) if time <= now => drop(self.keys.remove(key)),
            Expiry::At(time) => self.keys.get_mut(key).unwrap().expiry = Some(time),
            Expiry::Never => self.keys.get_mut(key).unwrap().expiry = None,
        }
    }

    fn expire_if(&mut self, key: &[u8], expiry: Expiry, only: ExpiryOnly, now: u64) -> Seen {
        let Some(kept) = self.get(key, now) else { return Seen::Made(false) };
        let end = |expiry: Option<u64>| expiry.unwrap_or(u64::MAX);
        let new = if let Expiry::At(time) = expiry { Some(time) } else { None };
        let holds = match only {
            ExpiryOnly::Always => true,
            ExpiryOnly::IfNone => kept.expiry.is_none(),
            ExpiryOnly::IfAny => kept.expiry.is_some(),
            ExpiryOnly::IfLater => end(new) > end(kept.expiry),
            ExpiryOnly::IfSooner => end(new) < end(kept.expiry),
            ExpiryOnly::IfAnyAndSooner => kept.expiry.is_some() && end(new) < end(kept.expiry),
        };
        if holds {
            self.expire(key, expiry, now);
        }
        Seen::Made(holds)
    }

    fn overwrite(&mut self, key: &[u8], at: usize, bytes: &[u8], now: u64) -> Seen {
        let mut all = self.get(key, now).map_or(Vec::new(), |kept| kept.bytes.clone());
        if !bytes.is_empty() {
            all.resize(all.len().max(at + bytes.len()), 0);
            all[at..at + bytes.len()].copy_from_slice(bytes);
            self.put(key, &all, Expiry::Keep, now);
        }
        Seen::Number(all.len() as i64)
    }

    fn copy(
        &mut self,
        (from, to): (&[u8], &[u8]),
        only: Only,
        source: KeyTransfer,
        now: u64,
    ) -> Seen {
        let Some(kept) = self.get(from, now).cloned() else {
            return match source {
                KeyTransfer::Copy => Seen::Made(false),
                KeyTransfer::Move => Seen::Misuse(Misuse::NoSuchKey),
            };
        };
        let made = holds(self.get(to, now).is_some(), only);
        if made && from != to {
            self.keys.insert(to.to_vec(), kept);
            if source == KeyTransfer::Move {
                self.delete(from, now);
            }
        }
        Seen::Made(made)
    }

    fn add_decimal(&mut self, key: &[u8], amount: &[u8], now: u64) -> Seen {
        let before = self.get(key, now).map_or(b"0".to_vec(), |kept| kept.bytes.clone());
        let text = |bytes: &[u8]| str::from_utf8(bytes).ok().map(str::to_owned);
        let (Some(before), Some(amount)) = (text(&before), text(amount)) else {
            return Seen::Misuse(Misuse::NotAFloat);
        };
        let exact = before.parse::<i128>().ok().zip(amount.parse::<i128>().ok());
        let sum = match exact.and_then(|(before, amount)| before.checked_add(amount)) {
            Some(sum) => sum.to_string(),
            None => match before.parse::<f64>().ok().zip(amount.parse::<f64>().ok()) {
                None => return Seen::Misuse(Misuse::NotAFloat),
                Some((before, amount)) if !(before + amount).is_finite() => {
                    return Seen::Misuse(Misuse::NotFinite);
                }
                Some((before, amount)) => format!("{:.0}", before + amount),
            },
        };
        let sum = sum.into_bytes();
        self.put(key, &sum, Expiry::Keep, now);
        Seen::Value(Some(sum))
    }

    fn add(&mut self, key: &[u8], amount: i64, now: u64) -> Seen {
        let text = self
            .get(key, now)
            .map_or("0".to_owned(), |kept| String::from_utf8_lossy(&kept.bytes).into_owned());
        let number = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
        let Some(number) = number else { return Seen::Misuse(Misuse::NotANumber) };
        let Some(sum) = number.checked_add(amount) else { return Seen::Misuse(Misuse::Overflow) };
        self.put(key, sum.to_string().as_bytes(), Expiry::Keep, now);
        Seen::Number(sum)
    }

    /// The outcome without versions.
    pub(crate) fn apply(&mut self, change: &DatabaseChange, now: u64) -> Seen {
        match change {
            DatabaseChange::Put { key, value, expiry, only, old } => {
                let before = self.get(key, now).map(|kept| kept.bytes.clone());
                let made = holds(before.is_some(), *only);
                if made {
                    self.put(key, &value.bytes, *expiry, now);
                }
                Seen::Put(made, before.filter(|_| *old == Old::Given))
            }
            DatabaseChange::PutAll { pairs, only } => {
                let made = pairs.iter().all(|(key, _)| holds(self.get(key, now).is_some(), *only));
                for (key, bytes) in pairs.iter().filter(|_| made) {
                    self.put(key, bytes, Expiry::Never, now);
                }
                Seen::Made(made)
            }
            DatabaseChange::Delete(keys) => {
                Seen::Number(keys.iter().filter(|key| self.delete(key, now)).count() as i64)
            }
            DatabaseChange::DeleteVersion(..) => Seen::Made(false),
            DatabaseChange::Take(key) => {
                let value = self.get(key, now).map(|kept| kept.bytes.clone());
                self.delete(key, now);
                Seen::Value(value)
            }
            DatabaseChange::Add(key, amount) => self.add(key, *amount, now),
            DatabaseChange::Append(key, bytes) => {
                let mut all = self.get(key, now).map_or(Vec::new(), |kept| kept.bytes.clone());
                all.extend_from_slice(bytes);
                self.put(key, &all, Expiry::Keep, now);
                Seen::Number(all.len() as i64)
            }
            DatabaseChange::Expire { key, expiry, only } => {
                self.expire_if(key, *expiry, *only, now)
            }
            DatabaseChange::Touch(key, expiry) => {
                let value = self.get(key, now).map(|kept| kept.bytes.clone());
                if value.is_some() {
                    self.expire(key, *expiry, now);
                }
                Seen::Value(value)
            }
            DatabaseChange::Overwrite(key, at, bytes) => self.overwrite(key, *at, bytes, now),
            DatabaseChange::AddDecimal(key, amount) => self.add_decimal(key, amount, now),
            DatabaseChange::Copy { from, to, only, source } => {
                self.copy((from, to), *only, *source, now)
            }
            DatabaseChange::Clear | DatabaseChange::ClearAll => {
                self.keys.clear();
                Seen::Made(true)
            }
        }
    }
}

#[derive(Debug, PartialEq)]
pub(crate) enum Seen {
    Made(bool),
    Number(i64),
    Value(Option<Vec<u8>>),
    Put(bool, Option<Vec<u8>>),
    Misuse(Misuse),
}

fn seen(outcome: StepOutcome) -> Seen {
    let bytes = |entry: Option<store::StoredEntry>| entry.map(|entry| entry.bytes.to_vec());
    match outcome {
        StepOutcome::Made(made) => Seen::Made(made),
        StepOutcome::Number(number) => Seen::Number(number),
        StepOutcome::Value(entry) => Seen::Value(bytes(entry)),
        StepOutcome::Put(made, entry) => Seen::Put(made, bytes(entry)),
        StepOutcome::Misuse(misuse) => Seen::Misuse(misuse),
        other => panic!("no change gives {other:?}"),
    }
}

fn key() -> impl Strategy<Value = Box<[u8]>> {
    let keys = vec![b"a".to_vec(), b"ab".to_vec(), b"b".to_vec(), vec![0xff; 503]];
    prop::sample::select(keys).prop_map(Vec::into_boxed_slice)
}

fn bytes() -> impl Strategy<Value = Box<[u8]>> {
    prop_oneof![
        Just(b"".to_vec()),
        Just(b"7".to_vec()),
        Just(b"-07".to_vec()),
        Just(i64::MAX.to_string().into_bytes()),
        Just(vec![b'x'; 5_000]),
    ]
    .prop_map(Vec::into_boxed_slice)
}

fn expiry() -> impl Strategy<Value = Expiry> {
    prop_oneof![Just(Expiry::Never), Just(Expiry::Keep), (0_u64..60).prop_map(Expiry::At)]
}

fn only() -> impl Strategy<Value = Only> {
    prop_oneof![Just(Only::Always), Just(Only::IfAbsent), Just(Only::IfPresent)]
}

fn changes() -> impl Strategy<Value = DatabaseChange> {
    let old = prop_oneof![Just(Old::Dropped), Just(Old::Given)];
    let expiry_only = prop_oneof![
        Just(ExpiryOnly::Always),
        Just(ExpiryOnly::IfNone),
        Just(ExpiryOnly::IfAny),
        Just(ExpiryOnly::IfLater),
        Just(ExpiryOnly::IfSooner),
        Just(ExpiryOnly::IfAnyAndSooner),
    ];
    prop_oneof![
        4 => (key(), bytes(), expiry(), only(), old).prop_map(|(key, bytes, expiry, only, old)| {
            let value = Value { kind: ValueKind::Bytes, bytes };
            DatabaseChange::Put { key, value, expiry, only, old }
        }),
        1 => (prop::collection::vec((key(), bytes()), 1..4), only())
            .prop_map(|(pairs, only)| DatabaseChange::PutAll { pairs, only }),
        1 => prop::collection::vec(key(), 1..4).prop_map(DatabaseChange::Delete),
        1 => key().prop_map(DatabaseChange::Take),
        2 => (key(), prop_oneof![Just(1), Just(-3), Just(i64::MIN)])
            .prop_map(|(key, amount)| DatabaseChange::Add(key, amount)),
        1 => (key(), bytes()).prop_map(|(key, bytes)| DatabaseChange::Append(key, bytes)),
        1 => (key(), 0_usize..10, bytes())
            .prop_map(|(key, at, bytes)| DatabaseChange::Overwrite(key, at, bytes)),
        1 => (key(), bytes()).prop_map(|(key, bytes)| DatabaseChange::AddDecimal(key, bytes)),
        2 => (key(), key(), only(), prop_oneof![Just(KeyTransfer::Copy), Just(KeyTransfer::Move)])
            .prop_map(|(from, to, only, source)| DatabaseChange::Copy { from, to, only, source }),
        2 => (key(), expiry(), expiry_only)
            .prop_filter("the writer is not asked to keep what is", |(_, expiry, _)| *expiry != Expiry::Keep)
            .prop_map(|(key, expiry, only)| DatabaseChange::Expire { key, expiry, only }),
        1 => (key(), expiry()).prop_map(|(key, expiry)| DatabaseChange::Touch(key, expiry)),
        1 => prop_oneof![Just(DatabaseChange::Clear), Just(DatabaseChange::ClearAll)],
    ]
}

/// Whether a store returns the expected value and expiry of a key.
pub(crate) fn kept_is(
    model: &Model,
    (key, now): (&[u8], u64),
    get: &StepOutcome,
    remaining: &StepOutcome,
) -> bool {
    let kept = model.get(key, now);
    let end = match kept {
        None => Remaining::Missing,
        Some(kept) => kept.expiry.map_or(Remaining::Endless, Remaining::Until),
    };
    seen(get.clone()) == Seen::Value(kept.map(|kept| kept.bytes.clone()))
        && *remaining == StepOutcome::Remaining(end)
}

/// A change after this many milliseconds, and whether expired keys are removed before.
pub(crate) fn steps() -> impl Strategy<Value = Vec<(u64, bool, DatabaseChange)>> {
    prop::collection::vec((0_u64..8, any::<bool>(), changes()), 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn any_changes_do_what_they_do_in_memory(steps in steps()) {
        let mut place = Place::new();
        place.settings.sync = store::Sync::Never;
        let mut opened = place.open();
        let mut writer = opened.writer();
        let (mut model, mut now) = (Model::default(), 0);
        for (pause, removes, step) in steps {
            now += pause;
            if removes {
                prop_assert!(!writer.delete_expired(now).unwrap());
                model.keys.retain(|_, kept| kept.expiry.is_none_or(|expiry| now < expiry));
                prop_assert_eq!(ask(&opened, &Query::Count, now), StepOutcome::Number(model.keys.len() as i64));
            }
            let expected = model.apply(&step, now);
            prop_assert_eq!(seen(change(&mut writer, step, now)), expected);
        }
        drop((opened, writer));
        opened = place.open();
        writer = opened.writer();
        for key in [&b"a"[..], b"ab", b"b", &[0xff; 503]] {
            let get = Query::Get(key.into());
            let remaining = ask(&opened, &Query::Remaining(key.into()), now);
            for get in [ask(&opened, &get, now), run(&mut writer, StoreOperation::Query(get.clone()), now)] {
                prop_assert!(kept_is(&model, (key, now), &get, &remaining), "{get:?}, {remaining:?}");
            }
        }
        // At a later time everything with an expiry has expired, and nothing of it is left in the file.
        while writer.delete_expired(u64::MAX - 1).unwrap() {}
        model.keys.retain(|_, kept| kept.expiry.is_none());
        prop_assert_eq!(ask(&opened, &Query::Count, now), StepOutcome::Number(model.keys.len() as i64));
    }

    #[test]
    fn pages_give_each_key_once_and_in_order(
        keys in prop::collection::btree_set("[ab]{1,4}", 0..40),
        prefix in "[ab]{0,2}",
        size in 1_usize..6,
        with in prop_oneof![Just(With::Keys), Just(With::Values)],
    ) {
        let place = Place::new();
        let store = place.open();
        let mut writer = store.writer();
        let pairs = keys.iter().map(|key| (key.as_bytes().into(), key.as_bytes().into())).collect();
        change(&mut writer, DatabaseChange::PutAll { pairs, only: Only::Always }, 0);
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page = PageOf { prefix: prefix.as_bytes().into(), after, keys: size, with };
            let StepOutcome::Page(page) = ask(&store, &Query::Page(page), 0) else { panic!("a page") };
            prop_assert!(page.keys.len() <= size);
            for (key, entry) in page.keys {
                prop_assert_eq!(entry.is_some(), with == With::Values);
                prop_assert!(entry.is_none_or(|entry| entry.bytes == key));
                found.push(String::from_utf8(key.into()).unwrap());
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let expected: Vec<String> = keys.into_iter().filter(|key| key.starts_with(&prefix)).collect();
        prop_assert_eq!(found, expected);
    }
}
