//! Snapshots of a made-up server.

use live::{
    Column, ColumnGrowth, ColumnUnit, FORMAT, LatencyFigures, LiveHistogram, LiveTable,
    OperatorEvent, SchedulerInfo, ServerInfo, ServerSnapshot, TableRow,
};
use observe::{List, SnapshotRequest, TakenSnapshot};

/// The server so many seconds after it started: each second has 1,000 requests on each of two schedulers.
pub(crate) fn snapshot(second: u64) -> ServerSnapshot {
    ServerSnapshot {
        format: FORMAT,
        at_ms: 1_800_000_000_000 + second * 1_000,
        server: ServerInfo {
            version: "0.1.0".to_owned(),
            process: 4711,
            started: 1_800_000_000,
            phase: "serving".to_owned(),
            listeners: vec!["127.0.0.1:8080".to_owned()],
            resident_bytes: 84 << 20,
        },
        schedulers: (0..2).map(|number| scheduler(number, second)).collect(),
        latencies: vec![
            latency("route", "/api/*", second * 10),
            latency("class", "5xx", second),
            latency("class", "2xx", second * 2_000),
            latency("route", "/", second * 1_990),
            latency("page", "/idle.page.html", 3),
        ],
        list: LiveTable::default(),
        events: vec![OperatorEvent {
            number: 1,
            at_ms: 1_800_000_000_000,
            scheduler: Some(1),
            kind: "long_slice".to_owned(),
            level: "warning".to_owned(),
            text: "/slow.page.html ran 12 ms".to_owned(),
            cause: vec!["slow.page.html:7: in function 'sum'".to_owned()],
            profiled: false,
        }],
    }
}

fn scheduler(number: usize, second: u64) -> SchedulerInfo {
    let accounts =
        [("wait", 500_000), ("handler", 250_000), ("send", 150_000), ("receive", 100_000)];
    let numbers = [
        ("http.requests", second * 1_000),
        ("turns.count", second * 800),
        ("turns.events", second * 1_000),
        ("network.received_bytes", second * 100 * 1_024),
        ("network.sent_bytes", second * 512 * 1_024),
        ("connections", 20 + number as u64),
        ("network.buffered_bytes", 65_536),
        ("pages.memory_bytes", 3 << 20),
    ];
    let named = |(name, number): (&str, u64)| (name.to_owned(), number);
    SchedulerInfo {
        number,
        answers: true,
        wall_us: second * 1_000_000,
        accounts_us: accounts.map(|(name, each)| named((name, each * second))).into(),
        numbers: numbers.map(named).into(),
        processes: [("http", 20), ("admin", 1)].map(named).into(),
        longest_turn_ran: "page /slow.page.html".to_owned(),
        longest_turn_us: 12_345,
    }
}

fn latency(of: &str, name: &str, count: u64) -> LatencyFigures {
    let buckets = vec![(50_000, count - count / 100), (2_000_000, count / 100)];
    let buckets = buckets.into_iter().filter(|(_, count)| *count > 0).collect();
    let times = LiveHistogram { sum_ns: count * 60_000, buckets };
    LatencyFigures { of: of.to_owned(), name: name.to_owned(), times }
}

/// The same with a list of connections.
pub(crate) fn with_connections(second: u64) -> ServerSnapshot {
    let columns = vec![
        Column::new("peer", "peer", ColumnUnit::Text, ColumnGrowth::Now),
        Column::new("kind", "kind", ColumnUnit::Text, ColumnGrowth::Now),
        Column::new("state", "state", ColumnUnit::Text, ColumnGrowth::Now),
        Column::new("age_ms", "age", ColumnUnit::Milliseconds, ColumnGrowth::Now),
        Column::new("sent", "sent", ColumnUnit::Bytes, ColumnGrowth::Up),
        Column::new("cpu_us", "CPU", ColumnUnit::Microseconds, ColumnGrowth::Up),
        Column::new("queued", "queued", ColumnUnit::Bytes, ColumnGrowth::Now),
    ];
    let row = |number: u64| {
        TableRow::new(format!("c-0-{number}"))
            .text("peer", format!("192.0.2.{number}:4{number:04}"))
            .text("kind", "http")
            .text("state", "waits")
            .number("age_ms", second * 1_000)
            .number("sent", second * number * 1_024)
            .number("cpu_us", second * number * 1_000)
            .number("queued", second * 10)
    };
    let list = LiveTable {
        name: "connections".to_owned(),
        columns,
        rows: (1..=40).rev().map(row).collect(),
        sorted_by: "sent".to_owned(),
        left_out: 2,
    };
    ServerSnapshot { list, ..snapshot(second) }
}

pub(crate) fn moment(snapshot: ServerSnapshot) -> TakenSnapshot {
    let list = List::of_name(&snapshot.list.name);
    TakenSnapshot { wanted: SnapshotRequest { list, ..SnapshotRequest::default() }, snapshot }
}
