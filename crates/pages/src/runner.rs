//! The pages of one scheduler: its engine, what is loaded, and what runs.
//!
//! Owns runs from their first step to their last. Never writes a reply; a call lends it a clock.

mod call_table;
mod calls;
mod crowding;
mod fetching;
mod file_wishes;
mod hearing;
mod letters;
mod recording;
mod reload;
mod remarks;
mod site_begins;
mod spawning;
mod steps;
mod suspended;
mod talking;
#[cfg(feature = "testing")]
mod testing;
mod timing;
mod tune;
mod turns;
mod underway;
mod visit;

pub use suspended::Suspended;
pub use talking::Saying;
use visit::{Ending, Visit, VisitEnd};

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actors::{BackgroundProcesses, Mail, RunKey};
use ahash::HashMap;
use runtime::clock::nanoseconds;
use runtime::slots::ProcessId;
use script::engine::{
    CallResult, EngineError, EngineSettings, Fault, PageHost, PageOutput, Run, ScriptError,
    fill_with_random,
};
use sys::socket::Peer;

use crate::counts::{Counters, RowIndex};
use crate::delivery::Delivery;
use crate::engines::Engines;
use crate::fetches::Fetches;
use crate::listening::Listening;
use crate::load::SetIndex;
use crate::loaded::{Roots, no_room};
use crate::log_gate::LogGate;
use crate::moment::Moment;
use crate::page::Page;
use crate::page_log::PageLog;
use crate::process::{Life, ProcessState, Underway, Work};
use crate::publications::Publications;
use crate::record_orders::Recording;
use crate::set::PageSet;
use crate::spent::{Spent, Timing};
use crate::traced;
use crate::turn::Turn;
use crate::uploads::FileWish;

/// The result of running a page for a while.
pub enum RunResult {
    /// It has finished; its answer is in [`Runner::output`].
    Done(Arc<Page>),
    /// It continues later; then its process is resumed.
    Wait,
    /// It continues when the client has read the part of its answer in [`Runner::output`].
    Part(Arc<Page>),
    /// Its connection becomes a WebSocket; [`Runner::output`] has the subprotocol and the fields.
    Accept(Arc<Page>),
    /// The output says what to do with the WebSocket. It continues when that is done.
    Say(Arc<Page>),
    /// It failed, or there is no code for it.
    Failed(Arc<Page>, Option<Box<ScriptError>>),
}

/// The pages of one scheduler.
pub struct Runner {
    engines: Engines,
    roots: Roots,
    underway: HashMap<RunKey, Box<Underway>>,
    mail: Mail,
    turn: Turn,
    fetches: Fetches,
    /// Operations that pages request on the files of their forms.
    file_wishes: Vec<(ProcessId, FileWish)>,
    deadline_ns: u64,
    timing: Timing,
    counters: Counters,
    log: PageLog,
    /// The messages that pages publish.
    publications: Rc<Publications>,
    /// The pages' connection to the store.
    recording: Recording,
    /// The subscriptions of pages.
    listening: Listening,
    background: BackgroundProcesses,
}

impl Runner {
    /// An engine with all pages loaded.
    ///
    /// # Errors
    /// If no engine can run on this host.
    pub fn new(
        sets: &[Arc<PageSet>],
        settings: EngineSettings,
        process_memory_bytes: usize,
        deadline_ns: u64,
        schedulers: u16,
    ) -> Result<Self, EngineError> {
        let settings = EngineSettings { calls: Self::host_calls(), ..settings };
        let mut runner = Self {
            engines: Engines::new(settings, process_memory_bytes)?,
            roots: Roots::default(),
            underway: HashMap::default(),
            mail: Mail::new(secret_key()?, schedulers),
            turn: Turn::new(nanoseconds(settings.slice)),
            fetches: Fetches::default(),
            file_wishes: Vec::new(),
            deadline_ns,
            timing: Timing::default(),
            counters: Counters::default(),
            log: PageLog::default(),
            publications: Rc::default(),
            recording: Recording::default(),
            listening: Listening::default(),
            background: BackgroundProcesses::default(),
        };
        runner.load(sets);
        Ok(runner)
    }

