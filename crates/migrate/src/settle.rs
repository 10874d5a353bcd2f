//! The printed text, and the proof that it is a valid configuration: `config` reads it, and what it refuses is taken
//! out until nothing is refused.
//!
//! Owns what takes the place of what is refused: a route answers 501, then its host, then everything, and the text says
//! so. Only what changes no more than the look of an answer becomes a mere comment. Never knows nginx or Caddy.

use std::path::Path;

use config::route::RouteTable;
use config::{Config, ConfigErrors, Overrides, TextPosition};

use crate::draft::Draft;
use crate::limits::{ROUNDS_MAX, ROUTES_MAX};
use crate::section::{Line, Section, State};
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
    if draft.sections().len() > ROUTES_MAX {
        draft.shut("there are too many routes");
    }
    for _ in 0..ROUNDS_MAX {
        let (text, origins) = print(&draft, source);
        let Err(errors) = check(&text) else { return text };
        if let Err(why) = amend(&mut draft, &errors, &origins) {
            draft.shut(&why);
        }
    }
    // Each round takes something out, and this is what is left if even that was not enough.
    let mut nothing = Draft::default();
    nothing.shut("this configuration could not be made valid");
    print(&nothing, source).0
}

fn check(text: &str) -> Result<(), ConfigErrors> {
    let config = Config::from_text(text, "", Path::new("/"), &Overrides::default())?;
    RouteTable::compile(&config).map(drop)
}

/// Takes out the lines that `config` refuses. The error says why a line must stay.
fn amend(draft: &mut Draft, errors: &ConfigErrors, origins: &[Origin]) -> Result<(), String> {
    // One problem of a section at a time: a line that is out may have been the reason for the others.
    let mut amended = Vec::new();
    let mut shut = None;
    for problem in errors.problems() {
        let origin = problem.place.and_then(|place| origin(origins, place));
        let (number, line) = match origin {
            Some(Origin::Header(number)) => (number, None),
            Some(Origin::Line(number, line)) => (number, Some(line)),
            _ => continue,
        };
        if amended.contains(&number) || line.is_none() && has_line_problem(errors, origins, number)
        {
            // The header of a section is told for what it lacks, perhaps because of a line below.
            continue;
        }
        amended.push(number);
        let Some(section) = draft.section_mut(number) else { continue };
        match refuse(section, line, &problem.message) {
            Loss::Section => {}
            Loss::Host => shut = shut.or(Some(number)),
            Loss::Everything => return Err(problem.message.clone()),
        }
    }
    // Numbers change with this, so the others wait for the next round.
    if let Some(number) = shut {
        draft.shut_host_of(number);
    }
    let first = errors.problems().first().map_or("", |problem| problem.message.as_str());
    if amended.is_empty() { Err(first.to_owned()) } else { Ok(()) }
}

fn origin(origins: &[Origin], place: TextPosition) -> Option<Origin> {
    let index = usize::try_from(place.line).ok()?.checked_sub(1)?;
    origins.get(index).copied()
}

/// Whether a problem is about a line of this section, rather than about all of it.
fn has_line_problem(errors: &ConfigErrors, origins: &[Origin], section: usize) -> bool {
    let mut places = errors.problems().iter().filter_map(|problem| problem.place);
    places.any(|place| matches!(origin(origins, place), Some(Origin::Line(number, _)) if number == section))
}

/// The loss if a refused line is taken out.
enum Loss {
    /// No more than is said there.
    Section,
    /// The requests of a route cannot be told from others.
    Host,
    Everything,
}

fn refuse(section: &mut Section, line: Option<usize>, why: &str) -> Loss {
    let is_matcher = line.and_then(|line| section.lines().get(line)).is_some_and(Line::is_matcher);
    if let Some(line) = line
        && section.spare(line)
    {
        section.note(format!("left out: {why}"));
        return Loss::Section;
    }
    match (section.header(), section.state()) {
        (_, State::Live) if section.is_route() && !is_matcher => {
            section.note(format!("closed: {why}"));
            section.set_state(State::Closed);
            Loss::Section
        }
        // Without a line of its own, a closed route can only be one that no request reaches.
        (_, State::Closed) if section.is_route() && line.is_none() => {
            section.set_state(State::Out);
            Loss::Section
        }
        _ if section.is_route() => Loss::Host,
        ("[[listener]]" | "[[upstream]]" | "[acme]", _) => {
            section.note(format!("left out: {why}"));
            section.set_state(State::Out);
            Loss::Section
        }
        _ => Loss::Everything,
    }
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
    for (number, section) in draft.sections().iter().enumerate() {
        lines.push(String::new());
        origins.push(Origin::None);
        for note in section.notes() {
            lines.push(format!("# {note}"));
            origins.push(Origin::None);
        }
        let is_out = section.state() == State::Out;
        let mut put = |text: String, origin: Origin, is_out: bool| {
            lines.push(if is_out { format!("#{text}") } else { text });
            origins.push(if is_out { Origin::None } else { origin });
        };
        if !section.header().is_empty() {
            put(section.header().to_owned(), Origin::Header(number), is_out);
        }
        let is_closed = section.state() == State::Closed;
        for (index, line) in section.lines().iter().enumerate() {
            let is_left_out = is_out || line.is_out() || is_closed && !line.is_matcher();
            put(line.printed(), Origin::Line(number, index), is_left_out);
        }
        if is_closed {
            put("respond = { status = 501 }".to_owned(), Origin::Header(number), false);
        }
    }
    lines.push(String::new());
    (lines.join("\n"), origins)
}
