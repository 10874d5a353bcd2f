//! The app modules, as all schedulers see them: which texts belong together, and whether they are
//! accepted.
//!
//! Owns that modules are replaced all at once: they are consistent with each other, or the previous
//! set stays. Never answers a request.

use std::sync::Arc;

use config::{ModuleUser, NamedModule, PageName};
use script::engine::{EngineError, EngineState, Purpose, ScriptError};

use super::file_readers::FileReaders;
use super::host::{LoadHost, LoadLog};
use super::page::{Page, PageDefect, PageKind};
use super::scan::{Source, Walked};
use super::set::{Compiler, Newest, PageRoot, PageSet, closed_of, problem_of, told};
use crate::limits::APP_MAIN;

/// The default media type of a module's answers.
const MEDIA_TYPE: &str = "text/plain; charset=utf-8";

/// The result of trying a set.
struct Tried {
    newest: Newest,
    problem: Option<PageDefect>,
    /// Places at which the code will fail when it reaches them.
    strangers: Vec<PageDefect>,
    blame: Blame,
}

/// Where the fault of a problem lies, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Blame {
    /// In this text: it does not compile.
    Text,
    /// In this module, which fails when it runs.
    Module,
    /// In a module that it requires.
    Required,
}

/// The modules that a search found, compared with the previous ones. `named` are those named in the configuration; the
/// time is what modules see while they are loaded.
///
/// # Errors
/// If there are modules to run but no engine can run on this host.
pub(super) fn of_walk(
    place: &PageRoot,
    walked: Walked,
    before: Option<&Arc<PageSet>>,
    named: &[NamedModule],
    unix_seconds: u64,
    compiler: &mut Compiler,
) -> Result<Arc<PageSet>, EngineError> {
    let Walked { sources, directories, closed, is_cut } = walked;
    let closed: Vec<_> =
        closed.into_iter().map(|(name, error)| (name, closed_of(&error))).collect();
    let newest: Vec<Newest> = sources.into_iter().map(Newest::of).collect();
    if let Some(before) = before
        && before.newest == newest
        && before.named == named
        && before.directories == directories
        && before.closed == closed
    {
        return Ok(Arc::clone(before));
    }
    let mut host = LoadHost::new(unix_seconds, LoadLog::Told);
    let mut tried = try_all(&newest, named, &mut host, compiler)?;
    let is_kept = before.is_some_and(|before| breaks(&tried, before));
    let broken = tried.iter().filter(|tried| is_kept && tried.problem.is_some());
    let culprit =
        broken.min_by_key(|tried| tried.blame).map(|tried| tried.newest.name.file.clone());
    let mut pages: Vec<Page> = match before.filter(|_| is_kept) {
        Some(before) => kept(&mut tried, before),
        None => tried.into_iter().map(Tried::taken).collect(),
    };
    pages.sort_unstable_by(|one, other| one.name.file.cmp(&other.name.file));
    let mut set = PageSet {
        kind: PageKind::Module,
        place: Some(place.clone()),
        directories,
        closed,
        is_cut,
        newest,
        named: named.to_vec(),
        read_at: unix_seconds,
        culprit,
        ..PageSet::default()
    };
    for (index, page) in pages.into_iter().enumerate() {
        if answers(&page.name, named) {
            set.paths.insert(page.name.full.clone(), index);
        }
        set.pages.push(Arc::new(page));
    }
    set.file_readers = FileReaders::of(&set.pages);
    Ok(Arc::new(set))
}

/// Whether a module answers requests; the others are only required.
fn answers(name: &PageName, named: &[NamedModule]) -> bool {
    purposes(name, named).contains(&Purpose::Answers)
}

/// The purposes for which a module is loaded. A module that is not named can only be required.
fn purposes(name: &PageName, named: &[NamedModule]) -> Vec<Purpose> {
    let is_main = *name.full == *APP_MAIN;
    let mut purposes: Vec<_> = is_main.then_some(Purpose::Answers).into_iter().collect();
    for named in named.iter().filter(|named| *named.name == *name.full) {
        let purpose = match named.by {
            ModuleUser::Route | ModuleUser::Channel => Purpose::Answers,
            ModuleUser::Process => Purpose::Process,
        };
        if !purposes.contains(&purpose) {
            purposes.push(purpose);
        }
    }
    if purposes.is_empty() {
        purposes.push(Purpose::Required);
    }
    purposes
}

