//! The CPU time of servers per request of a page.
//!
//! Owns that all contenders answer the same text before anything is measured.

use std::net::SocketAddr;
use std::time::Duration;

use crate::bench::contender::Contender;
use crate::bench::load;
use crate::bench::measure::Measuring;
use crate::bench::pages::{Conditions, answer, folder};
use crate::bench::report::Comparison;
use crate::bench::running::Running;
use crate::bench::sample::Sample;
use crate::bench::workload::Workload;
use crate::bench::{WARM_UP_SECONDS, keep};
use crate::failure::Failure;

/// Header fields of a request, in addition to those of wrk.
type Fields = &'static [(&'static str, &'static str)];

/// Compares the servers under one load.
pub(crate) fn compare(
    workload: &'static Workload,
    fields: Fields,
    conditions: &Conditions,
) -> Comparison {
    let mut outcome = Comparison::new(workload);
    if let Some(reason) = load::missing(workload.load) {
        outcome.skip_all(&format!("SKIPPED: {reason}"));
        return outcome;
    }
    let mut running = conditions.start_all(workload, &mut outcome);
    agree(&mut running, workload, fields, &mut outcome);
    let shown = load_shown(workload, fields, conditions);
    outcome.note_load(&shown.unwrap_or_else(|failure| failure.to_string()));
    let warm_up = conditions.run.duration.min(Duration::from_secs(WARM_UP_SECONDS));
    let measure = |contender: &Contender, server: &Running, duration| {
        measure(workload, fields, contender, server, (duration, conditions))
    };
    keep(&mut running, &mut outcome, |contender, server| {
        measure(contender, server, warm_up).map(|_warm| None)
    });
    for _ in 0..conditions.run.rounds {
        keep(&mut running, &mut outcome, |contender, server| {
            measure(contender, server, conditions.run.duration).map(Some)
        });
    }
    outcome
}

/// Ends the servers that answer another text than the first one.
fn agree(
    running: &mut Vec<(Contender, Running)>,
    workload: &Workload,
    fields: Fields,
    outcome: &mut Comparison,
) {
    let mut wanted: Option<(String, SocketAddr)> = None;
    keep(running, outcome, |contender, server| {
        let path = folder::path_at(contender.start, workload.path);
        let text = answer::fetch(server.address, &path, fields)?;
        let Some((first, at)) = &wanted else {
            wanted = Some((text, server.address));
            return Ok(None);
        };
        match answer::difference((first, *at), (&text, server.address)) {
            Some(difference) => {
                Err(Failure::Work(format!("it answers another text: {difference}")))
            }
            None => Ok(None),
        }
    });
}

fn measure(
    workload: &'static Workload,
    fields: Fields,
    contender: &Contender,
    server: &Running,
    (duration, conditions): (Duration, &Conditions),
) -> Result<Sample, Failure> {
    let Conditions { site, run, .. } = *conditions;
    let measuring = Measuring { workload, site, run };
    measuring.loaded(server, |address, path| {
        let path = folder::path_at(contender.start, path);
        let words = load::words(workload.load, address, &path, duration, site)?;
        load::run(workload.load, &with_fields(words, fields))
    })
}

/// wrk takes fields before the address.
fn with_fields(mut words: Vec<String>, fields: Fields) -> Vec<String> {
    let said =
        fields.iter().flat_map(|(name, value)| ["-H".to_owned(), format!("{name}: {value}")]);
    words.splice(words.len() - 1..words.len() - 1, said);
    words
}

/// The command of a load, for the reader.
fn load_shown(
    workload: &Workload,
    fields: Fields,
    conditions: &Conditions,
) -> Result<String, Failure> {
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let Conditions { site, run, .. } = *conditions;
    let words = load::words(workload.load, address, workload.path, run.duration, site)?;
    let quoted = with_fields(words, fields)
        .into_iter()
        .map(|word| if word.contains(' ') { format!("'{word}'") } else { word });
    let shown = quoted.collect::<Vec<String>>().join(" ");
    Ok(shown.replace(&address.to_string(), "ADDRESS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_before_the_address() {
        let words = ["wrk", "-c1", "http://a/"].map(str::to_owned).to_vec();
        assert_eq!(
            with_fields(words, &[("Accept", "*/*"), ("Priority", "u=0")]),
            ["wrk", "-c1", "-H", "Accept: */*", "-H", "Priority: u=0", "http://a/"]
        );
    }
}
