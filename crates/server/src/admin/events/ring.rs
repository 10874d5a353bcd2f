//! The last events, with their numbers.
//!
//! Owns how often one of a kind is told, and the lines of events in the log. Never finds anything.

use std::collections::{BTreeMap, VecDeque};

use live::OperatorEvent;
use runtime::diagnostic;

use super::minutes::Minutes;
use super::moment::Moment;
use crate::events::{Kind, Line, Trouble};
use crate::limits::{
    EVENTS_AGAIN_MS, EVENTS_CAUSE_LINES, EVENTS_KEPT, EVENTS_LINE_SIZE, EVENTS_THINGS,
};
use crate::profile_order::ProfileCut;

/// The last event of a kind about a thing.
#[derive(Debug)]
struct Told {
    again_ms: u64,
    /// Those since then.
    held_back: u64,
}

/// The events.
#[derive(Debug, Default)]
pub(super) struct Ring {
    last: VecDeque<OperatorEvent>,
    /// The number of the last one.
    number: u64,
    told: BTreeMap<(Kind, Option<usize>, String), Told>,
    /// The minutes of which there are profiles; `None`: the server keeps no samples.
    minutes: Option<Minutes>,
}

impl Ring {
    /// An empty one, of a server that keeps samples.
    pub(super) fn with_profiles() -> Self {
        Self { minutes: Some(Minutes::default()), ..Self::default() }
    }

    /// Something was found. It becomes an event, unless one of its kind about the same thing is new.
    pub(super) fn add(&mut self, trouble: Trouble, at: Moment) {
        let Trouble { kind, scheduler, thing, text, cause } = trouble;
        let key = (kind, scheduler, cut(thing));
        let held_back = match self.told.get_mut(&key) {
            Some(told) if at.now_ms < told.again_ms => {
                told.held_back += 1;
                return;
            }
            Some(told) => told.held_back,
            None => 0,
        };
        if !self.told.contains_key(&key) && !self.make_room(at.now_ms) {
            return;
        }
        self.told.insert(key, Told { again_ms: at.now_ms + EVENTS_AGAIN_MS, held_back: 0 });
        let mut text = cut(text);
        if held_back > 0 {
            text += &format!(" (and {held_back} more since the last event of this kind)");
        }
        let about = kind.about();
        self.number += 1;
        let mut event = OperatorEvent {
            number: self.number,
            at_ms: at.unix_ms,
            scheduler,
            kind: about.name.to_owned(),
            level: about.weight.as_str().to_owned(),
            text,
            cause: cause.into_iter().take(EVENTS_CAUSE_LINES).map(cut).collect(),
            profiled: false,
        };
        match about.line {
            Line::Here => write_line(&event, about.weight.level()),
            Line::Quiet => write_line(&event, diagnostic::Level::Info),
            Line::Elsewhere => {}
        }
        event.cause.push(about.mend.to_owned());
        if self.last.len() == EVENTS_KEPT {
            self.last.pop_front();
        }
        self.last.push_back(event);
        if let Some(minutes) = &mut self.minutes {
            minutes.on_event(kind, self.number, at);
        }
    }

    /// Whether there is room for another thing, after those were forgotten that may be told again.
    fn make_room(&mut self, now_ms: u64) -> bool {
        if self.told.len() >= EVENTS_THINGS {
            self.told.retain(|_, told| now_ms < told.again_ms);
        }
        self.told.len() < EVENTS_THINGS
    }

    /// The events with a higher number, the newest last.
    pub(super) fn after(&self, number: u64) -> Vec<OperatorEvent> {
        let shown = |event: &OperatorEvent| OperatorEvent {
            profiled: self.minutes.as_ref().is_some_and(|all| all.of(event.at_ms).is_some()),
            ..event.clone()
        };
        self.last.iter().filter(|event| event.number > number).map(shown).collect()
    }

