//! The matcher, path and earlier directives that apply at one directive of a Caddyfile.
//!
//! Owns which requests come there, the path that Caddy sees of them, and what was said of them before. Never makes a
//! route.

use super::layer::{Effect, Effects, Layer, parts};
use super::matcher::Chosen;
use crate::matcher::Matcher;

/// The matcher, path and earlier directives that apply at one directive.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// The requests that come here.
    chosen: Chosen,
    /// The prefix that Caddy removes from paths.
    base: String,
    layers: Vec<Layer>,
    /// How many of them are of the blocks around this one.
    outer: usize,
    tries: Option<Vec<String>>,
    /// Whether a later directive answers the requests that its block does not answer.
    is_followed: bool,
}

impl Scope {
    pub(super) fn all() -> Self {
        Self {
            chosen: Chosen::all(),
            base: String::new(),
            layers: Vec::new(),
            outer: 0,
            tries: None,
            is_followed: false,
        }
    }

    /// The scope of a block for these requests in this one.
    pub(super) fn inside(&self, chosen: &Chosen) -> Self {
        Self { chosen: chosen.clone(), outer: self.layers.len(), ..self.clone() }
    }

    /// The same in a block behind which something answers.
    pub(super) fn followed(self, is_followed: bool) -> Self {
        Self { is_followed: self.is_followed || is_followed, ..self }
    }

    pub(super) fn is_followed(&self) -> bool {
        self.is_followed
    }

    pub(super) fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    pub(super) fn base(&self) -> &str {
        &self.base
    }

    pub(super) fn set_base(&mut self, base: String) {
        self.base = base;
    }

    /// The paths of `try_files`, if it was there.
    pub(super) fn tries(&self) -> Option<&[String]> {
        self.tries.as_deref()
    }

    pub(super) fn set_tries(&mut self, tries: Vec<String>) {
        self.tries = Some(tries);
    }

    /// Adds settings for the requests that come here.
    pub(super) fn say(&mut self, chosen: Chosen, effect: Effect) {
        // The last root counts, and of those in one block the first that fits.
        let at = match effect {
            Effect::Root(_) => self.outer.min(self.layers.len()),
            _ => self.layers.len(),
        };
        self.layers.insert(at, Layer::new(chosen, effect));
    }

    /// Takes over the settings of a block whose requests go on here.
    pub(super) fn take_layers(&mut self, inner: Self) {
        self.layers = inner.layers;
    }

    /// Whether settings were added for a part of the requests only.
    pub(super) fn has_parts(&self) -> bool {
        let all = Chosen::all();
        self.layers.iter().any(|layer| layer.moved(&all, &all).flatten().is_none())
    }

    /// The parts of requests of which the same was said; `None` if they cannot be told.
    pub(super) fn parts(&self, chosen: &Chosen) -> Option<Vec<(Chosen, Effects)>> {
        parts(&self.layers, chosen)
    }

    /// The path that Caddy sees, as a target in a route for these paths.
    pub(super) fn path(&self, matcher: &Matcher) -> Option<&'static str> {
        match (self.base.is_empty(), matcher) {
            (true, _) => Some("$path"),
            (false, Matcher::Prefix(prefix)) if *prefix == format!("{}/", self.base) => Some("/$1"),
            _ => None,
        }
    }

    /// Its requests go on with other paths; `None` if what was said of them cannot.
    pub(super) fn go_on_at(&mut self, base: String) -> Option<()> {
        let chosen = Chosen::new(vec![Matcher::Prefix(format!("{base}/"))]);
        let moved = self.layers.iter().map(|layer| layer.moved(&self.chosen, &chosen));
        let moved: Option<Vec<Option<Layer>>> = moved.collect();
        let layers: Vec<Layer> = moved?.into_iter().flatten().collect();
        *self = Self {
            outer: layers.len(),
            layers,
            chosen,
            base,
            tries: self.tries.take(),
            is_followed: self.is_followed,
        };
        Some(())
    }
}
