//! One interval as text and as JSON.

use live::{Column, ColumnGrowth, ColumnUnit, LiveTable, TableRow};
use observe::{json, text};
use serde_json::Value;

use crate::samples::{moment, snapshot, with_connections};

#[test]
fn text_has_everything_and_no_escape() {
    let told = text(moment(with_connections(1)), moment(with_connections(2)), 100);
    println!("{told}");
    for part in ["in 1000 ms:", "2000 requests/s", "route /api/*", "\nconnections\n", "192.0.2.1:"]
    {
        assert!(told.contains(part), "no {part} in\n{told}");
    }
    assert!(told.lines().all(|line| line.chars().count() <= 100 && !line.contains('\u{1b}')));
    let without = text(moment(snapshot(1)), moment(snapshot(2)), 100);
    assert!(!without.contains("connections\n"), "{without}");
}

#[test]
fn json_has_shares_rates_and_quantiles() {
    let mut later = with_connections(12);
    later.list.rows[0] = later.list.rows[0].clone().text("peer", "a\u{202e}b");
    let told = json(&moment(with_connections(10)), &moment(later));
    assert!(told.is_ascii() && told.ends_with("}\n"), "{told}");
    let document: Value = serde_json::from_str(&told).expect("it is JSON");
    assert_eq!(document["interval_ms"], 2_000);
    assert_eq!(document["schedulers"][1]["shares"]["handler"], 0.25);
    assert_eq!(document["schedulers"][0]["events_per_turn"], 1.25);
    assert_eq!(document["rates"]["requests"], 2_000.0);
    assert_eq!(document["memory"]["pages"], 6 << 20);
    assert_eq!(document["latencies"][0]["name"], "2xx");
    assert_eq!(document["latencies"][0]["p50_ns"], 50_000);
    let row = &document["list"]["rows"][0];
    assert_eq!(
        (&row["values"]["peer"], &row["values"]["sent"]),
        (&"a\u{202e}b".into(), &40_960.0.into())
    );
    assert_eq!(document["events"][0]["kind"], "long_slice");
    let without: Value = serde_json::from_str(&json(&moment(snapshot(1)), &moment(snapshot(2))))
        .expect("it is JSON");
    assert_eq!(without.get("list"), None);
}

/// The server counts times since its start, a list shows those of the interval.
#[test]
fn percentiles_of_routes_are_of_the_interval() {
    let routes = |second| {
        let mut snapshot = snapshot(second);
        let columns = [("name", ColumnUnit::Text), ("p99_us", ColumnUnit::Microseconds)];
        let columns = columns.map(|(key, unit)| Column::new(key, key, unit, ColumnGrowth::Now));
        let row = |name: &str| TableRow::new(name).text("name", name).number("p99_us", 7);
        snapshot.list = LiveTable {
            name: "routes".to_owned(),
            columns: columns.into(),
            rows: vec![row("/"), row("/api/*"), row("/other")],
            ..LiveTable::default()
        };
        moment(snapshot)
    };
    let p99 = |earlier, later| {
        let told = json(&routes(earlier), &routes(later));
        let document: Value = serde_json::from_str(&told).expect("it is JSON");
        let rows = document["list"]["rows"].as_array().expect("it has rows").clone();
        rows.iter().map(|row| row["values"]["p99_us"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!(p99(1, 2), [Some(2_000), Some(50), Some(7)]);
    assert_eq!(p99(2, 2), [None, None, Some(7)]);
}
