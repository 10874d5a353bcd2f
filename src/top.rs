//! The verb `top`: the screens of a running server, or one interval as text or JSON.
//!
//! Owns its flags, the way from a question to the control socket, and the file of a profile. The crate `observe`
//! decides what is shown.

use std::io::{IsTerminal, stdout};
use std::sync::Arc;
use std::time::Duration;

use bench::host::terminal_columns;
use clap::Args;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use observe::limits::{INTERVAL_MAX, INTERVAL_MIN, ROWS_MAX};
use observe::{
    Ask, AskError, Colours, ControlRequest, List, ServerAccess, SnapshotRequest, TakenSnapshot,
    read_snapshot,
};

use crate::Failure;
use crate::ctl;
use crate::ctl::way::{Way, WayFlags};
use crate::duration::duration;
use crate::output::print;
use crate::profiled;

pub(crate) const EXAMPLES: &str = "Examples:
  velodrome top                                 the only server of this user; ? shows the keys
  velodrome top --socket /run/velodrome/8080.sock --interval 2s
  velodrome top --url https://host:9443 --key-file ctl.key
  velodrome top --once                          one interval as text
  velodrome top --once --list routes --sort p99_us --most 10
  velodrome top --once --json | jq .latencies   one interval as a JSON document

Exit status: 0 done, 1 failed, 2 wrong usage.";

#[derive(Debug, Args)]
pub(crate) struct Top {
    #[command(flatten)]
    way: WayFlags,
    /// The time between two looks at the server, and the interval of which rates are shown.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = interval)]
    interval: Duration,
    /// Print one interval and exit.
    #[arg(long)]
    once: bool,
    /// Print JSON.
    #[arg(long, requires = "once")]
    json: bool,
    /// Also print this list.
    #[arg(long, value_name = "NAME", requires = "once", value_parser = lists())]
    list: Option<List>,
    /// The column by which rows of the list are chosen, by its key in the JSON document [default: what the list is
    /// usually sorted by].
    #[arg(long, value_name = "KEY", requires = "list")]
    sort: Option<String>,
    /// The number of rows of the list.
    #[arg(long, value_name = "N", requires = "list", default_value_t = 20, value_parser = rows())]
    most: usize,
    /// Only rows that contain a text.
    #[arg(long, value_name = "TEXT", requires = "list")]
    filter: Option<String>,
}

fn interval(text: &str) -> Result<Duration, String> {
    let time = duration(text).map_err(|error| error.to_string())?;
    let range = INTERVAL_MIN..=INTERVAL_MAX;
    if range.contains(&time) { Ok(time) } else { Err("from 100ms to 30s".to_owned()) }
}

fn lists() -> impl TypedValueParser<Value = List> {
    PossibleValuesParser::new(List::ALL.map(List::name))
        .try_map(|word| List::of_name(&word).ok_or("there is no such list"))
}

fn rows() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::new().range(1..=ROWS_MAX as u64)
}

/// Columns of output that is no terminal.
const COLUMNS: usize = 100;

/// The profile that a key asks for: without a continuous profile it takes so long.
const PROFILE: &str = "seconds=5";

/// Frames of it that are shown.
const ROWS: usize = 50;

pub(crate) fn run(flags: &Top) -> Result<(), Failure> {
    let way = Way::of(&flags.way)?;
    if flags.once {
        return once(&way, flags);
    }
    let is_dumb = std::env::var_os("TERM").is_none_or(|name| name == "dumb");
    if !stdout().is_terminal() || is_dumb {
        let why =
            "standard output is no terminal with a cursor: --once prints one interval as text";
        return Err(Failure::WrongUse(why.to_owned()));
    }
    let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colours = if is_plain { Colours::Off } else { Colours::On };
    let way = Arc::new(way);
    let asked = Arc::clone(&way);
    let server = ServerAccess {
        ask: Arc::new(move |question| ask(&asked, question)),
        profile: Arc::new(move |process| profile(&way, process)),
    };
    observe::run(server, flags.interval, colours)
        .map_err(|error| Failure::Failed(format!("the terminal: {error}")))
}

fn ask(way: &Way, question: &Ask) -> Result<String, AskError> {
    let ControlRequest { method, target, body } = question.request();
    way.ask_with(method, &target, &body).map_err(|failed| match failed.is(404) {
        true => AskError::Gone,
        false => unreachable(way, failed.into()),
    })
}

fn unreachable(way: &Way, failure: Failure) -> AskError {
    match failure {
        Failure::Failed(why) | Failure::WrongUse(why) => AskError::Unreachable(why),
        _ => AskError::Unreachable(format!("`{way}` does not answer")),
    }
}

/// Prints what happens in one interval.
fn once(way: &Way, flags: &Top) -> Result<(), Failure> {
    let wanted = SnapshotRequest {
        list: flags.list,
        sort: flags.sort.clone().unwrap_or_default(),
        most: flags.most,
        filter: flags.filter.clone().unwrap_or_default(),
    };
    let look = || {
        let answer = ask(way, &Ask::Live(wanted.clone())).and_then(|body| read_snapshot(&body));
        let failed = |trouble: AskError| Failure::Failed(trouble.of_figures().to_string());
        let snapshot = answer.map_err(failed)?;
        Ok::<_, Failure>(TakenSnapshot { wanted: wanted.clone(), snapshot })
    };
    let earlier = look()?;
    has_column(&earlier)?;
    std::thread::sleep(flags.interval);
    let later = look()?;
    if flags.json {
        return print(&observe::json(&earlier, &later));
    }
    let columns = terminal_columns(stdout()).map_or(COLUMNS, usize::from);
    print(&observe::text(earlier, later, columns))
}

/// Whether the list has the column by which it is to be sorted.
fn has_column(moment: &TakenSnapshot) -> Result<(), Failure> {
    let TakenSnapshot { wanted: SnapshotRequest { list: Some(list), sort, .. }, snapshot } = moment
    else {
        return Ok(());
    };
    let keys: Vec<&str> = snapshot.list.columns.iter().map(|column| &*column.key).collect();
    if sort.is_empty() || keys.contains(&&**sort) {
        return Ok(());
    }
    Err(Failure::WrongUse(format!(
        "--sort {sort}: {} have no such column; write one of: {}",
        list.name(),
        keys.join(", ")
    )))
}

/// The hottest frames of a server; all are drawn into a file.
fn profile(way: &Way, process: u32) -> Result<String, String> {
    let told = |failure| match failure {
        Failure::Failed(why) | Failure::WrongUse(why) => why,
        _ => "the server does not answer".to_owned(),
    };
    let (profile, _) = ctl::profile::ask(way, PROFILE).map_err(told)?;
    let directory = std::env::current_dir().map_err(|error| error.to_string())?;
    let name = |number: u32| directory.join(format!("profile-{process}-{number}.html"));
    let file = (1..).map(name).find(|file| !file.exists());
    let file = file.ok_or("there are too many profiles in this directory")?;
    let into = match profiled::draw(&profile, &file) {
        Ok(()) => format!("all frames: {}", file.display()),
        // The table is useful without it.
        Err(failure) => told(failure),
    };
    Ok(format!("{into}\n{}", profiled::text(&profile, ROWS)))
}
