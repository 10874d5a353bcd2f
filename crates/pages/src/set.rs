//! The pages of one root, as all schedulers see them: Lua text, ready to be loaded, or the reason
//! why not.
//!
//! Owns which page answers a path, and that a page whose new text is broken keeps its last good
//! one. Never runs a page. App modules are such a set, too (`modules.rs`).

use std::io;
use std::path::Path;
use std::sync::Arc;

use ahash::HashMap;
use config::{NamedModule, PageName};
use files::media_type;
use files::rules::FileRules;
use files::rules::Root;
use memchr::memmem;
use script::engine::{EngineError, EngineSettings, EngineState, Handler, Stranger};
use script::template;

use super::file_readers::FileReaders;
use super::mark::column_of;
use super::page::{Page, PageDefect, PageKind};
use super::scan::{Source, Unreadable, Walked};
use crate::limits::{PAGE_BYTES_MAX, PAGE_STRANGERS_MAX};

/// A place where the pages of a set are searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRoot {
    /// The directory.
    pub root: Root,
    /// The index names of directories, from the rules of its files.
    pub index: Vec<String>,
}

/// A module as it is on disk. Plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Newest {
    pub(crate) name: PageName,
    pub(crate) text: Result<Arc<str>, PageDefect>,
}

/// The pages of a root. Plain data: `of` or `modules` builds it, and then it is only read.
#[derive(Debug, Default)]
pub struct PageSet {
    /// Their kind.
    pub kind: PageKind,
    /// Where they were searched.
    pub(crate) place: Option<PageRoot>,
    /// Sorted by name.
    pub pages: Vec<Arc<Page>>,
    /// The page that answers each path; for modules, those that answer, by name.
    pub(crate) paths: HashMap<Box<str>, usize>,
    /// The directories that were searched, below the root.
    pub directories: Vec<String>,
    /// Directories that this user cannot read, and the problem of each.
    pub(crate) closed: Vec<(String, PageDefect)>,
    /// Whether there may be more pages than were found.
    pub is_cut: bool,
    /// Whether any page may require a module, judging by its text.
    pub(crate) names_modules: bool,
    /// Which of them read files of forms.
    pub(crate) file_readers: FileReaders,
    /// For modules: all of them as they are on disk, which need not be in force.
    pub(crate) newest: Vec<Newest>,
    /// For modules: those named in the configuration.
    pub(crate) named: Vec<NamedModule>,
    /// For modules: when they were read, in seconds since 1970; every engine loads them with this time.
    pub(crate) read_at: u64,
    /// For modules: the file that is most likely at fault if the newest texts are not in force.
    pub(crate) culprit: Option<Box<str>>,
}

impl PageSet {
    /// The pages that a search found, compared with the previous ones.
    ///
    /// # Errors
    /// If there are pages to compile but no engine can run on this host.
    pub(super) fn of(
        place: &PageRoot,
        walked: Walked,
        before: Option<&PageSet>,
        rules: &FileRules,
        compiler: &mut Compiler,
    ) -> Result<Self, EngineError> {
        let Walked { sources, directories, closed, is_cut } = walked;
        let closed = closed.into_iter().map(|(name, error)| (name, closed_of(&error))).collect();
        let place = Some(place.clone());
        let mut set = Self { place, directories, closed, is_cut, ..Self::default() };
        for source in sources {
            if rules.is_app(&source.name.file) {
                continue;
            }
            let known =
                before.and_then(|before| before.pages.get(before.index_of(&source.name.file)?));
            let page = compiler.compile(source, known, rules)?;
            set.names_modules |= may_require(&page.source);
            let index = set.pages.len();
            for path in page.name.paths(&rules.index) {
                // `a.page.html` and `a.page.xml` both answer `a`: the first one wins.
                set.paths.entry(path).or_insert(index);
            }
            set.pages.push(page);
        }
        set.file_readers = FileReaders::of(&set.pages);
        Ok(set)
    }

    /// Whether they are app modules.
    pub fn is_app(&self) -> bool {
        self.kind == PageKind::Module
    }

    /// Whether its pages may behave differently than expected while a module is not in force.
    pub fn names_modules(&self) -> bool {
        self.names_modules
    }

