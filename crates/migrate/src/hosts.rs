//! Which site answers a name at an address, as hosts of ours.
//!
//! Owns that choice: nginx and Caddy take the address, then the name, and else what is for all names of that address;
//! we take the name, and a route may ask for the listener.

use crate::draft::Host;
use crate::limits::ROUTES_MAX;
use crate::matcher::Matcher;
use crate::route::Route;

/// A server of nginx, or a site of Caddy.
pub(crate) trait Site {
    /// Its names, of which `*.` takes all below.
    fn names(&self) -> &[String];

    /// Its addresses, in the order in which they are said.
    fn addresses(&self) -> Vec<&str>;

    /// Whether it takes the names that no other has at this address, although it is not the first one there.
    fn is_default(&self, address: &str) -> bool;

    /// Names of hosts that it treats in another way than its other names.
    fn asked_hosts(&self) -> Vec<String>;

    /// Whether it has names that we cannot tell from others.
    fn has_other_names(&self) -> bool;

    /// Its place, for a comment.
    fn place(&self) -> &str;

    /// The directory of its error pages, and these.
    fn error_pages(&self) -> (Option<&str>, &[(u16, String)]);

    /// Its routes for requests with this name, or with any of several; the last is for all paths.
    fn routes(&self, host: Option<&str>) -> Vec<Route>;
}

/// All sites.
pub(crate) struct Hosts<'s, S> {
    servers: &'s [S],
    addresses: Vec<String>,
}

impl<'s, S: Site> Hosts<'s, S> {
    pub(crate) fn new(servers: &'s [S]) -> Self {
        let mut addresses: Vec<String> = Vec::new();
        for address in servers.iter().flat_map(Site::addresses) {
            if !addresses.iter().any(|known| known == address) {
                addresses.push(address.to_owned());
            }
        }
        Self { servers, addresses }
    }

    /// The server that answers a name at an address, by its number.
    fn chosen(&self, address: &str, name: &str) -> Option<usize> {
        let is_at = |server: &S| server.addresses().contains(&address);
        let at: Vec<(usize, &S)> =
            self.servers.iter().enumerate().filter(|(_, server)| is_at(server)).collect();
        let has = |wanted: &str| {
            let has = |server: &S| server.names().iter().any(|name| name == wanted);
            at.iter().find(|(_, server)| has(server)).map(|(number, _)| *number)
        };
        if let Some(number) = has(name) {
            return Some(number);
        }
        let mut rest = name.strip_prefix("*.").unwrap_or(name);
        while let Some((_, after)) = rest.split_once('.') {
            if let Some(number) = has(&format!("*.{after}")) {
                return Some(number);
            }
            rest = after;
        }
        let default = at.iter().find(|(_, server)| server.is_default(address)).or(at.first());
        default.map(|(number, _)| *number)
    }

    /// The hosts, the default host first.
    pub(crate) fn all(&self) -> Vec<Host> {
        let mut names: Vec<String> = Vec::new();
        let asked = self.servers.iter().flat_map(Site::asked_hosts);
        for name in self.servers.iter().flat_map(|server| server.names().to_vec()).chain(asked) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let default = self.choice("");
        let mut classes: Vec<(Vec<Option<usize>>, Vec<String>)> = Vec::new();
        for name in names {
            let choice = self.choice(&name);
            let asks = self.asks(&choice);
            match classes.iter_mut().find(|(known, _)| *known == choice && !asks) {
                Some((_, names)) => names.push(name),
                None => classes.push((choice, vec![name])),
            }
        }
        // Names that are answered as all others need no host of their own.
        let is_alone =
            classes.len() == 1 && !self.servers.iter().any(|server| server.has_other_names());
        if is_alone && classes.iter().all(|(choice, _)| *choice == default && !self.asks(choice)) {
            classes.clear();
        }
        let mut hosts = vec![self.host(Vec::new(), &default)];
        hosts.extend(classes.into_iter().map(|(choice, names)| self.host(names, &choice)));
        hosts
    }

    /// All addresses, in the order in which they are said.
    pub(crate) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Whether a name may be treated in another way than others with the same choice.
    fn asks(&self, choice: &[Option<usize>]) -> bool {
        choice
            .iter()
            .flatten()
            .filter_map(|number| self.servers.get(*number))
            .any(|server| !server.asked_hosts().is_empty())
    }

    fn choice(&self, name: &str) -> Vec<Option<usize>> {
        self.addresses.iter().map(|address| self.chosen(address, name)).collect()
    }

    /// The host for names that are answered so.
    fn host(&self, names: Vec<String>, choice: &[Option<usize>]) -> Host {
        let exact = match names.as_slice() {
            [] => Some(""),
            [one] if !one.starts_with('*') => Some(one.as_str()),
            _ => None,
        };
        let mut numbers: Vec<usize> = choice.iter().flatten().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut parts: Vec<(usize, Vec<Route>)> = numbers
            .into_iter()
            .filter_map(|number| Some((number, reached(self.servers.get(number)?.routes(exact)))))
            .collect();
        // The longest one needs no listener: all others have theirs, and end with a route for all paths.
        parts.sort_by_key(|(_, routes)| routes.len());
        let mut host = Host::new(names.clone());
        let last = parts.last().map(|(number, _)| *number);
        if let Some(server) = last.and_then(|number| self.servers.get(number)) {
            let (root, pages) = server.error_pages();
            host.set_error_pages(root, pages);
        }
        for (number, routes) in parts {
            let at: Vec<String> = self
                .addresses
                .iter()
                .zip(choice)
                .filter(|(_, chosen)| **chosen == Some(number))
                .map(|(address, _)| address.clone())
                .collect();
            let Some(server) = self.servers.get(number) else { continue };
            if names.is_empty() {
                host.add(self.unclear(&at));
            }
            let place = server.place().to_owned();
            let routes = routes.into_iter().enumerate().map(|(index, route)| {
                let route = if index == 0 { route.with_note(place.clone()) } else { route };
                if Some(number) == last { route } else { route.only_at(&at) }
            });
            host.add(routes);
        }
        if host.size() == 0 {
            host.add([Route::closed(Matcher::all(), "there is no server")]);
        }
        host
    }

    /// A route for names that may be those of a server that we cannot tell from others.
    fn unclear(&self, at: &[String]) -> Option<Route> {
        let is_at = |server: &&S| {
            server.has_other_names()
                && server.addresses().iter().any(|known| at.iter().any(|address| address == known))
        };
        let server = self.servers.iter().find(is_at)?;
        let why = format!("{}: its names cannot be told from others", server.place());
        Some(Route::closed(Matcher::all(), &why).only_at(at))
    }
}

/// Without routes that no request reaches. After a rewrite, paths can come that earlier routes never saw.
fn reached(routes: Vec<Route>) -> Vec<Route> {
    // So many are not taken over at all.
    if routes.len() > ROUTES_MAX {
        return routes;
    }
    let mut all: Vec<Route> = Vec::with_capacity(routes.len());
    for route in routes {
        let before = all.iter().rev().take_while(|one| one.rewrites_to().is_none());
        if !before.into_iter().any(|one| one.answers_all_of(&route)) {
            all.push(route);
        }
    }
    all
}
