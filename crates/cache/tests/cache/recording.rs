//! Records of stored answers outside of memory: the same answer comes back, or none.

use cache::{
    AnswerKey, CacheRules, DiskRecord, KeyParts, Label, LabelLedger, PurgePattern, Time, Uri,
    record,
};
use wire::http::url::Scheme;

use crate::{at, key, object};

const LINES: &str = "Cache-Control: max-age=100, stale-if-error=7\nETag: \"e\"\nVary: Accept, X-A\n\
                     Age: 10\nX-Odd: a\tb";

fn recorded(target: &str, request: &str) -> DiskRecord {
    let stored = object((200, LINES), request, &CacheRules::default(), at(0)).unwrap();
    DiskRecord::of(&key(target), &stored, at(5))
}

#[test]
fn a_record_is_the_answer_again_and_older() {
    let rules = CacheRules::default();
    let stored = object((200, LINES), "Accept: a", &rules, at(0)).unwrap();
    let record = DiskRecord::of(&key("/a?b"), &stored, at(5));
    // Another machine, or the same after a start: its monotonic clock has begun anew.
    let later = Time { unix_s: at(25).unix_s, ms: 3 };
    let (found, again) = record::read(&record.bytes, later).unwrap();
    assert_eq!(found, key("/a?b"));
    assert_eq!((again.status(), again.fields().lines()), (200, stored.fields().lines()));
    assert_eq!(again.variant(), stored.variant());
    assert_eq!(again.freshness().age_s(later), 35);
    assert_eq!(again.freshness().ttl_s(later), 65);
    assert_eq!(again.freshness().if_error_s, 7);
    let later = Time { unix_s: later.unix_s + 70, ms: 70_003 };
    assert!(!again.freshness().is_fresh(later));
    // Recorded again, it is as old as it is.
    let twice = DiskRecord::of(&found, &again, later);
    let (_, third) = record::read(&twice.bytes, Time { unix_s: later.unix_s + 1, ms: 1 }).unwrap();
    assert_eq!(third.freshness().age_s(Time { unix_s: 0, ms: 1 }), 106);
    assert_eq!(
        (twice.text, twice.path, twice.identity),
        (record.text, record.path, record.identity)
    );
}

#[test]
fn a_damaged_record_is_none_and_one_of_the_future_too() {
    let DiskRecord { bytes, .. } = recorded("/", "");
    for end in 0..bytes.len() {
        // A part that ends behind a field is whole; the numbers around a record tell that apart.
        let _none_or_fewer_fields = record::read(&bytes[..end], at(6));
    }
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0xff;
        let _no_panic = record::read(&damaged, at(6));
    }
    assert!(record::read(&bytes[..40], at(6)).is_none());
    let before = |seconds: u64| Time { unix_s: at(5).unix_s - seconds, ms: 0 };
    assert!(record::read(&bytes, before(60)).is_some());
    assert!(record::read(&bytes, before(61)).is_none());
}

#[test]
fn each_key_has_a_beginning_of_its_own() {
    let keys = ["/", "/a", "/a?b", "/A"].map(key);
    let https = Uri { scheme: Scheme::Https, host: "site.test", target: "/", way: 0 };
    let other_way = Uri { scheme: Scheme::Http, host: "site.test", target: "/", way: 1 };
    let more = [https, other_way].map(|uri| AnswerKey::new(&uri, KeyParts::default()));
    let all: Vec<Vec<u8>> = keys.iter().chain(&more).map(record::key_bytes).collect();
    for (at, one) in all.iter().enumerate() {
        let begun = all.iter().filter(|other| other.starts_with(one)).count();
        assert_eq!(begun, 1, "{at}");
    }
    let (one, other) = (recorded("/", "Accept: a"), recorded("/", "Accept: b"));
    assert_eq!((one.text, one.path), (other.text, other.path));
    assert_ne!(one.identity, other.identity);
    assert!(one.bytes.starts_with(&record::key_bytes(&key("/"))));
    // All spellings of a path are one for a purge.
    assert_eq!(recorded("/%61?x", "").path, recorded("/a", "").path);
}

