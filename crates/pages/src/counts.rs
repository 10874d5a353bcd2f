//! The counters of each page: plain numbers of one scheduler.
//!
//! Owns the numbers and their page, which stays the same across reloads. Never runs a page.

use ahash::HashMap;
use script::engine::{CallResult, Code, EngineUsage, Fault};

use super::family::Budget;
use crate::limits::{COUNTED_PAGES_MAX, VISITS_AVERAGED};

metric::counted! {
    /// The counters of a page, or of several.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct PageCounts {
        /// Runs of pages begun.
        pub requests: u64 = Counter(Count, "requests", "page_requests"),
        /// Runs of pages ended by an error of the page.
        pub failures: u64 = Counter(Count, "failures", "page_failures"),
        /// Runs ended as their CPU time was used up.
        pub over_budget: u64 = Elsewhere("as a kill, by reason"),
        /// Runs ended for want of memory.
        pub over_memory: u64 = Elsewhere("as a kill, by reason"),
        /// Runs ended where they could not be interrupted.
        pub stalled: u64 = Elsewhere("as a kill, by reason"),
        /// Runs ended at their deadline.
        pub late: u64 = Elsewhere("as a kill, by reason"),
        /// Runs of pages stopped by an operator, or because another server may have their name.
        pub stopped: u64 = Counter(Count, "stopped", "page_stopped"),
        /// Runs of pages ended because their client sent what no page can look at.
        pub refused: u64 = Counter(Count, "refused", "page_refusals"),
        /// Runs of pages that ended with their client.
        pub cancelled: u64 = Counter(Count, "cancelled", "page_cancellations"),
        /// Processes that pages spawned.
        pub spawned: u64 = Counter(Count, "spawned", "page_spawned"),
        /// Time slices that were over before their page was.
        pub slices: u64 = Counter(Count, "slices", "page_slices"),
        /// CPU time of pages, sampled.
        pub cpu_ns: u64 = Counter(Microseconds, "cpu_us", "page_cpu", metric::microseconds),
        /// Bytes that runs of pages allocated, most of them free again.
        pub allocated_bytes: u64 = Counter(Bytes, "allocated_bytes", "page_allocated"),
        /// Traces that became native code.
        pub traces: u64 = Counter(Count, "traces", "page_traces"),
        /// Traces that did not become native code.
        pub traces_aborted: u64 = Counter(Count, "traces_aborted", "page_traces_aborted"),
        /// CPU time of processes that pages spawned, a part of that of pages.
        pub spawned_cpu_ns: u64 = Counter(Microseconds, "spawned_cpu_us", "page_spawned_cpu", metric::microseconds),
        /// Most bytes that a run held when it came back.
        pub held_max_bytes: u64 = Gauge(Bytes, "held_max_bytes", "page_held_max"),
    }
}

impl PageCounts {
    /// Counts a call of a page that has returned, with what it used and holds.
    #[inline]
    pub(super) fn add_step(&mut self, step: &CallResult, used: EngineUsage, held_bytes: u64) {
        self.add_usage(used);
        self.held_max_bytes = self.held_max_bytes.max(held_bytes);
        match step {
            CallResult::Failed(error) => self.add_fault(error.fault),
            CallResult::Sliced => self.slices += 1,
            CallResult::Done | CallResult::Waits(_) => {}
        }
    }

    #[inline]
    fn add_usage(&mut self, used: EngineUsage) {
        self.cpu_ns += used.cpu_ns;
        self.allocated_bytes += used.allocated_bytes;
        self.traces += used.traces;
        self.traces_aborted += used.traces_aborted;
    }

    pub(super) fn add_fault(&mut self, fault: Fault) {
        match fault {
            Fault::Compile | Fault::Runtime | Fault::TableSize | Fault::Store => self.failures += 1,
            Fault::Memory => self.over_memory += 1,
            Fault::CpuBudget => self.over_budget += 1,
            Fault::Stalled => self.stalled += 1,
            Fault::Deadline => self.late += 1,
            Fault::Stopped => self.stopped += 1,
            Fault::Request | Fault::RequestSize => self.refused += 1,
        }
    }

