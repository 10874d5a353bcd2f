//! Suspended runs as they are seen from outside: which page, what it waits for, what lies in its mailbox.
//!
//! Owns that view, and the end of a run that an operator asks for. Never runs one.

use runtime::slots::ProcessId;

use super::family::Budget;
use super::process::{Key, ProcessState, Underway, Work};
use super::runner::Runner;

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
    /// What it waits for, in a few words.
    pub waits_for: String,
    /// The names it has registered.
    pub name: String,
    /// Messages in its mailbox.
    pub messages: u64,
    /// Their bytes.
    pub mailbox_bytes: u64,
    /// Bytes of memory that it holds; 0 for a process, whose memory is that of its family.
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
        let key = key_of(id)?;
        self.underway.get(&key).map(|underway| self.view(key, underway))
    }

    fn view(&self, key: Key, underway: &Underway) -> Suspended {
        let life = &underway.life;
        let (messages, mailbox_bytes) =
            life.mailbox.map_or((0, 0), |mailbox| self.mailboxes.load(mailbox));
        let memory_bytes = match &underway.work {
            Work::Run(run) if life.budget == Budget::Own => self.engine.held_by(run),
            Work::Run(_) | Work::Ended(_) => 0,
        };
        let names: Vec<&str> = life.names.iter().map(|(name, _)| &**name).collect();
        let (letter, number, kind) = match key {
            Key::Request(process) => ('r', process, "request"),
            Key::Socket(process) => ('s', process, "socket"),
            Key::Spawned(mailbox) => ('p', mailbox, "process"),
        };
        let is_ready = underway.standing != ProcessState::Waits || underway.delivery.is_some();
        Suspended {
            id: format!("{letter}{}", number.to_bits()),
            page: life.page.name.file.to_string(),
            kind,
            state: if is_ready { "ready" } else { "waits" },
            waits_for: life.waits_for.to_owned(),
            name: names.join(" "),
            messages: messages as u64,
            mailbox_bytes: mailbox_bytes as u64,
            memory_bytes,
        }
    }

    /// Where the suspended run of this name is: the calls that led there, innermost first.
    pub fn calls_of(&self, id: &str) -> Vec<String> {
        key_of(id).map_or_else(Vec::new, |key| self.calls_of_key(key))
    }

    pub(super) fn calls_of_key(&self, key: Key) -> Vec<String> {
        let underway = self.underway.get(&key);
        let Some(Underway { work: Work::Run(run), life, .. }) =
            underway.map(|underway| &**underway)
        else {
            return Vec::new();
        };
        let engine = match life.shares_budget_with() {
            Some(_) => self.process_engine.engine(),
            None => Some(&self.engine),
        };
        let calls = engine.map(|engine| engine.calls_of(run)).unwrap_or_default();
        calls.iter().map(ToString::to_string).collect()
    }

    /// An operator ends a suspended run: it fails where it waits. `false`: there is none of this name.
    pub fn end_by_operator(&mut self, id: &str) -> bool {
        let Some(key) = key_of(id) else { return false };
        let Some(mut underway) = self.underway.remove(&key) else { return false };
        underway.work = match underway.work {
            Work::Run(run) => {
                let engine = match underway.life.shares_budget_with() {
                    Some(_) => {
                        self.process_engine.engine_mut().expect("what it made a run of is there")
                    }
                    None => &mut self.engine,
                };
                Work::Ended(engine.end_by_operator(run))
            }
            ended @ Work::Ended(_) => ended,
        };
        self.underway.insert(key, underway);
        self.make_ready(key);
        true
    }
}

fn key_of(id: &str) -> Option<Key> {
    let (letter, number) = id.split_at_checked(1)?;
    let number = ProcessId::from_bits(number.parse().ok()?);
    match letter {
        "r" => Some(Key::Request(number)),
        "s" => Some(Key::Socket(number)),
        "p" => Some(Key::Spawned(number)),
        _ => None,
    }
}
