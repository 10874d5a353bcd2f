//! Reading the pages of all roots.
//!
//! Owns the engine that each page is compiled by once, so that a broken one is known before it is asked for. Waits for
//! the disk; runs on the main thread or on one of its own.

use std::sync::Arc;

use runtime::diagnostic::{self, Level};
use script::engine::{EngineError, State};

use super::scan::walk;
use super::set::PageSet;
use crate::config;
use crate::files::rules::{FileRules, Root};

/// The pages of each root, in the order of the roots. `before` is what was there: a page whose new text is broken keeps its
/// last good one. Where pages are not enabled, nothing is looked at.
///
/// # Errors
/// When there are pages, and there can be no engine on this host.
pub fn load(
    roots: &[Root],
    rules: &[Arc<FileRules>],
    before: &[Arc<PageSet>],
    settings: &config::Pages,
) -> Result<Vec<Arc<PageSet>>, EngineError> {
    if !settings.enabled {
        return Ok(roots.iter().map(|_| Arc::default()).collect());
    }
    let mut engine = None;
    let mut sets = Vec::new();
    for (index, (root, rules)) in roots.iter().zip(rules).enumerate() {
        // A root that cannot be read has no pages; that it cannot be read is said where files are served from it.
        let walked = walk(root).unwrap_or_default();
        if walked.is_cut {
            diagnostic::write(
                Level::Warn,
                format_args!(
                    "{}: too large to be looked through for pages: some may be missing",
                    root.path.display()
                ),
            );
        }
        if walked.sources.is_empty() {
            sets.push(Arc::new(PageSet::empty(walked.directories)));
            continue;
        }
        let engine = match &mut engine {
            Some(engine) => engine,
            None => engine.insert(State::new(settings.engine_settings(0))?),
        };
        let known = before.get(index).map(|set| &**set);
        let set = PageSet::of(walked, known, rules, engine);
        for (page, problem) in set.problems() {
            let fate = if page.lua.is_some() {
                "the version before is served"
            } else {
                "it is answered 500"
            };
            diagnostic::write(
                Level::Error,
                format_args!(
                    "{}/{}:{}:{}: {}; {fate}",
                    root.path.display(),
                    page.name.file,
                    problem.line,
                    problem.column,
                    problem.what
                ),
            );
        }
        sets.push(Arc::new(set));
    }
    Ok(sets)
}
