//! Everything that crosses threads of a server: closed enums, one per kind of receiver.
//!
//! Plain data only: no descriptor, nothing that belongs to one thread.

use std::sync::Arc;

use acme::{CertificateStatus, Confirmation};
use cache::CacheStats as UpstreamCacheStats;
use channels::ChannelStats;
use client::{ClientStats, NameLookup, ResolvedName};
use files::cache::PathCacheStats;
use files::{Job, Warm, Warmed};
use http::HttpStats;
use local::StoreStats;
use pages::uploads::{FileOrder, UploadReport};
use pages::{PageProblem, PageSet, PagesReport};
use quota::{LimitCounts, RemoteUses};
use resp::RespStats;
use runtime::account::Accounts;
use runtime::slots::ProcessId;
use runtime::stats::Stats;
use runtime::trace::Batch;
use script::engine::NativeCode;

use crate::access::{Checked, PasswordCheck};
use crate::cache_order::CacheOrder;
use crate::disk_order::{DiskAnswer, DiskOrders, DiskReport};
use crate::events::{Trouble, Vitals};
use crate::handshakes::HandshakeFailures;
use crate::link_report::LinkReport;
use crate::live::LiveAnswer;
use crate::maintenance::{MaintenanceSource, Switch};
use crate::profile_order::{Profiled, ToProfiler};
use crate::site_data::SiteData;
use crate::site_tls::SiteTls;
use crate::span_stats::SpanStats;
use crate::store_writer_stats::StoreWriterStats;
use crate::upstream_report::{UpstreamOrder, UpstreamReport};

pub use crate::question::{Inquiry, Question};

pub use local::{OrderedBy, StoreOrders, Stored, ToStoreWriter};

pub(crate) type AnswerContext<'a> = http::AnswerContext<'a, Message>;
pub(crate) type Context<'a> = runtime::service::Context<'a, Message>;
pub(crate) type Mailbox = runtime::mailbox::Mailbox<Message>;
pub(crate) type ServiceContext<'a> = runtime::service::ServiceContext<'a, Message>;

/// Messages, one type for each kind of receiver.
#[derive(Debug)]
pub enum Message {
    /// To a scheduler.
    Scheduler(ToScheduler),
    /// To a file helper.
    FileHelper(ToFileHelper),
    /// To the password helper: verify a password.
    PasswordHelper(Box<PasswordCheck>),
    /// To a name helper: look up a host.
    NameHelper(NameLookup),
    /// To an upload helper: handle a file of a form.
    UploadHelper(Box<FileOrder>),
    /// To the log writer.
    LogWriter(ToLogWriter),
    /// To the writer of the store.
    StoreWriter(ToStoreWriter),
    /// To the disks of caches.
    CacheDisk(ToCacheDisk),
    /// To the profiler.
    Profiler(ToProfiler),
    /// To the control scheduler.
    Control(ToControl),
}

/// Messages to a scheduler.
#[derive(Debug)]
pub enum ToScheduler {
    /// From a file helper: the result of a lookup.
    Found(Box<FoundFile>),
    /// From a file helper: the region is in memory, or cannot be read.
    Warmed(ProcessId, Warmed),
    /// From the password helper: whether a password is right that the request of a process shows.
    Password(Checked),
    /// From a name helper: the addresses of a host.
    Resolved(ResolvedName),
    /// From an upload helper: the result of an order.
    Uploaded(Box<UploadReport>),
    /// From a page process of another scheduler.
    Letter(Box<actors::Letter>),
    /// From the writer of the store: the results of a message of orders.
    Stored(Box<Vec<Stored>>),
    /// From the writer of the store: the awaited commit was made.
    Committed,
    /// From the writer of a store with a role: what is to be carried to other stores.
    Replication(Box<StorePost>),
    /// From another scheduler: what keys of limits have used.
    Used(Arc<RemoteUses>),
    /// From another scheduler: news of channels.
    Channels(Box<channels::ChannelLetter>),
    /// Use a new configuration.
    Reload(Arc<SiteData>),
    /// Use other settings with the same configuration. One that is not in use any more is ignored.
    Tune(Arc<SiteData>),
    /// Use new certificates, and confirm that they are in use.
    Certificates(Arc<SiteTls>, Vec<Confirmation>),
    /// Use edited pages.
    Pages {
        /// The configuration to which their roots belong.
        generation: u64,
        /// The pages of each root.
        sets: Arc<[Arc<PageSet>]>,
    },
    /// Stop accepting and finish.
    Drain {
        /// How long running requests may continue.
        deadline_ms: u64,
        /// How long an idle connection stays open, so that its client learns that it will close.
        idle_grace_ms: u64,
    },
    /// Whether the site is maintained, as one source says.
    Maintenance(MaintenanceSource, Switch),
    /// Send your counters.
    AskReport(Question),
    /// From the control scheduler: how are you?
    AskVitals,
    /// From the control scheduler: let a server of an upstream have requests, or no more.
    Upstream(Box<UpstreamOrder>),
    /// From the control scheduler or another one: forget stored answers of upstreams.
    Cache(Box<CacheOrder>),
    /// From the control scheduler: begin or end a trace.
    Trace(Box<TraceOrder>),
    /// From the disks of caches: what follows from the orders of one message.
    CacheDisk(Box<Vec<DiskAnswer>>),
    /// From the main thread: give the memory of a past load back to the kernel.
    GiveMemoryBack,
}

