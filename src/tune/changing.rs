//! `tune plan`, `apply`, `revert` and `status`: what is written to a host, and reverted.
//!
//! Owns their flags and their output. The crate `tune` owns the order of writes, and leaves alone
//! what other programs have changed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::tune::apply::{
    Done, PERSISTED, Which, again, apply, drifted, is_persisted, may_cut, persist, revert,
};
use ::tune::limits::UNCONFIRMED;
use ::tune::{Allowed, ChangePlan, HostFiles, JournalEntry, PlanStep, audit, plan};
use clap::Args;
use serde_json::json;

use super::place::{Place, STATE, directory, journal};
use super::{Looked, look, way_back};
use crate::Failure;
use crate::duration::duration;
use crate::output::{FormFlag, OutputForm, print_line};

/// The fixes to include.
#[derive(Debug, Args)]
pub(super) struct Wanted {
    #[command(flatten)]
    looked: Looked,
    /// Also include fixes that may interrupt traffic (3), weaken security (4), need a reboot (5). Name each level;
    /// separate several with commas. 0 or 1 allow less than the default, 2.
    #[arg(long, value_name = "RISK", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=5))]
    allow: Vec<u8>,
    #[command(flatten)]
    output: FormFlag,
}

impl Wanted {
    /// The fixes for this host with these risks, for throughput, with one reading of the counters.
    pub(super) fn of_host(allow: &[u8]) -> Self {
        let looked = Looked {
            load: super::LoadName::Throughput,
            pid: None,
            seconds: Duration::ZERO,
            root: None,
        };
        Self { looked, allow: allow.to_vec(), output: FormFlag::default() }
    }
}

#[derive(Debug, Args)]
pub(super) struct Apply {
    /// The steps to apply [default: all of the plan].
    steps: Vec<String>,
    #[command(flatten)]
    wanted: Wanted,
    /// The directory of the journal; relative to --root.
    #[arg(long, value_name = "DIR", default_value = STATE)]
    state: PathBuf,
    /// Also write sysctls to a file of our own, so that they are set at every boot.
    #[arg(long)]
    persist: bool,
    /// Revert everything after this time unless `velodrome tune confirm` is run before [default: 60s if a step may
    /// interrupt traffic, otherwise never].
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "again")]
    confirm: Option<Duration>,
    /// Only apply again what was applied before the last boot, as the unit of `tune unit` does.
    #[arg(long, conflicts_with_all = ["steps", "persist", "load", "pid", "allow"])]
    again: bool,
}

#[derive(Debug, Args)]
pub(super) struct Revert {
    /// A step, or `all`.
    step: String,
    #[command(flatten)]
    place: Place,
}

pub(super) fn planned(wanted: &Wanted) -> Result<ChangePlan, Failure> {
    let host = look(&wanted.looked)?;
    Ok(plan(&host, &audit(&host, wanted.looked.load.into()), &Allowed::of(&wanted.allow)))
}

pub(super) fn run_plan(wanted: &Wanted) -> Result<(), Failure> {
    let plan = planned(wanted)?;
    if wanted.output.form() == OutputForm::Json {
        print_line(&to_json(&plan).to_string())?;
        return Ok(());
    }
    if plan.steps.is_empty() {
        print_line("There is nothing to write.")?;
    }
    for (number, step) in plan.steps.iter().enumerate() {
        let PlanStep { check, changes, owners, hindrance } = step;
        print_line(&format!(
            "{}. {}  risk {}: {}; lost: {}",
            number + 1,
            check.id,
            check.risk.class(),
            check.risk.name(),
            check.lost
        ))?;
        for change in changes {
            print_line(&format!(
                "   {}: \"{}\" -> \"{}\"",
                change.path,
                shown(&change.old),
                shown(&change.new)
            ))?;
        }
        for owner in owners {
            print_line(&format!("   {} sets the same {}", owner.name, owner.when))?;
        }
        if let Some(why) = hindrance {
            print_line(&format!("   it cannot be written here: {why}"))?;
        }
    }
    for (check, why) in &plan.left_out {
        print_line(&format!("left out: {}: {why}", check.id))?;
    }
    Ok(())
}

fn shown(value: &str) -> String {
    value.replace('\t', " ")
}

fn to_json(plan: &ChangePlan) -> serde_json::Value {
    let steps = plan.steps.iter().map(|step| {
        let changes = step
            .changes
            .iter()
            .map(|change| json!({ "path": change.path, "old": change.old, "new": change.new }));
        let owners =
            step.owners.iter().map(|owner| json!({ "name": owner.name, "when": owner.when }));
        json!({
            "id": step.check.id, "risk": step.check.risk.class(), "lost": step.check.lost,
            "changes": changes.collect::<Vec<_>>(), "owners": owners.collect::<Vec<_>>(),
            "hindrance": step.hindrance,
        })
    });
    let left_out = plan.left_out.iter().map(|(check, why)| json!({ "id": check.id, "why": why }));
    json!({ "steps": steps.collect::<Vec<_>>(), "left_out": left_out.collect::<Vec<_>>() })
}

