//! The scenarios: the load of each, and the figures that it gives.
//!
//! Owns the goals. Never keeps servers beyond a measurement.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::{Value, json};

use super::centrifugo::Centrifugo;
use super::nodes::{Node, Nodes, Shape};
use crate::bench::light;
use crate::bench::load::fan_words;
use crate::bench::run::Run;
use crate::bench::sample::median;
use crate::bench::site::Site;
use crate::failure::Failure;

/// Messages a second of a publisher, where the cost of publishing is measured.
const PUBLISH_RATE: u64 = 2_000;

/// Subscribers of a node, where deliveries are.
const SUBSCRIBERS: u64 = 200;

/// Event streams of a node, next to Centrifugo's.
const FAN: u32 = 200;

/// Messages a second to subscribers.
const DELIVERY_RATE: u64 = 400;

/// Clients whose connections are cut.
const CUT: u64 = 10_000;

/// Writes a second that replicas follow; as many reads come with them.
const SETS: u64 = 5_000;

/// Where a measurement takes place.
pub(super) struct Bench<'b> {
    site: &'b Site,
    run: &'b Run,
}

/// The values of a figure, one a round.
pub(super) struct Figure {
    name: &'static str,
    /// Of the cluster, or of the ratio to what it is compared with.
    goal: &'static str,
    /// Those of a server alone, or of what the name says. Empty if there is no such figure.
    compared: Vec<f64>,
    cluster: Vec<f64>,
}

impl Figure {
    fn new(name: &'static str, goal: &'static str, compared: Option<f64>, cluster: f64) -> Figure {
        Figure { name, goal, compared: compared.into_iter().collect(), cluster: vec![cluster] }
    }

    pub(super) fn append(&mut self, other: Figure) {
        self.compared.extend(other.compared);
        self.cluster.extend(other.cluster);
    }

    /// The medians, as cells of the table.
    pub(super) fn row(&self, scenario: &Scenario) -> Vec<String> {
        let (compared, cluster) = (median(&self.compared), median(&self.cluster));
        // There is no median without values.
        let shown = |value: f64| match value.is_nan() {
            true => "-".to_owned(),
            false => format!("{value:.2}"),
        };
        let texts = [compared, cluster, cluster / compared].map(shown);
        let names = [scenario.name.to_owned(), self.name.to_owned()];
        names.into_iter().chain(texts).chain([self.goal.to_owned()]).collect()
    }

    /// The values of all rounds.
    pub(super) fn to_json(&self, scenario: &Scenario) -> Value {
        json!({
            "scenario": scenario.name, "figure": self.name, "goal": self.goal,
            "compared": self.compared, "cluster": self.cluster,
        })
    }
}

