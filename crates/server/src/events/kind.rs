//! The kinds of events: their names, how bad they are, what they mean and what to do.
//!
//! Owns the list, from which docs/events.md is checked. Never finds anything.

use runtime::diagnostic::Level;

/// How bad an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Good to know.
    Info,
    /// Something works worse than it could.
    Warning,
    /// Something does not work.
    Error,
}

impl Weight {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// The level of its line in the log.
    pub(crate) fn level(self) -> Level {
        match self {
            Self::Info => Level::Info,
            Self::Warning => Level::Warn,
            Self::Error => Level::Error,
        }
    }
}

/// The writer of the line in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The one that keeps the events.
    Here,
    /// The same, as `info`: other programs of the machine may be the cause.
    Quiet,
    /// The one that finds it has written one already.
    Elsewhere,
}

/// The description of a kind.
pub(crate) struct About {
    pub(crate) name: &'static str,
    pub(crate) weight: Weight,
    pub(crate) line: Line,
    /// The occurrence, for the documentation.
    #[cfg(test)]
    pub(crate) means: &'static str,
    /// The remedy.
    pub(crate) mend: &'static str,
}

/// The kinds, their names and what is known of them, in one list.
macro_rules! kinds {
    ($($kind:ident $name:literal $weight:ident $line:ident $means:literal $mend:literal)+) => {
        /// A kind of event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $(#[doc = $means] $kind,)+
        }

        impl Kind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            pub(crate) fn about(self) -> About {
                match self {
                    $(Self::$kind => About {
                        name: $name,
                        weight: Weight::$weight,
                        line: Line::$line,
                        #[cfg(test)]
                        means: $means,
                        mend: $mend,
                    },)+
                }
            }
        }
    };
}

