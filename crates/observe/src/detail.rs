//! One thing that is shown as a whole.
//!
//! Owns what is known of it, also when it has ended.

use live::Info;
use ratatui::text::Line;

use crate::ask::{Ask, AskError};
use crate::harmless::{clean_info, harmless};
use crate::paint::{Colours, line};
use crate::texts;

/// A thing.
pub(crate) struct Detail {
    id: String,
    /// Its name in the list.
    name: String,
    info: Option<Info>,
    /// Why there is nothing newer.
    trouble: Option<AskError>,
}

impl Detail {
    pub(crate) fn new(id: String, name: String) -> Self {
        Self { id, name, info: None, trouble: None }
    }

    pub(crate) fn wanted(&self) -> Ask {
        Ask::Info(self.id.clone())
    }

    /// Its id and its name.
    pub(crate) fn named(&self) -> (String, String) {
        (self.id.clone(), self.name.clone())
    }

    /// Takes an answer, if it is about this thing.
    pub(crate) fn take(&mut self, id: &str, answer: Result<Info, AskError>) {
        if id != self.id {
            return;
        }
        match answer {
            Ok(mut info) => {
                clean_info(&mut info);
                self.info = Some(info);
                self.trouble = None;
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    pub(crate) fn text(&self, colours: Colours) -> Vec<Line<'static>> {
        let mut lines: Vec<Line<'static>> = self.info.as_ref().map(texts::info).unwrap_or_default();
        match (&self.trouble, lines.is_empty()) {
            (Some(trouble), _) => {
                let text = format!("{}: {}", self.name, harmless(&trouble.to_string()));
                lines.insert(0, line(text, colours.warning()));
            }
            (None, true) => lines.push(Line::from(format!("{}: asked ...", self.name))),
            (None, false) => {}
        }
        lines
    }
}
