//! The pages of one root, as all schedulers see them: Lua text, ready to be loaded, or why it is not.
//!
//! Owns which page answers a path, and that a page whose new text is broken keeps its last good one. Never runs a page.

use std::sync::Arc;

use ahash::HashMap;
use script::engine::{Escape as Markup, State};
use script::template;

use super::name::PageName;
use super::scan::{Source, Unreadable, Walked};
use crate::files::media_type;
use crate::files::rules::FileRules;
use crate::limits::PAGE_BYTES_MAX;

/// One page.
#[derive(Debug)]
pub struct Page {
    /// Its name.
    pub name: PageName,
    /// What it answers with, unless it says otherwise.
    pub media_type: Arc<str>,
    /// The text it was made of, to show the line of an error.
    pub source: String,
    /// Its code; none when it never was good.
    pub lua: Option<Arc<str>>,
    /// What is wrong with the newest text; the code is of an older one then.
    pub problem: Option<Problem>,
}

/// What is wrong with a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1; 0 where it is about the whole file.
    pub line: u32,
    /// The column, from 1; 0 where it is not known.
    pub column: u32,
    /// What, and the mend.
    pub what: String,
}

/// The pages of a root.
#[derive(Debug, Default)]
pub struct PageSet {
    /// In the order of their names.
    pub pages: Vec<Arc<Page>>,
    paths: HashMap<Box<str>, usize>,
    /// The directories they were looked for in, below the root.
    pub directories: Vec<String>,
    /// Whether there may be more of them than were looked for.
    pub is_cut: bool,
}

impl PageSet {
    /// No pages, looked for in these directories.
    pub fn empty(directories: Vec<String>) -> Self {
        Self { directories, ..Self::default() }
    }

    /// What a walk brought, after what was there before. `engine` compiles each page once, to see that it can be.
    pub(super) fn of(
        walked: Walked,
        before: Option<&PageSet>,
        rules: &FileRules,
        engine: &mut State,
    ) -> Self {
        let Walked { sources, directories, is_cut } = walked;
        let mut set = Self { directories, is_cut, ..Self::default() };
        for source in sources {
            let known =
                before.and_then(|before| before.pages.get(before.index_of(&source.name.file)?));
            let page = compile(source, known, rules, engine);
            let index = set.pages.len();
            for path in page.name.paths(&rules.index) {
                // `a.page.html` and `a.page.xml` both answer `a`: the first one does.
                set.paths.entry(path).or_insert(index);
            }
            set.pages.push(page);
        }
        set
    }

    /// The number of the page that answers a path, which has no leading slash.
    #[inline]
    pub fn find(&self, path: &str) -> Option<usize> {
        self.paths.get(path).copied()
    }

    /// The number of the page that a file is.
    pub fn index_of(&self, file: &str) -> Option<usize> {
        self.pages.binary_search_by(|page| (*page.name.file).cmp(file)).ok()
    }

    /// The pages with something wrong.
    pub fn problems(&self) -> impl Iterator<Item = (&Page, &Problem)> {
        self.pages.iter().filter_map(|page| page.problem.as_ref().map(|problem| (&**page, problem)))
    }
}

fn compile(
    source: Source,
    before: Option<&Arc<Page>>,
    rules: &FileRules,
    engine: &mut State,
) -> Arc<Page> {
    let Source { name, text } = source;
    let lowered = match &text {
        Ok(text) => {
            if let Some(before) = before
                && before.source == *text
                && before.problem.is_none()
            {
                return Arc::clone(before);
            }
            lower(&name, text, engine)
        }
        Err(unreadable) => Err(problem_of(unreadable)),
    };
    let media_type = media_type::of(&name.full, rules);
    let source = text.unwrap_or_default();
    Arc::new(match lowered {
        Ok(lua) => Page { name, media_type, source, lua: Some(lua), problem: None },
        Err(problem) => {
            let lua = before.and_then(|before| before.lua.clone());
            Page { name, media_type, source, lua, problem: Some(problem) }
        }
    })
}

fn lower(name: &PageName, text: &str, engine: &mut State) -> Result<Arc<str>, Problem> {
    let escape = template::Escape::of_extension(name.extension());
    let lowered = template::lower(text.as_bytes(), escape).map_err(|error| Problem {
        line: error.line,
        column: error.column,
        what: error.what.to_string(),
    })?;
    match engine.load(0, &name.file, &lowered.lua, Markup::Html) {
        Ok(_compiles) => Ok(lowered.lua.into()),
        Err(error) => Err(Problem { line: error.line, column: 0, what: error.message }),
    }
}

fn problem_of(unreadable: &Unreadable) -> Problem {
    let what = match unreadable {
        Unreadable::Failed(error) => format!("cannot be read: {error}"),
        Unreadable::TooLong => format!("is longer than {PAGE_BYTES_MAX} bytes: include parts"),
        Unreadable::NotText { offset } => {
            format!("is not UTF-8 at byte {offset}: save it in that encoding")
        }
    };
    Problem { line: 0, column: 0, what }
}