/// The post of the writer of a store with a role to the link of its node.
#[derive(Debug)]
pub struct StorePost {
    /// The orders to be carried.
    pub orders: Vec<store::ReplicationOrder>,
    /// Bytes of other stores that the writer has taken since it last said so.
    pub taken: usize,
    /// Messages with orders that wait for the leader, or for the writer.
    pub waiting: usize,
}

/// An order to a scheduler about traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceOrder {
    /// Begin this one.
    Begin(runtime::trace::TraceCommand),
    /// End the one with this number.
    Stop(u64),
}

/// Messages to a file helper.
#[derive(Debug)]
pub enum ToFileHelper {
    /// Look up a path.
    LookUp(Box<LookUp>),
    /// Read a region into memory.
    Warm(Box<WarmFor>),
}

/// Messages to the log writer.
#[derive(Debug)]
pub enum ToLogWriter {
    /// Lines, and their number.
    Lines(Vec<u8>, u64),
    /// Reopen the file.
    Reopen,
    /// Write the remaining entries, then end.
    Stop,
    /// Send your counters.
    AskReport,
}

/// Messages to the disks of caches.
#[derive(Debug)]
pub enum ToCacheDisk {
    /// Carry out orders; the answer is one message.
    Orders(Box<DiskOrders>),
    /// Send your figures.
    AskReport,
    /// End.
    Stop,
}

/// Messages to the control scheduler.
#[derive(Debug)]
pub enum ToControl {
    /// From a scheduler: what it counted.
    Report(Box<SchedulerReport>),
    /// From a scheduler: how it is.
    Vitals(Box<Vitals>),
    /// From a helper or the main thread: something that an operator should know.
    Trouble(Box<Trouble>),
    /// From a scheduler: steps of a trace.
    Traced(Box<Batch>),
    /// From the log writer: lines written, lines lost.
    LogReport(LogReport),
    /// From the writer of the store: its commits and checkpoints.
    StoreWriter(Box<StoreWriterStats>),
    /// From the writer of the store: it leads now, or why it does not.
    Promoted(Result<store::Promoted, String>),
    /// From the profiler: a profile that was asked for.
    Profiled(Box<Profiled>),
    /// From the disks of caches: what is there.
    CacheDisk(DiskReport),
    /// The counters of pages.
    PagesLoaded(Arc<PagesRead>),
    /// The configuration in force, after a reload.
    Configured(Arc<SiteData>),
    /// The result of the last reload.
    Reloaded(Arc<ReloadReport>),
    /// The certificates in force.
    Certificates(Arc<SiteTls>),
    /// Why changed files of certificates are not used, or that all of them are.
    CertificatesRefused(Option<String>),
    /// The state of the certificates that the server orders.
    Orders(Arc<[CertificateStatus]>),
    /// From the main thread: whether the file of maintenance is there.
    Maintenance(Switch),
    /// The other schedulers have been told to stop.
    Draining,
    /// The others have stopped: finish.
    Stop,
}

/// Converts between a variant's content and a message; back if the message could not be sent.
macro_rules! part {
    ($part:ty, $($variant:tt)+) => {
        impl From<$part> for Message {
            fn from(part: $part) -> Self {
                part!(@nest part, $($variant)+)
            }
        }

        impl TryFrom<Message> for $part {
            type Error = Message;

            fn try_from(message: Message) -> Result<Self, Message> {
                match message {
                    part!(@nest part, $($variant)+) => Ok(part),
                    other => Err(other),
                }
            }
        }
    };
    (@nest $part:ident, Scheduler $inner:ident) => {
        Message::Scheduler(ToScheduler::$inner($part))
    };
    (@nest $part:ident, $variant:ident) => {
        Message::$variant($part)
    };
}

