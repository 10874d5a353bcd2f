//! The verb `ctl`: one request to a running server, with its answer as text or JSON.

mod connection;
mod events;
pub(crate) mod pages;
mod perf_map;
pub(crate) mod profile;
mod set;
mod trace;
pub(crate) mod way;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use observe::{harmless_json, harmless_lines};
use pages::Selection;
pub(crate) use perf_map::native_code;
use serde_json::Value;

use crate::Failure;
use crate::output::{self, FormFlag, OutputForm};
use way::{Way, WayFlags};

pub(crate) const EXAMPLES: &str = "Examples:
  velodrome ctl status
  velodrome ctl stats --json
  velodrome ctl reload
  velodrome ctl set                             show what may change in a running server
  velodrome ctl set limits.header_deadline 5s   change it until the next reload; `default` puts it back
  velodrome ctl set maintenance on
  velodrome ctl upstreams                       show the servers of upstreams
  velodrome ctl upstream api drain 10.0.0.1:9000
  velodrome ctl cache                           show the counters of the caches of upstreams
  velodrome ctl cache purge '/img/*'            forget stored answers; also /path and host/path
  velodrome ctl events --follow                 show what goes wrong, as it happens
  velodrome ctl trace url '/api/*'              show the steps of requests while they happen
  velodrome ctl profile --last 2m -o flame.html   where the server spent its time (serve --profile-ring)
  velodrome ctl perf-map                        write symbols of the native code of pages for profilers
  velodrome ctl memory                          show who holds the memory
  velodrome ctl dump -o state.json              write everything that the server says of itself
  velodrome ctl --socket /run/velodrome/8080.sock drain
  velodrome ctl --url https://host:9443 --key-file ctl.key status

Without --socket, the only server of this user is used. Exit status: 0 done, 1 failed or refused, 2 wrong usage.";

#[derive(Debug, Args)]
pub(crate) struct Ctl {
    #[command(flatten)]
    way: WayFlags,
    #[command(subcommand)]
    command: CtlCommand,
}

/// Sort order of the rows, largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// CPU time, including processes.
    Cpu,
    /// Requests.
    Requests,
    /// Requests and processes that failed.
    Failures,
    /// Peak memory of a request.
    Memory,
    /// Memory held by processes.
    Processes,
}

#[derive(Clone, Debug, Subcommand)]
enum CtlCommand {
    /// Show the state of the server.
    Status(FormFlag),
    /// Show all counters by scheduler, and a table of what pages use.
    Stats(Stats),
    /// Reload the configuration; an invalid one is refused and the old one stays.
    Reload(FormFlag),
    /// Show what may change in a running server, or change it until the next reload.
    Set(set::Set),
    /// Show the servers of upstreams: whether they get requests, why, and since when.
    Upstreams(FormFlag),
    /// Let a server of an upstream have no more new requests, or have them again.
    Upstream(Upstream),
    /// Show the counters of the caches of upstreams, or forget stored answers.
    Cache(Cache),
    /// Show every step of chosen requests or messages, with its time.
    Trace(trace::Trace),
    /// Write a map of the native code of pages, by page and line, for `velodrome profile` and `perf`.
    PerfMap(PerfMap),
    /// Show the memory of the server by owner, and what has no owner.
    Memory(FormFlag),
    /// Write everything that the server says of itself to one file, as JSON.
    Dump(Dump),
    /// Show what happened that an operator should know, with its cause; the last 256 are kept.
    Events(events::Events),
    /// Show where the server spends its time, from the samples that it keeps of itself.
    Profile(profile::Profile),
    /// Show one connection, page under way or process of a page whole.
    Info(events::One),
    /// End one connection, page under way or process of a page.
    Kill(events::One),
    /// Stop accepting connections, finish running requests, exit.
    Drain,
}

#[derive(Clone, Debug, Args)]
struct Upstream {
    /// The name of the upstream.
    name: String,
    /// The wanted state.
    action: Wanted,
    /// The address of the server, as in the configuration.
    server: String,
}