pub(super) fn run_apply(asked: &Apply) -> Result<(), Failure> {
    let root = asked.wanted.looked.root.as_deref().unwrap_or(Path::new("/"));
    if asked.again {
        return run_again(root, asked);
    }
    let plan = planned(&asked.wanted)?;
    for name in &asked.steps {
        if !plan.steps.iter().any(|step| step.check.id == name) {
            let text = format!("`{name}` is no step of the plan; see velodrome tune plan");
            return Err(Failure::WrongUse(text));
        }
    }
    let mut journal = journal(root, &asked.state)?;
    let failed = |error: std::io::Error| {
        Failure::Failed(format!("the journal: {error}; nothing more was changed"))
    };
    let is_meant = |step: &&PlanStep| {
        asked.steps.is_empty() || asked.steps.iter().any(|name| name == step.check.id)
    };
    let before = journal.last();
    let mut meant = plan.steps.iter().filter(is_meant).peekable();
    let has_steps = meant.peek().is_some();
    let unconfirmed = meant.any(|step| may_cut(step.check)).then_some(UNCONFIRMED);
    let confirm = asked.confirm.or(unconfirmed).filter(|_| has_steps);
    if let Some(time) = confirm {
        // Started before anything is written: a change that cuts the connection does so at once.
        way_back::start(root, &asked.state, time, before)?;
    }
    let form = asked.wanted.output.form();
    let (mut refused, mut written) = (0, Vec::new());
    for step in plan.steps.iter().filter(is_meant) {
        for (path, done) in apply(root, step, &mut journal).map_err(failed)? {
            refused += usize::from(matches!(done, Done::Refused(_)));
            tell(step.check.id, &path, &done, form, &mut written)?;
        }
    }
    // If nothing was written, there is nothing to revert.
    let put_back_after = confirm.filter(|_| journal.last() > before).map(|time| time.as_secs());
    if form == OutputForm::Json {
        let told = json!({ "changes": written, "put_back_after_s": put_back_after });
        print_line(&told.to_string())?;
    }
    if asked.persist {
        let count = persist(root, &journal)
            .map_err(|error| Failure::Failed(format!("{PERSISTED}: {error}")))?;
        if form == OutputForm::Text {
            print_line(&format!("{PERSISTED} sets {count} of them at the start of the host"))?;
        }
    }
    if let (Some(seconds), OutputForm::Text) = (put_back_after, form) {
        print_line(&format!(
            "All of it is put back in {seconds} s, unless you type: velodrome tune confirm"
        ))?;
    }
    match refused {
        0 => Ok(()),
        count => Err(Failure::Failed(format!(
            "{count} files could not be written; revert puts the others back"
        ))),
    }
}

fn run_again(root: &Path, asked: &Apply) -> Result<(), Failure> {
    let mut journal = journal(root, &asked.state)?;
    let done = again(root, &mut journal);
    let done = done.map_err(|error| Failure::Failed(format!("the journal: {error}")))?;
    tell_all(&done, asked.wanted.output, "Nothing stood before the last start of the host.")?;
    match done.iter().filter(|(_, done)| matches!(done, Done::Refused(_))).count() {
        0 => Ok(()),
        count => Err(Failure::Failed(format!("{count} files could not be written"))),
    }
}

pub(super) fn run_revert(asked: &Revert) -> Result<(), Failure> {
    let root = asked.place.root();
    let mut journal = journal(root, &asked.place.state)?;
    let which = if asked.step == "all" { Which::All } else { Which::Check(&asked.step) };
    if let Which::Check(check) = which
        && !journal.standing().any(|entry| entry.check == check)
    {
        return Err(Failure::WrongUse(format!(
            "`{check}` is not changed; see velodrome tune status"
        )));
    }
    let done = revert(root, which, &mut journal);
    let done = done.map_err(|error| Failure::Failed(format!("the journal: {error}")))?;
    tell_all(&done, asked.place.output, "Nothing is changed.")?;
    if is_persisted(root) {
        persist(root, &journal)
            .map_err(|error| Failure::Failed(format!("{PERSISTED}: {error}")))?;
    }
    let is_refused = |done: &&Done| matches!(done, Done::Refused(_) | Done::Elsewhere(_));
    let refused = done.iter().map(|(_, done)| done).filter(is_refused).count();
    match refused {
        0 => Ok(()),
        count => Err(Failure::Failed(format!("{count} files could not be put back"))),
    }
}

