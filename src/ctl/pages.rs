//! The resources that pages use, as a table: one row per page, over all schedulers.
//!
//! Owns its columns, their order and the selection of rows. The server counts.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Order;

/// The rows to show.
#[derive(Clone, Debug)]
pub(crate) struct Selection<'a> {
    /// Only pages whose name contains this text.
    pub(crate) part: Option<&'a str>,
    pub(crate) order: Order,
    /// At most this many rows.
    pub(crate) most: usize,
}

/// The resources that one page used on all schedulers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    requests: u64,
    failures: u64,
    ended: u64,
    waiting: u64,
    cpu_us: u64,
    held_max_bytes: u64,
    processes: u64,
    process_bytes: u64,
}

const COLUMNS: [&str; 9] = [
    "requests",
    "failures",
    "ended",
    "waiting",
    "cpu",
    "cpu each",
    "held most",
    "processes",
    "hold",
];

/// The table of a `/stats` answer; empty if no page was requested, unless one is named.
pub(crate) fn table(stats: &Value, selection: &Selection<'_>) -> String {
    let rows = rows(stats);
    let mut shown: Vec<(&str, Row)> = rows
        .iter()
        .filter(|(name, _)| selection.part.is_none_or(|part| name.contains(part)))
        .map(|(name, row)| (*name, *row))
        .collect();
    if shown.is_empty() {
        return match (rows.is_empty(), selection.part) {
            (true, Some(_)) => "no page has been asked for since the start\n".to_owned(),
            (false, Some(part)) => format!("no page that was asked for has `{part}` in its name\n"),
            _ => String::new(),
        };
    }
    // Equal rows stay in the order of their names.
    shown.sort_by_key(|(_, row)| std::cmp::Reverse(row.key(selection.order)));
    let left_out = shown.len().saturating_sub(selection.most);
    shown.truncate(selection.most);
    let mut lines = vec![(COLUMNS.map(str::to_owned), "page")];
    lines.extend(shown.iter().map(|(name, row)| (row.cells(), *name)));
    let mut text = String::new();
    for (cells, name) in &lines {
        for (column, cell) in cells.iter().enumerate() {
            let width = lines.iter().map(|(cells, _)| cells[column].len()).max().unwrap_or(0);
            text.push_str(&format!("{cell:>width$}  "));
        }
        text.push_str(name);
        text.push('\n');
    }
    if left_out > 0 {
        text.push_str(&format!(
            "{left_out} more: --top N shows N, --page PART those with PART in their names\n"
        ));
    }
    text
}

fn rows(stats: &Value) -> BTreeMap<&str, Row> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let schedulers = stats["schedulers"].as_array().into_iter().flatten();
    for page in schedulers.filter_map(|one| one["pages"]["page"].as_array()).flatten() {
        let Some(name) = page["page"].as_str() else { continue };
        rows.entry(name).or_default().add(page);
    }
    rows
}

impl Row {
    fn add(&mut self, page: &Value) {
        let count = |name: &str| page[name].as_u64().unwrap_or(0);
        let kills = page["kills"].as_object().into_iter().flatten();
        self.requests += count("requests");
        self.failures += count("failures");
        self.ended += kills.filter_map(|(_, number)| number.as_u64()).sum::<u64>();
        self.waiting += count("waiting");
        self.cpu_us += count("cpu_us");
        self.held_max_bytes = self.held_max_bytes.max(count("held_max_bytes"));
        self.processes += count("spawned_waiting");
        self.process_bytes += count("spawned_held_bytes");
    }

    fn key(&self, order: Order) -> u64 {
        match order {
            Order::Cpu => self.cpu_us,
            Order::Requests => self.requests,
            Order::Failures => self.failures + self.ended,
            Order::Memory => self.held_max_bytes,
            Order::Processes => self.process_bytes,
        }
    }

    fn cells(&self) -> [String; COLUMNS.len()] {
        let each = self.cpu_us.checked_div(self.requests);
        [
            self.requests.to_string(),
            self.failures.to_string(),
            self.ended.to_string(),
            self.waiting.to_string(),
            format!("{} ms", self.cpu_us / 1000),
            each.map_or_else(|| "-".to_owned(), |each| format!("{each} us")),
            size(self.held_max_bytes),
            self.processes.to_string(),
            size(self.process_bytes),
        ]
    }
}

/// A size in whole KiB or MiB, rounded up.
fn size(bytes: u64) -> String {
    if bytes < 10 << 20 {
        format!("{} KiB", bytes.div_ceil(1 << 10))
    } else {
        format!("{} MiB", bytes.div_ceil(1 << 20))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(name: &str, requests: u64, cpu_us: u64, held: u64) -> Value {
        json!({
            "page": name, "requests": requests, "failures": 1, "kills": { "memory": 2, "stalled": 1 }, "waiting": 0,
            "cpu_us": cpu_us, "held_max_bytes": held, "spawned_waiting": 3,
            "spawned_held_bytes": 5000,
        })
    }

    fn shown(part: Option<&str>, order: Order, most: usize) -> Vec<String> {
        let stats = json!({ "schedulers": [
            { "pages": { "page": [page("/a.page.html", 10, 3000, 100), page("/b.page.html", 1, 90_000, 50)] } },
            { "pages": { "page": [page("/a.page.html", 30, 3000, 20_000_000)] } },
            { "answering": false },
        ] });
        table(&stats, &Selection { part, order, most }).lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_page_is_one_row_over_all_schedulers_and_the_largest_is_first() {
        let lines = shown(None, Order::Cpu, 20);
        assert_eq!(
            lines,
            [
                "requests  failures  ended  waiting    cpu  cpu each  held most  processes    hold  page",
                "       1         1      3        0  90 ms  90000 us      1 KiB          3   5 KiB  \
                 /b.page.html",
                "      40         2      6        0   6 ms    150 us     20 MiB          6  10 KiB  \
                 /a.page.html",
            ]
        );
        assert!(shown(None, Order::Requests, 20)[1].ends_with("/a.page.html"));
        assert!(shown(None, Order::Memory, 20)[1].ends_with("/a.page.html"));
    }

    #[test]
    fn rows_are_selected_and_those_left_out_are_counted() {
        assert_eq!(shown(Some("b."), Order::Cpu, 20).len(), 2);
        let one = shown(None, Order::Cpu, 1);
        assert_eq!(
            (one.len(), &*one[2]),
            (3, "1 more: --top N shows N, --page PART those with PART in their names")
        );
        assert_eq!(
            shown(Some("no"), Order::Cpu, 1),
            ["no page that was asked for has `no` in its name"]
        );
        let nothing = json!({ "schedulers": [{ "answering": true }] });
        let empty = |part| table(&nothing, &Selection { part, order: Order::Cpu, most: 1 });
        assert_eq!(empty(None), "");
        assert_eq!(empty(Some("no")), "no page has been asked for since the start\n");
    }
}
