//! The states of a program's threads while it is profiled, in words: which of them stood all the time, and where.
//!
//! Owns what every view says about that: a deadlock, a stopped or traced program, a sleep that takes no signal. The
//! events that the kernel records do not show it, because a thread that stands has none.

use std::collections::BTreeMap;
use std::time::Duration;

use ::profile::{
    Frame, Met, Scope, Sleeper, Stack, States, SymbolNames, ThreadState, Waits, deadlocks,
    place_of, sleepers, wait_in, wait_of,
};

/// Time between two looks at the states of all threads, for each so many threads: a look at a thread takes about 20 us.
const PAUSE: Duration = Duration::from_millis(100);
const THREADS: usize = 64;

/// Threads and groups of them that are listed by name.
const LISTED: usize = 6;

/// The part of the looks from which a state is worth a line.
const WORTH: f64 = 0.05;

/// The states of a program's threads, looked at again and again.
pub(super) struct Standing {
    scope: Scope,
    before: States,
    now: States,
    looks: u32,
    /// In how many looks a thread was stopped, was in the hands of a tracer, or slept without taking signals.
    stopped: u32,
    traced: u32,
    deaf: BTreeMap<String, u32>,
}

impl Standing {
    pub(super) fn begin(scope: Scope) -> Self {
        let before = States::look(scope);
        let now = States::default();
        let mut standing =
            Self { scope, before, now, looks: 0, stopped: 0, traced: 0, deaf: BTreeMap::new() };
        standing.look();
        standing
    }

    /// Looks again.
    pub(super) fn look(&mut self) {
        self.now = States::look(self.scope);
        self.looks += 1;
        let has = |letter: char| self.now.threads().any(|thread| thread.letter == letter);
        self.stopped += u32::from(has('T'));
        self.traced += u32::from(has('t'));
        let mut deaf = self.now.threads().filter(|thread| thread.letter == 'D');
        if let Some(thread) = deaf.next() {
            let place = thread.kernel.last().map_or("the kernel", |frame| &*frame.name);
            *self.deaf.entry(place.to_owned()).or_default() += 1;
        }
    }

    /// Time until the next look.
    pub(super) fn pause(&self) -> Duration {
        let times = 1 + self.now.threads().count() / THREADS;
        PAUSE * u32::try_from(times).unwrap_or(u32::MAX)
    }

    /// Looks for the last time.
    pub(super) fn end(mut self) -> Stood {
        self.look();
        let stuck = self.now.stuck_since(&self.before);
        Stood { sleepers: sleepers(&stuck), standing: self }
    }
}

/// The states of a whole profile.
pub(super) struct Stood {
    standing: Standing,
    sleepers: Vec<Sleeper>,
}

impl Stood {
    /// The stacks of the threads that stood all the time.
    pub(super) fn stacks(&self) -> impl Iterator<Item = &Stack> + Clone {
        self.sleepers.iter().map(|sleeper| &sleeper.stack)
    }

    /// The threads that stood all the time, as waits of so many nanoseconds.
    pub(super) fn waits(&self, names: &SymbolNames, time_ns: u64) -> Vec<(&Sleeper, Met)> {
        let met = |sleeper: &Sleeper| {
            let mut frames = names.frames(&sleeper.stack);
            frames.extend(sleeper.state.kernel.iter().cloned());
            let own = names.own_frames(&sleeper.stack);
            let waits = Waits { count: 1, time_ns };
            Met { kind: kind_of(&sleeper.state, &frames), frames, own, tries: 0, waits }
        };
        self.sleepers.iter().map(|sleeper| (sleeper, met(sleeper))).collect()
    }

