//! One page, or one app module, as all schedulers see it.
//!
//! Owns what is kept of it: its name, its code, and the problem of its newest text. Never finds or compiles a page.

use std::fmt;
use std::sync::Arc;

use config::PageName;

/// The kind of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageKind {
    /// Text with code in it.
    #[default]
    Page,
    /// An app module: code only.
    Module,
}

/// One page, or one app module.
#[derive(Debug)]
pub struct Page {
    /// Its name.
    pub name: PageName,
    /// Its kind.
    pub kind: PageKind,
    /// The default media type of its answer.
    pub media_type: Arc<str>,
    /// Its source, for showing the line of an error.
    pub source: String,
    /// Its code; `None` if it never compiled.
    pub lua: Option<Arc<str>>,
    /// The problem of the newest text. The code is then from an older text.
    pub problem: Option<PageDefect>,
    /// Places at which the code will fail when it reaches them: undefined globals.
    pub strangers: Vec<PageDefect>,
}

impl Page {
    /// The error for pages that include it while it has no code.
    pub(super) fn refusal(&self, problem: &PageDefect) -> String {
        format!("{}{problem}", self.name.file)
    }

    /// A page of a test, whose source is its code.
    #[cfg(test)]
    pub(crate) fn of_text(kind: PageKind, file: &str, text: &str) -> Self {
        let name = match kind {
            PageKind::Page => PageName::of(file),
            PageKind::Module => PageName::of_module(file),
        };
        Self {
            name: name.expect("the file has the name of a page or module"),
            kind,
            media_type: "text/html".into(),
            source: text.to_owned(),
            lua: Some(text.into()),
            problem: None,
            strangers: Vec::new(),
        }
    }
}

/// The problem of a page. It is written after the name of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageDefect {
    /// The line, from 1; 0 if it concerns the whole file.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
    /// The problem, and how to fix it.
    pub what: String,
}

impl fmt::Display for PageDefect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in [self.line, self.column].into_iter().take_while(|place| *place != 0) {
            write!(formatter, ":{place}")?;
        }
        write!(formatter, ": {}", self.what)
    }
}
