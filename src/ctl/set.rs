//! `velodrome ctl set`: what may change in a running server, and the change.
//!
//! Owns how settings are printed. Which there are, and what they take, the server says.

use std::fmt::Write as _;

use clap::Args;
use live::Setting;
use serde_json::Value;

use super::way::Way;
use crate::Failure;
use crate::output::{self, FormFlag, OutputForm};

#[derive(Clone, Debug, Args)]
pub(super) struct Set {
    /// The setting, such as limits.header_deadline; without a value, show it alone [default: show all].
    name: Option<String>,
    /// The new value, as in velodrome.toml, where quotes may be left out; `default` is what that file says.
    value: Option<String>,
    #[command(flatten)]
    output: FormFlag,
}

/// Shows the settings, or one, or changes one.
pub(super) fn run(way: &Way, wanted: &Set) -> Result<(), Failure> {
    let Set { name, value, output } = wanted;
    let form = output.form();
    if let (Some(name), Some(value)) = (name, value) {
        return change(way, name, value, form);
    }
    let answer = way.ask("GET", "/settings")?;
    let wrong = |error| Failure::Failed(format!("the answer is not understood: {error}"));
    let mut settings: Vec<Setting> = serde_json::from_str(&answer).map_err(wrong)?;
    if let Some(name) = name {
        let names: Vec<&str> = settings.iter().map(|setting| &*setting.name).collect();
        if !names.contains(&&**name) {
            return Err(Failure::WrongUse(config::no_such_setting(name, &names)));
        }
        settings.retain(|setting| setting.name == *name);
    }
    if form == OutputForm::Json {
        let text = serde_json::to_string(&settings).map_err(wrong)?;
        return output::print_line(&text);
    }
    output::print(&match (name, &*settings) {
        (Some(_), [setting]) => one(setting),
        _ => table(&settings),
    })
}

fn change(way: &Way, name: &str, value: &str, form: OutputForm) -> Result<(), Failure> {
    let answer = way.ask_with("POST", "/settings", &format!("{name} {value}"))?;
    let told: Value = super::parse(&answer)?;
    if form == OutputForm::Json {
        return output::print_line(&answer);
    }
    output::print_line(&format!("{name}: {}", told["value"].as_str().unwrap_or("unknown")))?;
    match told["silent_schedulers"].as_u64() {
        Some(0) | None => Ok(()),
        Some(silent) => Err(Failure::Failed(format!(
            "{silent} schedulers have not confirmed it within a second; they get it when they turn again"
        ))),
    }
}

fn one(setting: &Setting) -> String {
    let Setting { name, value, default, takes, text } = setting;
    format!("{name}: {value}\ndefault: {default}\ntakes: {takes}\n{text}\n")
}

/// A row for each: name, value, default if that is another one, what it takes, and what it does in a sentence.
fn table(settings: &[Setting]) -> String {
    let rows = settings.iter().map(|setting| {
        let Setting { name, value, default, takes, text } = setting;
        let default = if default == value { "=" } else { default };
        let sentence = text.find(". ").map_or(&**text, |end| &text[..=end]);
        [name, value, default, takes, sentence]
    });
    let titles = ["setting", "value", "default", "takes", "what it does"];
    let rows: Vec<[&str; 5]> = std::iter::once(titles).chain(rows).collect();
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..4).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        for (text, width) in row.iter().zip(&widths) {
            let _ = write!(out, "{text:width$}  ");
        }
        let _ = writeln!(out, "{}", row[4]);
    }
    out
}
