//! Everything that crosses threads of a server: closed enums, one per kind of receiver.
//!
//! Plain data only: no descriptor, nothing that belongs to one thread.

use std::sync::Arc;

use channels::ChannelStats;
use files::cache::CacheStats;
use files::{Job, Warm, Warmed};
use http::HttpStats;
use pages::fetch::{Looked, Question};
use pages::uploads::{Order, Report};
use pages::{Letter, OrderNumber, PageProblem, PageSet, PagesReport};
use runtime::slots::ProcessId;
use runtime::stats::Stats;
use script::engine::NativeCode;

use crate::resp_stats::RespStats;
use crate::site_data::SiteData;
use crate::store_stats::StoreStats;

/// Messages, one type for each kind of receiver.
#[derive(Debug)]
pub enum Message {
    /// A scheduler.
    Scheduler(ToScheduler),
    /// A file helper.
    FileHelper(ToFileHelper),
    /// A name helper: look a host up.
    NameHelper(Question),
    /// An upload helper: do something with a file of a form.
    UploadHelper(Box<Order>),
    /// The log writer.
    LogWriter(ToLogWriter),
    /// The writer of the store.
    StoreWriter(ToStoreWriter),
    /// The control scheduler.
    Control(ToControl),
}

/// Messages to a scheduler.
#[derive(Debug)]
pub enum ToScheduler {
    /// From a file helper: what is at the path.
    Found(Box<FoundFile>),
    /// From a file helper: the region is in memory, or cannot be.
    Warmed(ProcessId, Warmed),
    /// From a name helper: the addresses of a host.
    Resolved(Looked),
    /// From an upload helper: the result of an order.
    Uploaded(Box<Report>),
    /// From a page process of another scheduler.
    Letter(Box<Letter>),
    /// From the writer of the store: what became of a message of orders.
    Stored(Box<Vec<Stored>>),
    /// From the writer of the store: there is the commit that was asked for.
    Committed,
    /// From another scheduler: what it has to tell of channels.
    Channels(Box<channels::Letter>),
    /// Another configuration is in force.
    Reload(Arc<SiteData>),
    /// Pages were edited.
    Pages {
        /// The configuration whose roots they are of.
        generation: u64,
        /// The pages of each root.
        sets: Arc<[Arc<PageSet>]>,
    },
    /// Stop accepting and finish.
    Drain {
        /// How long what runs may go on.
        deadline_ms: u64,
        /// How long an idle connection is kept to learn that it is to close.
        idle_grace_ms: u64,
    },
    /// Send your counters.
    AskReport(Inquiry),
}

/// What the control scheduler asks the others for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inquiry {
    /// Their counters.
    Counters,
    /// Their counters, and where the native code of pages lies.
    NativeCode,
}

/// Messages to a file helper.
#[derive(Debug)]
pub enum ToFileHelper {
    /// Look a path up.
    LookUp(Box<LookUp>),
    /// Read a region, so that it is in memory.
    Warm(Box<WarmFor>),
}

/// Messages to the log writer.
#[derive(Debug)]
pub enum ToLogWriter {
    /// Lines, and how many.
    Lines(Vec<u8>, u64),
    /// Open the file anew.
    Reopen,
    /// Write the remaining entries, then end.
    Stop,
    /// Send your counters.
    AskReport,
}

/// Messages to the writer of the store.
#[derive(Debug)]
pub enum ToStoreWriter {
    /// Execute orders; the answer is one message.
    Orders(Box<Orders>),
    /// Tell of the next commit behind this one, once.
    TellCommit(u64),
    /// Write to the disk what is not there yet, then end.
    Stop,
}

/// Orders for the store, of one scheduler.
#[derive(Debug)]
pub struct Orders {
    /// The time by which keys end, in milliseconds since 1970.
    pub now_ms: u64,
    /// The connection or page that waits for each.
    pub waiting: Vec<OrderedBy>,
    /// The orders.
    pub orders: Vec<store::Order>,
}

/// The connection or page that waits for an order to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderedBy {
    /// A connection.
    Process(ProcessId),
    /// A page, which has given its order this number.
    Page(OrderNumber),
}

/// The outcome of an order, for the connection or page that waits.
pub type Stored = (OrderedBy, Result<store::Executed, store::Failure>);

/// Messages to the control scheduler.
#[derive(Debug)]
pub enum ToControl {
    /// From a scheduler: what it counted.
    Report(Box<SchedulerReport>),
    /// From the log writer: lines written, lines lost.
    LogReport(LogReport),
    /// The counters of pages.
    PagesLoaded(Arc<PagesRead>),
    /// The result of the last reload.
    Reloaded(Arc<ReloadReport>),
    /// The other schedulers have been told to stop.
    Draining,
    /// The others have stopped: finish.
    Stop,
}

/// Converts the value of a variant into a message, and back where the message could not be sent.
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
part!(ToControl, Control);
part!(Question, NameHelper);
part!(Box<Order>, UploadHelper);
part!(Box<Letter>, Scheduler Letter);
part!(Box<Report>, Scheduler Uploaded);
part!(Box<channels::Letter>, Scheduler Channels);
part!(Looked, Scheduler Resolved);

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

/// The counters of pages.
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

metric::counted! {
    /// What a scheduler counted.
    #[derive(Clone, Debug, Default)]
    pub struct SchedulerReport {
        /// The runtime's numbers.
        pub runtime: Stats = Elsewhere("rows of its own"),
        /// The HTTP service's numbers.
        pub http: HttpStats = Elsewhere("rows of its own"),
        /// The file cache's numbers.
        pub cache: CacheStats = Elsewhere("rows of its own"),
        /// The pages' numbers; none where no page can be run.
        pub pages: Option<PagesReport> = Elsewhere("rows of its own"),
        /// The channels' numbers.
        pub channels: ChannelStats = Elsewhere("rows of its own"),
        /// The numbers of orders to the store.
        pub store: StoreStats = Elsewhere("rows of its own"),
        /// The numbers of Redis clients.
        pub resp: RespStats = Elsewhere("rows of its own"),
        /// Open connections.
        pub processes: usize = Gauge(Count, "connections", "connections", metric::from_size),
        /// Which configuration is in force, counted from 1.
        pub generation: u64 = Elsewhere("as `configuration`"),
        /// Where the native code of pages lies, if that was asked for.
        pub native_code: Vec<NativeCode> = Elsewhere("by `ctl perf-map`"),
    }
}

/// What the log writer counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    /// Lines written.
    pub written: u64,
    /// Lines lost because the file could not be written.
    pub lost: u64,
}