    /// The broken page in an error message: the one that another page could not include.
    pub fn broken_in(&self, message: &str) -> Option<&Arc<Page>> {
        self.pages.iter().find(|page| {
            let problem = page.problem.as_ref().filter(|_| page.lua.is_none());
            problem.is_some_and(|problem| message.ends_with(&page.refusal(problem)))
        })
    }

    /// For modules: the one that must be fixed before the newest texts can take effect.
    pub fn culprit(&self) -> Option<&Arc<Page>> {
        self.pages.get(self.index_of(self.culprit.as_deref()?)?)
    }

    /// The file of a page, with its directory.
    pub(super) fn name_of(&self, page: &Page) -> String {
        let directory = self.place.as_ref().map(|place| place.root.path.as_path());
        directory.unwrap_or(Path::new("")).join(&*page.name.file).display().to_string()
    }

    /// The pages with code, each with it.
    pub fn texts(&self) -> impl Iterator<Item = (&Page, &Arc<str>)> {
        self.pages.iter().filter_map(|page| Some((&**page, page.lua.as_ref()?)))
    }

    /// Whether the current code is the same.
    pub(super) fn is_same_code(&self, other: &Self) -> bool {
        self.texts().count() == other.texts().count()
            && self.texts().zip(other.texts()).all(|((one, text), (other, other_text))| {
                one.name == other.name && Arc::ptr_eq(text, other_text)
            })
    }

    /// Whether these are the same pages, unchanged.
    pub fn is_same(&self, other: &Self) -> bool {
        self.closed == other.closed
            && self.pages.len() == other.pages.len()
            && self.pages.iter().zip(&other.pages).all(|(one, other)| Arc::ptr_eq(one, other))
    }

    /// The number of the page that answers a path without a leading slash.
    #[inline]
    pub fn find(&self, path: &str) -> Option<usize> {
        self.paths.get(path).copied()
    }

    /// The number of the page with this file.
    pub fn index_of(&self, file: &str) -> Option<usize> {
        self.pages.binary_search_by(|page| (*page.name.file).cmp(file)).ok()
    }

    /// The pages with a problem, now or when they run.
    pub fn troubled(&self) -> impl Iterator<Item = &Page> {
        let is_troubled = |page: &&Page| page.problem.is_some() || !page.strangers.is_empty();
        self.pages.iter().map(|page| &**page).filter(is_troubled)
    }
}

/// The engine that compiles each new page once, so that a broken one is known before it is requested. There is none
/// until a page is new.
pub(super) struct Compiler {
    settings: EngineSettings,
    last_good: LastGood,
    engine: Option<EngineState>,
}

/// Whether the last working code of a page with a broken text is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastGood {
    /// It is served.
    Kept,
    /// It is dropped: the author sees the problem, and so do pages that include it.
    Dropped,
}

/// A text that compiled.
struct Compiled {
    lua: Arc<str>,
    strangers: Vec<PageDefect>,
}

impl Compiler {
    pub(super) fn new(settings: EngineSettings, last_good: LastGood) -> Self {
        Self { settings, last_good, engine: None }
    }

    /// The engine, created when first needed.
    pub(super) fn engine(&mut self) -> Result<&mut EngineState, EngineError> {
        if self.engine.is_none() {
            self.engine = Some(EngineState::new(self.settings)?);
        }
        Ok(self.engine.as_mut().expect("it was made if there was none"))
    }

    fn compile(
        &mut self,
        source: Source,
        before: Option<&Arc<Page>>,
        rules: &FileRules,
    ) -> Result<Arc<Page>, EngineError> {
        let Source { name, text } = source;
        let media_type = media_type::of(&name.full, rules);
        if let Some(before) = before
            && before.media_type == media_type
            && is_unchanged(before, &text)
        {
            return Ok(Arc::clone(before));
        }
        let lowered = match &text {
            Ok(text) => self.lower(&name, text)?,
            Err(unreadable) => Err(problem_of(unreadable)),
        };
        let source = text.unwrap_or_default();
        let kind = PageKind::Page;
        let (lua, problem, strangers) = match lowered {
            Ok(Compiled { lua, strangers }) => (Some(lua), None, strangers),
            Err(problem) => {
                let good = before.filter(|_| self.last_good == LastGood::Kept);
                (good.and_then(|before| before.lua.clone()), Some(problem), Vec::new())
            }
        };
        Ok(Arc::new(Page { name, kind, media_type, source, lua, problem, strangers }))
    }

