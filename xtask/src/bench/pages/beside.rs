//! A harmful page, and its effect on others: their response times, in an open loop.
//!
//! Owns the client that requests the page repeatedly. Never has two such requests in flight.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::bench::contender::{Contender, OURS};
use crate::bench::keep;
use crate::bench::load;
use crate::bench::ours;
use crate::bench::pages::Conditions;
use crate::bench::pages::collision;
use crate::bench::pages::scenario::{BESIDE_PER_SECOND, Harm, HarmBody};
use crate::bench::report::Comparison;
use crate::bench::sample::{Metric, Sample};
use crate::bench::workload::{Load, Workload};
use crate::client::{self, RECEIVE_BYTES};
use crate::failure::Failure;

/// Compares a server that also gets requests for the harmful page with one that does not.
pub(crate) fn compare(
    workload: &'static Workload,
    harm: &Harm,
    conditions: &Conditions,
) -> Comparison {
    let mut outcome = Comparison::new(workload);
    let mut running = conditions.start_all(workload, &mut outcome);
    for _ in 0..conditions.run.rounds {
        keep(&mut running, &mut outcome, |contender, server| {
            measure(contender, server.address, (workload, harm), conditions).map(Some)
        });
    }
    match words(SocketAddr::from(([127, 0, 0, 1], 1)), workload, conditions) {
        Ok(words) => outcome.note_load(&words.join(" ").replace("127.0.0.1:1/", "ADDRESS/")),
        Err(failure) => outcome.note_load(&failure.to_string()),
    }
    outcome
}

fn words(
    address: SocketAddr,
    workload: &Workload,
    conditions: &Conditions,
) -> Result<Vec<String>, Failure> {
    let Load::Paced { connections, .. } = workload.load else {
        return Err(Failure::Work("the others come at a rate".to_owned()));
    };
    let way = format!("--warmup 1s --rate {BESIDE_PER_SECOND}");
    let (site, duration) = (conditions.site, conditions.run.duration);
    let url = format!("http://{address}{}", workload.path);
    ours::words(site, ("http", &url), connections, duration, &way)
}

fn measure(
    contender: &Contender,
    address: SocketAddr,
    (workload, harm): (&Workload, &Harm),
    conditions: &Conditions,
) -> Result<Sample, Failure> {
    let words = words(address, workload, conditions)?;
    let is_over = AtomicBool::new(false);
    let (output, asked) = std::thread::scope(|scope| {
        let client =
            (contender.name == OURS).then(|| scope.spawn(|| ask_until(address, harm, &is_over)));
        let output = Command::new(&words[0]).args(&words[1..]).output();
        is_over.store(true, Ordering::Relaxed);
        (output, client.map_or(Ok(Ok(0)), std::thread::ScopedJoinHandle::join))
    });
    let output = output.map_err(|error| Failure::Work(format!("velodrome bench: {error}")))?;
    let asked = asked.map_err(|_| Failure::Work("the client of the page failed".to_owned()))??;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some((count, mut sample)) = ours::read(&text) else {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::Work(format!("velodrome bench counted nothing: {complaint}")));
    };
    sample.remove(&Metric::SpunMicros);
    sample.extend([
        (Metric::Rate, count.per_second),
        (Metric::Errors, count.errors as f64),
        (Metric::AskedBeside, asked as f64),
    ]);
    Ok(sample)
}

/// Requests the harmful page, again after each answer; returns the number of requests.
fn ask_until(address: SocketAddr, harm: &Harm, is_over: &AtomicBool) -> Result<u64, Failure> {
    let request = match harm.body {
        HarmBody::None => client::request(address, harm.path),
        HarmBody::CollidingNumbers => load::post(address, harm.path, &collision::json()),
    };
    let mut buffer = vec![0; RECEIVE_BYTES];
    let mut asked = 0;
    while !is_over.load(Ordering::Relaxed) {
        let socket = client::connect(address).map_err(std::io::Error::from)?;
        client::send(&socket, request.as_bytes())?;
        let received = match rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((_, received)) => received,
            // The server may end the connection of a harmful page.
            Err(Errno::AGAIN | Errno::CONNRESET) if harm.status.is_none() => continue,
            Err(error) => return Err(std::io::Error::from(error).into()),
        };
        if let Some(status) = harm.status
            && !buffer[..received].starts_with(format!("HTTP/1.1 {status}").as_bytes())
        {
            let start = String::from_utf8_lossy(&buffer[..received.min(60)]).into_owned();
            return Err(Failure::Work(format!("{} was answered {start:?}", harm.path)));
        }
        asked += 1;
    }
    Ok(asked)
}
