//! The cache of a scheduler beside a model of it, through arbitrary steps.

use std::collections::BTreeMap;
use std::rc::Rc;

use files::absence::FileFailure;
use files::{CachedEntry, LookupResult, PathCache, PathContent, PathLookup, limits};
use proptest::prelude::*;
use wire::http::encoding::Accepted;

use super::cache::key;

/// Bytes the cache may hold: a few results, so that many are evicted.
const BYTES_MAX: usize = 5 * limits::SLOT_COST;

/// The knowledge that the cache must have about a path if it has not evicted it.
#[derive(Clone, Copy, Default)]
struct Model {
    /// The earliest time at which the result can have been looked up.
    checked_ms: Option<u64>,
    sent_ms: Option<u64>,
    failure: Option<FileFailure>,
}

#[derive(Clone, Debug)]
enum Step {
    Look(u8),
    Answer(u8, FileFailure),
    Unchanged(u8),
    Abandon(u8),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let path = 0..12_u8;
    let failure = prop_oneof![Just(FileFailure::Exhausted), Just(FileFailure::Storage)];
    let step = prop_oneof![
        6 => path.clone().prop_map(Step::Look),
        3 => (path.clone(), failure).prop_map(|(path, failure)| Step::Answer(path, failure)),
        2 => path.clone().prop_map(Step::Unchanged),
        1 => path.prop_map(Step::Abandon),
        3 => prop_oneof![1..50_u64, 400..700_u64, 9_000..12_000_u64].prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 0..300)
}

/// The cache and the model of each of its paths.
struct Trial {
    cache: PathCache,
    model: BTreeMap<u8, Model>,
    now_ms: u64,
    /// When something was last inserted, and how often at that time: room is made at an insertion, and results
    /// inserted at that time stay.
    insertions: (u64, usize),
}

impl Trial {
    fn new() -> Self {
        let now_ms = 50_000;
        let (cache, model) = (PathCache::new(BYTES_MAX), BTreeMap::new());
        Self { cache, model, now_ms, insertions: (now_ms, 0) }
    }

    fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Wait(ms) => self.now_ms += ms,
            Step::Answer(path, failure) => return self.answer(path, failure),
            Step::Unchanged(path) => self.confirm(path),
            Step::Abandon(path) => {
                self.model.entry(path).or_default().sent_ms = None;
                self.cache.abandon(key(&format!("/{path}")));
            }
            Step::Look(path) => return self.look(path),
        }
        Ok(())
    }

    fn answer(&mut self, path: u8, failure: FileFailure) -> Result<(), TestCaseError> {
        let of = self.model.entry(path).or_default();
        let sent_ms = of.sent_ms.take().unwrap_or(0);
        of.checked_ms = Some(sent_ms.max(self.now_ms - limits::FRESH_MS + 1));
        of.failure = Some(failure);
        let text = format!("/{path}");
        self.cache.insert(
            key(&text),
            LookupResult::Content(PathContent::Failed(failure)),
            self.now_ms,
        );
        self.count_insertion();
        let looked = self.cache.look(key(&text), &Accepted::default(), self.now_ms);
        prop_assert!(matches!(looked, PathLookup::Fresh(_)), "parked requests run again");
        Ok(())
    }

    fn confirm(&mut self, path: u8) {
        let of = self.model.entry(path).or_default();
        if of.failure.is_some() {
            let sent_ms = of.sent_ms.take().unwrap_or(0);
            of.checked_ms = Some(sent_ms.max(self.now_ms - limits::FRESH_MS + 1));
        }
        self.cache.insert(key(&format!("/{path}")), LookupResult::Unchanged, self.now_ms);
        self.count_insertion();
    }

    fn count_insertion(&mut self) {
        let before = if self.insertions.0 == self.now_ms { self.insertions.1 } else { 0 };
        self.insertions = (self.now_ms, before + 1);
    }

    fn look(&mut self, path: u8) -> Result<(), TestCaseError> {
        let now_ms = self.now_ms;
        let of = self.model.entry(path).or_default();
        let under_way = of.sent_ms.is_some_and(|sent| now_ms - sent < limits::ANSWER_WAIT_MS);
        let age_ms = of.checked_ms.map(|checked| now_ms - checked);
        let text = format!("/{path}");
        let paths = self.cache.stats().paths;
        match self.cache.look(key(&text), &Accepted::default(), now_ms) {
            PathLookup::Fresh(entry) => {
                let age_ms = age_ms.expect("something was put in");
                let bound = if under_way { 1_000 } else { 500 };
                prop_assert!(age_ms < bound);
                check(&entry, of)?;
            }
            PathLookup::Refresh(entry, _) => {
                let age_ms = age_ms.expect("something was put in");
                // Early, if a job was evicted with its slot and its answer arrived after all.
                prop_assert!(age_ms < 1_000 && !under_way);
                check(&entry, of)?;
                of.sent_ms = Some(now_ms);
            }
            PathLookup::Missing(errand) => {
                prop_assert!(errand.known.is_none());
                // A path that takes a new slot was evicted, and its job too.
                if self.cache.stats().paths > paths {
                    *of = Model::default();
                } else if let Some(age_ms) = age_ms {
                    prop_assert!(age_ms > 500 && !under_way);
                }
                of.sent_ms = Some(now_ms);
            }
            PathLookup::Pending => prop_assert!(under_way),
            PathLookup::Busy => prop_assert!(false, "there is room"),
        }
        Ok(())
    }

    fn check_size(&self) -> Result<(), TestCaseError> {
        let slot = limits::SLOT_COST + 3;
        let under_way = self.model.values().filter(|of| of.sent_ms.is_some()).count();
        let bytes_max = BYTES_MAX + (self.insertions.1 + under_way) * slot;
        prop_assert!(self.cache.stats().bytes <= bytes_max);
        Ok(())
    }
}

/// Checks that the served result is the last one that was inserted.
fn check(entry: &Rc<CachedEntry>, of: &Model) -> Result<(), TestCaseError> {
    match entry.content() {
        PathContent::Failed(failure) => prop_assert_eq!(Some(*failure), of.failure),
        other => prop_assert!(false, "{:?}", other),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Evicting is allowed, wrong answers are not: what is served is what was last inserted and not older than a
    /// second, a job is never sent twice, and the bytes stay within the limit.
    #[test]
    fn the_cache_agrees_with_a_model(steps in steps()) {
        let mut trial = Trial::new();
        for step in steps {
            trial.take(step)?;
            trial.check_size()?;
        }
    }
}