/// A load, with a cluster and with a server alone.
pub(super) struct Scenario {
    name: &'static str,
    measure: fn(&Bench<'_>) -> Result<Vec<Figure>, Failure>,
}

impl Scenario {
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// The figures of one round.
    pub(super) fn measure(&self, bench: &Bench<'_>) -> Result<Vec<Figure>, Failure> {
        (self.measure)(bench)
    }
}

pub(super) const SCENARIOS: [Scenario; 7] = [
    Scenario { name: "publish", measure: publish },
    Scenario { name: "delivery", measure: delivery },
    Scenario { name: "centrifugo", measure: centrifugo },
    Scenario { name: "latency", measure: latency },
    Scenario { name: "storm", measure: storm },
    Scenario { name: "lag", measure: lag },
    Scenario { name: "reads", measure: reads },
];

/// Messages with history to one subscriber at the same node: all that the node spends on both. Many in flight share
/// system calls and turns; a lone one pays for a turn of its own at each step.
fn publish(bench: &Bench<'_>) -> Result<Vec<Figure>, Failure> {
    let each = |shape, way: &str| -> Result<f64, Failure> {
        let nodes = bench.start(shape)?;
        let load = format!("bench channel {} -c 1 {way}", nodes.urls());
        let (report, micros) = bench.charged(&nodes.all()[0], &load)?;
        Ok(micros / number(&report, "/published")?)
    };
    let both = |name, goal, way: &str| -> Result<Figure, Failure> {
        let (alone, cluster) = (each(Shape::Alone, way)?, each(Shape::Cluster(1), way)?);
        Ok(Figure::new(name, goal, Some(alone), cluster))
    };
    Ok(vec![
        both("us of a node, publish and one delivery, 64 in flight", "<= 10", "--at-once 64")?,
        both("us of a node, the same, 2,000/s", "", &format!("--rate {PUBLISH_RATE}"))?,
    ])
}

/// Messages of the first node to subscribers at both, next to a server alone with as many as each of them.
fn delivery(bench: &Bench<'_>) -> Result<Vec<Figure>, Failure> {
    let load = |nodes: &Nodes, subscribers: u64| {
        format!(
            "bench channel {} -c {subscribers} --rate {DELIVERY_RATE} --publish-to 1",
            nodes.urls()
        )
    };
    let nodes = bench.start(Shape::Alone)?;
    let (report, micros) = bench.charged(&nodes.all()[0], &load(&nodes, SUBSCRIBERS))?;
    let alone = micros / number(&report, "/received")?;
    drop(nodes);
    let nodes = bench.start(Shape::Cluster(2))?;
    let (report, micros) = bench.charged(&nodes.all()[1], &load(&nodes, 2 * SUBSCRIBERS))?;
    let elsewhere = micros / (number(&report, "/received")? / 2.0);
    Ok(vec![Figure::new(
        "us of a node, delivery of another's message",
        "ratio <= 1.3",
        Some(alone),
        elsewhere,
    )])
}

/// Messages of the first node to clients of the second, which keeps none of them, next to Centrifugo: some go out when
/// all clients have those before.
fn centrifugo(bench: &Bench<'_>) -> Result<Vec<Figure>, Failure> {
    let each = |name, at_once, ours: &str, theirs: &str| -> Result<Figure, Failure> {
        let nodes = bench.start(Shape::Fleeting(2))?;
        let [first, second] = nodes.all() else {
            return Err(Failure::Work("two nodes were to start".to_owned()));
        };
        let before = second.spent().nanoseconds;
        let deliveries = bench.fan((ours, at_once), first.http(), second.http())?;
        let cluster = (second.spent().nanoseconds - before) as f64 / 1e3 / deliveries;
        drop(nodes);
        let nodes = Centrifugo::start(bench.site, &bench.run.cores)?;
        let [first, second] = nodes.addresses();
        let before = nodes.spent().nanoseconds;
        let deliveries = bench.fan((theirs, at_once), first, second)?;
        let compared = (nodes.spent().nanoseconds - before) as f64 / 1e3 / deliveries;
        Ok(Figure::new(name, "ratio < 1", Some(compared), cluster))
    };
    let (sockets, streams) = (("websocket", "centrifugo-socket"), ("events", "centrifugo"));
    Ok(vec![
        each("us of a node, delivery by WebSocket, one at a time", 1, sockets.0, sockets.1)?,
        each("the same, 16 at a time", 16, sockets.0, sockets.1)?,
        each("the same by event stream, one at a time", 1, streams.0, streams.1)?,
    ])
}

/// Three nodes, each with ten subscribers.
fn latency(bench: &Bench<'_>) -> Result<Vec<Figure>, Failure> {
    let nodes = bench.start(Shape::Cluster(3))?;
    let load = format!("bench channel {} -c 30 --rate {PUBLISH_RATE}", nodes.urls());
    let report = bench.report(&load)?;
    let millis = |place: &str| number(&report, place).map(|nanos| nanos / 1e6);
    Ok(vec![
        Figure::new("p50 ms to another node", "", None, millis("/other_address/p50_ns")?),
        Figure::new("p99 ms to another node", "<= 10", None, millis("/other_address/p99_ns")?),
    ])
}

/// All clients are cut off at once, and come back with their positions.
fn storm(bench: &Bench<'_>) -> Result<Vec<Figure>, Failure> {
    let each = |shape| -> Result<(f64, f64), Failure> {
        let nodes = bench.start(shape)?;
        let load =
            format!("bench channel {} -c {CUT} --rate 5 --storm all@3s -d 15s", nodes.urls());
        let report = bench.report_of(&load)?;
        let back = number(&report, "/workload/all_back_ns")? / 1e9;
        Ok((number(&report, "/workload/server_cpu_ns_per_reconnect")? / 1e3, back))
    };
    let (alone, alone_back) = each(Shape::Alone)?;
    let (cluster, cluster_back) = each(Shape::Cluster(3))?;
    Ok(vec![
        Figure::new("us of a node for each that comes back", "alone + 10", Some(alone), cluster),
        Figure::new("s until 10,000 are back", "<= 10", Some(alone_back), cluster_back),
    ])
}

/// Time until a replica shows a write that its leader has answered, while others write.
fn lag(bench: &Bench<'_>) -> Result<Vec<Figure>, Failure> {
    let nodes = bench.start(Shape::Cluster(2))?;
    let [leader, replica] = nodes.all() else { return Ok(Vec::new()) };
    let load = format!(
        "bench store {} {} --write-to 1 --sets 50 --rate {} --keys 10000 --own-writes -c 16 --warmup 1s",
        leader.resp(),
        replica.resp(),
        2 * SETS
    );
    let report = bench.report(&load)?;
    let value = |place: &str| number(&report, place);
    let share = 100.0 * value("/own_writes/at_once")? / value("/own_writes/reads")?;
    let millis = value("/own_writes/lag/p99_ns")? / 1e6;
    Ok(vec![
        Figure::new("p99 ms of a replica's lag at 5,000 SET/s", "<= 20", None, millis),
        Figure::new("% of writes seen at once elsewhere", "", None, share),
    ])
}

/// Reads of a store alone and of a replica.
fn reads(bench: &Bench<'_>) -> Result<Vec<Figure>, Failure> {
    let each = |shape| -> Result<f64, Failure> {
        let nodes = bench.start(shape)?;
        let all = nodes.all();
        let (first, last) = (&all[0], &all[all.len() - 1]);
        let fill =
            format!("bench store {} --keys 10000 --fill -c 4 -d 1s --warmup 0s", first.resp());
        bench.report_of(&fill)?;
        nodes.wait_for_replicas()?;
        let load = format!("bench store {} --keys 10000 -c 16", last.resp());
        let report = bench.report(&load)?;
        let run = report.pointer("/runs/0").cloned().unwrap_or_default();
        Ok(number(&run, "/server/cpu_per_request_ns")? / 1e3)
    };
    let (alone, replica) = (each(Shape::Alone)?, each(Shape::Cluster(2))?);
    Ok(vec![Figure::new("us of a node, GET of a replica", "ratio 1", Some(alone), replica)])
}

impl<'b> Bench<'b> {
    pub(super) fn new(site: &'b Site, run: &'b Run) -> Bench<'b> {
        Bench { site, run }
    }