#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
struct Cache {
    #[command(subcommand)]
    order: Option<CacheOrder>,
    #[command(flatten)]
    format: FormFlag,
}

#[derive(Clone, Debug, Subcommand)]
enum CacheOrder {
    /// Forget stored answers.
    Purge {
        /// /PATH (with any query), /PREFIX*, or one of these behind a host: example.com/img/*.
        pattern: String,
    },
}

/// The wanted state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Wanted {
    /// No new requests.
    Drain,
    /// Requests.
    Up,
}

#[derive(Clone, Debug, Args)]
struct PerfMap {
    /// The file to write [default: /tmp/perf-PID.map, where profilers look for it].
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
struct Dump {
    /// The file to write [default: standard output].
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
struct Stats {
    /// Show only the table, for pages whose names contain PART.
    #[arg(long, value_name = "PART")]
    page: Option<String>,
    /// Sort order of the table of pages, largest first.
    #[arg(long, value_name = "COLUMN", default_value = "cpu")]
    sort: Order,
    /// Number of rows of the table of pages.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    #[command(flatten)]
    format: FormFlag,
}

/// Sends the request and prints the answer.
pub(crate) fn run(flags: &Ctl) -> Result<(), Failure> {
    let way = Way::of(&flags.way)?;
    match &flags.command {
        CtlCommand::Status(format) => print(&way.ask("GET", "/status")?, *format),
        CtlCommand::Stats(flags) => stats(&way.ask("GET", "/stats")?, flags),
        CtlCommand::Reload(format) => {
            let answer = way.ask("POST", "/reload")?;
            let report: Value = parse(&answer)?;
            print(&answer, *format)?;
            match report["state"].as_str() {
                Some("in force") => Ok(()),
                _ => Err(Failure::Failed(
                    "the reload was refused; the old configuration stays".to_owned(),
                )),
            }
        }
        CtlCommand::Set(wanted) => set::run(&way, wanted),
        CtlCommand::Upstreams(format) => {
            let answer = way.ask("GET", "/upstreams")?;
            let upstreams = parse(&answer)?;
            if upstreams.as_array().is_some_and(Vec::is_empty) && format.form() == OutputForm::Text
            {
                return output::print_line("no upstreams");
            }
            match format.form() {
                OutputForm::Json => print(&answer, *format),
                OutputForm::Text => {
                    let named = serde_json::json!({ "upstream": upstreams });
                    print(&named.to_string(), *format)
                }
            }
        }
        CtlCommand::Upstream(flags) => upstream(&way, flags),
        CtlCommand::Cache(Cache { order: None, format }) => {
            print(&way.ask("GET", "/cache")?, *format)
        }
        CtlCommand::Cache(Cache { order: Some(CacheOrder::Purge { pattern }), .. }) => {
            purge(&way, pattern)
        }
        CtlCommand::Trace(flags) => trace::run(&way, flags),
        CtlCommand::PerfMap(wanted) => perf_map(&way, wanted),
        CtlCommand::Memory(format) => print(&way.ask("GET", "/memory")?, *format),
        CtlCommand::Dump(Dump { output }) => dump(&way, output.as_deref()),
        CtlCommand::Events(flags) => events::events(&way, flags),
        CtlCommand::Profile(flags) => profile::run(&way, flags),
        CtlCommand::Info(wanted) => events::info(&way, wanted),
        CtlCommand::Kill(wanted) => events::kill(&way, wanted),
        CtlCommand::Drain => {
            way.ask("POST", "/drain")?;
            output::print_line("draining")
        }
    }
}

/// Writes everything that the server says of itself, for its owner alone. What it cannot answer stands there as a
/// problem; one that says nothing at all is not asked again and again.
fn dump(way: &Way, output: Option<&Path>) -> Result<(), Failure> {
    if let Err(failed) = way.ask("GET", "/status")
        && failed.is_silence()
    {
        return Err(failed.into());
    }
    let ask = |path: &str| {
        way.ask("GET", path).map_err(|failed| match failed.into() {
            Failure::Failed(told) | Failure::WrongUse(told) => std::io::Error::other(told),
            _ => std::io::Error::other("no answer"),
        })
    };
    let document = server::dump::collect("ctl dump", ask);
    let text = harmless_json(&format!("{document:#}\n"));
    let Some(path) = output else { return output::print(&text) };
    output::write_private_file(path, text)?;
    output::print_line(&format!("{}", path.display()))
}

/// A value of a flag as it is written.
fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn upstream(way: &Way, flags: &Upstream) -> Result<(), Failure> {
    let Upstream { name, action, server } = flags;
    let word = word(action);
    let unknown = || {
        Failure::Failed(format!(
            "there is no server `{server}` in an upstream `{name}`; `velodrome ctl upstreams` shows them"
        ))
    };
    way.ask_with("POST", "/upstreams", &format!("{word} {name} {server}"))
        .map_err(|failed| failed.or_told(404, unknown))?;
    output::print_line(&format!("{name}: {server} {word}"))
}

fn purge(way: &Way, pattern: &str) -> Result<(), Failure> {
    let wrong = || {
        Failure::WrongUse(format!(
            "`{pattern}` is no pattern; write /path, /prefix* or host/path, percent-encoded"
        ))
    };
    way.ask_with("POST", "/cache/purge", pattern).map_err(|failed| failed.or_told(400, wrong))?;
    output::print_line(&format!("purged {pattern}"))
}

fn perf_map(way: &Way, wanted: &PerfMap) -> Result<(), Failure> {
    match perf_map::write(way, wanted.output.as_deref())? {
        (_, 0) => output::print_line("there is no native code of pages yet"),
        (path, count) => {
            output::print_line(&format!("{}: {count} pieces of native code", path.display()))
        }
    }
}

fn parse(answer: &str) -> Result<Value, Failure> {
    serde_json::from_str(answer)
        .map_err(|error| Failure::Failed(format!("the answer is not JSON: {error}")))
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value)
        .map_err(|error| Failure::Failed(format!("the answer is not as expected: {error}")))
}

fn print(answer: &str, format: FormFlag) -> Result<(), Failure> {
    let value = parse(answer)?;
    if format.form() == OutputForm::Json {
        return output::print(&harmless_json(&format!("{value}\n")));
    }
    let mut text = String::new();
    write_value(&mut text, &value, 0);
    output::print(&harmless_lines(&text))
}

/// The counters of each scheduler, and the table of pages.
fn stats(answer: &str, flags: &Stats) -> Result<(), Failure> {
    if flags.format.form() == OutputForm::Json {
        return print(answer, flags.format);
    }
    let mut value = parse(answer)?;
    let part = flags.page.as_deref();
    let table = pages::table(&value, &Selection { part, order: flags.sort, most: flags.top });
    for scheduler in value["schedulers"].as_array_mut().into_iter().flatten() {
        if let Some(pages) = scheduler["pages"].as_object_mut() {
            pages.remove("page");
        }
    }
    let mut text = String::new();
    if part.is_none() {
        write_value(&mut text, &value, 0);
    }
    text.push_str(&table);
    output::print(&harmless_lines(&text))
}

/// JSON as indented `key  value` lines; short values on one line.
fn write_value(text: &mut String, value: &Value, depth: usize) {
    let Value::Object(fields) = value else { return };
    let width = fields.keys().map(String::len).max().unwrap_or(0);
    let indent = "  ".repeat(depth);
    for (key, field) in fields {
        match field {
            Value::Object(inner) if !inner.is_empty() => {
                text.push_str(&format!("{indent}{key}\n"));
                write_value(text, field, depth + 1);
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                for item in items {
                    text.push_str(&format!("{indent}{key}\n"));
                    write_value(text, item, depth + 1);
                }
            }
            Value::String(words) => text.push_str(&format!("{indent}{key:width$}  {words}\n")),
            other => text.push_str(&format!("{indent}{key:width$}  {other}\n")),
        }
    }
}