fn label(ledger: &mut LabelLedger, target: &str, size: u64) -> Label {
    let serial = ledger.next_serial(7);
    Label { size, ..Label::new(&recorded(target, ""), serial) }
}

#[test]
fn a_label_is_read_only_as_it_is_written() {
    let mut ledger = LabelLedger::new(1 << 20, 100);
    let label = label(&mut ledger, "/", 0xabc);
    let name = label.name();
    assert_eq!(Label::parse(&name), Some(label));
    for other in [
        name.to_uppercase(),
        name.replace(".abc", ".0abc"),
        name.replace(".abc", ".+abc"),
        name.replace('.', "-"),
        name[1..].to_owned(),
        format!("{name} "),
        "é".repeat(40),
        String::new(),
    ] {
        assert_eq!(Label::parse(&other), None, "{other}");
    }
}

#[test]
fn bytes_and_files_are_bounded_and_the_younger_of_two_stays() {
    let mut ledger = LabelLedger::new(10 * 4096, 5);
    for number in 0..5 {
        let new = label(&mut ledger, &format!("/{number}"), 1);
        assert!(ledger.put(new).is_empty());
    }
    assert_eq!((ledger.bytes(), ledger.len(), ledger.evict(0)), (5 * 4096, 5, None));
    let used = ledger.of(record::number_of_text(key("/0").text()))[0];
    ledger.note_use(&used);
    let new = label(&mut ledger, "/5", 4097);
    ledger.put(new);
    let gone = ledger.evict(0).unwrap();
    assert_ne!(gone.serial, used.serial);
    assert_eq!((ledger.evict(0), ledger.bytes()), (None, 6 * 4096));
    assert!(ledger.evict(5 * 4096).is_some());
    let again = label(&mut ledger, "/5", 1);
    assert_eq!(ledger.put(again), [new]);
    assert_eq!(ledger.of(again.text), [again]);
    ledger.remove(&again);
    assert!(ledger.of(again.text).is_empty());
}

#[test]
fn a_purge_is_in_force_at_once_and_survives_a_restart() {
    let mut ledger = LabelLedger::new(1 << 30, 1000);
    let labels: Vec<Label> = (0..100)
        .map(|number| {
            let label = label(&mut ledger, &format!("/{number}"), 1);
            ledger.put(label);
            label
        })
        .collect();
    ledger.purge(PurgePattern::parse("/7").unwrap(), 8);
    let younger = label(&mut ledger, "/7", 1);
    ledger.put(younger);
    assert!(ledger.is_purged(&key("/7"), &labels[7]) && !ledger.is_purged(&key("/8"), &labels[8]));
    assert!(!ledger.is_purged(&key("/7"), &younger));
    let text = ledger.purges_text();
    assert!(text.ends_with(" /7\n"), "{text}");
    let mut next = LabelLedger::new(1 << 30, 1000);
    labels.iter().for_each(|label| drop(next.put(*label)));
    next.restore_purges(&text);
    let mut doubted = Vec::new();
    while next.is_purging() {
        let compared = next.compare_next(7);
        assert!(compared.gone.is_empty());
        doubted.extend(compared.doubted.iter().copied());
        next.note_compared(&compared);
    }
    assert_eq!(doubted, [labels[7]]);
    next.restore_purges("not a purge\n");
    let mut gone = 0;
    while next.is_purging() {
        let compared = next.compare_next(7);
        gone += compared.gone.len();
        compared.gone.iter().for_each(|label| next.remove(label));
        next.note_compared(&compared);
    }
    assert_eq!((gone, next.len()), (100, 0));
}

#[test]
fn a_pattern_is_written_as_it_is_read() {
    for text in ["/", "/a*", "site.test/a?b", "SITE.test/*"] {
        let pattern = PurgePattern::parse(text).unwrap();
        assert_eq!(PurgePattern::parse(&pattern.to_string()), Ok(pattern), "{text}");
    }
    assert_eq!(
        PurgePattern::parse(&PurgePattern::everything().to_string()),
        Ok(PurgePattern::everything())
    );
}
