//! Answers that leave: changed resources (RFC 9111 section 4.4), purges, and want of room.

use std::rc::Rc;

use cache::limits::{ENTRY_COST, SWEPT};
use cache::{AnswerHead, Cache, CacheRules, Object, PurgePattern, StoredBody, judge};

use crate::{at, fields, key, object, seen, with};

fn fill(cache: &mut Cache, targets: impl Iterator<Item = String>) {
    for target in targets {
        let lines = (200, "Cache-Control: max-age=100");
        let stored = object(lines, "", &CacheRules::default(), at(0)).unwrap();
        assert!(cache.store(&key(&target), stored, &fields("").fields()));
    }
}

#[test]
fn a_changed_resource_is_forgotten_with_all_its_variants() {
    let mut cache = Cache::new(CacheRules::default());
    for request in ["X: 1", "X: 2"] {
        let lines = (200, "Cache-Control: max-age=100\nVary: X");
        let stored = object(lines, request, &CacheRules::default(), at(0)).unwrap();
        cache.store(&key("/a"), stored, &fields(request).fields());
    }
    fill(&mut cache, ["/b".to_owned()].into_iter());
    cache.invalidate(key("/a").text());
    assert_eq!(seen(&mut cache, "/a", "X: 1", at(1)), "uri-miss");
    assert_eq!(seen(&mut cache, "/a", "X: 2", at(1)), "uri-miss");
    assert_eq!(seen(&mut cache, "/b", "", at(1)), "fresh");
    assert_eq!(cache.stats().objects, 1);
}

#[test]
fn only_the_variant_that_has_gone_is_forgotten() {
    let mut cache = Cache::new(CacheRules::default());
    for request in ["X: 1", "X: 2"] {
        let lines = (200, "Cache-Control: max-age=100\nVary: X");
        let stored = object(lines, request, &CacheRules::default(), at(0)).unwrap();
        cache.store(&key("/a"), stored, &fields(request).fields());
    }
    cache.forget(&key("/a"), &fields("X: 1").fields());
    assert_eq!(seen(&mut cache, "/a", "X: 1", at(1)), "vary-miss");
    assert_eq!(seen(&mut cache, "/a", "X: 2", at(1)), "fresh");
}

#[test]
fn a_pattern_is_a_path_with_any_query_or_a_prefix_perhaps_of_one_host() {
    for (pattern, target, includes) in [
        ("/a", "/a", true),
        ("/a", "/a?x", true),
        ("/a", "/ab", false),
        ("/a", "/a/b", false),
        ("/a?x", "/a?x", true),
        ("/a?x", "/a?y", false),
        ("/a?x", "/a", false),
        ("/a*", "/ab?x", true),
        ("/a/*", "/a", false),
        ("/a/*", "/a/", true),
        ("/a?x*", "/a?xy", true),
        ("/a?x*", "/a", false),
        ("*", "/anything", true),
        // However it is spelt.
        ("/a b".replace(' ', "%20").as_str(), "/a%20b", true),
        ("/a", "/%61", true),
        ("/%61*", "/abc", true),
        ("/a%zz", "/a%zz", true),
        ("site.test/a", "/a", true),
        ("SITE.test/a", "/a", true),
        ("other.test/a", "/a", false),
        ("site.test/*", "/a", true),
    ] {
        let known = PurgePattern::parse(pattern).unwrap();
        assert_eq!(known.includes(&key(target)), includes, "{pattern} {target}");
    }
    for wrong in ["", "a", "/a*b", "/a b", "/\u{e4}", "**", &"/".repeat(3000)] {
        assert!(PurgePattern::parse(wrong).is_err(), "{wrong:.20}");
    }
}

#[test]
fn a_purge_is_in_force_at_once_and_spares_what_is_stored_later() {
    let mut cache = Cache::new(CacheRules::default());
    let count = SWEPT * 2;
    fill(&mut cache, (0..count).map(|number| format!("/a/{number}")));
    fill(&mut cache, ["/b".to_owned()].into_iter());
    cache.purge(PurgePattern::parse("/a/*").unwrap());
    assert_eq!(seen(&mut cache, "/a/1", "", at(1)), "uri-miss");
    assert_eq!(seen(&mut cache, "/b", "", at(1)), "fresh");
    fill(&mut cache, ["/a/2".to_owned()].into_iter());
    assert_eq!(seen(&mut cache, "/a/2", "", at(1)), "fresh");
    assert_eq!(cache.stats().objects, count);
    let sweeps = std::iter::from_fn(|| cache.sweep().then_some(())).take(100).count();
    assert_eq!(sweeps, count / SWEPT);
    assert_eq!((cache.stats().objects, cache.sweep()), (2, false));
    assert_eq!(seen(&mut cache, "/a/2", "", at(1)), "fresh");
}

#[test]
fn more_purges_than_are_kept_purge_everything() {
    let mut cache = with("Cache-Control: max-age=100", CacheRules::default());
    for number in 0..cache::limits::PURGES {
        cache.purge(PurgePattern::parse(&format!("/{number}")).unwrap());
    }
    assert_eq!(seen(&mut cache, "/", "", at(1)), "fresh");
    cache.purge(PurgePattern::parse("/x").unwrap());
    assert_eq!(seen(&mut cache, "/", "", at(1)), "uri-miss");
}

