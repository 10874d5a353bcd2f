//! The order of routes in which our first one is nginx's choice of a location.
//!
//! Owns that choice: an exact location, else the longest prefix, unless an expression takes the path; the expressions
//! are not asked below `^~`. Locations in others come before what follows them.

use super::content::Others;
use super::emitted::{Emitted, Leads};
use super::location::Location;
use super::phases::{End, Steps};
use super::place::{Kind, Place};
use super::variables::Context;
use crate::jump::guarded;
use crate::matcher::Matcher;
use crate::pattern::Case;
use crate::route::Route;

/// The routes of a server: what it does first, its locations, and the rest of its paths.
pub(super) fn routes(server: &Location, context: &Context) -> Vec<Route> {
    let mut jumps = 0;
    let (mut first, end) = first(server, context, &mut jumps);
    for index in 0..first.len() {
        // Directives behind a `last` in the server are not done, but our routes after it would be.
        let behind = first
            .get(index + 1..)
            .unwrap_or_default()
            .iter()
            .map(Emitted::route)
            .cloned()
            .collect::<Vec<_>>();
        if let Some(one) = first.get_mut(index)
            && one.leads() == Leads::Last
            && meets(one, behind.iter())
        {
            one.close();
        }
    }
    let mut order = Order { server, context, jumps, routes: Vec::new() };
    if end == End::GoesOn {
        order.level(server.nested(), &[], None);
        order.whole();
    }
    guarded(first.into_iter().chain(order.routes).map(Emitted::into_route).collect(), order.jumps)
}

/// The routes of the steps of a server alone.
fn first(server: &Location, context: &Context, jumps: &mut usize) -> (Vec<Emitted>, End) {
    if let Some(why) = server.settings().closing() {
        return (vec![Emitted::plain(Route::closed(Matcher::all(), why))], End::Answered);
    }
    Steps::new(server, &[Place::new(Matcher::all(), &[])], context, jumps).read()
}

fn meets<'r>(one: &Emitted, mut routes: impl Iterator<Item = &'r Route>) -> bool {
    let to = one.route().rewrites_to().unwrap_or("/");
    routes.any(|route| route.matcher().may_take_target(to))
}

struct Order<'s> {
    server: &'s Location,
    context: &'s Context,
    jumps: usize,
    routes: Vec<Emitted>,
}

