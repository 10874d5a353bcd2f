//! Replaces the loaded pages: at the start, after an edit, at a reload.
//!
//! Owns which code answers, before and after. Never runs a page.

use std::sync::Arc;

use script::engine::{Purpose, ScriptError};

use super::Runner;
use crate::file_readers::takes_files;
use crate::host::{LoadHost, LoadLog};
use crate::limits::PAGE_LOADS_FAILED_MAX;
use crate::load::SetIndex;
use crate::loaded::{Code, Loaded};
use crate::page::Page;
use crate::process_engine::provide;
use crate::set::PageSet;

/// Pages that could not be loaded in one edit.
#[derive(Default)]
struct Shortage {
    count: usize,
}

impl Shortage {
    /// Whether another try would be useless.
    fn is_over(&self) -> bool {
        self.count < PAGE_LOADS_FAILED_MAX
    }
}

impl Runner {
    /// Loads other pages in place of the current ones. Running pages continue with the old ones.
    pub fn load(&mut self, sets: &[Arc<PageSet>]) {
        let mut before = self.roots.take();
        let (mut roots, mut shortage) = (Vec::new(), Shortage::default());
        for set in sets {
            let mut known = before.iter_mut().find(|known| known.is_of(set));
            let site = known.as_ref().map_or_else(|| self.roots.new_site(), |known| known.site());
            if set.is_app() {
                roots.push(self.load_modules(set, site, known, &mut shortage));
                continue;
            }
            if roots.is_empty() {
                self.engines.requests().lead(site);
            }
            let code = set.pages.iter().map(|page| {
                match known.as_mut().and_then(|known| known.take(&page.name.file)) {
                    Some(code) if Arc::ptr_eq(code.page(), page) => Some(code),
                    older => self.load_page(site, page, older, &mut shortage),
                }
            });
            let code = code.collect();
            roots.push(Loaded::new(set, site, code));
        }
        self.roots.set(roots);
        let has_app = |sets: &[Arc<PageSet>]| sets.iter().any(|set| set.is_app());
        if before.iter().any(|known| known.set().is_app()) && !has_app(sets) {
            // An empty set replaces the modules that pages could require. Without memory for that, pages still find the
            // old ones.
            let _no_room = self.engines.requests().adopt_modules();
        }
        for known in before.iter().filter(|known| !known.set().is_app()) {
            let now = sets.iter().find(|set| known.is_of(set));
            let is_gone = |file: &str| now.is_none_or(|set| set.index_of(file).is_none());
            for page in known.set().pages.iter().filter(|page| is_gone(&page.name.file)) {
                self.engines.requests().withdraw(known.site(), &page.name.file);
            }
        }
        if !before.is_empty() {
            self.engines.requests().forget_native();
        }
    }

    fn load_page(
        &mut self,
        site: u16,
        page: &Arc<Page>,
        older: Option<Code>,
        shortage: &mut Shortage,
    ) -> Option<Code> {
        let file = &page.name.file;
        let Some(lua) = &page.lua else {
            if let Some(problem) = &page.problem {
                self.engines.requests().refuse(site, file, &page.refusal(problem));
            }
            return None;
        };
        if !shortage.is_over() {
            return older;
        }
        match self.engines.requests().load(site, file, lua) {
            Ok(handler) => Some(Code::new(page, handler)),
            Err(error) => self.stay(page, older, error, shortage),
        }
    }

    /// The text was valid when it was read, but has no room here: the older version stays.
    fn stay(
        &mut self,
        page: &Arc<Page>,
        older: Option<Code>,
        mut error: Box<ScriptError>,
        shortage: &mut Shortage,
    ) -> Option<Code> {
        shortage.count += 1;
        let served = if older.is_some() { "the version before is served" } else { "it is not run" };
        let what = &error.message;
        error.message = format!(
            "cannot be loaded: {what}; {served}, until it is loaded at an edit or a reload"
        );
        self.log.fail(Arc::clone(page), error);
        older
    }

    /// Modules are loaded together, so that those of one set find each other. Code that is already loaded stays.
    fn load_modules(
        &mut self,
        set: &Arc<PageSet>,
        site: u16,
        mut before: Option<&mut Loaded>,
        shortage: &mut Shortage,
    ) -> Loaded {
        let is_in_force = before.as_ref().is_some_and(|known| known.set().is_same_code(set));
        if !is_in_force && let Err((page, error)) = self.take_over(set) {
            let Some(known) = before else {
                self.stay(&page, None, error, shortage);
                return Loaded::new(set, site, set.pages.iter().map(|_| None).collect());
            };
            let code = known.take_all();
            shortage.count += 1;
            let what = "no memory for the app modules; the previous ones stay in use until an edit or a \
                        reload";
            self.log.fail(page, Box::new(ScriptError { message: what.to_owned(), ..*error }));
            return Loaded::new(known.set(), site, code);
        }
        let mut host = LoadHost::new(set.read_at, LoadLog::Dropped);
        let code = set.pages.iter().map(|page| {
            page.lua.as_ref()?;
            let (name, file) = (&page.name.full, &page.name.file);
            let purpose = purpose_of(set, name);
            // A route may lead to it only now, although the set is the same.
            let known = before.as_mut().filter(|known| purpose_of(known.set(), name) == purpose);
            let older = known.and_then(|known| known.take(file));
            if older.as_ref().is_some_and(|older| older.is_of(page)) || !shortage.is_over() {
                return older;
            }
            match self.engines.requests().load_module(name, file, purpose, &mut host) {
                Ok(handler) => Some(Code::new(page, handler)),
                Err(error) => self.stay(page, older, error, shortage),
            }
        });
        let code = code.collect();
        Loaded::new(set, site, code)
    }