pub(super) fn run_status(place: &Place) -> Result<(), Failure> {
    let (files, journal) = (HostFiles::here(place.root()), place.journal()?);
    let state = |entry: &JournalEntry| drifted(&files, entry).unwrap_or(Done::Written);
    let found: Vec<_> = journal.standing().map(|entry| (entry.clone(), state(entry))).collect();
    tell_all(&found, place.output, "Nothing is changed.")?;
    if found.iter().all(|(_, done)| *done == Done::Written) { Ok(()) } else { Err(Failure::Met) }
}

pub(super) fn run_verify(place: &Place) -> Result<(), Failure> {
    let (files, journal) = (HostFiles::here(place.root()), place.journal()?);
    let form = place.output.form();
    let (mut told, mut holds) = (Vec::new(), 0);
    for entry in journal.standing() {
        match drifted(&files, entry) {
            Some(done) => tell(&entry.check, &entry.change.path, &done, form, &mut told)?,
            None => holds += 1,
        }
    }
    let drift = journal.standing().count() - holds;
    if form == OutputForm::Json {
        print_line(&json!({ "holds": holds, "drifted": told }).to_string())?;
    } else {
        print_line(&format!("{holds} changes hold, {drift} do not."))?;
    }
    if drift == 0 { Ok(()) } else { Err(Failure::Met) }
}

pub(super) fn run_confirm(place: &Place) -> Result<(), Failure> {
    // Without the lock: the process that reverts unconfirmed changes may hold it.
    let mut journal = place.journal()?;
    let failed = |error| Failure::Failed(format!("the journal: {error}"));
    journal.confirm().map_err(failed)?;
    let count = journal.standing().count();
    print_line(&format!("{count} changes stay until they are put back."))
}

pub(super) fn run_unit(place: &Place) -> Result<(), Failure> {
    let journal = place.journal()?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::Failed(format!("the place of this program: {error}")))?;
    let checks: Vec<&str> = journal.standing().map(|entry| &*entry.check).collect();
    if checks.is_empty() {
        let text = "nothing is changed, so there is nothing to write at a start of the host";
        return Err(Failure::WrongUse(text.to_owned()));
    }
    print_line(&format!(
        "# /etc/systemd/system/velodrome-tune.service; then: systemctl enable velodrome-tune\n\
         # Writes again what velodrome tune has changed: {}.\n\
         [Unit]\n\
         Description=What velodrome tune has changed on this host\n\
         After=systemd-sysctl.service systemd-udev-settle.service network-pre.target\n\n\
         [Service]\n\
         Type=oneshot\n\
         ExecStart={} tune apply --again --state {}\n\n\
         [Install]\n\
         WantedBy=multi-user.target",
        checks.join(", "),
        program.display(),
        directory(Path::new("/"), &place.state).display()
    ))
}

/// The change of another network namespace, whose name follows.
const ELSEWHERE: &str = "not here: it was changed in another network namespace:";

/// Prints the results for the files of these changes, or that there are none.
fn tell_all(done: &[(JournalEntry, Done)], flag: FormFlag, none: &str) -> Result<(), Failure> {
    let form = flag.form();
    let mut told = Vec::new();
    for (entry, done) in done {
        tell(&entry.check, &entry.change.path, done, form, &mut told)?;
    }
    match (form, done) {
        (OutputForm::Json, _) => print_line(&json!({ "changes": told }).to_string()),
        (OutputForm::Text, []) => print_line(none),
        (OutputForm::Text, _) => Ok(()),
    }
}

/// Prints the result for a file, or keeps it for JSON.
fn tell(
    check: &str,
    path: &str,
    done: &Done,
    form: OutputForm,
    told: &mut Vec<serde_json::Value>,
) -> Result<(), Failure> {
    let (state, value) = match done {
        Done::Written => ("changed", ""),
        Done::Refused(why) => ("refused:", &**why),
        Done::Other(value) => ("changed, but the kernel has taken", &**value),
        Done::PutBack => ("put back", ""),
        Done::AsBefore => ("as before", ""),
        Done::Theirs(value) => ("somebody else has changed it to", &**value),
        Done::Gone => ("gone with the last start of the host", ""),
        Done::NetworkGone => ("gone with its network namespace", ""),
        Done::OtherDevice => ("gone: another device is there now", ""),
        Done::Elsewhere(network) => (ELSEWHERE, &**network),
    };
    if form == OutputForm::Json {
        told.push(json!({ "id": check, "path": path, "state": state, "value": value }));
        return Ok(());
    }
    let value = if value.is_empty() { String::new() } else { format!(" {}", shown(value)) };
    print_line(&format!("{check}  {path}: {state}{value}"))
}