impl Order<'_> {
    /// The locations of one block, which is in `within`; the outer expressions come after those of the block.
    fn level(&mut self, locations: &[Location], outer: &[&Location], within: Option<&Location>) {
        let of_kind =
            |wanted: fn(&Kind) -> bool| locations.iter().filter(move |one| wanted(one.kind()));
        for exact in of_kind(|kind| *kind == Kind::Exact) {
            self.location(exact, None, &[]);
        }
        for prefix in of_kind(|kind| matches!(kind, Kind::Prefix | Kind::Preferred)) {
            self.routes.extend(prefix.slash().map(Emitted::plain));
        }
        let own: Vec<&Location> = of_kind(|kind| matches!(kind, Kind::Expression(_))).collect();
        let expressions: Vec<&Location> =
            own.iter().copied().chain(outer.iter().copied()).collect();
        let mut prefixes: Vec<&Location> =
            of_kind(|kind| matches!(kind, Kind::Prefix | Kind::Preferred)).collect();
        prefixes.sort_by_key(|one| usize::MAX - one.text().len());
        let is_special = |one: &Location| {
            !expressions.is_empty() && *one.kind() == Kind::Preferred || !one.nested().is_empty()
        };
        let special: Vec<&str> =
            prefixes.iter().filter(|one| is_special(one)).map(|one| one.text()).collect();
        let is_below = |one: &Location| special.iter().any(|text| one.text().starts_with(text));
        for prefix in prefixes.iter().filter(|one| is_below(one)) {
            let asked = if *prefix.kind() == Kind::Preferred { outer } else { &expressions };
            self.location(prefix, None, asked);
        }
        for expression in &expressions {
            self.location(expression, within, &[]);
        }
        for prefix in prefixes.iter().filter(|one| !is_below(one)) {
            self.location(prefix, None, &[]);
        }
    }

    /// A location: what is in it, the expressions that are asked before it, and itself; only below `within`.
    fn location(&mut self, location: &Location, within: Option<&Location>, asked: &[&Location]) {
        if *location.kind() == Kind::Prefix && !location.text().starts_with('/') {
            return;
        }
        if location.nested().is_empty() {
            for expression in asked {
                self.location(expression, Some(location), &[]);
            }
        } else {
            self.level(location.nested(), asked, Some(location));
        }
        let case = if self.is_only_look(location) { Case::Sensitive } else { Case::Ignored };
        let (mut places, mut closed) = location.places(case).clone();
        if let Some(within) = within {
            let around = &within.places(Case::Ignored).0;
            (places, closed) = restricted(&places, &closed, around, location);
        }
        self.routes.extend(closed.into_iter().map(Emitted::plain));
        let mut jumps = self.jumps;
        let mut block = self.answers(location, &places, &mut jumps);
        self.jumps = jumps;
        if block.iter().any(|one| one.leads() == Leads::Last) {
            let all: Vec<Route> =
                self.routes.iter().chain(&block).map(|one| one.route().clone()).collect();
            let leads_back =
                |one: &&mut Emitted| one.leads() == Leads::Last && meets(one, all.iter());
            block.iter_mut().filter(leads_back).for_each(Emitted::close);
        }
        if case == Case::Sensitive && *location.kind() == Kind::Expression(Case::Ignored) {
            block = block
                .into_iter()
                .map(|one| {
                    Emitted::plain(one.into_route().with_note("Only names in this case are found."))
                })
                .collect();
        }
        self.routes.extend(block);
    }

    /// The routes of a location for these places.
    fn answers(&self, location: &Location, places: &[Place], jumps: &mut usize) -> Vec<Emitted> {
        if let Some(why) = location.settings().closing() {
            let closed = places.iter().map(|place| Route::closed(place.matcher().clone(), why));
            return closed.map(Emitted::plain).collect();
        }
        let (mut routes, end) = Steps::new(location, places, self.context, jumps).read();
        if end == End::GoesOn {
            for place in places {
                location.answer(place.matcher(), self, jumps, &mut routes);
            }
        }
        routes
    }

    /// Whether an expression only says what the files of this server look like to clients, so that other cases of its
    /// letters get the same files.
    fn is_only_look(&self, location: &Location) -> bool {
        *location.kind() == Kind::Expression(Case::Ignored)
            && location.serves_as(self.server)
            && all(self.server).iter().all(|one| {
                location.serves_as(one)
                    || one.is_shut()
                    || !one.is_proxy()
                        && one.steps().is_empty()
                        && one.settings().serves_as(location.settings())
            })
    }

    /// The paths of no location.
    fn whole(&mut self) {
        let takes_all = |one: &Location| {
            one.text() == "/" && matches!(one.kind(), Kind::Prefix | Kind::Preferred)
        };
        if self.server.nested().iter().any(takes_all) {
            return;
        }
        let mut jumps = self.jumps;
        let mut block = Vec::new();
        self.server.rest(self, &mut jumps, &mut block);
        self.jumps = jumps;
        self.routes.extend(block);
    }
}

/// All locations of a server, and itself.
fn all(server: &Location) -> Vec<&Location> {
    let mut found = vec![server];
    let mut index = 0;
    while let Some(one) = found.get(index).copied() {
        found.extend(one.nested());
        index += 1;
    }
    found
}

/// Places of an expression below others.
fn restricted(
    places: &[Place],
    closed: &[Route],
    around: &[Place],
    location: &Location,
) -> (Vec<Place>, Vec<Route>) {
    let (mut inner, mut shut) = (Vec::new(), Vec::new());
    for place in places {
        for outer in around {
            match outer.matcher().within(place.matcher()) {
                Some(both) => inner.extend(both.into_iter().map(|matcher| {
                    if matcher == *place.matcher() {
                        place.clone()
                    } else {
                        Place::new(matcher, &[])
                    }
                })),
                None => shut.push(Route::closed(outer.matcher().clone(), &location.unclear())),
            }
        }
    }
    for route in closed {
        for outer in around {
            match outer.matcher().within(route.matcher()) {
                Some(both) => shut.extend(
                    both.into_iter().map(|matcher| Route::closed(matcher, &location.unclear())),
                ),
                None => shut.push(Route::closed(outer.matcher().clone(), &location.unclear())),
            }
        }
    }
    (inner, shut)
}

