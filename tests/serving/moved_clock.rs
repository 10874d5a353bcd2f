//! A server whose clock a test sets forward (faketime): nothing else on this machine notices.

use std::process::Command;

use crate::server::{Plan, Server, has, printed_by, run};

/// The file that says how far, in the site: the sandbox lets a server read what it serves.
const FILE: &str = "site/clock";

/// The library that `faketime` preloads.
fn library() -> String {
    let printed = printed_by(&run(Command::new("faketime").args(["0 days", "env"])));
    let line = printed.lines().find_map(|line| line.strip_prefix("LD_PRELOAD="));
    line.unwrap().trim().to_owned()
}

/// A plan whose server has such a clock, an hour ahead; `None`: faketime is not installed, which is told. Spans of time
/// are not changed.
pub(crate) fn with_moved_clock(plan: Plan, test: &str) -> Option<Plan> {
    if !has("faketime", test) {
        return None;
    }
    plan.directory.write(FILE, "+1h");
    let clock = plan.directory.join(FILE).display().to_string();
    let (file, library) =
        (format!("FAKETIME_TIMESTAMP_FILE={clock}"), format!("LD_PRELOAD={}", library()));
    let wrapper =
        ["env", &*file, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", &library];
    Some(plan.wrapped(&wrapper))
}

/// Sets the clock so many days and an hour ahead.
pub(crate) fn set_days_ahead(server: &Server, days: u64) {
    server.directory().write(FILE, format!("+{}h", 24 * days + 1));
}
