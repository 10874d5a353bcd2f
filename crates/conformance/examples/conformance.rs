//! Plays the suite against a server and prints the report; exit status 1 when a requirement is not met.
//!
//! `cargo run -p velodrome-conformance --example conformance -- 127.0.0.1:8080 --file /index.html --missing /none`

use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Duration;

use conformance::{Capability, Level, Options, Target, run};

const USAGE: &str = "usage: conformance ADDRESS [--host NAME] [--CAPABILITY VALUE]... \
    [--slow-deadline-ms N] [--timeout-ms N] [--threads N] [--level LEVEL]... [--only PART]... [--json]";

enum Form {
    Table,
    Json,
}

struct Order {
    target: Target,
    options: Options,
    form: Form,
}

fn main() -> ExitCode {
    let order = match parse(std::env::args().skip(1)) {
        Ok(order) => order,
        Err(message) => {
            let names: Vec<&str> = Capability::ALL.into_iter().map(Capability::name).collect();
            let names = names.join(", ");
            let _ = writeln!(io::stderr(), "{message}\n{USAGE}\ncapabilities: {names}");
            return ExitCode::from(2);
        }
    };
    let report = run(&order.target, &order.options);
    let text = match order.form {
        Form::Table => report.to_string(),
        Form::Json => report.to_json(),
    };
    let written = writeln!(io::stdout(), "{text}");
    if written.is_ok() && report.counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Order, String> {
    let address = arguments.next().ok_or("no address")?;
    let mut order = Order {
        target: Target::new(resolve(&address)?),
        options: Options::default(),
        form: Form::Table,
    };
    order.target.host = address;
    while let Some(flag) = arguments.next() {
        let name = flag.strip_prefix("--").ok_or_else(|| format!("unexpected '{flag}'"))?;
        if name == "json" {
            order.form = Form::Json;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("--{name} needs a value"))?;
        take(&mut order, name, value)?;
    }
    Ok(order)
}

fn take(order: &mut Order, name: &str, value: String) -> Result<(), String> {
    let number = || value.parse::<u64>().map_err(|_| format!("--{name} {value}: not a number"));
    match name {
        "host" => order.target.host = value,
        "slow-deadline-ms" => {
            order.options.slow_deadline = Some(Duration::from_millis(number()?));
        }
        "timeout-ms" => order.options.response_timeout = Duration::from_millis(number()?),
        "threads" => order.options.threads = usize::try_from(number()?).unwrap_or(usize::MAX),
        "only" => order.options.only.push(value),
        "level" => {
            let level = Level::from_name(&value).ok_or_else(|| format!("no level '{value}'"))?;
            order.options.levels.push(level);
        }
        other => {
            let capability =
                Capability::from_name(other).ok_or_else(|| format!("no flag --{other}"))?;
            order.target.resources.insert(capability, value);
        }
    }
    Ok(())
}

fn resolve(address: &str) -> Result<SocketAddr, String> {
    let mut found = address.to_socket_addrs().map_err(|error| format!("{address}: {error}"))?;
    found.next().ok_or_else(|| format!("{address}: no such address"))
}