#[test]
fn other_parts_of_a_key_and_less_memory_make_answers_leave() {
    let mut cache = with("Cache-Control: max-age=100", CacheRules::default());
    cache.set_rules(CacheRules { default_ttl_s: Some(9), ..CacheRules::default() });
    assert_eq!(seen(&mut cache, "/", "", at(1)), "fresh");
    let parts = cache::KeyParts { query: false, ..Default::default() };
    cache.set_rules(CacheRules { key: parts, ..CacheRules::default() });
    assert_eq!(seen(&mut cache, "/", "", at(1)), "uri-miss");
    let mut cache = with("Cache-Control: max-age=100", CacheRules::default());
    cache.set_rules(CacheRules { memory: 100, ..CacheRules::default() });
    assert_eq!((cache.stats().bytes, cache.stats().evictions), (0, 1));
}

#[test]
fn memory_is_bounded_also_while_answers_arrive() {
    let rules = CacheRules { memory: 64 << 10, object: 8 << 10, ..CacheRules::default() };
    let mut cache = Cache::new(rules.clone());
    for number in 0..100 {
        let head = fields(&format!("Cache-Control: max-age=9\nContent-Length: {}", 4096));
        let answer = AnswerHead { status: 200, fields: head.fields() };
        let none = fields("");
        let terms = judge(&answer, &none.fields(), &rules, (at(0), at(0))).unwrap();
        let object = Object::new(&answer, vec![0; 4096], terms, &rules, at(0));
        assert!(cache.store(&key(&format!("/{number}")), object.into(), &none.fields()));
        assert!(cache.stats().bytes <= rules.memory, "{}", cache.stats().bytes);
    }
    let stats = cache.stats();
    assert!(stats.bytes > rules.memory / 2 && stats.objects * ENTRY_COST < rules.memory);
    assert_eq!(stats.evictions, 100 - stats.objects as u64);
    let (mut held, mut other) = (cache.reservation(), cache.reservation());
    assert!(cache.reserve(&mut held, rules.memory / 2));
    assert!(cache.stats().bytes <= rules.memory / 2);
    assert!(!cache.reserve(&mut other, 1));
    held.shrink_to(rules.memory / 4);
    assert!(cache.reserve(&mut other, 1));
    drop(held);
    assert_eq!(cache.outside(), 1);
}

/// A client that reads slowly holds a body that was forgotten, and one that was never stored.
#[test]
fn memory_is_bounded_also_by_what_clients_hold() {
    let rules = CacheRules { memory: 64 << 10, object: 8 << 10, ..CacheRules::default() };
    let mut cache = Cache::new(rules.clone());
    let (mut lent, mut count) = (Vec::new(), 0);
    for number in 0..200 {
        let mut held = cache.reservation();
        if !cache.reserve(&mut held, 4096) {
            continue;
        }
        count += 1;
        let stored = object((200, "Cache-Control: max-age=9"), "", &rules, at(0)).unwrap();
        let stored = Rc::new(stored.with_body(vec![0; 4096], &mut held));
        assert_eq!(cache.outside(), lent_outside(&cache, &lent) + 4096);
        lent.push(Rc::clone(stored.body()));
        cache.store(&key(&format!("/{number}")), stored, &fields("").fields());
        match number % 4 {
            0 => cache.invalidate(key(&format!("/{number}")).text()),
            1 => cache.purge(PurgePattern::parse(&format!("/{number}")).unwrap()),
            2 => cache.forget(&key(&format!("/{number}")), &fields("").fields()),
            _ => _ = cache.sweep(),
        }
        assert!(cache.stats().bytes + cache.outside() <= rules.memory + 4096);
    }
    assert!(lent.len() * 4096 <= rules.memory && count == lent.len(), "{count}");
    assert!(cache.outside() > rules.memory / 2 - 4096);
    lent.clear();
    assert_eq!(cache.outside(), 0);
}

/// Of these bodies, the bytes of those that no table has.
fn lent_outside(cache: &Cache, lent: &[Rc<StoredBody>]) -> usize {
    let all: usize = lent.iter().map(|body| body.len()).sum();
    all - cache.stats().objects * 4096
}

#[test]
fn an_answer_that_is_too_long_is_not_stored() {
    let rules = CacheRules { object: 1, ..CacheRules::default() };
    let stored =
        object((200, "Cache-Control: max-age=9"), "", &CacheRules::default(), at(0)).unwrap();
    let mut cache = Cache::new(rules);
    assert!(!cache.store(&key("/"), stored, &fields("").fields()));
    assert_eq!(cache.stats().objects, 0);
}

#[test]
fn reserved_room_is_available_after_eviction() {
    let rules = CacheRules { memory: 8_000, ..CacheRules::default() };
    let mut cache = Cache::new(rules.clone());
    let request = fields("");
    for round in 0..4 {
        for number in 0..40 {
            let target = format!("/{number}");
            if seen(&mut cache, &target, "", at(1)) != "fresh" {
                let stored =
                    object((200, "Cache-Control: max-age=100"), "", &rules, at(0)).unwrap();
                cache.take_back(&key(&target), stored, &request.fields());
            }
            assert_eq!(seen(&mut cache, &target, "", at(1)), "fresh", "{round} {target}");
        }
    }
    assert!(cache.stats().bytes <= 8_000);
}