part!(ToScheduler, Scheduler);
part!(ToFileHelper, FileHelper);
part!(ToLogWriter, LogWriter);
part!(ToStoreWriter, StoreWriter);
part!(ToCacheDisk, CacheDisk);
part!(ToProfiler, Profiler);
part!(ToControl, Control);
part!(Box<PasswordCheck>, PasswordHelper);
part!(NameLookup, NameHelper);
part!(Box<FileOrder>, UploadHelper);
part!(Box<actors::Letter>, Scheduler Letter);
part!(Box<UploadReport>, Scheduler Uploaded);
part!(Box<channels::ChannelLetter>, Scheduler Channels);
part!(ResolvedName, Scheduler Resolved);
part!(Arc<RemoteUses>, Scheduler Used);

/// A lookup, and the site it is for.
#[derive(Debug)]
pub struct LookUp {
    /// The site of the job's root.
    pub site: Arc<SiteData>,
    /// The job.
    pub job: Job,
}

/// The result of a lookup, with the site it was for: after a reload, the same root number may mean another root.
#[derive(Debug)]
pub struct FoundFile {
    /// The site of the job's root.
    pub site: Arc<SiteData>,
    /// The job.
    pub job: Job,
    /// The result of the lookup.
    pub found: files::LookupResult,
}

/// A region to read for a waiting process.
#[derive(Debug)]
pub struct WarmFor {
    /// The site of the region's root.
    pub site: Arc<SiteData>,
    /// The waiting process.
    pub process: ProcessId,
    /// The region.
    pub warm: Warm,
}

/// The result of a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReloadReport {
    /// The number of reloads, including this one.
    pub number: u64,
    /// Why it was refused; empty if it succeeded.
    pub problems: Vec<String>,
}

/// The counters of pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PagesRead {
    /// The number of pages, including those that are only included by others.
    pub count: usize,
    /// The number of app modules.
    pub modules: usize,
    /// The number of edits that took effect.
    pub edits: u64,
    /// The problems of broken pages.
    pub problems: Vec<PageProblem>,
}

metric::counted! {
    /// The counts of a scheduler.
    #[derive(Clone, Debug, Default)]
    pub struct SchedulerReport {
        /// The number of the question that it answers.
        pub question: u64 = Elsewhere("to the control scheduler alone"),
        /// The runtime's numbers.
        pub runtime: Stats = Elsewhere("rows of its own"),
        /// The time of the scheduler.
        pub accounts: Accounts = Elsewhere("with a label"),
        /// The answer that it shows to those who look.
        pub shown: LiveAnswer = Elsewhere("by `velodrome top`"),
        /// The HTTP service's numbers.
        pub http: HttpStats = Elsewhere("rows of its own"),
        /// The file cache's numbers.
        pub cache: PathCacheStats = Elsewhere("rows of its own"),
        /// The numbers of the caches of upstreams.
        pub upstream_caches: UpstreamCacheStats = Elsewhere("rows of its own"),
        /// The numbers of connections to other servers.
        pub outgoing: ClientStats = Elsewhere("rows of its own"),
        /// The pages' numbers; none where no page can be run.
        pub pages: Option<PagesReport> = Elsewhere("rows of its own"),
        /// The channels' numbers.
        pub channels: ChannelStats = Elsewhere("rows of its own"),
        /// The link to the cluster, if there is one.
        pub cluster: Option<LinkReport> = Elsewhere("rows of its own, and by `ctl status`"),
        /// The numbers of orders to the store.
        pub store: StoreStats = Elsewhere("rows of its own"),
        /// The numbers of Redis clients.
        pub resp: RespStats = Elsewhere("rows of its own"),
        /// The numbers of spans for a collector.
        pub spans: SpanStats = Elsewhere("rows of its own"),
        /// Handshakes that failed, by reason.
        pub handshake_failures: HandshakeFailures = Elsewhere("with a label"),
        /// The counts of each limit.
        pub limits: Vec<LimitCounts> = Elsewhere("with a label"),
        /// The upstreams.
        pub upstreams: Vec<UpstreamReport> = Elsewhere("with labels, and by `ctl upstreams`"),
        /// Open connections, and open streams of HTTP/2.
        pub processes: usize = Gauge(Count, "connections", "connections", metric::from_size),
        /// Which configuration is in force, counted from 1.
        pub generation: u64 = Elsewhere("as `configuration`"),
        /// Where the native code of pages lies, if that was asked for.
        pub native_code: Vec<NativeCode> = Elsewhere("by `ctl perf-map`"),
    }
}

/// The counters of the log writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    /// Lines written.
    pub written: u64,
    /// Lines lost because the file could not be written.
    pub lost: u64,
    /// Times that it could not be opened again.
    pub not_reopened: u64,
}