    /// The output of the finished page.
    pub fn output(&self) -> &PageOutput {
        self.engines.output()
    }

    /// Called at the end of the server's process: suspended runs are not freed.
    pub fn leave(self) {
        let Self { engines, .. } = self;
        engines.leave();
    }

    /// The rate limit for all log lines of pages.
    pub fn log_gate(&self) -> &Rc<LogGate> {
        self.log.gate()
    }

    /// A call lends a clock.
    fn set_time(&mut self, moment: Moment) {
        self.turn.set_now(moment.now_ns);
        self.log.gate().set_now(moment.now_ns);
    }

    /// Starts a page, or continues the one that this process runs. `client`: the client, if its connection may have
    /// several requests at a time. Together they have one place among others.
    pub fn run(
        &mut self,
        process: ProcessId,
        client: Option<Peer>,
        set: SetIndex,
        index: usize,
        host: &mut dyn PageHost,
        moment: Moment,
    ) -> Option<RunResult> {
        self.set_time(moment);
        let key = RunKey::Request(process);
        if self.underway.contains_key(&key) {
            return Some(self.go_on(key, host, moment));
        }
        let begun_ns = (moment.clock_ns)();
        let row = self.roots.row_of(set, index, &mut self.counters)?;
        if self.turn.puts_off(process, client, row, self.counters.visit_ns(row)) {
            return Some(RunResult::Wait);
        }
        let loaded = self.roots.get(set)?;
        let page = loaded.set().pages.get(index)?;
        let counts = self.counters.of(row);
        counts.requests += 1;
        let Some(code) = loaded.code(index)? else {
            let error = page.lua.as_ref().map(|_| no_room(page));
            counts.add_fault(error.as_ref().map_or(Fault::Compile, |error| error.fault));
            return Some(RunResult::Failed(Arc::clone(page), error));
        };
        let mut run = match self.engines.begin(code) {
            Ok(run) => run,
            Err(error) => {
                counts.add_fault(error.fault);
                let page = Arc::clone(page);
                self.remark_on_end(&error);
                return Some(RunResult::Failed(page, Some(error)));
            }
        };
        let deadline_ns = moment.now_ns.saturating_add(self.deadline_ns);
        let spent = self.timing.is_on().then(|| Box::new(Spent::begun(begun_ns)));
        let mut life = Life::new(Arc::clone(code.page()), row, client, deadline_ns, spent);
        let step = self.engines.start(&mut run, &life, host).counted(counts);
        let visit = Visit { key, run: &mut run, life: &mut life, begun_ns };
        Some(match self.proceed(visit, step, host, moment) {
            VisitEnd::Over(ending) => ending.of(self.end(key, life)),
            VisitEnd::Stays(stay) => self.keep(Underway::new(run, life), stay),
        })
    }

    /// Continues a suspended run, if what it waited for has arrived.
    pub(super) fn go_on(
        &mut self,
        key: RunKey,
        host: &mut dyn PageHost,
        moment: Moment,
    ) -> RunResult {
        let Some(waits) = self.underway.get_mut(&key) else { return RunResult::Wait };
        let was_called = waits.standing == ProcessState::Called;
        if was_called {
            waits.standing = ProcessState::Waits;
        }
        if !waits.is_due(moment.now_ns) {
            return RunResult::Wait;
        }
        if key.is_of_client() && self.turn.is_used_up() {
            match was_called {
                // Those that were called run before the events of a turn, so older ones have used it.
                true => self.turn.queue_again(key, waits),
                false => self.turn.queue(key, waits),
            }
            return RunResult::Wait;
        }
        match self.underway.remove(&key) {
            Some(waits) => self.go_on_now(key, waits, host, moment),
            None => RunResult::Wait,
        }
    }

