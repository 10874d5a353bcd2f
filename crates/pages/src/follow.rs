//! Watches edits: which directories are watched, and when their pages are to be read again.
//!
//! Owns the wait for an edit to be complete. A root, or a link on the path to it, may be replaced,
//! so the directories on that path are watched for the names it uses. Never reads a page, and never
//! reads a clock: time is an argument.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use ahash::HashMap;
use runtime::clock::nanoseconds;
use runtime::diagnostic::{self, Level};
use sys::watch::{NameChange, Watch, WatchId};

use super::set::PageSet;
use super::way::way_to;
use crate::limits::{
    PAGE_QUIET, PAGE_QUIET_MAX, PAGE_REST_FACTOR, PAGE_REST_MAX, PAGE_RETRY, PAGE_WATCHES_MAX,
};
use config::PageName;
use files::rules::Root;

/// The directories that are watched.
pub struct Follower {
    /// `None` if the kernel provides no watch: then pages are read again only when the configuration is.
    watch: Option<Watch>,
    watched: HashMap<WatchId, Interest>,
    edits: Edits,
    coverage: Coverage,
}

/// The things that matter in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Interest {
    /// Whether it may contain pages.
    has_pages: bool,
    /// The names in it that lead to a root.
    ways: Vec<OsString>,
}

/// Collects the directories to watch.
struct Watching<'a> {
    watch: &'a Watch,
    watched: HashMap<WatchId, Interest>,
    missed: Option<String>,
}

/// Whether all directories are watched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coverage {
    Whole,
    /// Some are not, which was logged.
    Partial,
}

impl Follower {
    /// Watches nothing yet.
    pub fn new() -> Self {
        let watch = Watch::new();
        if let Err(error) = &watch {
            diagnostic::write(
                Level::Warn,
                format_args!("edits of pages are not noticed: {error}; a reload reads them again"),
            );
        }
        Self {
            watch: watch.ok(),
            watched: HashMap::default(),
            edits: Edits::default(),
            coverage: Coverage::Whole,
        }
    }

    /// Watches the directories of these pages, and no others. Changes in a directory before it was watched are
    /// found by reading again, which becomes due if there is a new directory.
    pub fn follow<'a>(
        &mut self,
        pages: impl Iterator<Item = (&'a Root, &'a PageSet)>,
        now_ns: u64,
    ) {
        let Some(watch) = &self.watch else { return };
        let (watched, missed) = (HashMap::default(), None);
        let mut watching = Watching { watch, watched, missed };
        for (root, set) in pages {
            watching.add_way(&root.path);
            for directory in &set.directories {
                let directory = root.path.join(directory);
                if let Some(interest) = watching.add(&directory, &directory) {
                    interest.has_pages = true;
                }
            }
        }
        let Watching { watched, missed, .. } = watching;
        // Changes that did not matter until now may have happened.
        if watched.iter().any(|(id, interest)| self.watched.get(id) != Some(interest)) {
            self.edits.see(now_ns);
        }
        for id in self.watched.keys().filter(|id| !watched.contains_key(id)) {
            watch.remove(*id);
        }
        self.watched = watched;
        self.tell(missed);
    }

    /// Logs once that some edits will not be noticed.
    fn tell(&mut self, missed: Option<String>) {
        let coverage = if missed.is_some() { Coverage::Partial } else { Coverage::Whole };
        if let Some(why) = missed
            && self.coverage == Coverage::Whole
        {
            diagnostic::write(
                Level::Warn,
                format_args!(
                    "some edits of pages are not noticed: {why}; a reload reads them again"
                ),
            );
        }
        self.coverage = coverage;
    }

    /// A descriptor that becomes readable when [`look`](Self::look) should be called.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(Watch::descriptor)
    }

    /// Reads the kernel's events.
    pub fn look(&mut self, now_ns: u64) {
        let Some(watch) = &self.watch else { return };
        let (edits, watched) = (&mut self.edits, &mut self.watched);
        let looked = watch.read(|id, change| match change {
            NameChange::Ended => _ = watched.remove(&id),
            // Events for directories that are no longer watched do not matter.
            change if watched.get(&id).is_some_and(|interest| interest.is_about(change)) => {
                edits.see(now_ns);
            }
            NameChange::Lost => edits.see(now_ns),
            _ => {}
        });
        if let Err(error) = looked {
            diagnostic::write(
                Level::Warn,
                format_args!("edits of pages are not noticed: {error}; a reload reads them again"),
            );
            self.watch = None;
        }
    }

    /// The time until the pages should be read again; `None` if nothing changed.
    pub fn due_in(&self, now_ns: u64) -> Option<Duration> {
        let due_ns = self.edits.due_ns()?;
        Some(Duration::from_nanos(due_ns.saturating_sub(now_ns)))
    }

    /// The pages have been read again, which took this much CPU time. Changes from now on are another edit.
    pub fn rest(&mut self, used_ns: u64, now_ns: u64) {
        self.edits.rest(used_ns, now_ns);
    }

    /// The pages could not be read: read them again later, even without another change.
    pub fn retry(&mut self, now_ns: u64) {
        self.edits.retry(now_ns);
    }
}

impl Default for Follower {
    fn default() -> Self {
        Self::new()
    }
}

impl Interest {
    fn is_about(&self, change: NameChange<'_>) -> bool {
        match change {
            NameChange::File(name) | NameChange::Directory(name) => {
                self.is_way(name) || self.has_pages && may_be_a_page(change)
            }
            NameChange::Itself | NameChange::Lost => true,
            NameChange::Ended => false,
        }
    }

