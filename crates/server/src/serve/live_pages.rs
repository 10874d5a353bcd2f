//! The pages that are served: reloaded after edits, sent to the schedulers, and reported.
//!
//! Owns which version of the pages is current. Everything happens on the main thread, which also
//! sends reloads, so a scheduler never receives pages for a configuration that it does not have
//! yet.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use runtime::diagnostic::{self, Level};
use sys::accounting::thread_cpu_ns;
use sys::clock::monotonic_ns;

use super::edit::Edit;
use super::post::Post;
use crate::events::{Kind, Trouble};
use crate::limits::PAGES_NAMED;
use crate::load::remarks;
use crate::message::{PagesRead, ToControl, ToScheduler};
use crate::site_data::SiteData;
use pages::{Before, Follower, PageKind, PageProblem, PageRoot, PageSet, Served};

/// The current pages.
#[derive(Default)]
pub(super) struct LivePages {
    sets: Arc<[Arc<PageSet>]>,
    problems: Vec<PageProblem>,
    edits: u64,
    /// Why the pages could not be read at the last attempt.
    failure: Option<String>,
    /// Pages that are broken since the last report.
    broken: Vec<Trouble>,
    /// `None` until there are schedulers to inform.
    follower: Option<Follower>,
}

impl LivePages {
    /// The pages of the first configuration. Their problems are logged.
    pub(super) fn new(data: &SiteData) -> Self {
        let mut pages = Self::default();
        pages.take_over(&data.page_roots, data.pages.clone().into());
        warn(data);
        pages
    }

    /// Follows edits from now on.
    pub(super) fn begin(&mut self, data: &SiteData, post: &mut Post) {
        self.follower = Some(Follower::new());
        self.follow(&data.page_roots);
        self.report(post);
    }

    /// The current pages, for a reload of the configuration.
    pub(super) fn before<'a>(&'a self, data: &'a SiteData) -> Before<'a> {
        Before { roots: &data.page_roots, sets: &self.sets, secret: Some(&data.secret) }
    }

    /// A new configuration is in force, and the schedulers have its pages.
    pub(super) fn adopt(&mut self, data: &SiteData, post: &mut Post) {
        self.take_over(&data.page_roots, data.pages.clone().into());
        warn(data);
        self.follow(&data.page_roots);
        self.report(post);
    }

    /// The current pages.
    pub(super) fn sets(&self) -> &[Arc<PageSet>] {
        &self.sets
    }

    /// A descriptor that becomes readable when [`look`](Self::look) should be called.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.follower.as_ref()?.descriptor()
    }

    /// Reads the changes.
    pub(super) fn look(&mut self) {
        if let Some(follower) = &mut self.follower {
            follower.look(monotonic_ns());
        }
    }

    /// The time until [`read_again`](Self::read_again) should be called.
    pub(super) fn due_in(&self) -> Option<Duration> {
        self.follower.as_ref()?.due_in(monotonic_ns())
    }

    /// Reads the pages again, and sends them to the schedulers if anything changed.
    pub(super) fn read_again(&mut self, data: &SiteData, post: &mut Post) {
        let before_ns = thread_cpu_ns();
        let loaded = pages::load(data.places(), self.before(data), &data.config.pages);
        if let Some(follower) = &mut self.follower {
            follower.rest(thread_cpu_ns().saturating_sub(before_ns), monotonic_ns());
        }
        let sets: Arc<[Arc<PageSet>]> = match loaded {
            Ok(sets) => sets.into(),
            Err(error) => return self.fail(error.to_string()),
        };
        self.failure = None;
        let is_same = self.sets.iter().zip(&*sets).all(|(one, other)| one.is_same(other));
        let edit = Edit::between(&data.page_roots, &self.sets, &sets);
        self.take_over(&data.page_roots, sets);
        self.follow(&data.page_roots);
        if is_same {
            return;
        }
        self.edits += 1;
        // First, so that the status does not lag behind what clients are given.
        self.report(post);
        let generation = data.generation;
        for scheduler in post.schedulers() {
            post.send(scheduler, ToScheduler::Pages { generation, sets: Arc::clone(&self.sets) });
        }
        // Pages that are now broken were reported.
        if let Some(edit) = edit {
            diagnostic::write(Level::Info, format_args!("{edit}; {}", self.in_force()));
        }
    }

    /// The next attempt must not depend on another edit, so the pages are read again later. The failure is logged once.
    fn fail(&mut self, failure: String) {
        if let Some(follower) = &mut self.follower {
            follower.retry(monotonic_ns());
        }
        if self.failure.as_ref() != Some(&failure) {
            let level = Level::Error;
            diagnostic::write(level, format_args!("the pages stay as they were: {failure}"));
        }
        self.failure = Some(failure);
    }

    /// Makes pages current, and logs their new problems.
    fn take_over(&mut self, roots: &[PageRoot], sets: Arc<[Arc<PageSet>]>) {
        let problems = pages::problems(roots, &sets);
        for problem in problems.iter().filter(|problem| !self.problems.contains(problem)) {
            let level = match problem.served {
                Served::TheSame | Served::Known => Level::Warn,
                Served::LastGood | Served::Nothing => Level::Error,
            };
            diagnostic::write(level, format_args!("{problem}"));
            if level == Level::Error && self.broken.len() < PAGES_NAMED {
                let text = problem.to_string();
                self.broken.push(Trouble::new(Kind::PageBroken, &*problem.file, text));
            }
        }
        self.problems = problems;
        self.sets = sets;
    }

    fn follow(&mut self, roots: &[PageRoot]) {
        if let Some(follower) = &mut self.follower {
            let sets = self.sets.iter().map(|set| &**set);
            let roots = roots.iter().map(|place| &place.root);
            follower.follow(roots.zip(sets), monotonic_ns());
        }
    }

    fn count(&self, kind: PageKind) -> usize {
        self.sets.iter().filter(|set| set.kind == kind).map(|set| set.pages.len()).sum()
    }

    /// The number of runnable pages, in words.
    fn in_force(&self) -> String {
        let count = |kind| {
            let sets = self.sets.iter().filter(|set| set.kind == kind);
            sets.map(|set| set.texts().count()).sum::<usize>()
        };
        let (pages, modules) = (count(PageKind::Page), count(PageKind::Module));
        let spoken = |(count, thing)| match count {
            0 => None,
            1 => Some(format!("1 {thing}")),
            count => Some(format!("{count} {thing}s")),
        };
        let words: Vec<String> =
            [(pages, "page"), (modules, "module")].into_iter().filter_map(spoken).collect();
        match pages + modules {
            0 => "nothing is in force".to_owned(),
            1 => format!("{} is in force", words.concat()),
            _ => format!("{} are in force", words.join(" and ")),
        }
    }

    fn report(&mut self, post: &mut Post) {
        for trouble in self.broken.drain(..) {
            post.tell_control(ToControl::Trouble(Box::new(trouble)));
        }
        post.tell_control(ToControl::PagesLoaded(Arc::new(PagesRead {
            count: self.count(PageKind::Page),
            modules: self.count(PageKind::Module),
            edits: self.edits,
            problems: self.problems.clone(),
        })));
    }
}

fn warn(data: &SiteData) {
    for remark in remarks(data) {
        diagnostic::write(Level::Warn, format_args!("{remark}"));
    }
    for (place, _) in data.page_roots.iter().zip(&data.pages).filter(|(_, set)| set.is_cut) {
        diagnostic::write(
            Level::Warn,
            format_args!(
                "{}: too large to be looked through for pages: some may be missing",
                place.root.path.display()
            ),
        );
    }
}
