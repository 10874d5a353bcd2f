//! Whatever happens, a shelf keeps its accounts, and a cache its promises.

use ahash::HashMap;

use cache::{Cache, CacheLookup, CacheRules, PurgePattern, Shelf};
use proptest::prelude::*;

use crate::{at, fields, key, look, object};

#[derive(Clone, Debug)]
enum Step {
    Put(u64, usize),
    Use(u64),
    Replace(u64, usize),
    Remove(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0_u64..40;
    prop_oneof![
        4 => (key.clone(), 1_usize..200).prop_map(|(key, cost)| Step::Put(key, cost)),
        4 => key.clone().prop_map(Step::Use),
        1 => (key.clone(), 1_usize..200).prop_map(|(key, cost)| Step::Replace(key, cost)),
        1 => key.prop_map(Step::Remove),
    ]
}

proptest! {
    /// Against a plain table: a value is where it was put until it leaves, and the bytes are those of what is there.
    #[test]
    fn a_shelf_keeps_its_accounts(steps in prop::collection::vec(step(), 1..300)) {
        let mut shelf = Shelf::new(1000);
        let mut known: HashMap<u64, (cache::ValuePlace, usize)> = HashMap::default();
        for step in steps {
            match step {
                Step::Put(key, cost) if !known.contains_key(&key) => {
                    known.insert(key, (shelf.put(key, cost, key), cost));
                }
                Step::Use(key) => {
                    known.get(&key).into_iter().for_each(|(place, _)| shelf.note_use(*place));
                }
                Step::Replace(key, cost) => {
                    if let Some((place, old)) = known.get_mut(&key) {
                        prop_assert_eq!(shelf.replace(*place, cost, key), Some(key));
                        *old = cost;
                    }
                }
                Step::Put(key, _) | Step::Remove(key) => {
                    if let Some((place, _)) = known.remove(&key) {
                        prop_assert_eq!(shelf.remove(place), Some(key));
                        prop_assert_eq!(shelf.get(place), None);
                    }
                }
            }
            while let Some(gone) = shelf.evict(0) {
                prop_assert!(known.remove(&gone).is_some());
            }
            prop_assert_eq!(shelf.bytes(), known.values().map(|(_, cost)| cost).sum::<usize>());
            prop_assert_eq!(shelf.len(), known.len());
            prop_assert!(shelf.bytes() <= 1000);
            for (key, (place, _)) in &known {
                prop_assert_eq!(shelf.get(*place), Some(key));
            }
        }
    }

    /// Stores, changes and purges in any order: what is found was stored, and after the last change.
    #[test]
    fn nothing_is_found_that_was_forgotten(steps in prop::collection::vec((0_u8..5, 0_u8..6), 1..120)) {
        let rules = CacheRules { memory: 8 << 10, ..CacheRules::default() };
        let mut cache = Cache::new(rules.clone());
        let mut newest: HashMap<u8, Option<usize>> = HashMap::default();
        for (number, (what, target)) in steps.into_iter().enumerate() {
            let path = format!("/{target}");
            match what {
                0 | 1 => {
                    let lines = format!("Cache-Control: max-age=9\nETag: \"{number}\"");
                    let stored = object((200, &lines), "", &rules, at(0)).unwrap();
                    prop_assert!(cache.store(&key(&path), stored, &fields("").fields()));
                    newest.insert(target, Some(number));
                }
                2 => {
                    cache.invalidate(key(&path).text());
                    newest.insert(target, None);
                }
                3 => {
                    cache.purge(PurgePattern::parse(&path).unwrap());
                    newest.insert(target, None);
                }
                _ => _ = cache.sweep(),
            }
            for (target, newest) in &newest {
                if let CacheLookup::Fresh(found) = look(&mut cache, &format!("/{target}"), "", at(1)) {
                    let tag = newest.map(|number| format!("\"{number}\""));
                    prop_assert_eq!(found.fields().first("etag"), tag.as_deref().map(str::as_bytes));
                }
            }
            prop_assert!(cache.stats().bytes <= rules.memory);
        }
    }

    /// Whatever is stored before a purge is never found after it, however many are stored and compared meanwhile.
    #[test]
    fn a_purge_lasts(steps in prop::collection::vec((0_u8..6, 0_u16..1500), 1..12)) {
        let rules = CacheRules::default();
        let stored = object((200, "Cache-Control: max-age=9"), "", &rules, at(0)).unwrap();
        let mut cache = Cache::new(rules);
        // The paths that are stored, in the order of their places; whether they may be found.
        let mut known: Vec<bool> = Vec::new();
        for (what, count) in steps {
            let tenth = u16::from(what) + count % 10;
            match what {
                0..=2 => {
                    let after = known.len() + usize::from(count);
                    for number in known.len()..after {
                        let path = format!("/{}/{number}", number % 10);
                        cache.store(&key(&path), stored.clone(), &fields("").fields());
                    }
                    known.resize(after, true);
                }
                3 => {
                    cache.purge(PurgePattern::parse(&format!("/{}/*", tenth % 10)).unwrap());
                    known.iter_mut().skip(usize::from(tenth % 10)).step_by(10).for_each(|it| *it = false);
                }
                _ => _ = cache.sweep(),
            }
        }
        for _ in 0..known.len() {
            if !cache.sweep() {
                break;
            }
        }
        prop_assert!(!cache.sweep());
        for (number, may_be_found) in known.iter().enumerate() {
            let found = look(&mut cache, &format!("/{}/{number}", number % 10), "", at(1));
            prop_assert_eq!(matches!(found, CacheLookup::Fresh(_)), *may_be_found, "{}", number);
        }
    }

    /// No field of a server or a client can make a panic.
    #[test]
    fn any_fields_are_judged(
        control in "[ \
                    -~]{0,60}", vary in "[ \
                                           -~]{0,30}", age in "[ \
            -~]{0,12}", tag in "[ \
            -~]{0,12}", range in "[ \
            -~]{0,20}",
    ) {
        let lines = format!("Cache-Control: {control}\nVary: {vary}\nAge: {age}\nETag: {tag}\nExpires: \
                             {age}");
        let request = format!("Cache-Control: {control}\nAccept: {vary}\nIf-None-Match: {tag}\nRange: \
                               {range}");
        let rules = CacheRules { default_ttl_s: Some(9), directives: cache::RequestDirectives::Obeyed, ..CacheRules::default() };
        let mut cache = Cache::new(rules.clone());
        if let Ok(stored) = object((200, &lines), &request, &rules, at(0)) {
            let sent = fields(&request);
            prop_assert!(cache.store(&key("/"), stored, &sent.fields()));
            let found = look(&mut cache, "/", &request, at(1));
            prop_assert!(!matches!(found, CacheLookup::Missing(_)), "{:?}", found);
        }
    }
}

/// Values that are used again stay while a thousand others pass that nobody uses again.
#[test]
fn a_scan_does_not_displace_what_is_used() {
    let mut shelf = Shelf::new(100);
    let places: Vec<_> = (0..50_u64).map(|key| shelf.put(key, 1, key)).collect();
    for place in &places {
        shelf.note_use(*place);
    }
    for key in 1000..2000 {
        shelf.put(key, 1, key);
        while let Some(gone) = shelf.evict(0) {
            assert!(gone >= 1000, "{gone} was used");
        }
    }
    assert!(places.iter().all(|place| shelf.get(*place).is_some()));
}

/// A value that comes back soon after it has left counts as used.
#[test]
fn a_value_that_comes_back_stays() {
    let mut shelf = Shelf::new(100);
    let evict = |shelf: &mut Shelf<u64>| std::iter::from_fn(|| shelf.evict(0)).collect::<Vec<_>>();
    for key in 0..110_u64 {
        shelf.put(key, 1, key);
        evict(&mut shelf);
    }
    let back = shelf.put(0, 1, 0);
    for key in 1000..1300_u64 {
        shelf.put(key, 1, key);
        evict(&mut shelf);
    }
    assert_eq!(shelf.get(back), Some(&0));
}

/// Places of values that were replaced or have gone do not gather.
#[test]
fn a_shelf_on_which_values_come_and_go_does_not_grow() {
    let mut shelf = Shelf::new(1000);
    for number in 0..100_000_u64 {
        let place = shelf.put(number, 1, number);
        shelf.remove(place);
    }
    assert_eq!((shelf.places(), shelf.len(), shelf.bytes()), (1, 0, 0));
    assert!(format!("{shelf:?}").len() < 20_000);
}

/// A new value has a tenth of the room for itself, also after all others were used.
#[test]
fn a_new_value_has_time_to_be_used() {
    let mut shelf = Shelf::new(100);
    let old: Vec<_> = (0..100_u64).map(|key| shelf.put(key, 1, key)).collect();
    old.iter().for_each(|place| shelf.note_use(*place));
    let new: Vec<_> = (200..209_u64).map(|key| shelf.put(key, 1, key)).collect();
    let gone: Vec<u64> = std::iter::from_fn(|| shelf.evict(0)).collect();
    assert_eq!(gone.len(), 9);
    assert!(new.iter().skip(1).all(|place| shelf.get(*place).is_some()), "{gone:?}");
    assert!(gone.iter().filter(|key| **key < 100).count() >= 8, "{gone:?}");
}
