//! The work of page processes at the end of a turn.
//!
//! Owns who continues, and how much time all of them have before events get their turn. Never reads
//! a clock except the one that it is lent.

use std::rc::Rc;
use std::sync::Arc;

use actors::limits::LETTERS_RETRY_MS;
use actors::{Letter, RunKey};
use runtime::limits::ALARMS_PER_TURN;
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use script::engine::{Keys, NativeCode};

use super::site_begins::again;
use super::{Moment, RunResult, Runner};
use crate::at_work::AtWork;
use crate::host::BackgroundHost;
use crate::limits::{LOG_TOLD_AGAIN_NS, PAGE_STEP_NS};
use crate::process::ProcessState;
use crate::publications::Publications;
use crate::records::StoreRecords;

impl Runner {
    /// Sets the keys that sign cookies.
    pub fn set_keys(&mut self, keys: Keys) {
        self.engines.requests().set_keys(keys);
    }

    /// All native code of pages, with the lines at which its pieces begin.
    pub fn native_code(&self) -> Vec<NativeCode> {
        self.engines.native_code()
    }

    /// Sets where this scheduler shows other threads which page runs.
    pub fn show_at_work(&mut self, at_work: Arc<AtWork>) {
        self.engines.show_at_work(at_work);
    }

    /// At the end of a turn: spawned processes continue now, requests in the next turn.
    pub fn wake<M>(&mut self, context: &mut ServiceContext<'_, M>)
    where
        M: Send + From<Box<Letter>> + TryInto<Box<Letter>>,
    {
        let (now_ns, endpoint) = (context.now.monotonic_ns, context.mail.endpoint());
        let unix_seconds = context.now.unix_seconds;
        let thread_cpu_ns = sys::accounting::thread_cpu_ns;
        let clock_ns = sys::clock::monotonic_ns;
        let moment = Moment { now_ns, endpoint, thread_cpu_ns, clock_ns };
        self.begin_site_processes(moment, unix_seconds);
        for process in self.go_on_by_turns(moment, context.now.unix_ms()) {
            // A conversation may continue while its connection reads.
            let resume =
                if self.talks(process) { SchedulerCommand::Run } else { SchedulerCommand::Resume };
            context.command(resume(process));
        }
        let all_left = self.mail.leave(context.mail);
        let goes_on = self.engines.clear_away();
        self.make_room();
        if self.log.gate().tell(now_ns) {
            context.wake_after_ms(LOG_TOLD_AGAIN_NS / 1_000_000);
        }
        if goes_on || !self.turn.is_idle() {
            context.wake_at_ns(now_ns);
        }
        if !all_left {
            // The receiving scheduler is busy: trying all the time would make this one busy too.
            context.wake_after_ms(LETTERS_RETRY_MS);
        }
        let looks = [self.turn.next_alarm_ns(), self.background.look_ns(now_ns, unix_seconds)];
        for due_ns in looks.into_iter().flatten() {
            context.wake_at_ns(due_ns);
        }
    }

    /// The messages that pages publish to channels, until the end of the turn.
    pub fn publications(&self) -> &Rc<Publications> {
        &self.publications
    }

    /// The access of pages to the store.
    pub fn records(&self) -> &Rc<StoreRecords> {
        &self.recording.records
    }

    /// First continues runs that have used little, as long as together they take no longer than one run may; then
    /// one that has used much, whatever they took. Returns the requests among them.
    pub(super) fn go_on_by_turns(&mut self, moment: Moment, unix_ms: u64) -> Vec<ProcessId> {
        self.set_time(moment);
        self.hear_alarms();
        let processes_ns = self.turn.end();
        let mut requests = Vec::new();
        let mut planned_ns = 0;
        while planned_ns < self.turn.slice_ns()
            && let Some(key) = self.turn.requests().take_fresh()
        {
            planned_ns += self.expected_ns(key);
            requests.extend(self.run_or_return(key, moment, unix_ms));
        }
        if let Some(key) = self.turn.requests().take_worn() {
            requests.extend(self.run_or_return(key, moment, unix_ms));
        }
        let end_ns = (moment.clock_ns)().saturating_add(processes_ns);
        while (moment.clock_ns)() < end_ns
            && let Some(key) = self.turn.processes().take_fresh()
        {
            self.run_or_return(key, moment, unix_ms);
        }
        if let Some(key) = self.turn.processes().take_worn() {
            self.run_or_return(key, moment, unix_ms);
        }
        self.turn.requests().note_left();
        requests
    }

    /// The time that a request will probably take when it continues in the next turn, by the average of its page.
    fn expected_ns(&mut self, key: RunKey) -> u64 {
        let row = match (self.underway.get(&key), key) {
            (Some(underway), _) => Some(underway.life.row),
            (None, RunKey::Request(process)) => self.turn.page_put_off(process),
            (None, RunKey::Socket(_) | RunKey::Spawned(_)) => None,
        };
        row.map_or(0, |row| self.counters.visit_ns(row)).max(PAGE_STEP_NS)
    }

    /// Runs a spawned process. A request is returned, because its connection must ask for it.
    fn run_or_return(&mut self, key: RunKey, moment: Moment, unix_ms: u64) -> Option<ProcessId> {
        if let RunKey::Request(process) = key
            && self.turn.has_put_off(process)
        {
            return Some(process);
        }
        let underway = self.underway.get_mut(&key)?;
        underway.standing = ProcessState::Called;
        let has_client = underway.life.has_client();
        match key {
            RunKey::Request(process) => Some(process),
            RunKey::Socket(process) if has_client => Some(process),
            RunKey::Socket(_) | RunKey::Spawned(_) => {
                let family = underway.life.family().cloned();
                let run_result = self.go_on_alone(key, moment, unix_ms);
                let rest = self.end_site_process(key, &run_result);
                if let RunResult::Failed(page, Some(mut error)) = run_result
                    && family.is_none_or(|family| family.may_tell(moment.now_ns))
                {
                    error.message.extend(rest.map(again));
                    self.log.fail(page, error);
                }
                None
            }
        }
    }

    /// Runs a process without a request.
    pub(super) fn go_on_alone(&mut self, key: RunKey, moment: Moment, unix_ms: u64) -> RunResult {
        let Some(underway) = self.underway.get(&key) else { return RunResult::Wait };
        let page = Arc::clone(&underway.life.page);
        let (gate, publications) = (Rc::clone(self.log.gate()), Rc::clone(&self.publications));
        let records = Rc::clone(&self.recording.records);
        let file = &page.name.file;
        let (gate, publications, records) = (&gate, &publications, &records);
        let mut host = BackgroundHost { file, gate, publications, records, unix_ms };
        self.go_on(key, &mut host, moment)
    }

    fn hear_alarms(&mut self) {
        let now_ns = self.turn.now_ns();
        for _ in 0..ALARMS_PER_TURN {
            let Some(key) = self.turn.take_due() else { return };
            // It may have continued before, and now wait for something else.
            if self.underway.get(&key).is_some_and(|underway| underway.is_due(now_ns)) {
                self.make_ready(key);
            }
        }
    }

    /// Queues a run among the ready ones, once.
    pub(super) fn make_ready(&mut self, key: RunKey) {
        if let Some(underway) = self.underway.get_mut(&key) {
            self.turn.queue(key, underway);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actors::limits::PAGE_FAMILY_MAX;
    use runtime::clock::nanoseconds;
    use script::engine::EngineSettings;

    use super::*;
    use crate::limits::{PAGE_ANSWERS_AT_ONCE, PAGE_STEP_NS};
    use crate::stage::{at, pages, pass, run, run_at};

    const LOOP: &str = "<% while true do end %>";
    const BOMB: &str = "<% local function f() spawn(f) spawn(f) sleep(1000) end spawn(f) %>ok";

    fn runner(slice: Duration, sources: &[(&str, &str)]) -> Runner {
        let settings = EngineSettings {
            slice,
            cpu_budget: Duration::from_secs(60),
            ..EngineSettings::default()
        };
        Runner::new(&pages(sources), settings, 64 << 20, u64::MAX, 1).expect("a runner")
    }

    /// With one page, for which runs have this much CPU time.
    fn short_of_time(budget: Duration, page: &str) -> Runner {
        let settings = EngineSettings { cpu_budget: budget, ..EngineSettings::default() };
        Runner::new(&pages(&[("a.page.txt", page)]), settings, 64 << 20, u64::MAX, 1)
            .expect("a runner")
    }

    fn process(number: u64) -> ProcessId {
        ProcessId::from_bits(number)
    }

    #[test]
    fn light_page_runs_before_heavy_pages() {
        let sleep = "<% sleep(1) %>slept";
        let mut runner =
            runner(Duration::from_millis(20), &[("a.page.txt", LOOP), ("b.page.txt", sleep)]);
        for number in 1..=3 {
            assert!(matches!(run(&mut runner, number, 0, 0), RunResult::Wait));
        }
        for number in 4..=5 {
            assert!(matches!(run(&mut runner, number, 1, 0), RunResult::Wait));
        }
        let second = 1_000_000_000;
        assert_eq!(runner.go_on_by_turns(at(second - 1), 0), [process(1)]);
        assert!(matches!(run(&mut runner, 1, 0, second - 1), RunResult::Wait));
        assert_eq!(runner.go_on_by_turns(at(second), 0), [process(4), process(5), process(2)]);
        assert_eq!(runner.go_on_by_turns(at(second), 0), [process(3)]);
        assert_eq!(runner.go_on_by_turns(at(second), 0), [process(1)], "once in the queue");
        assert_eq!(runner.go_on_by_turns(at(second), 0), []);
    }

    /// Runs turns until all spawned processes of a page have ended, with this much time between turns; at most this
    /// many.
    fn turns_of(runner: &mut Runner, step_ns: u64, most: u64) -> u64 {
        while matches!(run(runner, 1, 0, 0), RunResult::Wait) {}
        (0..most)
            .find(|turn| {
                assert_eq!(runner.go_on_by_turns(at(turn * step_ns), 0), []);
                runner.underway.is_empty()
            })
            .unwrap_or(most)
    }

    #[test]
    fn repeating_page_is_ended_and_waiting_page_is_not() {
        let poll = "<% spawn(function() while true do receive(0) end end) %>";
        let rest = "<% spawn(function() while true do sleep(0.001) end end) %>";
        for (page, is_ended) in [(poll, true), (rest, false)] {
            let budget = Duration::from_millis(5);
            let mut runner = short_of_time(budget, page);
            let steps = nanoseconds(budget) / PAGE_STEP_NS;
            // A sleeping process has a millisecond each time, and uses some microseconds of it.
            let step_ns = if is_ended { 0 } else { 1_000_000 };
            let turns = turns_of(&mut runner, step_ns, 2 * steps);
            assert_eq!(turns < 2 * steps, is_ended, "{page}: {turns} turns");
            let told = runner.take_failures();
            assert_eq!(told.len(), usize::from(is_ended));
            for (_, error) in told {
                assert_eq!(error.to_string(), "a.page.txt:1: used more than 5 ms of CPU time");
            }
        }
    }

    #[test]
    fn a_request_that_waits_again_and_again_is_ended_as_what_was_spawned_is() {
        let budget = Duration::from_millis(5);
        for page in ["<% while true do sleep(0) end %>", "<% while true do receive(0) end %>"] {
            let mut runner = short_of_time(budget, page);
            let steps = u64::try_from(budget.as_nanos()).expect("a short budget") / PAGE_STEP_NS;
            let ended = (0..2 * steps).find_map(|_| {
                runner.go_on_by_turns(at(0), 0);
                match run(&mut runner, 1, 0, 0) {
                    RunResult::Failed(_, error) => error,
                    _ => None,
                }
            });
            let told = ended.map(|error| error.to_string());
            assert_eq!(told.as_deref(), Some("a.page.txt:1: used more than 5 ms of CPU time"));
            // The report of what pages use includes it.
            assert!(runner.report().total.cpu_ns >= 5_000_000);
        }
    }

    #[test]
    fn all_that_come_of_a_request_have_one_budget_and_ten_words_about_it() {
        let page = "<% for index = 1, 50 do spawn(function()
            spawn(function() while true do sleep(0) end end)
            while true do sleep(0) end
        end) end %>";
        let mut runner = short_of_time(Duration::from_millis(5), page);
        let steps = 5_000_000 / PAGE_STEP_NS;
        let begun_ns = pass(0);
        assert!(turns_of(&mut runner, 0, steps) < steps);
        // Each may come to its end, beyond the shared budget. The clock is read two or three times for a step.
        let looks = (pass(0) - begun_ns) / PAGE_STEP_NS;
        assert!(looks < 3 * (steps + 1_000), "{looks} looks");
        assert_eq!(runner.take_failures().len(), 10);
        // On a slow machine the budget ends before each of them has spawned its own, or before the page has ended.
        let total = runner.report().total;
        assert!((1..=100).contains(&total.spawned), "{} spawned", total.spawned);
        let besides = total.over_budget.checked_sub(total.spawned);
        assert!(besides.is_some_and(|besides| besides <= 1), "{besides:?} besides");
    }

    #[test]
    fn a_page_that_wants_much_at_once_has_its_slice_by_the_clock() {
        // Lua uses less than a sample in these steps, so only the clock shows it.
        let page = "<% local name = self() for number = 1, 50 do send(name, number) end %>";
        let slice = Duration::from_millis(10);
        let mut runner = runner(slice, &[("a.page.txt", page)]);
        let clock_ns = || pass(4_000_000);
        let moment = Moment { clock_ns, ..at(0) };
        let mut visits = 0;
        while matches!(run_at(&mut runner, 1, 0, moment), RunResult::Wait) {
            visits += 1;
            assert_eq!(runner.go_on_by_turns(moment, 0), [process(1)]);
        }
        assert_eq!(visits, 51 / 3, "three answers are a slice");
    }

    #[test]
    fn requests_have_two_slices_of_a_turn_and_then_wait_in_their_order() {
        let slice = Duration::from_millis(10);
        let mut runner = runner(slice, &[("a.page.txt", "short"), ("b.page.txt", "short")]);
        // Two readings for each, at its beginning and end. The average of what a page takes covers many runs, so it
        // lags behind.
        let clock_ns = || pass(5_000_000);
        let moment = Moment { clock_ns, ..at(0) };
        let waits = |runner: &mut Runner, number, page| {
            matches!(run_at(runner, number, page, moment), RunResult::Wait)
        };
        for number in 1..=8 {
            assert_eq!(waits(&mut runner, number, 0), number > 4, "{number}");
        }
        assert!(waits(&mut runner, 9, 1));
        let all = [5, 9, 6, 7, 8].map(process);
        assert_eq!(
            runner.go_on_by_turns(moment, 0),
            all,
            "a request of another page is the second"
        );
        for (number, is_over) in [(5, false), (9, false), (6, false), (7, false), (8, true)] {
            assert_eq!(waits(&mut runner, number, usize::from(number == 9)), is_over, "{number}");
        }
        assert_eq!(runner.go_on_by_turns(moment, 0), [process(8)]);
    }

    #[test]
    fn requests_of_a_page_are_answered_in_the_order_in_which_they_came() {
        // Each takes half a slice, so there is time for four in a turn, and six come.
        let mut runner = runner(Duration::from_millis(10), &[("a.page.txt", "short")]);
        let clock_ns = || pass(5_000_000);
        let moment = Moment { clock_ns, ..at(0) };
        let (mut answered, mut came) = (Vec::new(), 0);
        for turn in 0_u64.. {
            let called = runner.go_on_by_turns(moment, 0);
            let comes = if turn < 50 { came + 1..=came + 6 } else { came + 1..=came };
            came = came.max(*comes.end());
            // As the scheduler does: first those that were called, then what comes.
            for process in called.into_iter().chain(comes.map(process)) {
                let run_result = run_at(&mut runner, process.to_bits(), 0, moment);
                if matches!(run_result, RunResult::Done(_)) {
                    answered.push(process.to_bits());
                }
            }
            if turn >= 50 && answered.len() as u64 == came {
                break;
            }
            assert!(turn < 1_000, "{} of {came} are answered", answered.len());
        }
        assert!(answered.is_sorted(), "{answered:?}");
    }

    #[test]
    fn a_called_process_is_not_put_off_for_a_later_one() {
        let mut runner =
            runner(Duration::from_millis(10), &[("a.page.txt", "short"), ("b.page.txt", "b")]);
        let clock_ns = || pass(5_000_000);
        let moment = Moment { clock_ns, ..at(0) };
        let begins = |runner: &mut Runner, number, page| {
            matches!(run_at(runner, number, page, moment), RunResult::Done(_))
        };
        for number in 1..=4 {
            assert!(begins(&mut runner, number, 0), "{number}");
        }
        assert!(!begins(&mut runner, 5, 1), "two slices are used");
        assert_eq!(runner.go_on_by_turns(moment, 0), [process(5)]);
        assert!(begins(&mut runner, 5, 1), "before what comes in this turn");
        assert!(begins(&mut runner, 6, 0));
    }

    #[test]
    fn processes_have_their_share_of_a_turn_by_the_clock() {
        let page = "<% for number = 1, 50 do spawn(function() end) end %>";
        // So long that a busy host interrupts nothing: all time that counts is that of `pass`.
        let slice = Duration::from_secs(100);
        let mut runner = runner(slice, &[("a.page.txt", page)]);
        assert!(matches!(run(&mut runner, 1, 0, 0), RunResult::Done(_)));
        // There were no requests meanwhile, so they have an eighth of a slice.
        let clock_ns = || pass(4_000_000_000);
        let mut turns = 0;
        while !runner.underway.is_empty() {
            assert_eq!(runner.go_on_by_turns(Moment { clock_ns, ..at(0) }, 0), []);
            turns += 1;
        }
        assert_eq!(turns, 25);
    }

    #[test]
    fn endless_spawning_stays_within_its_share() {
        let slice = Duration::from_millis(1);
        let mut runner = runner(slice, &[("a.page.txt", BOMB), ("b.page.txt", LOOP)]);
        assert!(matches!(run(&mut runner, 1, 0, 0), RunResult::Done(_)));
        assert!(matches!(run(&mut runner, 2, 1, 0), RunResult::Wait));
        let (mut most, mut slices) = (0, 0);
        for _ in 0..3 * PAGE_FAMILY_MAX {
            let before_ns = pass(0);
            let goes_on = runner.go_on_by_turns(at(0), 0);
            let looks = (pass(0) - before_ns) / PAGE_STEP_NS;
            let share = nanoseconds(slice) / PAGE_STEP_NS;
            assert!(looks <= share + 3 * PAGE_ANSWERS_AT_ONCE as u64, "{looks} looks");
            for looping in goes_on {
                assert_eq!(looping, process(2));
                assert!(matches!(run(&mut runner, 2, 1, 0), RunResult::Wait));
                slices += 1;
            }
            let is_spawned = |key: &&RunKey| matches!(key, RunKey::Spawned(_));
            most = most.max(runner.underway.keys().filter(is_spawned).count());
        }
        assert!(slices >= 2, "it has its slice when all others had theirs");
        // One less if the last spawner ended in each turn without ever being interrupted.
        assert!((PAGE_FAMILY_MAX - 1..=PAGE_FAMILY_MAX).contains(&most), "{most} at a time");
        assert!(runner.take_failures().is_empty(), "whoever finds no room is told, and goes on");
    }
}
