//! Starts and ends background processes.
//!
//! Owns what is needed to start one. They run like spawned processes, each in its own family. Never
//! knows the time except the moment it is lent.

use std::time::Duration;

use actors::{LeaseStanding, NamesHeard, ProcessEnd, ProcessPlan, RunKey};
use script::engine::{Fault, ScriptError};

use super::{Moment, RunResult, Runner};

impl Runner {
    /// Sets the processes of the site.
    pub fn set_processes(&mut self, plans: &[ProcessPlan]) {
        let ended = self.background.replace(plans);
        self.end_all(ended);
    }

    /// The server belongs to a cluster.
    pub fn join_cluster(&mut self) {
        self.mail.join_cluster();
    }

    /// The leases that this scheduler wants: of the modules of its processes that run on one server at a time, and of
    /// the names of pages' processes.
    pub fn leases(&self) -> impl Iterator<Item = &str> {
        self.background.leases().chain(self.mail.leases())
    }

    /// The cluster says who holds each of these leases now. Processes whose lease this server has lost are ended.
    pub fn hear_leases(&mut self, standing: impl Fn(&str) -> LeaseStanding, now_ns: u64) {
        let is_held = |module: &str| standing(module) == LeaseStanding::Ours;
        let ended = self.background.hear_leases(is_held, now_ns);
        self.end_all(ended);
        let NamesHeard { handed, ended } = self.mail.hear_leases(&standing);
        handed.into_iter().for_each(|handed| self.hand_over_mail(Some(handed)));
        for key in ended {
            self.end_for(key, "another server may have its name in the cluster now");
        }
    }

    pub(super) fn end_all(&mut self, keys: Vec<RunKey>) {
        for key in keys {
            if let Some(underway) = self.underway.remove(&key) {
                self.end(key, underway.life);
            }
        }
    }

    /// A process that answers no request has ended. Returns how long until it starts again, if it belongs to the site
    /// and failed.
    pub(super) fn end_site_process(
        &mut self,
        key: RunKey,
        run_result: &RunResult,
    ) -> Option<Duration> {
        let end = match run_result {
            RunResult::Done(_) => ProcessEnd::Returned,
            RunResult::Failed(..) => ProcessEnd::Failed,
            RunResult::Wait | RunResult::Part(_) | RunResult::Accept(_) | RunResult::Say(_) => {
                return None;
            }
        };
        self.background.end(key, end, self.turn.now_ns())
    }

    /// Starts the processes that are due.
    pub(super) fn begin_site_processes(&mut self, moment: Moment, unix_seconds: u64) {
        let is_here = |module: &str| self.mail.is_home(module, moment.endpoint);
        for number in self.background.take_due(moment.now_ns, unix_seconds, is_here) {
            self.begin_site_process(number, moment);
        }
    }

    fn begin_site_process(&mut self, number: usize, moment: Moment) {
        let module = self.background.module(number);
        // The log names the problem of a module without code. Its process starts when the module is fixed.
        let Some((page, row)) = self.roots.module(module, &mut self.counters) else { return };
        if let Some(key) = self.spawn_module(&page, row, moment) {
            self.background.note_begun(number, key, moment.now_ns);
            return;
        }
        let rest = self.background.put_off(number, moment.now_ns);
        let message = format!("no room for its process{}", again(rest));
        let (name, traceback) = (page.name.file.to_string(), Vec::new());
        let error = ScriptError { fault: Fault::Memory, page: name, line: 0, message, traceback };
        self.log.fail(page, Box::new(error));
    }
}

