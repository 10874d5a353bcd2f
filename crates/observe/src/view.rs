//! The screens as a state: a key changes it, an answer changes it.
//!
//! Owns what each key does. Draws nothing, asks nobody, reads no clock: it returns what should be done.

use std::collections::BTreeMap;
use std::time::Duration;

use live::{Info, List, LiveTable, ServerSnapshot};
use ratatui::text::Line;

use crate::ask::{Ask, AskError, SnapshotRequest};
use crate::choice::Choice;
use crate::deed::Deed;
use crate::detail::Detail;
use crate::harmless::harmless;
use crate::keys::PressedKey;
use crate::limits::{FILTER_CHARACTERS, ROWS};
use crate::paint::Colours;
use crate::profiling::Profiling;
use crate::texts;
use crate::watch::{Against, Watch};
use crate::wrap::wrapped;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Screen {
    Overview,
    List(List),
    Events,
    Help,
    Profile,
}

/// The keys of the screens with numbers, in their order: the overview and the lists.
pub(crate) const NUMBERS: [char; 11] = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '0', '-'];

/// The meaning of the next key.
pub(crate) enum Input {
    /// Its own meaning.
    Keys,
    /// A character of the filter.
    Filter(String),
    /// Whether a thing is really to be ended: its id and name.
    Confirm(String, String),
}

/// The state that is shown.
pub struct View {
    pub(crate) screen: Screen,
    /// The screen to go back to.
    before: Screen,
    choices: BTreeMap<List, Choice>,
    pub(crate) detail: Option<Detail>,
    pub(crate) input: Input,
    /// Lines of a text, or schedulers, that are above what is seen.
    pub(crate) scroll: usize,
    /// Lines of the screen below its head, when it was last drawn.
    pub(crate) height: usize,
    /// The columns of the screen, as last drawn.
    pub(crate) columns: usize,
    pub(crate) watch: Watch,
    /// Notice of the last event; until the next key.
    pub(crate) notice: Option<String>,
    profiling: Profiling,
    /// Something else should be asked for at once.
    is_stale: bool,
    pub(crate) colours: Colours,
}

impl View {
    /// The overview, before the first answer.
    pub fn new(colours: Colours) -> Self {
        Self {
            screen: Screen::Overview,
            before: Screen::Overview,
            choices: BTreeMap::new(),
            detail: None,
            input: Input::Keys,
            scroll: 0,
            height: 20,
            columns: 80,
            watch: Watch::default(),
            notice: None,
            profiling: Profiling::default(),
            is_stale: true,
            colours,
        }
    }

    /// The contents that the next snapshot should have.
    pub fn wanted(&self) -> SnapshotRequest {
        let Screen::List(list) = self.screen else { return SnapshotRequest::default() };
        let choice = self.choice();
        let filter = match &self.input {
            Input::Filter(text) => text.clone(),
            _ => choice.filter,
        };
        SnapshotRequest { list: Some(list), sort: choice.sort, most: ROWS, filter }
    }

    /// The thing that is shown as a whole.
    pub fn wanted_info(&self) -> Option<Ask> {
        self.detail.as_ref().map(Detail::wanted)
    }

    /// Whether the next request should not wait for its time; asked once.
    pub fn take_hurry(&mut self) -> bool {
        std::mem::take(&mut self.is_stale)
    }

    /// A snapshot was asked for.
    pub fn asked(&mut self, at: Duration) {
        self.watch.asked(at);
    }

    /// A snapshot came, as JSON of so many bytes, or did not.
    pub fn answered(
        &mut self,
        wanted: SnapshotRequest,
        answer: Result<(ServerSnapshot, usize), AskError>,
        at: Duration,
    ) {
        match answer {
            Ok((snapshot, bytes)) => {
                let news = self.watch.answered(wanted, snapshot, bytes, at);
                self.notice = news.or(self.notice.take());
            }
            Err(trouble) => self.watch.failed(&trouble.of_figures(), at),
        }
    }

    /// All about the thing that is shown came, or did not.
    pub fn informed(&mut self, id: &str, answer: Result<Info, AskError>) {
        if let Some(detail) = &mut self.detail {
            detail.take(id, answer);
        }
    }

    /// A thing was ended, or was not.
    pub fn ended(&mut self, id: &str, answer: &Result<String, AskError>) {
        let id = harmless(id);
        self.notice = Some(match answer {
            Ok(_) => format!("{id} was told to end"),
            Err(AskError::Gone) => format!("{id} has ended already, or cannot be ended"),
            Err(trouble) => format!("{id}: {}", harmless(&trouble.to_string())),
        });
        self.is_stale = true;
    }

