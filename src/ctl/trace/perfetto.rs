//! Steps as a file for ui.perfetto.dev: the JSON of trace events.
//!
//! Owns what is a track: each thing is a process of the file, each of its actors a thread. Between two steps, the one
//! to whom the first leads is at work.

use live::{TraceEnded, TraceStep};
use serde_json::{Value, json};

use super::diagram::actors;
use super::listing::summary;
use super::things;

/// The file.
pub(super) fn file(steps: &[TraceStep], ended: &TraceEnded) -> String {
    let things = things(steps);
    let mut events = Vec::new();
    for (number, (name, steps)) in (1_u64..).zip(&things) {
        let actors = actors(steps);
        events.push(named("process_name", number, 0, name));
        for (thread, actor) in (1_u64..).zip(&actors) {
            events.push(named("thread_name", number, thread, actor));
        }
        for (place, step) in steps.iter().enumerate() {
            let thread = actors.iter().position(|actor| *actor == step.to).unwrap_or(0) + 1;
            let until_ns = steps.get(place + 1).map_or(step.at_ns, |next| next.at_ns);
            events.push(json!({
                "name": step.what,
                "ph": "X",
                "pid": number,
                "tid": thread,
                "ts": microseconds(step.at_ns),
                "dur": microseconds(until_ns - step.at_ns),
                "args": { "detail": step.detail, "from": step.from, "process": step.process },
            }));
        }
    }
    let told = summary(things.len(), ended);
    json!({ "traceEvents": events, "displayTimeUnit": "ns", "otherData": { "velodrome": told } })
        .to_string()
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn named(what: &str, process: u64, thread: u64, name: &str) -> Value {
    json!({ "name": what, "ph": "M", "pid": process, "tid": thread, "args": { "name": name } })
}

#[cfg(test)]
mod tests {
    use super::super::tests::step;
    use super::*;

    #[test]
    fn each_step_lasts_until_the_next_on_the_track_of_its_receiver() {
        let steps = [
            step("0-1", 1_000, ("client", "scheduler 0"), "request"),
            step("0-1", 3_500, ("scheduler 0", "client"), "answer"),
        ];
        let text = file(&steps, &TraceEnded::default());
        let read: Value = serde_json::from_str(&text).expect("it is JSON");
        let events = read["traceEvents"].as_array().expect("a list");
        assert_eq!(events.len(), 5);
        let names: Vec<&str> =
            events[..3].iter().filter_map(|event| event["args"]["name"].as_str()).collect();
        assert_eq!(names, ["0-1", "client", "scheduler 0"]);
        let seen =
            |event: &Value| (event["tid"].as_u64(), event["ts"].as_f64(), event["dur"].as_f64());
        assert_eq!(seen(&events[3]), (Some(2), Some(1.0), Some(2.5)));
        assert_eq!(seen(&events[4]), (Some(1), Some(3.5), Some(0.0)));
    }
}
