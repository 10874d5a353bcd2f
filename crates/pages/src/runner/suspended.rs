//! Suspended runs as they are seen from outside: which page, what it waits for, what lies in its mailbox.
//!
//! Owns that view, and the end of a run that an operator asks for. Never runs one.

use actors::RunKey;

use super::Runner;
use crate::process::{ProcessState, Underway, Work};

/// A suspended run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspended {
    /// Its name among the runs of its scheduler: a letter and a number.
    pub id: String,
    /// Its page.
    pub page: String,
    /// `request`, `socket` or `process`.
    pub kind: &'static str,
    /// `waits` or `ready`.
    pub state: &'static str,
    /// The event that it waits for, in a few words.
    pub waits_for: String,
    /// The CPU time that it has used, in nanoseconds.
    pub cpu_ns: u64,
    /// The names it has registered.
    pub name: String,
    /// Messages in its mailbox.
    pub messages: u64,
    /// Their bytes.
    pub mailbox_bytes: u64,
    /// Bytes of memory that it holds; for a process, that all processes of its request hold together.
    pub memory_bytes: u64,
}

impl Runner {
    /// The suspended runs, at most so many, and how many there are.
    pub fn suspended(&self, most: usize) -> (Vec<Suspended>, usize) {
        let all = self.underway.iter().take(most);
        (all.map(|(key, underway)| self.view(*key, underway)).collect(), self.underway.len())
    }

    /// The suspended run of this name.
    pub fn suspended_of(&self, id: &str) -> Option<Suspended> {
        let key = id.parse().ok()?;
        self.underway.get(&key).map(|underway| self.view(key, underway))
    }

    fn view(&self, key: RunKey, underway: &Underway) -> Suspended {
        let life = &underway.life;
        let load = life.mailbox().map(|mailbox| self.mail.load(mailbox)).unwrap_or_default();
        let names: Vec<&str> =
            life.mailbox().iter().flat_map(|mailbox| self.mail.names(*mailbox)).collect();
        let is_ready = underway.standing != ProcessState::Waits || underway.delivery.is_some();
        Suspended {
            id: key.to_string(),
            page: life.page.name.file.to_string(),
            kind: key.kind(),
            state: if is_ready { "ready" } else { "waits" },
            waits_for: life.waits_for().to_owned(),
            cpu_ns: life.cpu_ns(),
            name: names.join(" "),
            messages: load.messages as u64,
            mailbox_bytes: load.bytes as u64,
            memory_bytes: self.engines.held_by(underway),
        }
    }

    /// Where the suspended run of this name is: the calls that led there, innermost first.
    pub fn calls_of(&self, id: &str) -> Vec<String> {
        id.parse().map_or_else(|()| Vec::new(), |key| self.calls_of_key(key))
    }

    pub(super) fn calls_of_key(&self, key: RunKey) -> Vec<String> {
        self.underway.get(&key).map_or_else(Vec::new, |underway| underway.calls())
    }

    /// An operator ends a suspended run: it fails where it waits. `false`: there is none of this name.
    pub fn end_by_operator(&mut self, id: &str) -> bool {
        id.parse().is_ok_and(|key| self.end_for(key, "an operator ended it"))
    }

    /// Ends a suspended run for this reason: it fails where it waits. `false`: there is none with this key.
    pub(super) fn end_for(&mut self, key: RunKey, why: &str) -> bool {
        let Some(mut underway) = self.underway.remove(&key) else { return false };
        underway.work = match underway.work {
            Work::Run(run) => Work::Ended(self.engines.of(&underway.life).end_for(run, why)),
            ended @ Work::Ended(_) => ended,
        };
        self.underway.insert(key, underway);
        self.make_ready(key);
        true
    }
}