    /// A profile is complete, or failed.
    pub fn profiled(&mut self, answer: Result<String, String>) {
        self.notice = self.profiling.end(answer).err();
        if self.notice.is_none() && self.screen != Screen::Profile {
            self.aside(Screen::Profile);
        }
    }

    /// The list that is shown, if it has come.
    pub(crate) fn table(&self) -> Option<&LiveTable> {
        let Screen::List(list) = self.screen else { return None };
        let table = &self.watch.now()?.list;
        (table.name == list.name()).then_some(table)
    }

    /// The choices for the list that is shown.
    pub(crate) fn choice(&self) -> Choice {
        let Screen::List(list) = self.screen else { return Choice::default() };
        self.choices.get(&list).cloned().unwrap_or_default()
    }

    /// The screen as a text, if it is one.
    pub(crate) fn text(&self) -> Option<Vec<Line<'static>>> {
        let lines = self.long_lines()?;
        Some(lines.into_iter().flat_map(|line| wrapped(line, self.columns)).collect())
    }

    fn long_lines(&self) -> Option<Vec<Line<'static>>> {
        if let Some(detail) = &self.detail {
            return Some(detail.text(self.colours));
        }
        let now = self.watch.now();
        match self.screen {
            Screen::Help => Some(texts::help()),
            Screen::Profile => Some(self.profiling.text()),
            Screen::Events => {
                let events = now.map(|now| (&*now.events, now.at_ms)).unwrap_or_default();
                Some(texts::events(events.0, events.1, self.colours))
            }
            Screen::Overview | Screen::List(_) => None,
        }
    }

    /// Does what a key says; returns what is left to be done.
    pub fn key(&mut self, key: PressedKey) -> Option<Deed> {
        self.notice = None;
        match key {
            PressedKey::Interrupt => return Some(Deed::Quit),
            PressedKey::Suspend => return Some(Deed::Suspend),
            PressedKey::Redraw => return Some(Deed::Redraw),
            _ => {}
        }
        match std::mem::replace(&mut self.input, Input::Keys) {
            Input::Filter(text) => {
                self.filter_key(text, key);
                None
            }
            Input::Confirm(id, _) if key == PressedKey::Character('y') => {
                Some(Deed::Ask(Ask::End(id)))
            }
            Input::Confirm(..) => {
                self.notice = Some("nothing was ended".to_owned());
                None
            }
            Input::Keys => self.usual_key(key),
        }
    }

    fn filter_key(&mut self, mut text: String, key: PressedKey) {
        match key {
            PressedKey::Enter => {
                self.choose(|choice, _| choice.filter = text);
                return;
            }
            PressedKey::Escape => {
                self.is_stale = true;
                return;
            }
            PressedKey::Backspace => drop(text.pop()),
            PressedKey::Character(character) if text.chars().count() < FILTER_CHARACTERS => {
                text.push(character);
            }
            _ => {}
        }
        self.is_stale = true;
        self.input = Input::Filter(text);
    }

    fn usual_key(&mut self, key: PressedKey) -> Option<Deed> {
        match key {
            PressedKey::Character('q') => return Some(Deed::Quit),
            PressedKey::Character('P') => return self.profile(),
            PressedKey::Character('k') => self.confirm(),
            PressedKey::Character(' ') => self.watch.pause(),
            PressedKey::Character('f') => self.watch.compare(Against::Frozen),
            PressedKey::Character('m') => self.watch.compare(Against::MinuteAgo),
            PressedKey::Character('?') => self.aside(Screen::Help),
            PressedKey::Character('e') => self.aside(Screen::Events),
            PressedKey::Character('/')
                if matches!(self.screen, Screen::List(_)) && self.detail.is_none() =>
            {
                self.input = Input::Filter(self.choice().filter);
            }
            PressedKey::Character('s' | '>') => {
                self.choose(|choice, table| choice.sort_by_next(table, 1))
            }
            PressedKey::Character('<') => {
                self.choose(|choice, table| choice.sort_by_next(table, -1))
            }
            PressedKey::Character('r') => self.choose(|choice, _| choice.turn_round()),
            PressedKey::Character(number) => {
                if let Some(place) = NUMBERS.iter().position(|one| *one == number) {
                    self.go(place);
                }
            }
            PressedKey::Tab => self.go((self.place() + 1) % NUMBERS.len()),
            PressedKey::BackTab => self.go((self.place() + NUMBERS.len() - 1) % NUMBERS.len()),
            PressedKey::Enter => self.open(),
            PressedKey::Escape | PressedKey::Backspace => self.back(),
            PressedKey::Up => self.move_by(-1),
            PressedKey::Down => self.move_by(1),
            PressedKey::PageUp => self.move_by(-self.page()),
            PressedKey::PageDown => self.move_by(self.page()),
            PressedKey::Home => self.move_by(isize::MIN),
            PressedKey::End => self.move_by(isize::MAX),
            PressedKey::Interrupt | PressedKey::Suspend | PressedKey::Redraw => {}
        }
        None
    }

    fn page(&self) -> isize {
        self.height.saturating_sub(2).max(1).cast_signed()
    }

    /// The place of the screen among those with numbers.
    pub(crate) fn place(&self) -> usize {
        let screen = if self.is_aside() { self.before } else { self.screen };
        let Screen::List(list) = screen else { return 0 };
        List::ALL.iter().position(|one| *one == list).map_or(0, |place| place + 1)
    }

    fn go(&mut self, place: usize) {
        let list = place.checked_sub(1).and_then(|place| List::ALL.get(place));
        self.screen = list.map_or(Screen::Overview, |list| Screen::List(*list));
        self.detail = None;
        self.scroll = 0;
        self.is_stale = true;
    }

    fn aside(&mut self, screen: Screen) {
        if self.screen == screen && self.detail.is_none() {
            return self.back();
        }
        if !self.is_aside() {
            self.before = self.screen;
        }
        self.screen = screen;
        self.detail = None;
        self.scroll = 0;
    }

    /// Whether the screen is one without a number.
    fn is_aside(&self) -> bool {
        !matches!(self.screen, Screen::Overview | Screen::List(_))
    }

    fn back(&mut self) {
        self.scroll = 0;
        if self.detail.take().is_none() && self.is_aside() {
            self.screen = self.before;
            self.is_stale = true;
        }
    }

    /// Changes what is chosen of the list that is shown.
    fn choose(&mut self, change: impl FnOnce(&mut Choice, &LiveTable)) {
        let (Screen::List(list), None) = (self.screen, &self.detail) else { return };
        let mut choice = self.choice();
        change(&mut choice, self.table().unwrap_or(&LiveTable::default()));
        self.choices.insert(list, choice);
        self.is_stale = true;
    }

    fn move_by(&mut self, step: isize) {
        if let Some(text) = self.text() {
            let last = text.len().saturating_sub(self.height);
            self.scroll = self.scroll.saturating_add_signed(step).min(last);
        } else if let Screen::List(list) = self.screen {
            let mut choice = self.choice();
            if let Some(table) = self.table() {
                choice.move_by(&choice.rows(table), step);
            }
            self.choices.insert(list, choice);
        } else {
            let lanes = self.watch.now().map_or(0, |now| now.schedulers.len());
            self.scroll = self.scroll.saturating_add_signed(step).min(lanes.saturating_sub(1));
        }
    }

    /// The id and the name of the selected row, or of the thing that is shown.
    fn chosen(&self) -> Option<(String, String)> {
        if let Some(detail) = &self.detail {
            return Some(detail.named());
        }
        let (table, choice) = (self.table()?, self.choice());
        let rows = choice.rows(table);
        let row = rows.get(choice.selected(&rows))?;
        let name = table.columns.first().and_then(|column| row.values.get(&column.key));
        let name = match name {
            Some(live::CellValue::Text(name)) => name.clone(),
            _ => harmless(&row.id),
        };
        Some((row.id.clone(), name))
    }

    fn open(&mut self) {
        if self.detail.is_some() {
            return;
        }
        if let Some((id, name)) = self.chosen() {
            // The row stays selected when the list is shown again.
            self.move_by(0);
            self.detail = Some(Detail::new(id, name));
            self.scroll = 0;
            self.is_stale = true;
        }
    }

    fn confirm(&mut self) {
        match self.chosen() {
            Some((id, name)) => self.input = Input::Confirm(id, name),
            None => self.notice = Some("nothing is selected: go to a list, such as 2".to_owned()),
        }
    }

    fn profile(&mut self) -> Option<Deed> {
        match self.profiling.begin(self.watch.now().map(|now| now.server.process)) {
            Ok((process, notice)) => {
                self.notice = Some(notice);
                Some(Deed::Profile(process))
            }
            Err(why) => {
                self.notice = Some(why.to_owned());
                None
            }
        }
    }
}
