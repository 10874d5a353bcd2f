//! A terminal of cells on which the screens are drawn, with answers of a made-up server.

use std::time::Duration;

use live::ServerSnapshot;
use observe::{AskError, Colours, Deed, PressedKey, View, draw};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use crate::samples;

pub(crate) struct Stage {
    pub(crate) view: View,
    terminal: Terminal<TestBackend>,
    at: Duration,
}

impl Stage {
    /// A terminal of this size, before the first answer.
    pub(crate) fn new(columns: u16, rows: u16, colours: Colours) -> Self {
        let terminal = Terminal::new(TestBackend::new(columns, rows)).expect("cells cannot fail");
        Self { view: View::new(colours), terminal, at: Duration::ZERO }
    }

    /// The usual terminal, after the answers of two seconds.
    pub(crate) fn usual() -> Self {
        let mut stage = Self::new(80, 24, Colours::Off);
        stage.answer(samples::snapshot(10));
        stage.answer(samples::snapshot(11));
        stage
    }

    /// A second later the server answers.
    pub(crate) fn answer(&mut self, snapshot: ServerSnapshot) {
        self.wait(1);
        self.view.asked(self.at);
        self.view.answered(self.view.wanted(), Ok((snapshot, 1_000)), self.at);
    }

    /// A second later it cannot be reached.
    pub(crate) fn fail(&mut self, why: &str) {
        self.wait(1);
        self.view.asked(self.at);
        let trouble = AskError::Unreachable(why.to_owned());
        self.view.answered(self.view.wanted(), Err(trouble), self.at);
    }

    pub(crate) fn wait(&mut self, seconds: u64) {
        self.at += Duration::from_secs(seconds);
    }

    pub(crate) fn ask(&mut self) {
        self.view.asked(self.at);
    }

    /// Presses keys that are characters.
    pub(crate) fn keys(&mut self, keys: &str) -> Option<Deed> {
        keys.chars().filter_map(|key| self.view.key(PressedKey::Character(key))).last()
    }

    pub(crate) fn key(&mut self, key: PressedKey) -> Option<Deed> {
        self.view.key(key)
    }

    pub(crate) fn cells(&mut self) -> Buffer {
        let (view, at) = (&mut self.view, self.at);
        self.terminal.draw(|frame| draw(view, at, frame.buffer_mut())).expect("cells cannot fail");
        self.terminal.backend().buffer().clone()
    }

    /// The visible text, without the spaces at the ends of lines.
    pub(crate) fn text(&mut self) -> String {
        let cells = self.cells();
        let area = cells.area;
        let row = |y: u16| {
            let text: String = (0..area.width).map(|x| cells[(x, y)].symbol()).collect();
            format!("{}\n", text.trim_end())
        };
        (0..area.height).map(row).collect()
    }

    /// The line with this text.
    pub(crate) fn line(&mut self, part: &str) -> String {
        let text = self.text();
        let found = text.lines().find(|line| line.contains(part));
        found.unwrap_or_else(|| panic!("no `{part}` in\n{text}")).to_owned()
    }
}
