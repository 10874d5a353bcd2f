//! A configuration of ours on its way: hosts with their routes, and the sections in which they are printed.
//!
//! Owns the shape. A host here ends with a route for all paths, so that nothing is served that no route says. Never
//! knows nginx or Caddy.

use crate::matcher::Matcher;
use crate::route::Route;
use crate::section::{Section, State};
use crate::word::{list, quoted, table};

/// A whole configuration.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    sections: Vec<Section>,
}

impl Draft {
    /// The keys at the top and the sections behind them; the first host is the default host.
    pub(crate) fn new(mut top: Section, before: Vec<Section>, hosts: Vec<Host>) -> Self {
        let mut behind = Vec::new();
        for (number, host) in hosts.into_iter().enumerate() {
            let header = if number == 0 { "[[route]]" } else { "[[host.route]]" };
            let mut section = Section::new("[[host]]");
            let own = if number == 0 { &mut top } else { &mut section };
            host.settings(own);
            if number > 0 {
                behind.push(section);
            }
            behind.extend(host.routes.iter().map(|route| route.section(header)));
        }
        let mut sections = vec![top];
        sections.extend(before.into_iter().filter(|section| !section.is_empty()));
        sections.extend(behind);
        Self { sections }
    }

    pub(crate) fn sections(&self) -> &[Section] {
        &self.sections
    }

    pub(crate) fn section_mut(&mut self, number: usize) -> Option<&mut Section> {
        self.sections.get_mut(number)
    }

    /// Closes all of a host: the one that this route belongs to.
    pub(crate) fn shut_host_of(&mut self, route: usize) {
        let is_route = |section: &Section| section.is_route();
        let header =
            self.sections.get(route).map(|section| section.header().to_owned()).unwrap_or_default();
        let first = (0..=route)
            .rev()
            .take_while(|number| self.sections.get(*number).is_some_and(is_route))
            .last();
        let Some(first) = first else { return };
        for section in self.sections.iter_mut().skip(first).take_while(|section| is_route(section))
        {
            section.set_state(State::Out);
        }
        self.sections.insert(
            first,
            Route::closed(Matcher::all(), "a route of this host could not be kept")
                .section(&header),
        );
    }

    /// Closes everything.
    pub(crate) fn shut(&mut self, why: &str) {
        for section in &mut self.sections {
            section.set_state(State::Out);
        }
        let mut closed = Route::closed(Matcher::all(), why).section("[[route]]");
        closed.note("Nothing below is in force.");
        self.sections.insert(0, closed);
    }
}

/// A host on its way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Host {
    names: Vec<String>,
    root: Option<String>,
    error_pages: Vec<(u16, String)>,
    routes: Vec<Route>,
}

impl Host {
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self { names, ..Self::default() }
    }

    pub(crate) fn add(&mut self, routes: impl IntoIterator<Item = Route>) {
        self.routes.extend(routes);
    }

    pub(crate) fn set_error_pages(&mut self, root: Option<&str>, pages: &[(u16, String)]) {
        self.root = root.map(str::to_owned);
        self.error_pages = pages.to_vec();
    }

    /// How many routes it has.
    pub(crate) fn size(&self) -> usize {
        self.routes.len()
    }

    fn settings(&self, section: &mut Section) {
        if section.header() == "[[host]]" {
            section.set("names", list(&self.names));
        }
        let Some(root) = self.root.as_ref().filter(|_| !self.error_pages.is_empty()) else {
            return;
        };
        section.set("root", quoted(root));
        let pages: Vec<(String, String)> = self
            .error_pages
            .iter()
            .map(|(status, path)| (status.to_string(), quoted(path)))
            .collect();
        section.set(
            "error_pages",
            table(pages.iter().map(|(status, path)| (&**status, path.clone()))),
        );
    }
}
