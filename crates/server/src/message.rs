//! Everything that crosses threads of a server: one closed enum.
//!
//! Plain data only: no descriptor, nothing that belongs to one thread.

use std::sync::Arc;

use files::cache::CacheStats;
use files::{Job, Warm, Warmed};
use http::HttpStats;
use runtime::slots::ProcessId;
use runtime::stats::Stats;

use crate::fetch::{Found, Question};
use crate::pages::{Letter, PageProblem, PageSet, PagesReport};
use crate::site::SiteData;
use crate::uploads::{Order, Report};

/// A message between schedulers, helpers, the control scheduler and the main thread.
#[derive(Debug)]
pub enum Message {
    /// To a file helper: look a path up.
    LookUp(Box<LookUp>),
    /// From a file helper: what is at the path.
    Found(Box<FoundFile>),
    /// To a file helper: read a region, so that it is in memory.
    Warm(Box<WarmFor>),
    /// From a file helper: it is, or cannot be.
    Warmed(ProcessId, Warmed),
    /// To a name helper: look a host up.
    Resolve(Question),
    /// From a name helper: its addresses.
    Resolved(Question, Found),
    /// To an upload helper: do something with a file of a form.
    Upload(Box<Order>),
    /// From an upload helper: what became of it.
    Uploaded(Box<Report>),
    /// To the log writer: lines, and how many.
    Lines(Vec<u8>, u64),
    /// To the log writer: open the file anew.
    ReopenLog,
    /// To the log writer: write what came, then end.
    StopLog,
    /// To a scheduler or the control scheduler: another configuration is in force.
    Reload(Arc<SiteData>),
    /// To a scheduler: pages were edited.
    Pages {
        /// The configuration whose roots they are of.
        generation: u64,
        /// The pages of each root.
        sets: Arc<[Arc<PageSet>]>,
    },
    /// To a scheduler: from a page process of another one.
    Letter(Box<Letter>),
    /// To the control scheduler: what there is of pages.
    PagesLoaded(Arc<PagesRead>),
    /// To the control scheduler: what became of the last reload.
    Reloaded(Arc<ReloadReport>),
    /// To a scheduler: stop accepting and finish.
    Drain {
        /// How long what runs may go on.
        deadline_ms: u64,
        /// How long an idle connection is kept to learn that it is to close.
        idle_grace_ms: u64,
    },
    /// To the control scheduler: the others were told to stop.
    Draining,
    /// To a scheduler: say what you counted.
    AskReport,
    /// From a scheduler: what it counted.
    Report(Box<SchedulerReport>),
    /// To the log writer: say what you counted.
    AskLogReport,
    /// From the log writer: lines written, lines lost.
    LogReport(LogReport),
}

/// A look-up and the site it is for.
#[derive(Debug)]
pub struct LookUp {
    /// Whose roots the job's root is one of.
    pub site: Arc<SiteData>,
    /// The job.
    pub job: Job,
}

/// What a look-up found, with the site it was for: after a reload its root may be another.
#[derive(Debug)]
pub struct FoundFile {
    /// Whose roots the job's root is one of.
    pub site: Arc<SiteData>,
    /// The job.
    pub job: Job,
    /// What was found.
    pub found: files::Found,
}

/// A region to be read for a process that waits.
#[derive(Debug)]
pub struct WarmFor {
    /// Whose roots the region's root is one of.
    pub site: Arc<SiteData>,
    /// Who waits.
    pub process: ProcessId,
    /// The region.
    pub warm: Warm,
}

/// What became of a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReloadReport {
    /// How many reloads there were, this one included.
    pub number: u64,
    /// Why it was refused; empty when it is in force.
    pub problems: Vec<String>,
}

/// What there is of pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PagesRead {
    /// How many there are, those only for others to include among them.
    pub count: usize,
    /// How many app modules there are.
    pub modules: usize,
    /// How often edits were taken over.
    pub edits: u64,
    /// What is wrong with some.
    pub problems: Vec<PageProblem>,
}

/// What a scheduler counted.
#[derive(Clone, Debug)]
pub struct SchedulerReport {
    /// The runtime's numbers.
    pub runtime: Stats,
    /// The HTTP service's numbers.
    pub http: HttpStats,
    /// The file cache's numbers.
    pub cache: CacheStats,
    /// The pages' numbers; none where no page can be run.
    pub pages: Option<PagesReport>,
    /// Processes that live.
    pub processes: usize,
    /// Which configuration is in force, counted from 1.
    pub generation: u64,
}

/// What the log writer counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    /// Lines written.
    pub written: u64,
    /// Lines lost because the file could not be written.
    pub lost: u64,
}
