//! The view of a scheduler's site for those who look: the times of requests, channels, and pages that are suspended.
//!
//! Owns their rows. Runs only when somebody asks.

use channels::ChannelView;
use config::HostId;
use http::RequestTimes;
use live::{Info, LatencyFigures, List, TableRow};
use pages::Suspended;
use runtime::mailbox::Endpoint;
use store::Database;

use super::Site;
use super::route::number_of;
use crate::limits::{LIVE_SEEN_MAX, ROUTES_ERRING};
use crate::live::{Choice, LiveAnswer, ViewRequest, info_of_row, latency};

impl Site {
    /// The rows of a list that the site knows.
    pub(crate) fn list_shown(
        &mut self,
        wish: &ViewRequest,
        here: Endpoint,
        now_ms: u64,
    ) -> LiveAnswer {
        let (choice, beyond) = match wish.list {
            Some(List::Channels) => {
                let mut choice = Choice::new(wish, "subscribers");
                let channels = self.local.channels();
                let mut all = channels.views();
                all.by_ref().take(LIVE_SEEN_MAX).for_each(|view| choice.offer(channel_row(&view)));
                (choice, all.count())
            }
            Some(List::Processes) => {
                let mut choice = Choice::new(wish, "messages");
                let (seen, all) = match self.pages.runner() {
                    Some(runner) => runner.suspended(LIVE_SEEN_MAX),
                    None => (Vec::new(), 0),
                };
                let beyond = all - seen.len();
                seen.iter().for_each(|run| choice.offer(run_row(here, run)));
                (choice, beyond)
            }
            Some(List::Keys) => {
                let mut choice = Choice::new(wish, "uses");
                if let Some(store) = self.local.store() {
                    let databases = store.store().databases();
                    store.turn_store().each_hot_key(now_ms, |database, key, uses| {
                        choice.offer(key_row(databases, database, (key, uses)));
                    });
                }
                (choice, 0)
            }
            _ => return LiveAnswer::default(),
        };
        let (rows, left_out) = choice.finish();
        LiveAnswer { rows, left_out: left_out + beyond as u64, ..LiveAnswer::default() }
    }

    /// The facts of a suspended page or a process of a page.
    pub(crate) fn page_info(&self, here: Endpoint, name: &str) -> Option<Info> {
        let runner = self.pages.runner()?;
        let run = runner.suspended_of(name)?;
        let mut info = info_of_row(run.kind, &run_row(here, &run));
        let calls = runner.calls_of(name);
        if !calls.is_empty() {
            info.texts.push(("calls, innermost first".to_owned(), calls));
        }
        Some(info)
    }

    /// An operator ends a suspended run.
    pub(crate) fn end_run(&mut self, name: &str) -> bool {
        self.pages.runner_mut().is_some_and(|runner| runner.end_by_operator(name))
    }

    /// These times, by route and class of status, and by page.
    pub(crate) fn times_told(&self, times: &RequestTimes) -> Vec<LatencyFigures> {
        let mut told = Vec::new();
        for (number, host, name) in self.timed_routes() {
            for class in 1..=5 {
                if let Some(counted) = times.of_route(number, class) {
                    let name = self.route_name(host, name);
                    told.push(latency(&format!("route {class}xx"), &name, counted));
                }
            }
        }
        let pages = self.pages.runner().map(|runner| runner.timed_pages());
        for (number, name) in pages.unwrap_or_default() {
            if let Some(counted) = times.of_page(number) {
                told.push(latency("page", &name, counted));
            }
        }
        told
    }

    /// Routes with answers of 5xx, each with their number since the start.
    pub(crate) fn erring_routes(&self, times: &RequestTimes) -> Vec<(String, u64)> {
        let erring = self.timed_routes().filter_map(|(number, host, name)| {
            let count = times.of_route(number, 5)?.filled().map(|(_, count)| count).sum();
            Some((self.route_name(host, name), count))
        });
        erring.take(ROUTES_ERRING).collect()
    }

    /// The routes whose times are counted: the number of each, its host if it has one, and its name.
    fn timed_routes(&self) -> impl Iterator<Item = (u16, Option<HostId>, &str)> {
        let routes = self.data.table.routes();
        let routes = routes.map(|(rule, host, name)| (number_of(rule), Some(host), name));
        std::iter::once((0, None, "(none)")).chain(routes.filter(|(number, ..)| *number != 0))
    }

    fn route_name(&self, host: Option<HostId>, name: &str) -> String {
        let host = host.and_then(|host| self.data.config.site_name(host));
        let host = host.map(ToString::to_string).unwrap_or_default();
        format!("{host}{}", if name.is_empty() { "(files)" } else { name })
    }
}

/// The row of a channel. Its rows on all schedulers have one id, and are added up.
fn channel_row(channel: &ChannelView<'_>) -> TableRow {
    let row = TableRow::new(format!("n-{}", channel.name)).text("name", channel.name);
    let row = row.number("subscribers", channel.subscribers as u64);
    let pattern = if channel.pattern.is_empty() { "(none)" } else { channel.pattern };
    let row = row.text("pattern", pattern).number("dropped", channel.dropped);
    let row = row.number("behind", channel.behind as u64);
    if !channel.is_home {
        return row;
    }
    row.number("published", channel.published)
        .number("kept", channel.kept as u64)
        .number("kept_bytes", channel.kept_bytes as u64)
}

fn run_row(here: Endpoint, run: &Suspended) -> TableRow {
    TableRow::new(format!("p-{}-{}", here.0, run.id))
        .text("page", &*run.page)
        .text("kind", run.kind)
        .text("state", run.state)
        .text("waits_for", &*run.waits_for)
        .number("cpu_us", metric::microseconds(run.cpu_ns))
        .text("name", &*run.name)
        .number("scheduler", u64::from(here.0))
        .number("messages", run.messages)
        .number("mailbox_bytes", run.mailbox_bytes)
        .number("memory_bytes", run.memory_bytes)
}

/// The row of a key. Its rows on all schedulers have one id, and are added up.
fn key_row(
    databases: &[String],
    Database(number): Database,
    (key, uses): (&[u8], u64),
) -> TableRow {
    let key = String::from_utf8_lossy(key);
    TableRow::new(format!("k-{number}-{key}"))
        .text("key", &*key)
        .text("database", databases.get(usize::from(number)).map_or("", String::as_str))
        .number("uses", uses)
}