    fn is_way(&self, name: &OsStr) -> bool {
        self.ways.iter().any(|way| *way == name)
    }
}

impl Watching<'_> {
    /// Watches the path to a root: it may be created later, or replaced by another directory.
    fn add_way(&mut self, root: &Path) {
        for step in way_to(root) {
            let Some(interest) = self.add(&step.directory, root) else { continue };
            if !interest.is_way(&step.name) {
                interest.ways.push(step.name);
            }
        }
    }

    /// Watches a directory for changes that concern a place.
    fn add(&mut self, directory: &Path, place: &Path) -> Option<&mut Interest> {
        if self.watched.len() == PAGE_WATCHES_MAX {
            self.missed = Some("there are too many directories".to_owned());
            return None;
        }
        match self.watch.add(directory) {
            Ok(id) => Some(self.watched.entry(id).or_default()),
            // It was removed since it was searched, or does not exist yet; the directory above reports that.
            Err(error) if is_absence(&error) => None,
            Err(error) => {
                let (directory, place) = (directory.display(), place.display());
                self.missed =
                    Some(format!("at `{place}`, as `{directory}` is not watched: {error}"));
                None
            }
        }
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether a page or module may have appeared, disappeared or changed.
fn may_be_a_page(change: NameChange<'_>) -> bool {
    match change {
        NameChange::File(name) => name.to_str().is_some_and(|name| {
            PageName::of(name).is_some() || PageName::of_module(name).is_some()
        }),
        NameChange::Directory(name) => name.to_str().is_some_and(|name| !name.starts_with('.')),
        NameChange::Itself | NameChange::Lost => true,
        NameChange::Ended => false,
    }
}

/// Changes that were seen but not handled.
#[derive(Clone, Copy, Debug, Default)]
struct Edits {
    /// When the first and the last of them were seen.
    seen_ns: Option<(u64, u64)>,
    /// Pages are not read again before this time.
    rest_ns: u64,
}

impl Edits {
    fn see(&mut self, now_ns: u64) {
        let first_ns = self.seen_ns.map_or(now_ns, |(first_ns, _)| first_ns);
        self.seen_ns = Some((first_ns, now_ns));
    }

    /// An edit is complete when nothing has changed for a while. If changes never end, pages are read from time to
    /// time.
    fn due_ns(&self) -> Option<u64> {
        let (first_ns, last_ns) = self.seen_ns?;
        let quiet_ns = last_ns.saturating_add(nanoseconds(PAGE_QUIET));
        let most_ns = first_ns.saturating_add(nanoseconds(PAGE_QUIET_MAX));
        Some(quiet_ns.min(most_ns).max(self.rest_ns))
    }

    fn rest(&mut self, used_ns: u64, now_ns: u64) {
        self.seen_ns = None;
        let rest_ns = used_ns.saturating_mul(PAGE_REST_FACTOR).min(nanoseconds(PAGE_REST_MAX));
        self.rest_ns = now_ns.saturating_add(rest_ns);
    }

    fn retry(&mut self, now_ns: u64) {
        self.see(now_ns);
        self.rest_ns = now_ns.saturating_add(nanoseconds(PAGE_RETRY));
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn an_edit_is_read_when_it_is_quiet_and_in_the_end_in_any_case() {
        let mut edits = Edits::default();
        assert_eq!(edits.due_ns(), None);
        edits.see(1000 * MS);
        assert_eq!(edits.due_ns(), Some(1010 * MS));
        edits.see(1008 * MS);
        assert_eq!(edits.due_ns(), Some(1018 * MS));
        for at_ms in (1016..1500).step_by(8) {
            edits.see(at_ms * MS);
        }
        assert_eq!(edits.due_ns(), Some(1500 * MS));
    }

    #[test]
    fn reading_again_takes_a_part_of_the_time_only() {
        let mut edits = Edits::default();
        edits.see(0);
        edits.rest(100 * MS, 150 * MS);
        assert_eq!(edits.due_ns(), None);
        edits.see(160 * MS);
        assert_eq!(edits.due_ns(), Some((150 + 100 * PAGE_REST_FACTOR) * MS));
        edits.rest(60_000 * MS, 60_000 * MS);
        edits.see(60_001 * MS);
        assert_eq!(edits.due_ns(), Some(61_000 * MS), "an author does not wait for long");
    }

    #[test]
    fn unreadable_file_is_read_again() {
        let mut edits = Edits::default();
        edits.see(1000 * MS);
        edits.rest(MS, 1020 * MS);
        edits.retry(1020 * MS);
        assert_eq!(edits.due_ns(), Some(2020 * MS));
        edits.rest(MS, 2030 * MS);
        assert_eq!(edits.due_ns(), None);
    }

    #[test]
    fn only_pages_and_directories_that_are_looked_into_count() {
        let file = |name| may_be_a_page(NameChange::File(OsStr::new(name)));
        assert!(file("a.page.html") && !file("a.html") && !file(".a.page.html.swp"));
        assert!(file("a.lua") && !file(".#a.lua") && !file("a.lua~"));
        let directory = |name| may_be_a_page(NameChange::Directory(OsStr::new(name)));
        assert!(directory("a") && !directory(".git"));
        assert!(may_be_a_page(NameChange::Lost) && may_be_a_page(NameChange::Itself));
    }
}