    /// Runs that were ended, by reason.
    pub fn kills(&self) -> [(&'static str, u64); 4] {
        [
            ("cpu_budget", self.over_budget),
            ("memory", self.over_memory),
            ("stalled", self.stalled),
            ("deadline", self.late),
        ]
    }

    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.failures += other.failures;
        self.over_budget += other.over_budget;
        self.over_memory += other.over_memory;
        self.stalled += other.stalled;
        self.late += other.late;
        self.stopped += other.stopped;
        self.refused += other.refused;
        self.cancelled += other.cancelled;
        self.spawned += other.spawned;
        self.slices += other.slices;
        self.cpu_ns += other.cpu_ns;
        self.allocated_bytes += other.allocated_bytes;
        self.traces += other.traces;
        self.traces_aborted += other.traces_aborted;
        self.spawned_cpu_ns += other.spawned_cpu_ns;
        self.held_max_bytes = self.held_max_bytes.max(other.held_max_bytes);
    }
}

/// The row with the counters of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RowIndex(u32);

impl RowIndex {
    /// As a number; 0 for the row that pages share.
    pub(super) fn number(self) -> u16 {
        u16::try_from(self.0).unwrap_or(0)
    }
}

#[cfg(any(test, feature = "testing"))]
impl RowIndex {
    /// No row.
    pub(super) const NONE: Self = Self(u32::MAX);
}

#[cfg(test)]
impl RowIndex {
    /// The row with this number.
    pub(super) fn of(number: u32) -> Self {
        Self(number)
    }
}

/// The row for all pages without one of their own.
const OTHERS: RowIndex = RowIndex(0);

#[derive(Debug, Default)]
struct Row {
    /// `None` in the row for all others.
    page: Option<String>,
    counts: PageCounts,
    /// The average time of the last times the page ran until it waited or ended.
    visit_ns: u64,
}

/// A suspended run, for a report. Plain data.
pub(super) struct WaitingRun {
    pub(crate) row: RowIndex,
    pub(crate) budget: Budget,
    pub(crate) held_bytes: u64,
}

/// The counters of all requested pages.
#[derive(Debug)]
pub(super) struct Counters {
    rows: Vec<Row>,
    /// By site, then by file.
    of_pages: Vec<HashMap<Box<str>, RowIndex>>,
}

impl Default for Counters {
    fn default() -> Self {
        Self { rows: vec![Row::default()], of_pages: Vec::new() }
    }
}

impl Counters {
    /// The row of a page. A page without a row gets one, with this name.
    pub(super) fn row(&mut self, site: u16, file: &str, name: impl FnOnce() -> String) -> RowIndex {
        let index = usize::from(site);
        if self.of_pages.len() <= index {
            self.of_pages.resize_with(index + 1, HashMap::default);
        }
        let Some(rows) = self.of_pages.get_mut(index) else { return OTHERS };
        if let Some(row) = rows.get(file) {
            return *row;
        }
        if self.rows.len() > COUNTED_PAGES_MAX {
            return OTHERS;
        }
        let Ok(number) = u32::try_from(self.rows.len()) else { return OTHERS };
        self.rows.push(Row { page: Some(name()), ..Row::default() });
        rows.insert(file.into(), RowIndex(number));
        RowIndex(number)
    }

    /// The rows with a page of their own, and its name.
    pub(super) fn names(&self) -> impl Iterator<Item = (RowIndex, &str)> {
        let rows = self.rows.iter().zip(0..);
        rows.filter_map(|(row, number)| Some((RowIndex(number), row.page.as_deref()?)))
    }

    /// The name of the page of a row.
    pub(super) fn name_of(&mut self, row: RowIndex) -> &str {
        self.row_mut(row).page.as_deref().unwrap_or("a page without counters of its own")
    }

