//! Configurations of nginx and Caddy, printed as ours, and judged by the routes that `config` finds for requests.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test is to be seen")]

#[path = "migrate/bounds.rs"]
mod bounds;
#[path = "migrate/caddy.rs"]
mod caddy;
#[path = "migrate/caddy_asking.rs"]
mod caddy_asking;
#[path = "migrate/caddy_told.rs"]
mod caddy_told;
#[path = "migrate/moving.rs"]
mod moving;
#[path = "migrate/nginx.rs"]
mod nginx;
#[path = "migrate/nginx_caching.rs"]
mod nginx_caching;
#[path = "migrate/nginx_guards.rs"]
mod nginx_guards;
#[path = "migrate/operators.rs"]
mod operators;
#[path = "migrate/validity.rs"]
mod validity;
#[path = "migrate/values.rs"]
mod values;

use std::path::Path;

use config::route::{Circumstances, RouteRequest, RouteTable};
use config::{AccessRule, Config, ListenerAddress, Overrides, RouteAction};

/// The table of a printed configuration, which must be valid.
fn table(text: &str) -> (Config, RouteTable) {
    let config =
        Config::from_text(text, "velodrome.toml", Path::new("/base"), &Overrides::default());
    let config = config.unwrap_or_else(|errors| panic!("{errors}\n--- in\n{text}"));
    let table =
        RouteTable::compile(&config).unwrap_or_else(|errors| panic!("{errors}\n--- in\n{text}"));
    (config, table)
}

/// A request in one line: `[METHOD ][LISTENER ]HOST/PATH`.
fn answer(table: &RouteTable, request: &str) -> String {
    let mut words = request.split(' ').rev();
    let (host, path) = words.next().unwrap().split_once('/').unwrap();
    let (mut method, mut listener) = ("GET", None);
    for word in words {
        if word.bytes().all(|byte| byte.is_ascii_uppercase()) {
            method = word;
        } else {
            listener = Some(word.parse::<ListenerAddress>().unwrap());
        }
    }
    let path = format!("/{path}");
    let circumstances = Circumstances { listener: listener.as_ref(), ..Circumstances::default() };
    let request =
        RouteRequest { circumstances, ..RouteRequest::new(Some(host), method, &path, None) };
    let found = table.find(&request);
    let is_guarded = !found.terms.access.is_empty();
    let demands = |rule: &AccessRule| match rule {
        AccessRule::Deny(_) => "-",
        AccessRule::Admit(admission) if admission.certificate.is_some() => "certificate",
        AccessRule::Admit(admission) if admission.users.is_some() && admission.from.is_empty() => {
            "password"
        }
        AccessRule::Admit(admission) if admission.users.is_some() => "address+password",
        AccessRule::Admit(_) => "address",
    };
    let guards: Vec<&str> = found.terms.access.iter().map(demands).collect();
    let guards = if is_guarded { format!(" for {}", guards.join(" ")) } else { String::new() };
    let what = match &found.action {
        Ok(RouteAction::Files { rules, .. }) => format!("{}{}", rules.root.display(), found.path),
        Ok(RouteAction::Respond(respond)) => respond.status.to_string(),
        Ok(RouteAction::Redirect { status, .. }) => format!("{status} {}", found.location),
        Ok(RouteAction::Drop) => "drop".to_owned(),
        Ok(RouteAction::Proxy(proxy)) => {
            format!("{} {}", proxy.upstream, found.path.get(found.rest..).unwrap_or_default())
        }
        other => format!("{other:?}"),
    };
    what + &guards
}

/// Compares each request with its wanted answer.
fn judge(text: &str, cases: &[(&str, &str)]) {
    let (_, table) = table(text);
    for (request, wanted) in cases {
        assert_eq!(answer(&table, request), *wanted, "{request}\n--- in\n{text}");
    }
}
