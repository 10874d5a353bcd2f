//! The globals that a page or module defines, and those that it uses but that do not exist.
//!
//! Owns what is reported about each. Never judges whether it matters: a page that never reaches
//! that place runs well.

use std::fmt;

use crate::engine::error::ScriptError;
use crate::engine::ffi::{Argument, CallFault};
use crate::engine::report;
use crate::engine::run::Handler;
use crate::engine::state::EngineState;

/// How a global is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is read.
    Read,
    /// It is set, which pages and modules can never do.
    Set,
}

/// A global that a page or module cannot use as it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// The name.
    pub name: String,
    /// The first line that uses it in this way, from 1.
    pub line: u32,
    /// How it is used.
    pub usage: Use,
}

/// Modules have it; pages have another function.
const RENDER_HINT: &str = ": pages have `include`, and app modules `render`";

impl fmt::Display for Stranger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.usage {
            Use::Read => {
                // The same hint as in base.lua.
                let hint = if self.name == "render" { RENDER_HINT } else { "" };
                write!(formatter, "undefined global '{}'{hint}", self.name)
            }
            Use::Set => {
                write!(formatter, "assignment to the global '{}': declare it with local", self.name)
            }
        }
    }
}

impl EngineState {
    /// The undefined globals of a page, by line, each name once for reading and once for setting. Names
    /// computed at run time (`_G[name]`, `load`) are not found.
    ///
    /// # Errors
    ///
    /// If there is no memory for the search.
    pub fn strangers(&mut self, page: &Handler) -> Result<Vec<Stranger>, Box<ScriptError>> {
        let function = Argument::Kept(page.function_in(&self.bin));
        let told = self.lua.call_for_text(&self.kept.strangers, function);
        Ok(read(&told.map_err(|fault| report::of_call(fault, page.name()))?))
    }

    /// The same for a module of the current set, by its name; empty if there is no such module. It need not have run.
    ///
    /// # Errors
    ///
    /// If there is no memory for the search.
    pub fn strangers_of_module(&mut self, name: &str) -> Result<Vec<Stranger>, Box<ScriptError>> {
        let told = self.lua.call_for_text(&self.kept.strangers, Argument::Text(name));
        Ok(read(&told.map_err(|fault| report::of_call(fault, name))?))
    }

    /// The globals of a page, those of its libraries as `library.name`, in no particular order.
    ///
    /// # Errors
    ///
    /// If there is no memory to list them.
    pub fn globals(&mut self, page: &Handler) -> Result<Vec<String>, Box<ScriptError>> {
        let function = Argument::Kept(page.function_in(&self.bin));
        listed(self.lua.call_for_text(&self.kept.globals, function), page.name())
    }

    /// The same for a module of the current set, by its name.
    ///
    /// # Errors
    ///
    /// If there is no memory to list them.
    pub fn globals_of_module(&mut self, name: &str) -> Result<Vec<String>, Box<ScriptError>> {
        let told = self.lua.call_for_text(&self.kept.globals, Argument::Text(name));
        listed(told, name)
    }
}

/// The names in the report of globals.lua, one per line.
fn listed(told: Result<String, CallFault>, name: &str) -> Result<Vec<String>, Box<ScriptError>> {
    let told = told.map_err(|fault| report::of_call(fault, name))?;
    Ok(told.lines().map(str::to_owned).collect())
}

/// Parses the report of globals.lua: a line, a use and a name, on one line each. Returns the first of each kind, by
/// line.
fn read(told: &str) -> Vec<Stranger> {
    let mut lines = told.lines();
    let next = std::iter::from_fn(|| Some((lines.next()?, lines.next()?, lines.next()?)));
    let mut all: Vec<Stranger> = next
        .map(|(line, usage, name)| Stranger {
            name: name.to_owned(),
            line: line.parse().unwrap_or(0),
            usage: if usage == "write" { Use::Set } else { Use::Read },
        })
        .collect();
    let key = |one: &Stranger| (one.usage == Use::Set, one.line);
    all.sort_by(|one, other| (&one.name, key(one)).cmp(&(&other.name, key(other))));
    all.dedup_by(|later, first| later.name == first.name && later.usage == first.usage);
    all.sort_by_key(|stranger| stranger.line);
    all
}