    /// The bytes that each page has allocated.
    pub(super) fn allocations(&self) -> Vec<(String, u64)> {
        let named = self.rows.iter().filter_map(|row| Some((row.page.clone()?, row)));
        named.map(|(page, row)| (page, row.counts.allocated_bytes)).collect()
    }

    /// A page ran until it waited or ended, and took this long.
    #[inline]
    pub(super) fn add_visit(&mut self, row: RowIndex, taken_ns: u64) {
        let row = self.row_mut(row);
        row.visit_ns = row.visit_ns - row.visit_ns / VISITS_AVERAGED + taken_ns / VISITS_AVERAGED;
    }

    /// The average time of the last times a page ran until it waited or ended.
    pub(super) fn visit_ns(&mut self, row: RowIndex) -> u64 {
        self.row_mut(row).visit_ns
    }

    fn row_mut(&mut self, RowIndex(number): RowIndex) -> &mut Row {
        let row = usize::try_from(number).ok().and_then(|number| self.rows.get_mut(number));
        row.expect("rows are never taken away")
    }

    /// The counters of a row.
    #[inline]
    pub(super) fn of(&mut self, row: RowIndex) -> &mut PageCounts {
        &mut self.row_mut(row).counts
    }

    /// All pages that were requested or begun, in that order, and their sum. `families` lists the requests with
    /// living processes, and what these hold.
    pub(super) fn report(
        &self,
        waiting: impl Iterator<Item = WaitingRun>,
        families: impl Iterator<Item = (RowIndex, u64)>,
    ) -> (PageCounts, Vec<PageReport>) {
        let report = |(number, row): (usize, &Row)| PageReport {
            number: u16::try_from(number).unwrap_or(0),
            page: row.page.clone(),
            counts: row.counts,
            ..PageReport::default()
        };
        let mut pages: Vec<PageReport> = self.rows.iter().enumerate().map(report).collect();
        let place = |RowIndex(number): RowIndex| usize::try_from(number).unwrap_or(usize::MAX);
        for run in waiting {
            let Some(page) = pages.get_mut(place(run.row)) else { continue };
            page.waiting += 1;
            page.spawned_waiting += u64::from(run.budget == Budget::Shared);
            page.held_bytes += run.held_bytes;
        }
        for (row, bytes) in families {
            let Some(page) = pages.get_mut(place(row)) else { continue };
            page.families += 1;
            page.spawned_held_bytes += bytes;
        }
        // A page that was never requested may be a process of the site.
        pages.retain(|page| page.counts.requests > 0 || page.counts.spawned > 0);
        let mut total = PageCounts::default();
        for page in &pages {
            total.add(&page.counts);
        }
        (total, pages)
    }
}

metric::counted! {
    /// The memory of the engines that run pages, garbage included.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct EngineMemory {
        /// Memory of the page engine.
        pub bytes: usize = Gauge(Bytes, "memory_bytes", "page_memory", metric::from_size),
        /// Memory that the page engine may have.
        pub max_bytes: usize = Gauge(Bytes, "memory_max_bytes", "page_memory_max", metric::from_size),
        /// Memory of the engine that runs what pages spawned.
        pub process_bytes: usize = Gauge(Bytes, "process_memory_bytes", "page_process_memory", metric::from_size),
        /// Memory that the engine may have that runs what pages spawned.
        pub process_max_bytes: usize = Gauge(Bytes, "process_memory_max_bytes", "page_process_memory_max", metric::from_size),
    }
}

/// The counters of a scheduler for its pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagesReport {
    /// How code runs.
    pub code: Code,
    /// The memory of Lua.
    pub memory: EngineMemory,
    /// Suspended pages.
    pub waiting: usize,
    /// All pages together.
    pub total: PageCounts,
    /// The requested pages.
    pub pages: Vec<PageReport>,
}