    /// The event for which the minute of this one was cut out.
    pub(super) fn minute_of(&self, number: u64) -> Option<u64> {
        let event = self.last.iter().find(|event| event.number == number)?;
        self.minutes.as_ref()?.of(event.at_ms)
    }

    /// The minutes that the profiler is to keep.
    pub(super) fn take_cuts(&mut self) -> Vec<ProfileCut> {
        self.minutes.as_mut().map(Minutes::take_news).unwrap_or_default()
    }
}

fn write_line(event: &OperatorEvent, level: diagnostic::Level) {
    let OperatorEvent { kind, text, cause, .. } = event;
    let place = event.scheduler.map_or_else(String::new, |number| format!("scheduler {number}: "));
    let cause = cause.iter().map(|line| format!("; {line}")).collect::<String>();
    diagnostic::write(level, format_args!("event {kind}: {place}{text}{cause}"));
}

/// A line of a bounded length without control characters: pages and clients have named things in it.
fn cut(text: String) -> String {
    let is_plain = text.len() <= EVENTS_LINE_SIZE && !text.contains(char::is_control);
    if is_plain {
        return text;
    }
    let end = text.floor_char_boundary(EVENTS_LINE_SIZE);
    text[..end].replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(now_ms: u64) -> Moment {
        Moment { now_ms, unix_ms: 1_000_000 + now_ms }
    }

    fn trouble(thing: &str) -> Trouble {
        Trouble::new(Kind::LongSlice, thing, format!("{thing} was long"))
    }

    #[test]
    fn the_last_events_are_kept_with_numbers_without_gaps() {
        let mut ring = Ring::default();
        for number in 0..EVENTS_KEPT + 10 {
            ring.add(trouble(&format!("page {number}")), at(0));
        }
        let kept: Vec<u64> = ring.after(0).iter().map(|event| event.number).collect();
        let expected: Vec<u64> = (11..=EVENTS_KEPT as u64 + 10).collect();
        assert_eq!(kept, expected);
        assert_eq!(ring.after(EVENTS_KEPT as u64 + 9).len(), 1);
        assert!(ring.after(EVENTS_KEPT as u64 + 10).is_empty());
    }

    #[test]
    fn one_thing_is_told_at_most_once_in_a_while_and_then_how_often() {
        let mut ring = Ring::default();
        for now_ms in [0, 1, 2, EVENTS_AGAIN_MS - 1] {
            ring.add(trouble("a"), at(now_ms));
        }
        ring.add(trouble("b"), at(3));
        assert_eq!(ring.after(0).len(), 2, "another thing is told");
        ring.add(trouble("a").at(1), at(4));
        assert_eq!(ring.after(0).len(), 3, "another scheduler, too");
        ring.add(trouble("a"), at(EVENTS_AGAIN_MS));
        let last = ring.after(3);
        assert_eq!(last[0].text, "a was long (and 3 more since the last event of this kind)");
    }

    #[test]
    fn things_and_lines_are_bounded() {
        let mut ring = Ring::default();
        for number in 0..EVENTS_THINGS + 5 {
            ring.add(trouble(&format!("page {number}")), at(0));
        }
        assert_eq!(ring.number, EVENTS_THINGS as u64);
        ring.add(trouble("later"), at(EVENTS_AGAIN_MS));
        assert_eq!(ring.told.len(), 1, "the others may be told again");
        let long = Trouble::new(
            Kind::Limit,
            "l",
            format!("{}\n\u{e9}", "\u{e9}".repeat(EVENTS_LINE_SIZE)),
        )
        .because(vec!["line\u{1b}[31m".to_owned(); EVENTS_CAUSE_LINES + 1]);
        ring.add(long, at(EVENTS_AGAIN_MS));
        let event = ring.after(ring.number - 1).remove(0);
        assert!(event.text.len() <= EVENTS_LINE_SIZE);
        assert_eq!((event.cause.len(), &*event.cause[0]), (EVENTS_CAUSE_LINES + 1, "line [31m"));
    }
}
