//! The pages of one scheduler: its engine, what is loaded, and what is under way.
//!
//! Owns runs from their first step to their last, and when each goes on. Never writes a reply and never reads a clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use ahash::HashMap;
use runtime::clock::Now;
use runtime::service::{Command, ServiceContext};
use runtime::slots::ProcessId;
use script::engine::{
    EngineError, Escape as Markup, Handler, Host, Output, Reply, Run, ScriptError, Settings, State,
    Step, Wait,
};

use super::set::{Page, PageSet};
use crate::files::RootIndex;

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
    begun_ns: u64,
    /// When it goes on.
    due_ns: u64,
}

/// The pages of a root, as they are loaded.
struct Loaded {
    set: Arc<PageSet>,
    handlers: Vec<Option<Handler>>,
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
            let handlers = handlers.collect();
            self.roots.push(Loaded { set: Arc::clone(set), handlers });
        }
    }

    fn load_page(&mut self, root: usize, page: &Page) -> Option<Handler> {
        // It was compiled once where it was read: what fails here has no room, and is answered with an error.
        let site = u16::try_from(root).ok()?;
        self.engine.load(site, &page.name.file, page.lua.as_ref()?, Markup::Html).ok()
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
        now: Now,
    ) -> Option<Turnout> {
        let (page, begun_ns, step) = match self.underway.remove(&process) {
            Some(waits) if waits.due_ns > now.monotonic_ns => {
                self.underway.insert(process, waits);
                return Some(Turnout::Wait);
            }
            Some(waits) if now.monotonic_ns - waits.begun_ns > self.deadline_ns => {
                return Some(Turnout::Late(waits.page));
            }
            Some(Underway { run, page, begun_ns, .. }) => {
                let step = self.engine.resume(run, Reply::Nothing, host, &mut self.output);
                (page, begun_ns, step)
            }
            None => {
                let loaded = self.roots.get(usize::from(root.0))?;
                let page = Arc::clone(loaded.set.pages.get(index)?);
                let Some(handler) = loaded.handlers.get(index)? else {
                    return Some(Turnout::Failed(page, None));
                };
                let step = self.engine.start(handler, host, &mut self.output);
                (page, now.monotonic_ns, step)
            }
        };
        Some(match step {
            Step::Done => Turnout::Done(page),
            Step::Failed(error) => Turnout::Failed(page, Some(error)),
            Step::Sliced(run) => {
                self.sliced.push(process);
                self.keep(process, Underway { run, page, begun_ns, due_ns: 0 })
            }
            Step::Waits(run, Wait::Sleep(time)) => {
                let wait_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                // Beyond its deadline it has no need to wait.
                let due_ns = now
                    .monotonic_ns
                    .saturating_add(wait_ns)
                    .min(begun_ns.saturating_add(self.deadline_ns).saturating_add(1));
                self.alarms.push(Reverse((due_ns, process.to_bits())));
                self.keep(process, Underway { run, page, begun_ns, due_ns })
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
        self.underway.remove(&process);
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
