//! The pages of one scheduler: its engine, what is loaded, and what is under way.
//!
//! Owns runs from their first step to their last, and when each goes on. Never writes a reply and never reads a clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;

use ahash::HashMap;
use runtime::service::{Command, ServiceContext};
use runtime::slots::ProcessId;
use script::engine::{
    Code, EngineError, Handler, Host, Output, Reply, Run, ScriptError, Settings, State, Step, Wait,
};

use super::counts::{Counters, PagesReport, RowIndex};
use super::set::{Page, PageSet};
use crate::files::RootIndex;
use crate::files::rules::Root;

/// What became of a page for now.
pub enum Turnout {
    /// It is done: its answer is in [`Runner::output`].
    Done(Arc<Page>),
    /// It goes on later: the process is resumed.
    Wait,
    /// It ended badly, or there is no code of it.
    Failed(Arc<Page>, Option<Box<ScriptError>>),
    /// It took longer than a page may.
    Late(Arc<Page>),
}

/// A page that waits, or whose slice is over.
struct Underway {
    run: Run,
    page: Arc<Page>,
    row: RowIndex,
    begun_ns: u64,
    /// When it goes on.
    due_ns: u64,
}

/// The pages of a root, as they are loaded.
struct Loaded {
    set: Arc<PageSet>,
    handlers: Vec<Option<Handler>>,
    /// Where each is counted, from its first request on.
    rows: Vec<Option<RowIndex>>,
}

/// The pages of one scheduler.
pub struct Runner {
    engine: State,
    roots: Vec<Loaded>,
    underway: HashMap<ProcessId, Underway>,
    /// When somebody is to go on, and who (its bits). One that has ended meanwhile is passed over.
    alarms: BinaryHeap<Reverse<(u64, u64)>>,
    sliced: Vec<ProcessId>,
    output: Output,
    deadline_ns: u64,
    code: Code,
    counters: Counters,
}

impl Runner {
    /// An engine with all pages loaded.
    ///
    /// # Errors
    /// When there can be no engine on this host.
    pub fn new(
        sets: &[Arc<PageSet>],
        settings: Settings,
        deadline_ns: u64,
    ) -> Result<Self, EngineError> {
        let mut runner = Self {
            engine: State::new(settings)?,
            roots: Vec::new(),
            underway: HashMap::default(),
            alarms: BinaryHeap::new(),
            sliced: Vec::new(),
            output: Output::default(),
            deadline_ns,
            code: settings.code,
            counters: Counters::default(),
        };
        runner.load(sets);
        Ok(runner)
    }

    /// Loads other pages in the place of those that are there. What is under way goes on with the old ones.
    pub fn load(&mut self, sets: &[Arc<PageSet>]) {
        let mut before = std::mem::take(&mut self.roots);
        for (index, set) in sets.iter().enumerate() {
            let mut known = before.get_mut(index);
            let handlers = set.pages.iter().map(|page| {
                let kept = known.as_mut().and_then(|known| known.take(page));
                kept.or_else(|| self.load_page(index, page))
            });
            let handlers: Vec<_> = handlers.collect();
            let rows = vec![None; handlers.len()];
            self.roots.push(Loaded { set: Arc::clone(set), handlers, rows });
        }
        for (site, known) in (0..).zip(&before) {
            let now = sets.get(usize::from(site));
            let is_gone = |file: &str| now.is_none_or(|set| set.index_of(file).is_none());
            for page in known.set.pages.iter().filter(|page| is_gone(&page.name.file)) {
                self.engine.withdraw(site, &page.name.file);
            }
        }
    }

    fn load_page(&mut self, root: usize, page: &Page) -> Option<Handler> {
        // It was compiled once where it was read: what fails here has no room, and is answered with an error.
        let site = u16::try_from(root).ok()?;
        self.engine.load(site, &page.name.file, page.lua.as_ref()?).ok()
    }

    /// The page that answers a path of a root.
    #[inline]
    pub fn find(&self, root: RootIndex, path: &str) -> Option<usize> {
        self.roots.get(usize::from(root.0))?.set.find(path)
    }

    /// The pages of a root.
    pub fn pages(&self, root: RootIndex) -> Option<&PageSet> {
        Some(&self.roots.get(usize::from(root.0))?.set)
    }

    /// A page by its number.
    pub fn page(&self, root: RootIndex, index: usize) -> Option<&Arc<Page>> {
        self.roots.get(usize::from(root.0))?.set.pages.get(index)
    }

    /// What the page that is done wrote.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// Starts a page, or goes on with the one that this process is in.
    pub fn run(
        &mut self,
        process: ProcessId,
        (root, index): (RootIndex, usize),
        host: &mut dyn Host,
        now_ns: u64,
    ) -> Option<Turnout> {
        let before_ns = self.engine.used_ns();
        let (page, row, begun_ns, step) = match self.underway.remove(&process) {
            Some(waits) if waits.due_ns > now_ns => {
                self.underway.insert(process, waits);
                return Some(Turnout::Wait);
            }
            Some(waits) if now_ns - waits.begun_ns > self.deadline_ns => {
                self.counters.of(waits.row).late += 1;
                return Some(Turnout::Late(waits.page));
            }
            Some(Underway { run, page, row, begun_ns, .. }) => {
                let step = self.engine.resume(run, Reply::Nothing, host, &mut self.output);
                (page, row, begun_ns, step)
            }
            None => {
                let loaded = self.roots.get_mut(usize::from(root.0))?;
                let page = Arc::clone(loaded.set.pages.get(index)?);
                let row = loaded.rows.get_mut(index)?;
                let row = *row.get_or_insert_with(|| self.counters.row(root, &page.name.file));
                let counts = self.counters.of(row);
                counts.requests += 1;
                let Some(handler) = loaded.handlers.get(index)? else {
                    counts.failures += 1;
                    return Some(Turnout::Failed(page, None));
                };
                let step = self.engine.start(handler, host, &mut self.output);
                (page, row, now_ns, step)
            }
        };
        self.counters.of(row).add_step(&step, self.engine.used_ns().saturating_sub(before_ns));
        Some(match step {
            Step::Done => Turnout::Done(page),
            Step::Failed(error) => Turnout::Failed(page, Some(error)),
            Step::Sliced(run) => {
                self.sliced.push(process);
                self.keep(process, Underway { run, page, row, begun_ns, due_ns: 0 })
            }
            Step::Waits(run, Wait::Sleep(time)) => {
                let wait_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                // Beyond its deadline it has no need to wait.
                let due_ns = now_ns
                    .saturating_add(wait_ns)
                    .min(begun_ns.saturating_add(self.deadline_ns).saturating_add(1));
                self.alarms.push(Reverse((due_ns, process.to_bits())));
                self.keep(process, Underway { run, page, row, begun_ns, due_ns })
            }
        })
    }