/// The text added to an error after which a process starts again.
pub(super) fn again(rest: Duration) -> String {
    format!("; it begins again in {} s", rest.as_secs())
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::sync::Arc;

    use actors::{ProcessPlace, ProcessSchedule};
    use jiff::tz::TimeZone;
    use script::engine::EngineSettings;

    use super::*;
    use crate::page::{Page, PageKind};
    use crate::set::PageSet;
    use crate::stage::at;

    const SECOND: u64 = 1_000_000_000;

    /// The modules of a site.
    fn modules(sources: &[(&str, &str)]) -> Vec<Arc<PageSet>> {
        let module = |(file, text): &(&str, &str)| Page::of_text(PageKind::Module, file, text);
        let pages = sources.iter().map(module).map(Arc::new);
        let set = PageSet { kind: PageKind::Module, pages: pages.collect(), ..PageSet::default() };
        vec![Arc::new(set)]
    }

    struct Site {
        runner: Runner,
        unix_seconds: u64,
    }

    impl Site {
        fn new(source: &str, schedule: ProcessSchedule) -> Self {
            let (settings, bytes) = (EngineSettings::default(), 64 << 20);
            let sets = modules(&[("p.lua", source)]);
            let mut runner = Runner::new(&sets, settings, bytes, u64::MAX, 1).unwrap();
            runner.set_processes(&[ProcessPlan::new("p", schedule, ProcessPlace::Server)]);
            Self { runner, unix_seconds: 0 }
        }

        /// A turn at this second; returns how many processes have started, and what was logged.
        fn turn(&mut self, seconds: u64) -> (u64, Vec<String>) {
            let moment = at(seconds * SECOND);
            self.runner.begin_site_processes(moment, self.unix_seconds + seconds);
            for _ in 0..3 {
                self.runner.go_on_by_turns(moment, (self.unix_seconds + seconds) * 1000);
            }
            let told = self.runner.take_failures();
            let told = told.into_iter().map(|(_, error)| error.to_string()).collect();
            (self.runner.report().total.spawned, told)
        }

        /// The seconds until the next check.
        fn look(&self, seconds: u64) -> Option<u64> {
            let look = self.runner.background.look_ns(seconds * SECOND, seconds);
            look.map(|ns| ns / SECOND - seconds)
        }
    }

    #[test]
    fn one_that_fails_begins_again_ever_later_and_soon_after_a_long_life() {
        let source = "return function() sleep(0) error('no') end";
        let mut site = Site::new(source, ProcessSchedule::at_start());
        let mut now = 0;
        for (index, rest) in [1, 2, 4, 8, 16, 32, 64, 64].into_iter().enumerate() {
            let told = format!("p.lua:1: no; it begins again in {rest} s");
            assert_eq!(site.turn(now), (index as u64 + 1, vec![told]));
            assert_eq!(site.look(now), Some(rest));
            now += rest;
        }
        let source = "return function() sleep(64) error('no') end";
        let mut site = Site::new(source, ProcessSchedule::at_start());
        let mut now = 0;
        for count in 1..4 {
            assert_eq!(site.turn(now), (count, Vec::new()));
            now += 64;
            let told = vec!["p.lua:1: no; it begins again in 1 s".to_owned()];
            assert_eq!(site.turn(now), (count, told));
            now += 1;
        }
    }

    #[test]
    fn one_that_returns_is_over_until_modules_are_edited() {
        let mut site = Site::new("return function() end", ProcessSchedule::at_start());
        for now in [0, 1_000, 1_000_000] {
            assert_eq!((site.turn(now), site.look(now)), ((1, Vec::new()), None));
        }
        site.runner.load(&modules(&[("p.lua", "return function() sleep(1) end")]));
        assert_eq!(site.turn(1_000_001), (2, Vec::new()));
        // A running process is ended, and starts with the new code.
        site.runner.load(&modules(&[("p.lua", "return function() error('new') end")]));
        let told = vec!["p.lua:1: new; it begins again in 1 s".to_owned()];
        assert_eq!(site.turn(1_000_001), (3, told));
        assert_eq!(site.runner.report().waiting, 0);
    }

    #[test]
    fn while_one_runs_the_next_is_left_out() {
        let every = ProcessSchedule::every(Duration::from_secs(10));
        let mut site = Site::new("return function() sleep(25) end", every);
        let begun = [(0, 0), (9, 0), (10, 1), (20, 1), (30, 1), (36, 1), (40, 2), (66, 2), (70, 3)];
        for (now, count) in begun {
            assert_eq!(site.turn(now), (count, Vec::new()), "{now}");
        }
        assert_eq!(site.look(70), Some(10));
    }

    #[test]
    fn a_time_of_day_comes_by_the_calendar() {
        let schedule = ProcessSchedule::daily(3 * 60, TimeZone::UTC);
        let mut site = Site::new("return function() error('no') end", schedule);
        assert_eq!(site.turn(0), (0, Vec::new()));
        assert_eq!(site.look(0), Some(60), "the clock may be set");
        // On the monotonic clock ten seconds later: the machine has slept.
        site.unix_seconds = 3 * 3600 - 10;
        assert_eq!(
            site.turn(10),
            (1, vec!["p.lua:1: no".to_owned()]),
            "it has its next time anyway"
        );
        assert_eq!(site.turn(11), (1, Vec::new()));
        site.unix_seconds += 24 * 3600;
        assert_eq!(site.turn(12).0, 2);
    }

    #[test]
    fn unchanged_schedule_continues_after_reload() {
        let mut site = Site::new("return function() sleep(100) end", ProcessSchedule::at_start());
        assert_eq!(site.turn(0).0, 1);
        let plan = |schedule| ProcessPlan::new("p", schedule, ProcessPlace::Server);
        let every = ProcessSchedule::every(Duration::from_secs(1));
        site.runner.set_processes(&[plan(every), plan(ProcessSchedule::at_start())]);
        assert_eq!((site.turn(0).0, site.runner.report().waiting), (1, 1));
        assert_eq!((site.turn(1).0, site.runner.report().waiting), (2, 2));
        site.runner.set_processes(&[]);
        assert_eq!((site.turn(2).0, site.runner.report().waiting, site.look(2)), (2, 0, None));
    }

    #[test]
    fn one_of_a_cluster_runs_while_its_server_has_the_lease() {
        let (settings, bytes) = (EngineSettings::default(), 64 << 20);
        let sets = modules(&[("p.lua", "return function() while true do sleep(1) end end")]);
        let runner = Runner::new(&sets, settings, bytes, u64::MAX, 1).unwrap();
        let mut site = Site { runner, unix_seconds: 0 };
        let schedule = ProcessSchedule::at_start();
        site.runner.set_processes(&[ProcessPlan::new("p", schedule, ProcessPlace::Cluster)]);
        assert_eq!(site.turn(0), (0, Vec::new()), "nobody has it yet");
        assert_eq!(site.runner.leases().collect::<Vec<_>>(), ["p"]);
        site.runner.hear_leases(|_| LeaseStanding::Unknown, SECOND);
        assert_eq!(site.turn(1).0, 0);
        let of_p = |name: &str| match name {
            "p" => LeaseStanding::Ours,
            _ => LeaseStanding::Unknown,
        };
        site.runner.hear_leases(of_p, 2 * SECOND);
        assert_eq!(site.turn(2).0, 1);
        assert_eq!(site.runner.underway.len(), 1);
        site.runner.hear_leases(|_| LeaseStanding::Unknown, 3 * SECOND);
        assert_eq!(site.runner.underway.len(), 0, "it ends at once");
        assert_eq!(site.turn(3).0, 1);
        site.runner.hear_leases(|_| LeaseStanding::Ours, 4 * SECOND);
        assert_eq!(site.turn(4).0, 2);
        site.runner.hear_leases(|_| LeaseStanding::Ours, 5 * SECOND);
        assert_eq!(site.turn(5).0, 2, "once");
        let plan = ProcessPlan::new(
            "p",
            ProcessSchedule::every(Duration::from_secs(10)),
            ProcessPlace::Cluster,
        );
        site.runner.set_processes(&[plan]);
        site.turn(10);
        site.runner.hear_leases(|_| LeaseStanding::Unknown, 10 * SECOND);
        assert_eq!(site.turn(20).0, 2, "its time comes on another server");
        site.runner.hear_leases(|_| LeaseStanding::Ours, 21 * SECOND);
        assert_eq!(site.turn(22).0, 2, "not before its next time");
        assert_eq!(site.turn(30).0, 3);
    }
}
