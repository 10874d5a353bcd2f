//! Goal: a change that is interrupted at any point, and any sequence of such changes, can be reverted. Method: the
//! files of a host in a directory; the journal is truncated where a crash may have ended it.

use std::collections::BTreeMap;

use tune::PlanStep;
use tune::apply::{Which, apply, revert};

use crate::fake::Fake;
use crate::fake::poor::{journal, plain, poor, put, state, steps};

#[test]
fn an_end_at_any_byte_of_the_journal_can_be_put_back() {
    let fake = poor();
    let mut steps = steps(&fake);
    // Each byte is tried, and each try waits for the disk.
    steps.truncate(3);
    steps.iter_mut().for_each(|step| step.changes.truncate(1));
    let before = state(&fake, &steps);
    let mut whole = journal(&fake);
    for step in &steps {
        apply(fake.path(), step, &mut whole).unwrap();
    }
    let place = fake.path().join("state/journal");
    let bytes = std::fs::read(&place).unwrap();
    for cut in 0..=bytes.len() {
        // The file of an entry in the journal may have been written or not.
        for is_written in [false, true] {
            for (path, old) in &before {
                put(&fake, path, old);
            }
            std::fs::write(&place, &bytes[..cut]).unwrap();
            let mut known = journal(&fake);
            let begun: Vec<_> = known
                .entries
                .iter()
                .map(|entry| (entry.change.clone(), entry.read_back.is_some()))
                .collect();
            for (change, is_done) in begun {
                if is_done || is_written {
                    put(&fake, &change.path, &change.new);
                }
            }
            revert(fake.path(), Which::All, &mut known).unwrap();
            let after = state(&fake, &steps);
            for (path, old) in &before {
                assert!(
                    tune::is_same(&after[path], old),
                    "cut at {cut}: {path} is {}",
                    after[path]
                );
            }
            assert_eq!(journal(&fake).standing().count(), 0, "cut at {cut}");
        }
    }
}

/// Reproducible random numbers (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Applies a step and crashes somewhere in it: the journal is truncated; files without an entry were not written, and
/// the file of the last entry may have been.
fn apply_and_crash(fake: &Fake, step: &PlanStep, dice: &mut Dice) {
    let place = fake.path().join("state/journal");
    let read = || std::fs::read(&place).unwrap_or_default();
    let (known, before) = (journal(fake).last(), read().len());
    let old: BTreeMap<String, String> = state(fake, std::slice::from_ref(step));
    apply(fake.path(), step, &mut journal(fake)).unwrap();
    let bytes = read();
    let cut = before + dice.below(bytes.len() - before + 1);
    std::fs::write(&place, &bytes[..cut]).unwrap();
    let left = journal(fake);
    for (path, old) in &old {
        let entry =
            left.entries.iter().find(|entry| entry.number > known && entry.change.path == *path);
        let is_written = match entry {
            None => false,
            Some(entry) if entry.read_back.is_some() => true,
            Some(_) => dice.below(2) == 0,
        };
        if !is_written {
            put(fake, path, old);
        }
    }
}

/// Any sequence of steps that are applied, interrupted and reverted ends with the original files.
#[test]
fn any_sequence_of_applies_crashes_and_reverts_ends_as_it_began() {
    for seed in 1..=40 {
        let fake = poor();
        let all = steps(&fake);
        let before: Vec<String> = state(&fake, &all).values().map(|value| plain(value)).collect();
        let mut dice = Dice(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        let mut told = Vec::new();
        for _ in 0..6 {
            let missing = steps(&fake);
            let step = missing.get(dice.below(missing.len()));
            match (dice.below(4), step) {
                (0, Some(step)) => {
                    told.push(format!("apply {}", step.check.id));
                    apply(fake.path(), step, &mut journal(&fake)).unwrap();
                }
                (1 | 2, Some(step)) => {
                    told.push(format!("apply {} and crash", step.check.id));
                    apply_and_crash(&fake, step, &mut dice);
                }
                _ => {
                    let check = all[dice.below(all.len())].check.id;
                    told.push(format!("revert {check}"));
                    revert(fake.path(), Which::Check(check), &mut journal(&fake)).unwrap();
                }
            }
        }
        revert(fake.path(), Which::All, &mut journal(&fake)).unwrap();
        let after: Vec<String> = state(&fake, &all).values().map(|value| plain(value)).collect();
        assert_eq!(after, before, "seed {seed}: {told:?}");
        assert_eq!(journal(&fake).standing().count(), 0, "seed {seed}: {told:?}");
    }
}