impl Others for Order<'_> {
    fn is_answered_as(&self, location: &Location, path: &str) -> bool {
        let found = chosen(self.server, path);
        std::ptr::eq(found, location) || is_plain(found, location)
    }

    fn named(&self, name: &str) -> Option<&Location> {
        self.server.named(name)
    }

    fn looks_as(&self, location: &Location, path: &str) -> bool {
        chosen(self.server, path).settings().looks_as(location.settings())
    }

    fn answer_index(&self, location: &Location, matcher: &Matcher, name: &str) -> Vec<Matcher> {
        let directories = match matcher {
            Matcher::Path(path) if path.ends_with('/') => matcher.clone(),
            Matcher::Path(_) => return Vec::new(),
            Matcher::Prefix(prefix) => {
                Matcher::Glob(format!("{}/**/", prefix.trim_end_matches('/')))
            }
            Matcher::Glob(glob) if glob.ends_with("/**") => Matcher::Glob(format!("{glob}/")),
            Matcher::Glob(glob) if glob.ends_with('/') => matcher.clone(),
            Matcher::Glob(_) => return Vec::new(),
        };
        let file = match &directories {
            Matcher::Path(path) => Matcher::Path(format!("{path}{name}")),
            other => Matcher::Glob(format!("{}{name}", other.key().1)),
        };
        // A path that a location does not take itself may be one of no location.
        let (own, _) = location.places(Case::Ignored);
        let is_own = own.iter().any(|place| place.matcher().covers(&file));
        if !is_own && !location.is_whole() && !is_plain(self.server, location) {
            return vec![directories];
        }
        let differs = |other: &&Location| {
            !(std::ptr::eq(*other, location)
                || other.is_whole()
                || location.alias().is_none() && is_plain(other, location))
        };
        let mut takers = Vec::new();
        for other in all(self.server).into_iter().filter(differs) {
            let (places, closed) = other.places(Case::Ignored);
            takers.extend(places.iter().map(Place::matcher));
            takers.extend(closed.iter().map(Route::matcher));
        }
        takers.retain(|other| {
            other.may_meet(&file) && other.may_end_with(name) && !is_outside(other, location, name)
        });
        // One file of one directory each.
        let of_path = |taker: &&Matcher| match taker {
            Matcher::Path(path) => path.strip_suffix(name).map(|path| path.to_owned()),
            _ => None,
        };
        let paths: Option<Vec<Matcher>> =
            takers.iter().map(|taker| of_path(taker).map(Matcher::Path)).collect();
        paths.unwrap_or_else(|| vec![directories])
    }
}

/// Whether a location answers as another one with the same settings would.
fn is_plain(one: &Location, other: &Location) -> bool {
    one.settings().serves_as(other.settings())
        && one.steps().is_empty()
        && !one.is_proxy()
        && one.alias().is_none()
}

/// Whether a location takes no index of another one's directory, because it takes that directory too.
fn is_outside(other: &Matcher, location: &Location, name: &str) -> bool {
    let takes_directory = match other {
        // `/a` takes `/a/` and what is below, but not the directory of a file `/a`.
        Matcher::Prefix(prefix) => !prefix.ends_with(&format!("/{name}")),
        Matcher::Glob(glob) => glob.ends_with("/**"),
        Matcher::Path(_) => false,
    };
    // But an exact location takes its directory first.
    let is_exact = *location.kind() == Kind::Exact;
    let is_around = |prefix: &str| !is_exact && location.text().starts_with(&format!("{prefix}/"));
    match other {
        _ if takes_directory => !is_exact,
        Matcher::Prefix(prefix) => is_around(prefix),
        Matcher::Glob(glob) => {
            glob.strip_suffix('*').is_some_and(|text| !text.contains('*') && is_around(text))
        }
        Matcher::Path(_) => false,
    }
}

/// The location that nginx chooses for a path.
fn chosen<'l>(block: &'l Location, path: &str) -> &'l Location {
    let mut block = block;
    let mut found = block;
    let mut expressions: Vec<&'l Location> = Vec::new();
    let takes = |one: &Location| {
        let (places, closed) = one.places(Case::Ignored);
        places.iter().any(|place| place.matcher().takes(path))
            || closed.iter().any(|route| route.matcher().takes(path))
    };
    loop {
        let inner = block.nested();
        if let Some(exact) =
            inner.iter().find(|one| *one.kind() == Kind::Exact && one.text() == path)
        {
            return exact;
        }
        let is_prefix = |one: &&Location| {
            matches!(one.kind(), Kind::Prefix | Kind::Preferred) && path.starts_with(one.text())
        };
        let longest = inner.iter().filter(is_prefix).max_by_key(|one| one.text().len());
        if longest.is_none_or(|one| *one.kind() != Kind::Preferred) {
            let own = inner.iter().filter(|one| matches!(one.kind(), Kind::Expression(_)));
            expressions.splice(0..0, own.collect::<Vec<_>>());
        }
        match longest {
            Some(longest) => (found, block) = (longest, longest),
            None => break,
        }
    }
    expressions.into_iter().find(|one| takes(one)).unwrap_or(found)
}