    fn start(&self, shape: Shape) -> Result<Nodes, Failure> {
        Nodes::start(shape, self.site, &self.run.cores)
    }

    /// Clients of one server hear what comes to another; returns the number of deliveries. A speaker that hears itself
    /// is one of them.
    fn fan(
        &self,
        (protocol, at_once): (&str, u32),
        speaker: SocketAddr,
        members: SocketAddr,
    ) -> Result<f64, Failure> {
        let words = fan_words((FAN, at_once), members, protocol, self.run.duration, self.site)?;
        let (program, rest) = words.split_first().expect("the words begin with the program");
        let said = Command::new(program).args(rest).arg(speaker.to_string()).output()?;
        let counted = light::read_fan(&String::from_utf8_lossy(&said.stdout));
        let complaint = || Failure::Work(String::from_utf8_lossy(&said.stderr).trim().to_owned());
        Ok(counted.ok_or_else(complaint)?.requests as f64)
    }

    /// The report of a load of so many seconds, and the microseconds of CPU that the node spent meanwhile.
    fn charged(&self, node: &Node, load: &str) -> Result<(Value, f64), Failure> {
        let before = node.spent().nanoseconds;
        let report = self.report(load)?;
        Ok((report, (node.spent().nanoseconds - before) as f64 / 1e3))
    }

    fn report(&self, load: &str) -> Result<Value, Failure> {
        self.report_of(&format!("{load} -d {}s", self.run.duration.as_secs()))
    }

    /// The report of a load with a length of its own.
    fn report_of(&self, load: &str) -> Result<Value, Failure> {
        let words = self.site.ours(&format!("{load} --json -t 1"))?;
        let said = Command::new(&words[0]).args(&words[1..]).output()?;
        serde_json::from_slice(&said.stdout).map_err(|_| {
            let complaint = String::from_utf8_lossy(&said.stderr);
            Failure::Work(format!("`{}` gave no report: {}", words.join(" "), complaint.trim()))
        })
    }
}

fn number(report: &Value, place: &str) -> Result<f64, Failure> {
    let value = report.pointer(place).and_then(Value::as_f64);
    value.ok_or_else(|| Failure::Work(format!("the report has no {place}: {}", report["reasons"])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_without_a_server_alone_has_no_ratio() {
        let mut figure = Figure::new("p99 ms", "<= 10", None, 3.0);
        figure.append(Figure::new("p99 ms", "<= 10", None, 9.0));
        figure.append(Figure::new("p99 ms", "<= 10", None, 4.0));
        assert_eq!(figure.row(&SCENARIOS[0])[1..], ["p99 ms", "-", "4.00", "-", "<= 10"]);
    }
}
