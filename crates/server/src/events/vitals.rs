//! The facts that a scheduler tells the control scheduler once a second: the numbers by which trouble is found.
//!
//! Owns that shape. Cheaper than a whole report: nothing in it grows with the number of connections or pages.

use std::sync::Arc;

use channels::ChannelStats;
use local::StoreStats;
use pages::Remark;
use quota::LimitCounts;
use runtime::service::Remarkable;
use runtime::stats::Stats;

use crate::link_report::LinkReport;
use crate::upstream_report::UpstreamReport;

/// The counts of a scheduler, and the remarkable things since it was last asked.
#[derive(Clone, Debug, Default)]
pub struct Vitals {
    /// The monotonic time.
    pub now_ns: u64,
    /// CPU time of its thread.
    pub cpu_ns: u64,
    /// The runtime's numbers.
    pub runtime: Stats,
    /// The remarkable things about its turns.
    pub remarkable: Remarkable,
    /// The kind of process that ran in its longest turn.
    pub longest_kind: &'static str,
    /// Processes that live.
    pub processes: usize,
    /// Its bounds.
    pub bounds: SchedulerBounds,
    /// Lines of the access log that it lost.
    pub lost_lines: u64,
    /// Spans that the collector was not told of.
    pub lost_spans: u64,
    /// Why some of these were lost since it was last asked.
    pub span_loss: Option<String>,
    /// Answers of 5xx.
    pub errors: u64,
    /// Of these, those of routes, a bounded number of routes.
    pub erring: Vec<(String, u64)>,
    /// The channels' numbers.
    pub channels: ChannelStats,
    /// How many subscribers were too slow, and the channel of the last one.
    pub slow: (Option<Arc<str>>, u64),
    /// The numbers of orders to the store.
    pub store: StoreStats,
    /// Remarks about runs of pages.
    pub remarks: Vec<Remark>,
    /// Remarks beyond those.
    pub remarks_left_out: u64,
    /// Bytes that pages hold after the last collection, and of how many: of requests, then of processes.
    pub page_memory: [(usize, usize); 2],
    /// The pages that allocated most, if `page_memory` is short.
    pub allocating: Vec<(String, u64)>,
    /// The counters of each limit.
    pub limits: Vec<LimitCounts>,
    /// The link to the cluster, if there is one.
    pub cluster: Option<LinkReport>,
    /// The upstreams.
    pub upstreams: Vec<UpstreamReport>,
}

/// The bounds of a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerBounds {
    /// Connections.
    pub connections: usize,
    /// Bytes of inboxes and outboxes.
    pub buffered_bytes: usize,
}

impl Vitals {
    /// Whether pages hold so much of their memory that it is told.
    pub(crate) fn is_memory_short((held, bound): (usize, usize)) -> bool {
        held > 0 && held >= bound / 4 * 3
    }
}