    fn go_on_now(
        &mut self,
        key: RunKey,
        mut waits: Box<Underway>,
        host: &mut dyn PageHost,
        moment: Moment,
    ) -> RunResult {
        let begun_ns = (moment.clock_ns)();
        waits.life.note_waited(begun_ns);
        let is_over = waits.go_on(moment.now_ns, self.deadline_ns);
        let Underway { work, life, delivery, .. } = &mut *waits;
        let run = match work {
            Work::Run(run) if !is_over => run,
            _ => return self.end_waiting(key, *waits),
        };
        traced::note(key, traced::GOES_ON, format_args!(""));
        let mut delivery = delivery.take();
        if let Some(mailbox) = life.mailbox() {
            delivery = delivery.or_else(|| self.mail.give_up_word(mailbox).map(Delivery::from));
            self.mail.stop_awaiting(mailbox);
        }
        if delivery.is_none() {
            self.listening.stop_waiting(key);
            self.recording.stop_waiting(key);
        }
        let step = self.resume(run, life, delivery.as_ref(), host, moment);
        match self.proceed(Visit { key, run, life, begun_ns }, step, host, moment) {
            VisitEnd::Over(ending) => ending.of(self.end(key, waits.life)),
            VisitEnd::Stays(stay) => self.keep(waits, stay),
        }
    }

    /// A run does not continue: it was ended where it waits, or its time is over.
    #[cold]
    fn end_waiting(&mut self, key: RunKey, waits: Underway) -> RunResult {
        let Underway { work, life, .. } = waits;
        let bound = Duration::from_nanos(self.deadline_ns);
        let error = match work {
            Work::Ended(error) => error,
            Work::Run(run) => self.engines.requests().end_late(run, bound),
        };
        traced::note(key, traced::FAILS, format_args!("{:?}", error.fault));
        self.counters.of(life.row).add_fault(error.fault);
        self.remark_on_end(&error);
        Ending::Failed(error).of(self.end(key, life))
    }

    fn resume(
        &mut self,
        run: &mut Run,
        life: &Life,
        delivery: Option<&Delivery>,
        host: &mut dyn PageHost,
        moment: Moment,
    ) -> CallResult {
        self.recording.records.begin_run();
        let stepped = self.engines.resume(run, life, delivery, host, moment);
        stepped.counted(self.counters.of(life.row))
    }

    /// All pages with a number of their own, and their files.
    pub fn timed_pages(&self) -> Vec<(u16, String)> {
        self.counters.names().map(|(row, name)| (row.number(), name.to_owned())).collect()
    }

    /// The number of a page, which is that of its [`PageReport`](crate::PageReport) and stays the same; 0 if it has
    /// none of its own.
    pub fn number_of(&mut self, set: SetIndex, index: usize) -> u16 {
        self.roots.row_of(set, index, &mut self.counters).map_or(0, RowIndex::number)
    }
}

/// A key for the names of a scheduler's processes.
fn secret_key() -> Result<[u8; 32], EngineError> {
    let mut key = [0; 32];
    if fill_with_random(&mut key) { Ok(key) } else { Err(EngineError::NoRandomBytes) }
}

#[cfg(test)]
mod tests {
    use actors::{Letter, Undelivered};
    use runtime::mailbox::{Endpoint, EndpointRole, Waking, mesh};
    use script::engine::EngineSettings;

    use super::*;
    use crate::stage::{pages, run};

