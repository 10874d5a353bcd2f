//! The times of requests as histograms of Prometheus, with the names and buckets of OpenTelemetry
//! (semantic conventions for HTTP metrics, `http.server.request.duration`).
//!
//! Owns those names and buckets. The finer buckets of `/live` are counted together: one that reaches over the end of a
//! bucket here counts above it, so that no time is told shorter than it was.

use std::fmt::Write;

use live::{LatencyFigures, LiveHistogram};

use super::round::Round;

/// The ends of the buckets, in seconds: those that the conventions advise.
const ENDS: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// A histogram of ours: its name, its description, and what it times.
struct Told {
    name: &'static str,
    help: &'static str,
    of: &'static str,
}

const ROUTES: Told = Told {
    name: "http_server_request_duration_seconds",
    help: "Time from the head of a request to the end of its answer, by route and class of status.",
    of: "route ",
};

const PAGES: Told = Told {
    name: "velodrome_page_duration_seconds",
    help: "The same for requests that a page or module answers, by page.",
    of: "page",
};

const COMMANDS: Told = Told {
    name: "velodrome_command_duration_seconds",
    help: "Time in which a command of a Redis client was carried out, or handed to the writer of the store.",
    of: "command",
};

const CHANNELS: Told = Told {
    name: "velodrome_channel_duration_seconds",
    help: "Time from the publisher of a message until it is queued for the subscribers of a scheduler, of \
           one message in 16, by pattern.",
    of: "channel",
};

const UPSTREAMS: Told = Told {
    name: "velodrome_upstream_duration_seconds",
    help: "Time from passing on a request until the head of the answer, or the failure, of a server, by \
           upstream.",
    of: "upstream",
};

const FETCHES: Told = Told {
    name: "velodrome_fetch_duration_seconds",
    help: "Time of a fetch until the head of the answer, or its failure, by server.",
    of: "fetch",
};

/// Writes all.
pub(super) fn write(out: &mut String, round: &Round) {
    for told in [ROUTES, PAGES, COMMANDS, CHANNELS, UPSTREAMS, FETCHES] {
        let timed: Vec<(usize, &LatencyFigures)> = round
            .numbered()
            .flat_map(|(number, report)| report.shown.times.iter().map(move |it| (number, it)))
            .filter(|(_, latency)| latency.of.starts_with(told.of))
            .collect();
        if timed.is_empty() {
            continue;
        }
        let Told { name, help, .. } = told;
        writeln!(out, "# HELP {name} {help}\n# TYPE {name} histogram").expect("a String");
        for (scheduler, latency) in timed {
            let thing = quoted(&latency.name);
            let labels = match latency.of.strip_prefix("route ") {
                Some(class) => {
                    format!("scheduler=\"{scheduler}\",http_route=\"{thing}\",class=\"{class}\"")
                }
                None => format!("scheduler=\"{scheduler}\",{}=\"{thing}\"", latency.of),
            };
            one(out, name, &labels, &latency.times);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "Prometheus values are doubles")]
fn one(out: &mut String, name: &str, labels: &str, times: &LiveHistogram) {
    let mut buckets = times.buckets.iter().peekable();
    let mut count = 0;
    for end in ENDS {
        while let Some((_, more)) = buckets.next_if(|(most_ns, _)| *most_ns as f64 <= end * 1e9) {
            count += more;
        }
        writeln!(out, "{name}_bucket{{{labels},le=\"{end}\"}} {count}").expect("a String");
    }
    let all = times.count();
    writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {all}").expect("a String");
    writeln!(out, "{name}_sum{{{labels}}} {}", times.sum_ns as f64 / 1e9).expect("a String");
    writeln!(out, "{name}_count{{{labels}}} {all}").expect("a String");
}

/// The value of a label (Prometheus, text-based format).
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up_and_no_time_is_told_shorter() {
        let buckets = vec![(4_999_999, 3), (5_100_000, 2), (20_000_000_000, 1)];
        let mut out = String::new();
        one(&mut out, "t", "a=\"b\"", &LiveHistogram { sum_ns: 1_500_000_000, buckets });
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[0], "t_bucket{a=\"b\",le=\"0.005\"} 3");
        assert_eq!(lines[1], "t_bucket{a=\"b\",le=\"0.01\"} 5");
        assert_eq!(lines[13], "t_bucket{a=\"b\",le=\"10\"} 5");
        assert_eq!(lines[14], "t_bucket{a=\"b\",le=\"+Inf\"} 6");
        assert_eq!(lines[15..], ["t_sum{a=\"b\"} 1.5", "t_count{a=\"b\"} 6"]);
        assert_eq!(quoted("a\"b\\"), "a\\\"b\\\\");
    }
}
