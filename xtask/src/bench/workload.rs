//! The parts of a workload: its load, its contenders and its targets.
//!
//! Never runs anything. The list is in `workloads`.

use crate::bench::contender::{Contender, Version};
use crate::bench::sample::Metric;
use crate::bench::target::Target;
use crate::failure::Failure;

/// The load on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// wrk, closed loop, kept alive.
    Kept { connections: u32 },
    /// Our own light client, closed loop, kept alive: for so few connections that wrk is the bottleneck.
    Few { connections: u32 },
    /// wrk, each connection sending that many requests at once.
    Pipelined { connections: u32, depth: usize },
    /// wrk with `Connection: close`.
    Short { connections: u32 },
    /// ab, which opens a connection for every request.
    ApacheBench { connections: u32 },
    /// This many connections, one request answered on each, then idle.
    Idle { connections: u64 },
    /// Our own sender, open loop at this part of the slowest contender's closed-loop maximum.
    Paced { connections: u32, percent: u32 },
    /// `velodrome bench`, over TLS where the server has it.
    Secure { connections: u32, way: Way },
    /// This many connections, one request answered on each, then idle; over HTTP/2 where the server is asked so.
    IdleStreams { connections: u64 },
    /// `velodrome bench hold`, over TLS where the server has it: this many connections that are held.
    SecureIdle { connections: u32 },
    /// Paced requests on kept connections over TLS, beside other clients.
    SecurePaced { connections: u32, rate: u32, beside: Beside },
    /// `velodrome bench channel`: a message at a time to this many WebSockets, over TLS where the server has it. Each
    /// delivery counts as a request.
    SecureFan { members: u32 },
    /// `velodrome bench`, closed loop, kept alive: requests with a body of this size.
    Upload { connections: u32, bytes: usize },
    /// A broadcast: one member sends this many lines at once. Each delivery counts as a request.
    Fan { members: u32, lines: u32 },
    /// None: the program itself is measured.
    None,
}

/// The clients beside those that are measured. They give way to them on their core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    Nobody,
    /// Some that begin handshakes and end none.
    Handshakes,
    /// One connection of HTTP/2 with so many streams, each of which asks again when it has its answer.
    Streams(u32),
}

/// How the load comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// On connections that are kept.
    Kept,
    /// A connection with a full handshake for each request.
    Full,
    /// A connection with a resumed session for each request.
    Resumed,
    /// Over HTTP/2, so many requests in flight on each connection.
    Streams(u32),
}

impl Way {
    /// The flags of the generator for a server that is asked in this version.
    pub(crate) fn flags(self, version: Version) -> String {
        match self {
            Way::Kept => String::new(),
            Way::Full => "--close".to_owned(),
            Way::Resumed => "--close --tls-resume".to_owned(),
            Way::Streams(_) if version == Version::Http1 => String::new(),
            Way::Streams(count) => format!("--h2 -m {count}"),
        }
    }
}

/// When a workload runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// In every run without a selection, and when its letter is given.
    Always,
    /// Only when its whole name is given.
    WhenNamed,
}

/// One comparison.
#[derive(Debug)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) path: &'static str,
    pub(crate) load: Load,
    pub(crate) runs: Runs,
    /// In the order of a round; ratios refer to the first.
    pub(crate) contenders: &'static [Contender],
    /// The metric of the ratios.
    pub(crate) main_metric: Metric,
    pub(crate) targets: &'static [Target],
}

impl Workload {
    /// A workload that runs when its name is given; its ratios are those of what its load is for.
    pub(crate) const fn new(
        name: &'static str,
        title: &'static str,
        path: &'static str,
        load: Load,
        contenders: &'static [Contender],
        targets: &'static [Target],
    ) -> Workload {
        let main_metric = match load {
            Load::Idle { .. } | Load::IdleStreams { .. } | Load::SecureIdle { .. } => {
                Metric::ResidentBytes
            }
            Load::Paced { .. } | Load::SecurePaced { .. } => Metric::LatencyP99,
            _ => Metric::CpuMicros,
        };
        let runs = Runs::WhenNamed;
        Workload { name, title, path, load, runs, contenders, main_metric, targets }
    }

    /// The same in every run without a selection.
    pub(crate) const fn always(self) -> Workload {
        Workload { runs: Runs::Always, ..self }
    }

    /// The same with ratios of this metric.
    pub(crate) const fn by(self, main_metric: Metric) -> Workload {
        Workload { main_metric, ..self }
    }

    /// Whether `--only wanted` selects this workload: by its name, or by its first letter if it
    /// always runs.
    pub(crate) fn answers_to(&self, wanted: &str) -> bool {
        let letter = self.name.split('-').next();
        self.name == wanted || (self.runs == Runs::Always && letter == Some(wanted))
    }

    pub(crate) fn is_memory(&self) -> bool {
        matches!(self.load, Load::Idle { .. } | Load::IdleStreams { .. } | Load::SecureIdle { .. })
    }
}

/// Those of `all` that `--only` names; all of them if it names none.
pub(crate) fn choose_among<T>(
    all: &'static [T],
    only: &[String],
    workload: fn(&T) -> &Workload,
) -> Result<Vec<&'static T>, Failure> {
    if let Some(stranger) =
        only.iter().find(|wanted| !all.iter().any(|one| workload(one).answers_to(wanted)))
    {
        let names: Vec<&str> = all.iter().map(|one| workload(one).name).collect();
        let names = names.join(", ");
        return Err(Failure::Usage(format!("there is no `{stranger}`; one of: {names}")));
    }
    let is_chosen =
        |one: &&T| only.is_empty() || only.iter().any(|wanted| workload(one).answers_to(wanted));
    Ok(all.iter().filter(is_chosen).collect())
}
