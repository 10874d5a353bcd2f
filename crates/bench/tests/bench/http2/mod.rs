//! HTTP/2. Goal: whatever a server does with frames, streams and windows, the generator ends in time and counts each
//! request once and as the right kind, with the error named. Method: servers that do one thing each.

mod answers;
mod misbehaviour;
mod server;
mod windows;

use std::net::SocketAddr;
use std::time::Duration;

use bench::plan::{LoadPlan, LoadProtocol};
use bench::report::RunReport;
use bench::tally::StreamTally;

use crate::faults::generator;

/// Ten streams on each of two connections.
fn plan(address: SocketAddr) -> LoadPlan {
    over_http2(generator::plan(address))
}

fn over_http2(plan: LoadPlan) -> LoadPlan {
    LoadPlan { protocol: LoadProtocol::Http2, pipeline: 10, connections: 2, ..plan }
}

/// The same with a timeout of 150 ms.
fn impatient(address: SocketAddr) -> LoadPlan {
    LoadPlan { timeout: Duration::from_millis(150), ..plan(address) }
}

fn streams(run: &RunReport) -> StreamTally {
    run.http2.clone().unwrap_or_default()
}

/// Checks that an error is named.
fn assert_named(run: &RunReport, part: &str) {
    let ends = streams(run).ends;
    assert!(ends.iter().any(|end| end.text.contains(part)), "{part}: {ends:?}");
}