    fn keep(&mut self, process: ProcessId, underway: Underway) -> Turnout {
        self.underway.insert(process, underway);
        Turnout::Wait
    }

    /// Whether a page of this process is under way.
    pub fn is_underway(&self, process: ProcessId) -> bool {
        self.underway.contains_key(&process)
    }

    /// Nobody wants the answer any more: the page ends where it is.
    pub fn forget(&mut self, process: ProcessId) {
        if let Some(gone) = self.underway.remove(&process) {
            self.counters.of(gone.row).cancelled += 1;
        }
    }

    /// What was counted so far. `roots` tells the names of the directories.
    pub fn report(&self, roots: &[Root]) -> PagesReport {
        let waiting = self.underway.values().map(|underway| underway.row);
        let (total, pages) = self.counters.report(waiting, |root, file| {
            let directory = roots.get(usize::from(root.0)).map(|root| root.path.as_path());
            directory.unwrap_or(Path::new("")).join(file).display().to_string()
        });
        PagesReport {
            code: self.code,
            memory_bytes: self.engine.memory_used(),
            memory_max_bytes: self.engine.memory_bound(),
            waiting: self.underway.len(),
            total,
            pages,
        }
    }

    /// At the end of a turn: who is due goes on in the next one.
    pub fn wake<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        for process in self.sliced.drain(..) {
            context.command(Command::Resume(process));
        }
        while let Some(Reverse((due_ns, process))) = self.alarms.peek().copied() {
            if due_ns > context.now.monotonic_ns {
                context.wake_at_ns(due_ns);
                return;
            }
            self.alarms.pop();
            context.command(Command::Resume(ProcessId::from_bits(process)));
        }
    }
}

impl Loaded {
    /// The handler of a page that did not change.
    fn take(&mut self, page: &Arc<Page>) -> Option<Handler> {
        let index = self.set.index_of(&page.name.file)?;
        let is_same = Arc::ptr_eq(self.set.pages.get(index)?, page);
        if is_same { self.handlers.get_mut(index)?.take() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use script::engine::{Answer, Level, Part};
    use script::template;

    use super::super::name::PageName;
    use super::*;

    /// A host without a request.
    struct Nobody;

    impl Host for Nobody {
        fn request(&mut self, _part: Part, _answer: &mut Answer) {}

        fn now(&mut self) -> Duration {
            Duration::ZERO
        }

        fn log(&mut self, _level: Level, _text: &[u8]) {}
    }

    fn pages(sources: &[(&str, &str)]) -> Vec<Arc<PageSet>> {
        let mut set = PageSet::default();
        for (file, source) in sources {
            let lowered =
                template::lower(source.as_bytes(), template::Escape::of_extension("html")).unwrap();
            set.pages.push(Arc::new(Page {
                name: PageName::of(file).unwrap(),
                media_type: "text/html".into(),
                source: (*source).to_owned(),
                lua: Some(lowered.lua.into()),
                problem: None,
            }));
        }
        vec![Arc::new(set)]
    }

    #[test]
    fn the_numbers_of_a_page_outlive_its_text() {
        let old = pages(&[("a.page.html", "old"), ("b.page.html", "<% sleep(1) %>")]);
        let mut runner = Runner::new(&old, Settings::default(), u64::MAX).unwrap();
        let now = 5;
        let root = RootIndex(0);
        let run = |runner: &mut Runner, process, index, now| {
            runner.run(ProcessId::from_bits(process), (root, index), &mut Nobody, now).unwrap()
        };
        assert!(matches!(run(&mut runner, 1, 0, now), Turnout::Done(_)));
        assert!(matches!(run(&mut runner, 2, 1, now), Turnout::Wait));
        assert!(matches!(run(&mut runner, 3, 1, now), Turnout::Wait));
        // Its number is another one now, and one page is gone.
        runner.load(&pages(&[("0.page.html", "<% error('no') %>"), ("a.page.html", "new")]));
        assert!(matches!(run(&mut runner, 1, 1, now), Turnout::Done(_)));
        assert!(matches!(run(&mut runner, 1, 0, now), Turnout::Failed(_, Some(_))));
        let later = 2_000_000_000;
        assert!(
            matches!(run(&mut runner, 2, 0, later), Turnout::Done(page) if &*page.name.file == "b.page.html")
        );
        let report = runner.report(&[]);
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
        let report = runner.report(&[]);
        assert_eq!((report.waiting, report.total.cancelled, report.total.requests), (0, 1, 5));
    }
}