    /// Loads a set of modules into both engines; or returns the page for which there was no room.
    fn take_over(&mut self, set: &PageSet) -> Result<(), (Arc<Page>, Box<ScriptError>)> {
        provide(self.engines.requests(), set)?;
        let ended = self.background.renew();
        self.end_all(ended);
        if let Err((page, mut error)) = self.engines.processes().take_over(set) {
            let told = "no memory for the app modules in the engine of processes; the previous ones stay in \
                        use there";
            told.clone_into(&mut error.message);
            self.log.fail(page, error);
        }
        Ok(())
    }

    /// The page that answers a path of a root, or the module with that name.
    #[inline]
    pub fn find(&self, set: SetIndex, path: &str) -> Option<usize> {
        self.roots.get(set)?.set().find(path)
    }

    /// The pages of a root.
    pub fn pages(&self, set: SetIndex) -> Option<&PageSet> {
        Some(self.roots.get(set)?.set())
    }

    /// Whether a page, or a part or module that it names, reads the files of a form.
    pub fn takes_files(&self, set: SetIndex, index: usize) -> bool {
        let sets: Vec<_> = self.roots.sets().map(|set| (set.kind, &set.file_readers)).collect();
        takes_files(&sets, usize::from(set.0), index)
    }

    /// The page with this number.
    pub fn page(&self, set: SetIndex, index: usize) -> Option<&Arc<Page>> {
        self.roots.get(set)?.set().pages.get(index)
    }

    /// The file of a page, first as messages name it, then with its directory, as reports name it.
    pub fn names_of(&self, set: SetIndex, index: usize) -> Option<[String; 2]> {
        let page = self.page(set, index)?;
        Some([page.name.file.to_string(), self.roots.get(set)?.set().name_of(page)])
    }
}

/// The purpose for which a module of a set is loaded.
fn purpose_of(set: &PageSet, name: &str) -> Purpose {
    if set.find(name).is_some() { Purpose::Answers } else { Purpose::Required }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use runtime::slots::ProcessId;
    use script::engine::{EngineSettings, Fault};

    use super::super::RunResult;
    use super::*;
    use crate::stage::{pages, run};

    /// Holds most of the memory.
    const HOLDS: &str = "<% local texts = {}
        for index = 1, 250 do texts[index] = ('x'):rep(20000) .. index end sleep(1) print(#texts) %>";

    /// Holds little: beyond three quarters of the memory no run may hold much.
    const HOLDS_SOME: &str = "<% local texts = {}
        for index = 1, 10 do texts[index] = ('x'):rep(20000) .. index .. tostring(texts) end sleep(1) print(#texts) %>";

    fn body(runner: &mut Runner, index: usize) -> String {
        assert!(matches!(run(runner, 9, index, 0), RunResult::Done(_)));
        String::from_utf8_lossy(&runner.output().body).into_owned()
    }

    #[test]
    fn where_there_is_no_memory_for_an_edit_the_page_stays_and_that_is_told() {
        let slice = Duration::from_secs(3600);
        let settings = EngineSettings { memory_bytes: 8 << 20, slice, ..EngineSettings::default() };
        let mut runner = Runner::new(
            &pages(&[
                ("a.page.html", "old"),
                ("holds.page.html", HOLDS),
                ("some.page.html", HOLDS_SOME),
            ]),
            settings,
            64 << 20,
            u64::MAX,
            1,
        )
        .unwrap();
        assert!(matches!(run(&mut runner, 1, 1, 0), RunResult::Wait));
        for process in 11..=17 {
            assert!(matches!(run(&mut runner, process, 2, 0), RunResult::Wait));
        }
        let long = format!("new<% local text = '{}' %>", "y".repeat(1_000_000));
        let added = ("b.page.html", long.as_str());
        let edited = pages(&[("a.page.html", &long), added, ("holds.page.html", HOLDS)]);
        runner.load(&edited);
        assert_eq!(body(&mut runner, 0), "old");
        let told: Vec<_> =
            runner.take_failures().into_iter().map(|(_, error)| error.to_string()).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].starts_with(
                "a.page.html: cannot be loaded: not enough memory; the version before"
            )
        );
        assert!(told[1].contains("it is not run"), "{told:?}");
        let RunResult::Failed(_, Some(error)) = run(&mut runner, 2, 1, 0) else { panic!("it ran") };
        assert_eq!(error.fault, Fault::Memory);
        // With room it is loaded, although nothing of it has changed.
        for process in [1, 11, 12, 13, 14, 15, 16, 17] {
            runner.forget(ProcessId::from_bits(process));
        }
        runner.load(&edited);
        assert_eq!(
            (body(&mut runner, 0), body(&mut runner, 1)),
            ("new".to_owned(), "new".to_owned())
        );
        assert!(runner.take_failures().is_empty());
    }
}