    #[test]
    fn message_to_stuck_scheduler_fails_with_reason() {
        let page = "<%= select(2, send('1.5.1.00000000000000000000000000000001', 'a')) %>|<%= \
                    tostring(send('1.5.1.00000000000000000000000000000001', 'b')) %>";
        let mut runner = Runner::new(
            &pages(&[("a.page.txt", page)]),
            EngineSettings::default(),
            64 << 20,
            u64::MAX,
            2,
        )
        .unwrap();
        let seats = mesh::<Box<Letter>>(&[EndpointRole::Scheduler; 2], Waking::Driven).unwrap();
        let [mut here, mut there] =
            seats.try_into().map(|seats: [_; 2]| seats.map(|seat| seat.mailbox)).ok().unwrap();
        let mut next_receipt = |runner: &mut Runner| {
            assert!(runner.mail.leave(&mut here));
            match there.take().map(|(_, letter)| *letter) {
                Some(Letter::Message { from: to, number, .. }) => {
                    Letter::Receipt { to, number, outcome: Ok(()) }
                }
                other => panic!("{other:?} is no message"),
            }
        };
        let run = |runner: &mut Runner, now_ns| run(runner, 1, 0, now_ns);
        let word_ns = nanoseconds(actors::limits::LETTER_WORD);
        assert!(matches!(run(&mut runner, 0), RunResult::Wait));
        let first = next_receipt(&mut runner);
        assert!(matches!(run(&mut runner, word_ns - 1), RunResult::Wait));
        assert!(matches!(run(&mut runner, word_ns), RunResult::Wait), "the next letter");
        let second = next_receipt(&mut runner);
        // The receipt for the first letter comes too late, and is not taken for that of the second.
        runner.take_letter(Endpoint(1), first);
        assert!(matches!(run(&mut runner, word_ns), RunResult::Wait));
        runner.take_letter(Endpoint(1), second);
        assert!(matches!(run(&mut runner, word_ns), RunResult::Done(_)));
        let said = String::from_utf8_lossy(&runner.output().body).into_owned();
        assert_eq!(said, format!("{}|true", Undelivered::Unheard.as_str()));
    }

    #[test]
    fn the_numbers_of_a_page_outlive_its_text() {
        let old = pages(&[("a.page.html", "old"), ("b.page.html", "<% sleep(1) %>")]);
        let mut runner =
            Runner::new(&old, EngineSettings::default(), 64 << 20, u64::MAX, 1).unwrap();
        let now = 5;
        assert!(matches!(run(&mut runner, 1, 0, now), RunResult::Done(_)));
        assert!(matches!(run(&mut runner, 2, 1, now), RunResult::Wait));
        assert!(matches!(run(&mut runner, 3, 1, now), RunResult::Wait));
        // Its number has changed, and one page was removed.
        runner.load(&pages(&[("0.page.html", "<% error('no') %>"), ("a.page.html", "new")]));
        assert!(matches!(run(&mut runner, 1, 1, now), RunResult::Done(_)));
        assert!(matches!(run(&mut runner, 1, 0, now), RunResult::Failed(_, Some(_))));
        let later = 2_000_000_000;
        assert!(
            matches!(run(&mut runner, 2, 0, later), RunResult::Done(page) if &*page.name.file == "b.page.html")
        );
        let report = runner.report();
        assert_eq!(report.waiting, 1);
        let seen: Vec<_> = report
            .pages
            .iter()
            .map(|page| {
                (
                    page.page.as_deref().unwrap(),
                    page.waiting,
                    page.counts.requests,
                    page.counts.failures,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [("a.page.html", 0, 2, 0), ("b.page.html", 1, 2, 0), ("0.page.html", 0, 1, 1)]
        );
        runner.forget(ProcessId::from_bits(3));
        runner.forget(ProcessId::from_bits(3));
        let report = runner.report();
        assert_eq!((report.waiting, report.total.cancelled, report.total.requests), (0, 1, 5));
    }

    #[test]
    fn a_letter_goes_with_its_sender() {
        let pages =
            pages(&[("a.page.txt", "<% send('1.5.1.00000000000000000000000000000001', 'a') %>")]);
        let deadline_ns = 10;
        let mut runner =
            Runner::new(&pages, EngineSettings::default(), 64 << 20, deadline_ns, 2).unwrap();
        for process in 1..=3 {
            assert!(matches!(run(&mut runner, process, 0, 0), RunResult::Wait));
            assert_eq!(runner.mail.unsent(), 1);
            if process == 3 {
                let late = run(&mut runner, process, 0, deadline_ns + 1);
                assert!(
                    matches!(late, RunResult::Failed(_, Some(error)) if error.fault == Fault::Deadline)
                );
            } else {
                runner.forget(ProcessId::from_bits(process));
            }
            assert!(runner.mail.unsent() == 0, "nobody waits for its receipt");
        }
    }
}
