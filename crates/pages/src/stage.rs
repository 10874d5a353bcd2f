//! Shared by the tests of page processes: pages, and requests without a connection.
//!
//! Owns how they are made. Never judges results.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use script::engine::{HostAnswer, PageHost, PageLogLevel, RequestPart};
use script::template;

use super::load::SetIndex;
use super::moment::Moment;
use super::page::{Page, PageKind};
use super::runner::{RunResult, Runner};
use super::set::PageSet;
use crate::limits::PAGE_STEP_NS;

thread_local! {
    static CLOCK_NS: Cell<u64> = const { Cell::new(0) };
}

/// A host without a request.
struct Nobody;

impl PageHost for Nobody {
    fn request(&mut self, _part: RequestPart, _answer: &mut HostAnswer) {}

    fn now(&mut self) -> Duration {
        Duration::ZERO
    }

    fn log(&mut self, _level: PageLogLevel, _text: &[u8]) {}
}

pub(super) fn at(now_ns: u64) -> Moment {
    // A thread that uses no CPU: a step keeps its initial price.
    Moment { now_ns, endpoint: Endpoint(0), thread_cpu_ns: || 0, clock_ns: || pass(PAGE_STEP_NS) }
}

/// A clock that advances by this much from one reading to the next.
pub(super) fn pass(ns: u64) -> u64 {
    CLOCK_NS.set(CLOCK_NS.get() + ns);
    CLOCK_NS.get()
}

/// The result of running a page of the first root.
pub(super) fn run(runner: &mut Runner, process: u64, index: usize, now_ns: u64) -> RunResult {
    run_at(runner, process, index, at(now_ns))
}

/// The same, with its own clocks.
pub(super) fn run_at(runner: &mut Runner, process: u64, index: usize, moment: Moment) -> RunResult {
    let process = ProcessId::from_bits(process);
    runner
        .run(process, None, SetIndex(0), index, &mut Nobody, moment)
        .expect("a page of the first root")
}

pub(super) fn pages(sources: &[(&str, &str)]) -> Vec<Arc<PageSet>> {
    let mut set = PageSet::default();
    for (file, source) in sources {
        let lowered =
            template::lower(source.as_bytes(), template::Escape::of_extension("html")).unwrap();
        set.pages.push(Arc::new(Page {
            lua: Some(lowered.lua.into()),
            ..Page::of_text(PageKind::Page, file, source)
        }));
    }
    vec![Arc::new(set)]
}