impl PagesReport {
    /// The sum of a number over all pages.
    pub fn sum(&self, of: fn(&PageReport) -> u64) -> u64 {
        self.pages.iter().map(of).sum()
    }
}

metric::counted! {
    /// The counters of one page.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct PageReport {
        /// Its file; `None` for all that have no row of their own.
        pub page: Option<String> = Elsewhere("its name"),
        /// Its number, which stays the same.
        pub number: u16 = Elsewhere("where its times are"),
        /// Pages under way that wait.
        pub waiting: u64 = Gauge(Count, "waiting", "pages_waiting"),
        /// Processes under way that pages spawned.
        pub spawned_waiting: u64 = Gauge(Count, "spawned_waiting", "page_processes"),
        /// Bytes that requests of pages hold.
        pub held_bytes: u64 = Gauge(Bytes, "held_bytes", "page_held"),
        /// Requests whose spawned processes live.
        pub families: u64 = Gauge(Count, "spawned_requests", "page_process_requests"),
        /// Bytes that spawned processes hold.
        pub spawned_held_bytes: u64 = Gauge(Bytes, "spawned_held_bytes", "page_process_held"),
        /// The numbers.
        pub counts: PageCounts = Elsewhere("rows of its own"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(counters: &mut Counters, root: u16, file: &str) -> RowIndex {
        let row = counters.row(root, file, || format!("{root}{file}"));
        counters.of(row).requests += 1;
        row
    }

    #[test]
    fn a_page_keeps_its_row_and_roots_have_their_own() {
        let mut counters = Counters::default();
        let first = counted(&mut counters, 0, "a");
        assert_ne!(first, counted(&mut counters, 1, "a"));
        assert_eq!(first, counted(&mut counters, 0, "a"));
        let (total, pages) = counters.report(
            [(Budget::Own, 5), (Budget::Shared, 2)]
                .map(|(budget, held_bytes)| WaitingRun { row: first, budget, held_bytes })
                .into_iter(),
            [].into_iter(),
        );
        let seen: Vec<_> = pages
            .iter()
            .map(|page| {
                let waiting = (page.waiting, page.spawned_waiting);
                (page.page.as_deref(), waiting, page.held_bytes, page.counts.requests)
            })
            .collect();
        assert_eq!(seen, [(Some("0a"), (2, 1), 7, 2), (Some("1a"), (0, 0), 0, 1)]);
        assert_eq!(total, PageCounts { requests: 3, ..PageCounts::default() });
    }

    #[test]
    fn beyond_the_bound_pages_share_a_row() {
        let mut counters = Counters::default();
        for number in 0..COUNTED_PAGES_MAX + 7 {
            counted(&mut counters, 0, &number.to_string());
        }
        assert_ne!(counted(&mut counters, 0, "0"), OTHERS, "who has a row keeps it");
        let (total, pages) = counters.report([].into_iter(), [].into_iter());
        assert_eq!(pages.len(), COUNTED_PAGES_MAX + 1);
        assert_eq!((pages[0].page.as_deref(), pages[0].counts.requests), (None, 7));
        assert_eq!(total.requests, COUNTED_PAGES_MAX as u64 + 8);
    }

    #[test]
    fn each_fault_is_counted_as_what_it_is() {
        let mut counts = PageCounts::default();
        for fault in
            [Fault::Compile, Fault::Runtime, Fault::Memory, Fault::CpuBudget, Fault::Stalled]
        {
            counts.add_fault(fault);
        }
        (0..9).for_each(|_| counts.add_fault(Fault::Deadline));
        (0..3).for_each(|_| counts.add_fault(Fault::Request));
        counts.add_fault(Fault::RequestSize);
        (0..2).for_each(|_| counts.add_fault(Fault::Stopped));
        assert_eq!((counts.failures, counts.refused, counts.stopped), (2, 4, 2));
        let kills = [("cpu_budget", 1), ("memory", 1), ("stalled", 1), ("deadline", 9)];
        assert_eq!(counts.kills(), kills);
    }
}