/// Runs every module once in a separate engine. A missing module that a route names counts as one with a problem.
fn try_all(
    newest: &[Newest],
    named: &[NamedModule],
    host: &mut LoadHost,
    compiler: &mut Compiler,
) -> Result<Vec<Tried>, EngineError> {
    let mut tried: Vec<Tried> = Vec::new();
    if newest.iter().any(|newest| newest.text.is_ok()) {
        let engine = compiler.engine()?;
        for newest in newest {
            let provided = match &newest.text {
                Ok(text) => engine
                    .provide(&newest.name.full, &newest.name.file, text)
                    .map_err(|error| of_error(&error, &newest.name.file)),
                Err(problem) => Err(problem.clone()),
            };
            tried.push(Tried::of(newest, provided.err()));
        }
        adopt(engine)?;
        for tried in tried.iter_mut().filter(|tried| tried.problem.is_none()) {
            let name = &tried.newest.name;
            let loaded = purposes(name, named).into_iter().try_for_each(|purpose| {
                engine.load_module(&name.full, &name.file, purpose, host).map(drop)
            });
            if let Err(error) = loaded {
                let is_own = *error.page == *name.file;
                tried.blame = if is_own { Blame::Module } else { Blame::Required };
                tried.problem = Some(of_error(&error, &name.file));
            } else if let Ok(text) = &tried.newest.text {
                tried.strangers = strangers(engine, &name.full, text);
            }
        }
    } else {
        let unreadable = |newest: &Newest| Tried::of(newest, newest.text.as_ref().err().cloned());
        tried.extend(newest.iter().map(unreadable));
    }
    for named in named {
        if !tried.iter().any(|tried| *tried.newest.name.full == *named.name) {
            tried.push(Tried::missing(named));
        }
    }
    Ok(tried)
}

/// Undefined globals in a module of the current set; empty if there is no memory for the search.
fn strangers(engine: &mut EngineState, name: &str, text: &str) -> Vec<PageDefect> {
    let found = engine.strangers_of_module(name).unwrap_or_default();
    if found.is_empty() {
        return Vec::new();
    }
    told(&found, &engine.globals_of_module(name).unwrap_or_default(), text, text)
}

fn adopt(engine: &mut EngineState) -> Result<(), EngineError> {
    engine.adopt_modules().map_err(|error| EngineError::Library(error.to_string()))
}

/// Whether something is broken that worked before.
fn breaks(tried: &[Tried], before: &PageSet) -> bool {
    tried.iter().filter(|tried| tried.problem.is_some()).any(|tried| {
        let known = before.index_of(&tried.newest.name.file);
        let known = known.and_then(|index| before.pages.get(index));
        known.is_some_and(|known| known.lua.is_some())
    })
}

/// The previous modules, with the problems of those that should have replaced them.
fn kept(tried: &mut Vec<Tried>, before: &PageSet) -> Vec<Page> {
    let mut pages = Vec::new();
    for known in before.pages.iter().filter(|known| known.lua.is_some()) {
        let place = tried.iter().position(|tried| tried.newest.name == known.name);
        let newer = place.map(|place| tried.swap_remove(place));
        let (problem, text) =
            newer.map_or((None, None), |newer| (newer.problem, newer.newest.text.ok()));
        let strangers = if problem.is_none() { known.strangers.clone() } else { Vec::new() };
        // The text that a problem is about, or the one that runs.
        let source = match (&problem, text) {
            (Some(_), text) => text.as_deref().unwrap_or_default().to_owned(),
            (None, _) => known.lua.as_deref().unwrap_or_default().to_owned(),
        };
        pages.push(Page {
            name: known.name.clone(),
            kind: PageKind::Module,
            media_type: Arc::clone(&known.media_type),
            source,
            lua: known.lua.clone(),
            problem,
            strangers,
        });
    }
    let what = "is not taken over, as another module is broken";
    let waits = || PageDefect { line: 0, column: 0, what: what.to_owned() };
    pages.extend(tried.drain(..).map(|mut new| {
        new.problem = new.problem.or_else(|| Some(waits()));
        new.taken()
    }));
    pages
}

impl Newest {
    fn of(source: Source) -> Self {
        let text = source.text.map(Arc::from).map_err(|unreadable| problem_of(&unreadable));
        Self { name: source.name, text }
    }

    pub(super) fn name(&self) -> &PageName {
        &self.name
    }
}

impl Tried {
    fn of(newest: &Newest, problem: Option<PageDefect>) -> Self {
        let newest = newest.clone();
        Self { newest, problem, strangers: Vec::new(), blame: Blame::Text }
    }

    fn missing(module: &NamedModule) -> Self {
        let what = format!("does not exist, but {} names it", module.by.as_str());
        let problem = PageDefect { line: 0, column: 0, what };
        let name = PageName::of_missing_module(&module.name);
        let newest = Newest { name, text: Err(problem.clone()) };
        Self::of(&newest, Some(problem))
    }

    fn taken(self) -> Page {
        let text = self.newest.text.ok();
        let source = text.as_deref().unwrap_or_default().to_owned();
        let lua = text.filter(|_| self.problem.is_none());
        // Code that is not in force cannot fail.
        let strangers = if lua.is_some() { self.strangers } else { Vec::new() };
        Page {
            name: self.newest.name,
            kind: PageKind::Module,
            media_type: MEDIA_TYPE.into(),
            source,
            lua,
            problem: self.problem,
            strangers,
        }
    }
}

/// The problem of a module, from an error that may be in a module it requires.
fn of_error(error: &ScriptError, file: &str) -> PageDefect {
    if error.page == file {
        return PageDefect { line: error.line, column: 0, what: error.message.clone() };
    }
    let own = error.traceback.iter().find(|frame| frame.page == file);
    let what = format!("{}:{}: {}", error.page, error.line, error.message);
    PageDefect { line: own.map_or(0, |frame| frame.line), column: 0, what }
}
