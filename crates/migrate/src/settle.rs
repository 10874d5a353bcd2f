//! The printed text, and the proof that it is a valid configuration: `config` reads it, and what it refuses is
//! commented out with its reason until nothing is refused.
//!
//! Owns what takes the place of a refused line: a route whose action or access cannot be is closed with 501, so that it
//! never serves what it was to guard. Never knows nginx or Caddy.

use std::path::Path;

use config::route::Table;
use config::{Config, ConfigErrors, Overrides, Place};

use crate::draft::{Draft, Section, State, printed};
use crate::limits::ROUNDS_MAX;
use crate::word::comment;

/// Where a printed line comes from.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// A comment, or an empty line.
    None,
    Header(usize),
    Line(usize, usize),
}

/// The text of a draft, valid.
pub(crate) fn settled(mut draft: Draft, source: &str) -> String {
    for _ in 0..ROUNDS_MAX {
        let (text, origins) = print(&draft, source);
        let Err(errors) = check(&text) else { return text };
        if !amend(&mut draft, &errors, &origins) {
            break;
        }
    }
    // Nothing helped: every section is shown, none is in force.
    for section in &mut draft.sections {
        section.state = State::Out;
    }
    print(&draft, source).0
}

fn check(text: &str) -> Result<(), ConfigErrors> {
    let config = Config::from_text(text, "", Path::new("/"), &Overrides::default())?;
    Table::compile(&config).map(drop)
}

/// Comments out what is refused. `false` if no problem has a place.
fn amend(draft: &mut Draft, errors: &ConfigErrors, origins: &[Origin]) -> bool {
    // One problem of a section at a time: a line that is out may have been the reason for the others.
    let mut amended = Vec::new();
    for problem in errors.problems() {
        let Some(Place { line, .. }) = problem.place else { continue };
        let Some(index) = usize::try_from(line).ok().and_then(|line| line.checked_sub(1)) else {
            continue;
        };
        let (number, line) = match origins.get(index) {
            Some(Origin::Header(number)) => (*number, None),
            Some(Origin::Line(number, line)) => (*number, Some(*line)),
            _ => continue,
        };
        if let Some(section) = draft.sections.get_mut(number)
            && !amended.contains(&number)
            // The header of a section is told for what it lacks, perhaps because of a line below.
            && (line.is_some() || !has_line_problem(errors, origins, number))
        {
            refuse(section, line, &problem.message);
            amended.push(number);
        }
    }
    leave_out_routes(draft);
    !amended.is_empty()
}

/// Whether a problem is about a line of this section, rather than about all of it.
fn has_line_problem(errors: &ConfigErrors, origins: &[Origin], section: usize) -> bool {
    let mut places = errors.problems().iter().filter_map(|problem| problem.place);
    places.any(|place| {
        let index = usize::try_from(place.line).ok().and_then(|line| line.checked_sub(1));
        let origin = index.and_then(|index| origins.get(index));
        matches!(origin, Some(Origin::Line(number, _)) if *number == section)
    })
}

/// The routes of a host that is left out would become those of the host before it.
fn leave_out_routes(draft: &mut Draft) {
    let mut host = State::Live;
    for section in &mut draft.sections {
        match &*section.header {
            "[[host]]" => host = section.state,
            "[[host.route]]" if host == State::Out => section.state = State::Out,
            _ => {}
        }
    }
}

fn refuse(section: &mut Section, line: Option<usize>, why: &str) {
    let is_route = section.is_route();
    let line = line.and_then(|line| section.lines.get_mut(line)).filter(|line| !line.is_out);
    let (note, state) = match line {
        None => (format!("left out: {why}"), Some(State::Out)),
        Some(line) if is_route && line.is_matcher() => {
            (format!("left out: {why}"), Some(State::Out))
        }
        Some(line) => {
            line.is_out = true;
            let key = &line.key;
            // A section that then lacks what it must have is told again, by its header.
            match is_route && line.is_action() {
                false => (format!("left out `{key}`: {why}"), None),
                true => (
                    format!("closed with 501, because `{key}` cannot be as it was: {why}"),
                    Some(State::Closed),
                ),
            }
        }
    };
    section.note(note);
    section.state = state.unwrap_or(section.state);
}

/// The text, and the origin of each of its lines.
fn print(draft: &Draft, source: &str) -> (String, Vec<Origin>) {
    let mut lines = vec![
        format!(
            "# Made from {} by `velodrome check`. Read each comment, then run",
            comment(source)
        ),
        "# `velodrome check` on it: it knows the directories and files of this machine.".to_owned(),
    ];
    let mut origins = vec![Origin::None; lines.len()];
    for (number, section) in draft.sections.iter().enumerate() {
        lines.push(String::new());
        origins.push(Origin::None);
        for note in &section.notes {
            lines.push(format!("# {note}"));
            origins.push(Origin::None);
        }
        let is_out = section.state == State::Out;
        let mut put = |text: String, origin: Origin, is_out: bool| {
            lines.push(if is_out { format!("#{text}") } else { text });
            origins.push(if is_out { Origin::None } else { origin });
        };
        if !section.header.is_empty() {
            put(section.header.clone(), Origin::Header(number), is_out);
        }
        let is_closed = section.state == State::Closed;
        for (index, line) in section.lines.iter().enumerate() {
            let is_left_out = is_out || line.is_out || is_closed && !line.is_matcher();
            put(printed(line), Origin::Line(number, index), is_left_out);
        }
        if is_closed {
            put("respond = { status = 501 }".to_owned(), Origin::Header(number), false);
        }
    }
    lines.push(String::new());
    (lines.join("\n"), origins)
}