    fn lower(
        &mut self,
        name: &PageName,
        text: &str,
    ) -> Result<Result<Compiled, PageDefect>, EngineError> {
        let escape = template::Escape::of_extension(name.extension());
        let lowered = match template::lower(text.as_bytes(), escape) {
            Ok(lowered) => lowered,
            Err(error) => {
                let what = error.what.to_string();
                return Ok(Err(PageDefect { line: error.line, column: error.column, what }));
            }
        };
        let engine = self.engine()?;
        Ok(match engine.load(0, &name.file, &lowered.lua) {
            Ok(page) => {
                let strangers = strangers_of_page(engine, &page, text, &lowered.lua);
                Ok(Compiled { lua: lowered.lua.into(), strangers })
            }
            Err(error) => {
                // LuaJIT names the token at which it stopped.
                let token = error.message.rsplit_once(" near '").map(|(_, token)| token);
                let token = token.and_then(|token| token.strip_suffix('\''));
                let column = token.map_or(0, |token| column_of(text, error.line, token));
                Err(PageDefect { line: error.line, column, what: error.message })
            }
        })
    }
}

/// The undefined globals of a page.
fn strangers_of_page(
    engine: &mut EngineState,
    page: &Handler,
    source: &str,
    lua: &str,
) -> Vec<PageDefect> {
    // Without memory for the search none are reported. The page may be served anyway.
    let found = engine.strangers(page).unwrap_or_default();
    if found.is_empty() {
        return Vec::new();
    }
    told(&found, &engine.globals(page).unwrap_or_default(), source, lua)
}

/// The problems for undefined globals, each with the name that was probably meant if that is clear: from the text, or
/// from the `known` globals.
pub(super) fn told(
    found: &[Stranger],
    known: &[String],
    source: &str,
    lua: &str,
) -> Vec<PageDefect> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let problem_of = |stranger: &Stranger| {
        let hint = template::near_name(&stranger.name, lua, &known);
        let hint = hint.map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default();
        let column = column_of(source, stranger.line, &stranger.name);
        PageDefect { line: stranger.line, column, what: format!("{stranger}{hint}") }
    };
    found.iter().take(PAGE_STRANGERS_MAX).map(problem_of).collect()
}

/// Whether a text contains the word `require`.
fn may_require(source: &str) -> bool {
    const WORD: &str = "require";
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    memmem::find_iter(source.as_bytes(), WORD)
        .any(|at| !source.as_bytes().get(at + WORD.len()).is_some_and(is_name))
}

/// Whether compiling would give the same page. Broken texts are not compiled again either.
fn is_unchanged(page: &Page, text: &Result<String, Unreadable>) -> bool {
    match text {
        // A problem of the whole file may have gone although its text is the same.
        Ok(text) => {
            page.source == *text && page.problem.as_ref().is_none_or(|problem| problem.line > 0)
        }
        Err(unreadable) => page.problem.as_ref() == Some(&problem_of(unreadable)),
    }
}

/// The problem of a directory that this user cannot read.
pub(super) fn closed_of(error: &io::Error) -> PageDefect {
    let what = format!(
        "cannot be read: {error}; allow the server's user to list it and to open its files"
    );
    PageDefect { line: 0, column: 0, what }
}

/// The problem of a file without a text.
pub(super) fn problem_of(unreadable: &Unreadable) -> PageDefect {
    let what = match unreadable {
        Unreadable::Failed(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            "cannot be read: it is a symbolic link that leads out of the root, and such a link is not \
             followed: put the file here, or a link to one below the root"
                .to_owned()
        }
        Unreadable::Failed(error) => format!("cannot be read: {error}"),
        Unreadable::Closed => "is in a directory that the server's user may not look into".to_owned(),
        Unreadable::TooLong => format!("is longer than {PAGE_BYTES_MAX} bytes: make several of it"),
        Unreadable::NotText { offset } => {
            format!("is not UTF-8 at byte {}: save it in that encoding", offset + 1)
        }
    };
    PageDefect { line: 0, column: 0, what }
}
