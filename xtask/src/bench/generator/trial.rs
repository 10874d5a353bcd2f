//! One measurement of one generator: its CPU time, the server's core, its counts.
//!
//! Owns the CPU accounting of the child. Never judges.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::bench::accounting;
use crate::bench::contender::Start;
use crate::bench::generator::program;
use crate::bench::generator::scenario::{Scenario, Task};
use crate::bench::host::Cores;
use crate::bench::running::Running;
use crate::bench::sample::{Metric, Sample};
use crate::bench::site::Site;
use crate::bench::workload::Load;
use crate::client;
use crate::failure::Failure;
use crate::process::{self, Guarded};
use crate::server;

/// A generator that has sent nothing after this time has failed.
const FIRST_REQUEST_LIMIT: Duration = Duration::from_secs(10);

/// The shell prints the CPU time of its child when that has ended: exact to the millisecond.
const TIMED: &str = "TIMEFORMAT='%3U %3S'; time \"$@\"";

/// A floor for this generator.
pub(crate) fn start_server(
    name: &str,
    start: Start,
    scenario: &Scenario,
    site: &Site,
    cores: &Cores,
) -> Result<Running, Failure> {
    let Start::Floor { mode, body_bytes } = start else {
        return Err(Failure::Work("generators are compared against the floor".to_owned()));
    };
    let address = server::free_address()?;
    let floor = site.floor()?.display().to_string();
    let mut words = vec![floor, address.to_string(), mode.to_owned(), body_bytes.to_string()];
    let mut request = client::request(address, scenario.workload.path).into_bytes();
    if matches!(scenario.workload.load, Load::Pipelined { .. }) {
        request = request_of(name, scenario, site)?;
        words.push(request.len().to_string());
    }
    Running::launch(name, address, &request, &words, site, cores)
}

/// A request as this generator sends it: the floor counts pipelined requests by their length, so it does not
/// answer a shorter one of another client. All ports here have five digits, so that Host always has the same length.
#[expect(clippy::disallowed_types, reason = "one thread and one descriptor table in this tool")]
fn request_of(name: &str, scenario: &Scenario, site: &Site) -> Result<Vec<u8>, Failure> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    let words =
        program::words(name, scenario, listener.local_addr()?, Duration::from_secs(1), site)?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null());
    let _generator = Guarded::start(&mut command, name)?;
    let mut request = Vec::new();
    let mut open = Vec::new();
    process::wait_until(FIRST_REQUEST_LIMIT, || {
        // A generator may first connect without sending, to see whether there is a server.
        while let Ok((stream, _)) = listener.accept() {
            open.extend(stream.set_nonblocking(true).map(|()| stream));
        }
        for stream in &mut open {
            let mut buffer = [0; 4096];
            if let Ok(count) = stream.read(&mut buffer) {
                let received = &buffer[..count];
                let end = received.windows(4).position(|end| end == b"\r\n\r\n");
                request.extend(end.map(|at| &received[..at + 4]).unwrap_or_default());
            }
            if !request.is_empty() {
                return true;
            }
        }
        false
    });
    if request.is_empty() {
        return Err(Failure::Work("it sent no request".to_owned()));
    }
    Ok(request)
}

/// Loads the server once.
pub(crate) fn measure(
    name: &str,
    words: &[String],
    task: Task,
    cores: &Cores,
) -> Result<Sample, Failure> {
    let before = accounting::cores(cores);
    let output = timed(words)?;
    let after = accounting::cores(cores);
    let text = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let counted = program::read(name, &text).filter(|(count, _)| count.requests > 0);
    let Some((count, mut sample)) = counted else {
        return Err(Failure::Work(format!("counted nothing: {text}{complaint}")));
    };
    let micros = spent_micros(&complaint)
        .ok_or_else(|| Failure::Work(format!("the shell kept no account: {complaint}")))?;
    sample.extend([
        (Metric::Rate, count.per_second),
        (Metric::ServerCoreBusy, after.0.busy_percent(before.0)),
        (Metric::LoadCoreBusy, after.1.busy_percent(before.1)),
        (Metric::Errors, count.errors as f64),
    ]);
    if task == Task::Closed {
        // With a warm-up the CPU time includes requests that the count does not.
        sample.insert(Metric::CpuMicros, micros / count.requests as f64);
    }
    Ok(sample)
}

/// Runs a program to its end; the last line of its standard error is its CPU time.
pub(crate) fn timed(words: &[String]) -> Result<Output, Failure> {
    let mut command = Command::new("bash");
    command.env("LC_ALL", "C").args(["-c", TIMED, "bash"]).args(words).stdin(Stdio::null());
    command.output().map_err(|error| Failure::Work(format!("bash: {error}")))
}

/// User and system time from the last line of the shell.
pub(crate) fn spent_micros(text: &str) -> Option<f64> {
    let mut numbers = text.lines().last()?.split_whitespace().map(str::parse::<f64>);
    let (user, system) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some((user + system) * 1_000_000.0)
}

/// The command for the reader, in which only the server's address needs to be changed.
pub(crate) fn shown(words: &[String], address: SocketAddr) -> String {
    words.join(" ").replace(&address.to_string(), "ADDRESS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_the_last_line_of_the_shell() {
        assert_eq!(spent_micros("a warning\n0.250 1.500\n"), Some(1_750_000.0));
        assert_eq!(spent_micros("bash: no such file"), None);
        assert_eq!(spent_micros(""), None);
    }

    #[test]
    fn a_child_is_accounted_for_and_keeps_its_output() {
        if !process::is_installed("bash") {
            println!(
                "SKIPPED a_child_is_accounted_for_and_keeps_its_output: bash is not installed"
            );
            return;
        }
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done";
        let output = timed(&["sh", "-c", script].map(str::to_owned)).expect("it runs");
        assert_eq!(output.stdout, b"done\n");
        let spent = spent_micros(&String::from_utf8_lossy(&output.stderr));
        assert!(spent.is_some_and(|micros| micros > 0.0), "{output:?}");
    }
}
