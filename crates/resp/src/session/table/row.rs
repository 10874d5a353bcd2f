//! One row of the table of commands.
//!
//! Owns what follows from a row: who may send the command, and how `COMMAND` shows it.

use std::ops::RangeInclusive;

use local::AccessNeed;
use wire::resp::{write_array, write_bulk, write_integer, write_simple};

use crate::session::reply::Shape;
use crate::session::requested::{Request, Words};
use crate::session::values::Wanted;
use crate::session::{After, Call};

/// One command.
pub(in crate::session) struct Row {
    /// In lower case.
    name: &'static str,
    /// The words behind the name, as the documentation shows them.
    usage: &'static str,
    /// The numbers of words that it may have, including the name.
    words: RangeInclusive<usize>,
    /// The things it uses, and so the rights that its client needs.
    access: Access,
    /// Which words are keys.
    keys: Keys,
    /// How it is carried out.
    run: Run,
    /// The description of the command, in a sentence.
    summary: &'static str,
}

/// The things a command uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Access {
    /// No store. Its reply does not stand behind replies that the store still owes: it waits for them.
    Free,
    /// The store, which any client may use so.
    Store,
    /// One database, which the client must be allowed to read.
    Read,
    /// One database, which the client must be allowed to write.
    Write,
    /// All databases, which the client must be allowed to write.
    WriteAll,
}

/// The words that are keys: the first, the last and the distance of two, as `COMMAND` tells them. Zeros: there are
/// none. -1: the last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) struct Keys {
    first: i64,
    last: i64,
    step: i64,
}

impl Keys {
    pub(super) const NONE: Self = Self { first: 0, last: 0, step: 0 };
    pub(super) const ONE: Self = Self { first: 1, last: 1, step: 1 };
    pub(super) const TWO: Self = Self { first: 1, last: 2, step: 1 };
    pub(super) const ALL: Self = Self { first: 1, last: -1, step: 1 };
    pub(super) const PAIRS: Self = Self { first: 1, last: -1, step: 2 };
    pub(super) const SECOND_WORD: Self = Self { first: 2, last: 2, step: 1 };

    pub(in crate::session) fn first(self) -> i64 {
        self.first
    }

    pub(in crate::session) fn last(self) -> i64 {
        self.last
    }

    pub(in crate::session) fn step(self) -> i64 {
        self.step
    }

    /// Their places among so many words.
    pub(in crate::session) fn places(self, words: usize) -> impl Iterator<Item = usize> + Clone {
        let place = |at: i64| usize::try_from(at).ok();
        let last = if self.last < 0 { words.checked_sub(1) } else { place(self.last) };
        let range = place(self.first).filter(|first| *first > 0).zip(last);
        let step = place(self.step).unwrap_or_default().max(1);
        let places =
            range.map(|(first, last)| (first..=last.min(words.saturating_sub(1))).step_by(step));
        places.into_iter().flatten()
    }
}

/// How a command is carried out, and what becomes of it between `MULTI` and `EXEC`.
#[derive(Clone, Copy)]
pub(in crate::session) enum Run {
    /// It reads the value of the key in its second word, and replies in this form. A step of its transaction.
    Value(fn(&Words<'_>) -> Result<Shape, String>),
    /// It reads the keys in all its words, and replies with their values or with their number. A step of its
    /// transaction.
    Keys(Wanted),
    /// It is this step of the store, alone or within its transaction.
    Step(fn(&Words<'_>) -> Result<Request, String>),
    /// It runs on the scheduler; in a transaction, when the steps are executed.
    Queued(fn(&mut Call<'_, '_>) -> After),
    /// It runs at once, and knows itself what it does in a transaction.
    Now(fn(&mut Call<'_, '_>) -> After),
    /// It runs on the scheduler, and is not allowed in a transaction.
    Refused(fn(&mut Call<'_, '_>) -> After),
}

impl Row {
    pub(super) const fn new(
        name: &'static str,
        words: RangeInclusive<usize>,
        access: Access,
        keys: Keys,
        run: Run,
        usage: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, usage, words, access, keys, run, summary }
    }

    /// In lower case.
    pub(in crate::session) const fn name(&self) -> &'static str {
        self.name
    }

    /// The numbers of words that it may have, including the name.
    pub(in crate::session) fn words(&self) -> &RangeInclusive<usize> {
        &self.words
    }

    /// The things it uses.
    pub(in crate::session) fn access(&self) -> Access {
        self.access
    }

    /// Which words are keys.
    pub(in crate::session) fn keys(&self) -> Keys {
        self.keys
    }

    /// How it is carried out.
    pub(in crate::session) fn run(&self) -> Run {
        self.run
    }

    /// The words behind the name, as the documentation shows them.
    pub(super) fn usage(&self) -> &'static str {
        self.usage
    }

    /// The right that a client needs.
    pub(in crate::session) fn need(&self) -> Option<AccessNeed> {
        match self.access {
            Access::Free | Access::Store => None,
            Access::Read => Some(AccessNeed::Read),
            Access::Write => Some(AccessNeed::Write),
            Access::WriteAll => Some(AccessNeed::WriteAll),
        }
    }

    fn flags(&self) -> &'static [&'static str] {
        match self.access {
            Access::Free | Access::Store => &[],
            Access::Read => &["readonly"],
            Access::Write | Access::WriteAll => &["write"],
        }
    }

    /// Whether it subscribes or unsubscribes.
    pub(in crate::session) fn is_about_subscriptions(&self) -> bool {
        self.name.ends_with("subscribe")
    }

    /// Whether a subscriber that speaks RESP2 may send it.
    pub(in crate::session) fn is_for_subscribers(&self) -> bool {
        self.is_about_subscriptions() || matches!(self.name, "ping" | "quit" | "reset")
    }

    /// Whether a client may send it that must authenticate.
    pub(in crate::session) fn is_for_strangers(&self) -> bool {
        matches!(self.name, "auth" | "hello" | "quit" | "reset")
    }

    /// The number of words as Redis gives it: negative if there may be more.
    fn arity(&self) -> i64 {
        let least = i64::try_from(*self.words.start()).unwrap_or(i64::MAX);
        if self.words.start() == self.words.end() { least } else { -least }
    }

    /// The text of `COMMAND DOCS`.
    pub(in crate::session) fn summary(&self) -> &'static str {
        self.summary
    }

    /// The ten fields of Redis 7. Categories, tips, key specifications and subcommands are empty.
    pub(in crate::session) fn write(&self, out: &mut Vec<u8>) {
        write_array(out, 10);
        write_bulk(out, self.name.as_bytes());
        write_integer(out, self.arity());
        write_array(out, self.flags().len());
        self.flags().iter().for_each(|flag| write_simple(out, flag));
        for number in [self.keys.first, self.keys.last, self.keys.step] {
            write_integer(out, number);
        }
        for _ in 0..4 {
            write_array(out, 0);
        }
    }

    /// Its line in the documentation.
    pub(super) fn line(&self) -> String {
        let name = self.name.to_ascii_uppercase();
        let usage = self.usage().replace('|', "\\|");
        let space = if usage.is_empty() { "" } else { " " };
        format!("| `{name}{space}{usage}` | {} |\n", self.summary)
    }
}