    /// The findings, worst first.
    pub(super) fn remarks(&self, names: &SymbolNames) -> Vec<String> {
        let mut remarks = self.locks(names);
        let Standing { looks, stopped, traced, deaf, now, .. } = &self.standing;
        let percent = |count: u32| f64::from(count) * 100.0 / f64::from(*looks).max(1.0);
        let is_worth = |count: u32| percent(count) >= WORTH * 100.0;
        if is_worth(*stopped) {
            remarks.push(format!(
                "stopped by a signal (SIGSTOP) or a debugger in {:.0} % of {looks} looks",
                percent(*stopped)
            ));
        }
        if let Some(tracer) = now.threads().find_map(|thread| thread.tracer) {
            let name = std::fs::read_to_string(format!("/proc/{tracer}/comm")).unwrap_or_default();
            remarks.push(format!(
                "{} ({tracer}) traces this program, as strace and debuggers do: it was held in {:.0} % of \
                 {looks} looks",
                name.trim(),
                percent(*traced)
            ));
        }
        let all: u32 = deaf.values().sum();
        if let Some((place, _)) = deaf.iter().max_by_key(|(_, count)| **count)
            && is_worth(all)
        {
            remarks.push(format!(
                "a thread slept without taking signals (state D), mostly in {place}, in {:.0} % of {looks} looks",
                percent(all)
            ));
        }
        remarks.extend(self.groups(names));
        remarks
    }

    /// Mutexes: circles of threads, and those that stood behind a holder.
    fn locks(&self, names: &SymbolNames) -> Vec<String> {
        let told = |thread: u32| {
            let mut all = self.standing.now.threads();
            let found = all.find(|state| state.thread == thread);
            found.map_or_else(|| thread.to_string(), ThreadState::told)
        };
        let place = |thread: u32| {
            let sleeper = self.sleepers.iter().find(|one| one.state.thread == thread);
            let place = sleeper.map(|one| place_of(&names.own_frames(&one.stack)));
            place.map_or_else(String::new, |place| format!(" in {place}"))
        };
        let mut remarks = Vec::new();
        let circles = deadlocks(&self.sleepers);
        for circle in &circles {
            let list: Vec<String> = circle
                .iter()
                .map(|thread| format!("{}{}", told(*thread), place(*thread)))
                .collect();
            let first = circle.first().map_or_else(String::new, |thread| told(*thread));
            remarks.push(format!(
                "DEADLOCK: each of these threads waits for a mutex that the next one holds: {}, and again {first}",
                list.join(", ")
            ));
        }
        let mut behind: BTreeMap<u32, usize> = BTreeMap::new();
        for holder in self.sleepers.iter().filter_map(|one| one.holder) {
            *behind.entry(holder).or_default() += 1;
        }
        behind.retain(|holder, _| !circles.iter().flatten().any(|thread| thread == holder));
        for (holder, count) in behind.into_iter().take(LISTED) {
            let state = self.standing.now.threads().find(|state| state.thread == holder);
            let held = state.map_or_else(String::new, |state| {
                let does = if state.letter == 'R' { "runs".to_owned() } else { state.place() };
                format!(", which is in {does}{}", place(holder))
            });
            let threads =
                if count == 1 { "a thread".to_owned() } else { format!("{count} threads") };
            remarks.push(format!(
                "{threads} stood all the time before a mutex that {} holds{held}",
                told(holder)
            ));
        }
        remarks
    }

    /// How many threads stood all the time, by what they wait for and where.
    fn groups(&self, names: &SymbolNames) -> Option<String> {
        let all = self.standing.now.threads().count();
        let mut groups: BTreeMap<(String, String), usize> = BTreeMap::new();
        for (_, met) in self.waits(names, 0) {
            *groups.entry((met.kind, place_of(&met.own))).or_default() += 1;
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let told = |((kind, place), count): &((String, String), usize)| {
            format!("{count} in {kind} ({place})")
        };
        let list: Vec<String> = groups.iter().take(LISTED).map(told).collect();
        let more = if groups.len() > LISTED { ", …" } else { "" };
        let count = self.sleepers.len();
        (count > 0).then(|| {
            format!("{count} of {all} threads did not run at all: {}{more}", list.join(", "))
        })
    }
}

/// The reason why a thread waits: its system call is known, and the kernel's frames tell the cause.
fn kind_of(state: &ThreadState, frames: &[Frame]) -> String {
    match state.letter {
        'T' | 't' => wait_of(frames),
        _ => wait_in(Some(&state.place()), frames),
    }
}