kinds! {
    LongSlice "long_slice" Warning Here
        "A page ran for 20 ms or longer without an interruption: all other clients of the scheduler waited."
        "Look at the line: it calls a function that cannot be interrupted with much data, such as a pattern \
         on a long text. Give it less at a time."
    MuchCpu "much_cpu" Warning Here
        "One run of a page has used 100 ms of CPU time and goes on."
        "Look at the line and the calls; `velodrome profile` shows where the time goes. Move long work to a \
         process."
    PageEnded "page_ended" Error Elsewhere
        "A run of a page was ended by a bound: CPU time, memory, deadline, or because it could not be \
         interrupted."
        "Mend the page at the line, or raise that bound in `[pages]`."
    PageMailbox "page_mailbox" Warning Here
        "The mailbox of a process of a page is full: senders are told `full`, and messages are lost."
        "Let the process receive more often, or send less. `velodrome ctl info` with its id shows where it \
         waits."
    PageMemory "page_memory" Warning Here
        "Pages, or processes of pages, hold three quarters of the memory of their engine after a collection \
         of garbage: a module that keeps what it should forget, or too little memory."
        "The cause lists the pages that allocated most. Look for tables at the top of modules that grow; or \
         raise `memory` (of processes `process_memory`) in `[pages]`."
    PageProcesses "page_processes" Warning Here
        "A page could not spawn a process and was told `full`: its request has too many, all together hold \
         too much memory, or too many are ready to run."
        "`velodrome top --once --list processes` shows which there are, and what each holds. Let them end sooner, \
         or raise `process_memory` in `[pages]`."
    PageBroken "page_broken" Error Elsewhere
        "A page or module does not compile: the version before is served, or nothing."
        "Mend it at the line. `velodrome check` and `velodrome ctl status` list all that are broken."
    FetchFailed "fetch_failed" Info Here
        "A `fetch` of a page failed: the other server is down, does not answer in time, or may not be asked."
        "Look at that server. `velodrome ctl trace page` with the file shows what is asked, and what comes \
         back."
    ServerErrors "server_errors" Warning Here
        "Many answers within a second had a status of 5xx."
        "`velodrome top --once --list routes --sort 5xx` counts them by route. Failures of pages have lines in the \
         log."
    LongTurn "long_turn" Warning Quiet
        "A turn of a scheduler took 50 ms or longer: all its clients waited."
        "A `long_slice` at the same time names the page. Otherwise a huge request or message, or a core \
         that others use too."
    Stuck "stuck" Error Here
        "A scheduler has not finished a turn for a second and answers nobody. The cause is the native \
         back-trace of its thread."
        "The page that it runs is ended as soon as it can be interrupted. Without a page, report the \
         back-trace."
    Silent "silent" Warning Quiet
        "A scheduler did not answer for half a second."
        "Wait for `stuck`, `starved` or `long_turn` of the same scheduler, which say why."
    TimersLate "timers_late" Warning Quiet
        "Deadlines of connections were noticed 100 ms late or more: the scheduler was busy with something \
         long, or without its core."
        "As for `long_turn` and `starved`."
    Starved "starved" Warning Quiet
        "A scheduler wanted to run and got less than half of its core: other programs use it too."
        "Give the server cores of its own, or fewer `schedulers`."
    Panic "panic" Error Elsewhere
        "A handler of the server panicked; its connection was closed. This is a defect of the server."
        "Report the lines of the log before it."
    SlowConsumer "slow_consumer" Warning Here
        "Subscribers of a channel were too slow: they were disconnected, or miss messages, as the channel's \
         `slow` says."
        "Publish less or smaller messages, use `slow = \"latest\"`, or look at the network of those clients."
    ChannelEvicted "channel_evicted" Info Here
        "Messages were dropped from the histories of channels because all of them together are too large."
        "Keep fewer or smaller messages for each channel: all histories of a scheduler have 64 MiB."
    Mailbox "mailbox" Warning Here
        "The mailbox between two threads was full: the receiver does not keep up."
        "Look for the scheduler that is `stuck`, `starved` or busy."
    Buffers "buffers" Warning Here
        "Input and output that wait for clients take three quarters of the memory for them: at the bound, \
         connections are closed."
        "Slow clients, or an attack: `velodrome top` sorts connections by unsent bytes. Raise `send_rate` \
         in `[limits]`, so that slow ones are closed sooner."
    Connections "connections" Warning Here
        "Nine of ten connections that the descriptors allow are in use: at the bound, new ones wait."
        "Raise `ulimit -n` (LimitNOFILE= of systemd), and `connections` in `[limits]`, or shorten \
         `keep_alive`."
    LoadShed "load_shed" Error Here
        "New connections were refused or paused, or connections were closed, for want of descriptors, room \
         or memory."
        "The cause says how many and why. More descriptors, memory or servers; or a client that opens too \
         many: see `[[limit]]`."
    Handshakes "handshakes" Info Here
        "Many TLS handshakes failed."
        "`velodrome ctl stats` counts them by reason: a wrong certificate, or clients that try old versions."
    StoreFailed "store_failed" Error Here
        "Orders to the store failed: it or the disk is full, the disk has an error, an order asked for too \
         much, or the leader that the store follows is away."
        "The log has the error of the disk: make room, or raise `size` in `[store]`. `velodrome ctl status` \
         shows whether the leader is heard."
    StoreStuck "store_stuck" Error Here
        "The writer of the store has not answered for a second: another program holds the lock of the \
         store, the disk does not write, or the store follows a leader that is away."
        "End the other program (`velodrome store import`, a backup) or look at the disk. `velodrome ctl \
         status` shows whether the leader is heard."
    SlowCommit "slow_commit" Warning Here
        "A commit of the store took 100 ms or longer: the disk is slow, or another program held the lock of \
         the store."
        "Use a faster disk, or a `sync` that does not wait for it."
    SlowCheckpoint "slow_checkpoint" Warning Here
        "A checkpoint of the store took 2 seconds or longer: the disk is slow."
        "After a power failure, more is replayed or lost. Use a faster disk."
    StoreFenced "store_fenced" Error Here
        "Another store has become the leader: this one follows it, and forwards the writes of its clients. Another \
         event of this kind names the file with what only this one had, if there is such a thing."
        "Clients can go on here: writes are forwarded. `velodrome store changes FILE` prints what is missed."
    StoreHandedOver "store_handed_over" Info Here
        "An operator has promoted another store, for which this one has stopped: it follows that one. If it was asked \
         too late, the event `store_fenced` names the file with what only this one had."
        "None."
    ReplicaBehind "replica_behind" Warning Here
        "A store that follows a leader does not catch up: its reads are older than they could be, and \
         writes wait."
        "Look at the network and at the disk of this server. `velodrome ctl status` has both numbers."
    ReplicaSnapshot "replica_snapshot" Info Here
        "A store that follows a leader takes a snapshot of it, because it is new, has missed too much, or \
         has other records."
        "None, if it ends. Reads go on with the state before."
    ReplicaRefused "replica_refused" Error Here
        "A store could not apply what its leader has sent."
        "The cause has the reason: a database that `databases` in `[store]` does not name here, a full disk, \
         or the store of another cluster."
    ServerDown "server_down" Warning Here
        "A server of an upstream gets no more requests because they, or its checks, fail."
        "Look at that server. `velodrome ctl upstreams` says why and since when."
    ServerUp "server_up" Info Here
        "A server of an upstream gets requests again."
        "If it comes often, the server is not well: its own log says more."
    UpstreamDown "upstream_down" Error Here
        "No server of an upstream is well: its clients are answered 502 or 503. The last one gets requests although it fails."
        "As for `server_down`."
    UpstreamQueue "upstream_queue" Warning Here
        "Requests wait for a place at an upstream, because all its servers have as many as they may have."
        "Raise `connections` in `[[upstream]]`, add servers, or find why they are slow."
    ClusterAway "cluster_away" Warning Here
        "A scheduler has lost its connection to NATS, or finds none at the start: channels without a history reach \
         clients of this server only, and messages to those with one wait."
        "The cause is in the line: look at NATS and the network. `velodrome ctl status` shows the state."
    ClusterBack "cluster_back" Info Here
        "A scheduler is connected to NATS again, and reads what its subscribers have missed."
        "If it comes often, look for what interrupts the connection; NATS also cuts off clients that are slow."
    ClusterProblem "cluster_problem" Warning Here
        "A scheduler is connected to NATS, which does not do what it should: JetStream is off or has no room for \
         the streams, so that messages to channels with a history fail, or the user may not do something; or another \
         node has other `[[channel]]` sections or `streams`, or the same `name`."
        "The cause is in the line: change NATS, `[cluster]` or the sections. `velodrome check` and \
         `velodrome ctl status` show more."
    Limit "limit" Info Here
        "A `[[limit]]` refused uses."
        "As configured; if these are good clients, raise it."
    Certificate "certificate" Warning Here
        "A certificate ends within a week, or has ended: clients will refuse the server. One that the \
         server orders is told of only when an eighth of its life is left."
        "Renew it; for one that the server orders, `velodrome ctl status` has the last error."
    Setting "setting" Info Here
        "An operator has changed a setting with `velodrome ctl set`, or a reload has put back what was \
         changed so."
        "Write it into the configuration if it shall stay. `velodrome ctl set NAME default` puts it back."
    LogLost "log_lost" Warning Here
        "Lines of the access log were lost: the disk is full, or the reader of a pipe is slow."
        "Make room, or read faster. Requests are never delayed."
    SpansLost "spans_lost" Warning Here
        "Spans for the collector of `[trace] otlp` were lost: it is down or refuses them, or more requests are \
         sampled than are sent."
        "The line has the reason: look at the collector and at the URL, or lower `sample`."
    LogReopen "log_reopen" Error Elsewhere
        "The access log could not be opened again after USR1: lines go on into the file that was open."
        "The log has the reason. Let the user of the server create files in the directory, then send USR1 \
         again."
    ReloadRefused "reload_refused" Error Elsewhere
        "A reload was refused, because the new configuration has mistakes: the old one stays."
        "The cause lists the mistakes. `velodrome check` finds them before a reload."
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of a kind in the table of the documentation.
    fn row(kind: Kind) -> String {
        let About { name, weight, means, mend, .. } = kind.about();
        format!("| `{name}` | {} | {means} | {mend} |", weight.as_str())
    }

    #[test]
    fn the_documentation_has_all_kinds_and_no_others() {
        let rows: Vec<String> = Kind::ALL.iter().map(|kind| row(*kind)).collect();
        let document = include_str!("../../../../docs/events.md");
        // The document has another table, of two columns.
        let is_of_kind = |line: &&str| line.starts_with("| `") && line.matches(" | ").count() >= 3;
        let table: Vec<&str> = document.lines().filter(is_of_kind).collect();
        assert_eq!(table, rows, "docs/events.md should have these rows:\n{}", rows.join("\n"));
    }
}
