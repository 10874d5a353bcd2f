//! The directives of a block of a Caddyfile as routes of ours.
//!
//! Owns the order in which they run, and what closes a block: from a directive without counterpart on, its requests are
//! answered 501, with the other cases of their letters.

use super::layer::{Effect, Effects, Layer, parts};
use super::matcher::{Chosen, Matchers};
use super::order::{is_answered_behind, sorted};
use super::placeholders::{is_plain, target};
use super::proxying::Proxy;
use crate::access::Users;
use crate::directive::Directive;
use crate::jump;
use crate::matcher::Matcher;
use crate::route::{Action, Route};
use crate::upstreams::Upstreams;
use crate::word::{list, quoted, size};

/// Whether a block answers all of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    GoesOn,
    Answered,
}

/// What is in force at a directive.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// The requests that come here.
    chosen: Chosen,
    /// What is removed from the paths that Caddy sees.
    base: String,
    layers: Vec<Layer>,
    /// How many of them are of the blocks around this one.
    outer: usize,
    tries: Option<Vec<String>>,
}

impl Scope {
    pub(super) fn all() -> Self {
        Self {
            chosen: Chosen::all(),
            base: String::new(),
            layers: Vec::new(),
            outer: 0,
            tries: None,
        }
    }

    /// Whether something was said of a part of all requests.
    fn has_parts(&self) -> bool {
        let all = Chosen::all();
        self.layers.iter().any(|layer| layer.moved(&all, &all).flatten().is_none())
    }

    /// The path that Caddy sees, as a target in a route for these paths.
    fn path(&self, matcher: &Matcher) -> Option<&'static str> {
        match (self.base.is_empty(), matcher) {
            (true, _) => Some("$path"),
            (false, Matcher::Prefix(prefix)) if *prefix == format!("{}/", self.base) => Some("/$1"),
            _ => None,
        }
    }
}

/// A site that is being read.
pub(super) struct Block<'b> {
    matchers: &'b mut Matchers,
    upstreams: &'b mut Upstreams,
    users: &'b mut UserFiles,
    routes: Vec<Route>,
    jumps: usize,
}

/// The files of users that are to be written.
#[derive(Debug, Default)]
pub(super) struct UserFiles {
    files: Vec<(String, Vec<String>)>,
}

impl UserFiles {
    /// The file for these lines.
    fn of(&mut self, lines: Vec<String>) -> String {
        if let Some((name, _)) = self.files.iter().find(|(_, known)| *known == lines) {
            return name.clone();
        }
        let name = match self.files.len() {
            0 => "users.htpasswd".to_owned(),
            count => format!("users-{}.htpasswd", count + 1),
        };
        self.files.push((name.clone(), lines));
        name
    }

    /// What is to be done, as comments.
    pub(super) fn notes(&self) -> Vec<String> {
        let of_file = |(name, lines): &(String, Vec<String>)| {
            let first = format!("Write these lines into the file {name}:");
            std::iter::once(first).chain(lines.iter().cloned()).collect::<Vec<_>>()
        };
        self.files.iter().flat_map(of_file).collect()
    }
}

/// What a directive did, or why its block is closed.
type Done = Result<End, String>;

impl<'b> Block<'b> {
    pub(super) fn new(
        matchers: &'b mut Matchers,
        upstreams: &'b mut Upstreams,
        users: &'b mut UserFiles,
    ) -> Self {
        Self { matchers, upstreams, users, routes: Vec::new(), jumps: 0 }
    }

    /// The routes.
    pub(super) fn finish(self) -> Vec<Route> {
        jump::guarded(self.routes, self.jumps)
    }

    /// Closes all requests of a scope.
    pub(super) fn close(&mut self, chosen: &Chosen, why: &str) {
        self.routes.extend(chosen.paths().iter().map(|path| {
            Route::closed(path.clone(), why).with_condition(chosen.condition().clone())
        }));
        self.close_variants(chosen, why);
    }

    /// Closes the paths that Caddy takes too.
    fn close_variants(&mut self, chosen: &Chosen, why: &str) {
        let others = chosen.variants().unwrap_or_else(|| vec![Matcher::all()]);
        let why = format!("{why} (Caddy compares without case)");
        let first = std::iter::once(why.as_str()).chain(std::iter::repeat("as above"));
        let closed = others.into_iter().zip(first).map(|(path, why)| Route::closed(path, why));
        self.routes.extend(closed);
    }

    /// Reads the directives of a block, in Caddy's order.
    pub(super) fn read(&mut self, lines: &[Directive], scope: &mut Scope) -> End {
        let is_definition = |line: &&Directive| line.name().starts_with('@');
        lines.iter().filter(is_definition).for_each(|line| self.matchers.define(line));
        let others: Vec<&Directive> = lines.iter().filter(|line| !is_definition(line)).collect();
        let sorted = sorted(&others, self.matchers);
        self.run(&sorted, scope)
    }

    /// Reads directives in the order in which they are.
    fn run(&mut self, lines: &[&Directive], scope: &mut Scope) -> End {
        for (number, line) in lines.iter().enumerate() {
            let behind = lines.get(number + 1..).unwrap_or_default();
            match self.directive(line, behind, scope) {
                Ok(End::GoesOn) => {}
                Ok(End::Answered) => return End::Answered,
                Err(why) => {
                    let chosen = scope.chosen.clone();
                    self.close(&chosen, &why);
                    return End::Answered;
                }
            }
        }
        End::GoesOn
    }

    fn directive(&mut self, line: &Directive, behind: &[&Directive], scope: &mut Scope) -> Done {
        if matches!(
            line.name(),
            "encode" | "push" | "tracing" | "log_skip" | "skip_log" | "log_name" | "log_append"
        ) {
            return Ok(End::GoesOn);
        }
        let (own, arguments) = self.matchers.of(line, line.arguments(), &scope.base)?;
        let chosen = scope
            .chosen
            .within(&own)
            .ok_or_else(|| line.told("its requests cannot be told from others"))?;
        if chosen.paths().is_empty() {
            return Ok(End::GoesOn);
        }
        let unknown = || line.unknown();
        // Whether it is for all requests that come here.
        let is_whole = chosen == scope.chosen;
        if scope.tries.is_some() && !is_whole && !matches!(line.name(), "file_server") {
            return self.behind_tries(line, &chosen, scope);
        }
        match (line.name(), arguments) {
            ("root", [path]) if path.starts_with('/') && is_plain(path) => {
                // The last one counts, and of those in one block the first that fits.
                let layer = Layer::new(chosen, Effect::Root(path.clone()));
                scope.layers.insert(scope.outer.min(scope.layers.len()), layer);
                Ok(End::GoesOn)
            }
            ("header", _) => self.header(line, arguments, chosen, scope),
            ("request_body", _) => {
                let [inner] = line.inner() else { return Err(unknown()) };
                let value = size(inner.argument(0))
                    .filter(|_| inner.name() == "max_size")
                    .ok_or_else(unknown)?;
                self.layer(scope, chosen, Effect::Key("body_size", value))
            }
            ("request_header", [name, rest @ ..]) if rest.len() < 2 && !name.starts_with('+') => {
                let value = rest.first().cloned().unwrap_or_default();
                let is_fine = is_plain(&value) && value.is_empty() == name.starts_with('-');
                let effect = Effect::Field(name.trim_start_matches('-').to_owned(), value);
                if is_fine { self.layer(scope, chosen, effect) } else { Err(unknown()) }
            }
            ("try_files", paths) if is_whole && scope.tries.is_none() => {
                scope.tries = Some(tries(line, paths)?);
                Ok(End::GoesOn)
            }
            ("basic_auth" | "basicauth", _) => self.basic_auth(line, arguments, chosen, scope),
            ("redir", _) => self.redir(line, arguments, &chosen, scope),
            ("rewrite", [to]) => self.rewrite(line, to, &chosen, behind, scope),
            ("uri", [kind, prefix]) if kind == "strip_prefix" => {
                self.strip(line, prefix, is_whole, scope)
            }
            ("handle" | "handle_path", []) => self.handle(line, &chosen, behind, scope),
            ("route", []) => self.route(line, &chosen, is_whole, scope),
            ("abort", []) => {
                let done = self.answer(line, &chosen, scope, &|_, _, _| Ok(Action::Drop))?;
                self.close_variants(&chosen, &line.told("its paths in other cases"));
                Ok(done)
            }
            ("respond" | "error", _) => self.respond(line, arguments, chosen, scope),
            ("reverse_proxy", servers) => {
                let proxy = Proxy::read(line, servers, self.upstreams)?;
                self.answer(line, &chosen, scope, &|_, effects, scope| {
                    proxy.action(effects.fields(), !scope.base.is_empty())
                })
            }
            ("file_server", arguments) => self.files(line, arguments, &chosen, scope),
            _ => Err(unknown()),
        }
    }

    fn layer(&mut self, scope: &mut Scope, chosen: Chosen, effect: Effect) -> Done {
        scope.layers.push(Layer::new(chosen, effect));
        Ok(End::GoesOn)
    }

    /// A directive for some paths behind `try_files`, which may have changed the path before.
    fn behind_tries(&mut self, line: &Directive, chosen: &Chosen, scope: &Scope) -> Done {
        let why = line.told("behind `try_files` its paths have no counterpart");
        let others = scope.tries.iter().flatten().filter(|path| !path.starts_with("$path"));
        let takes = |path: &String| {
            chosen.paths().iter().any(|matcher| matcher.takes(&format!("{}{path}", scope.base)))
        };
        let changes = scope
            .tries
            .iter()
            .flatten()
            .any(|path| path.starts_with("$path") && path.len() > "$path/".len());
        if changes || others.into_iter().any(takes) {
            return Err(why);
        }
        self.close(chosen, &why);
        Ok(End::GoesOn)
    }

    /// Adds the routes that answer these requests.
    fn answer(
        &mut self,
        line: &Directive,
        chosen: &Chosen,
        scope: &Scope,
        action: &dyn Fn(&Matcher, &Effects, &Scope) -> Result<Action, String>,
    ) -> Done {
        if chosen.exception().is_some() {
            return Err(line.told("its matcher has no counterpart here"));
        }
        if scope.tries.is_some() && line.name() != "file_server" {
            return Err(line.told("behind `try_files`: no counterpart"));
        }
        let parts = parts(&scope.layers, chosen).ok_or_else(|| {
            line.told("what is said of a part of its requests has no counterpart")
        })?;
        for (part, effects) in &parts {
            for path in part.paths() {
                let made = action(path, effects, scope)?;
                let is_files = matches!(made, Action::Files(_));
                // Files lie below their whole path, unless Caddy removes a part of it.
                let path =
                    if is_files && scope.base.is_empty() { path.whole() } else { path.clone() };
                let route = Route::new(path, made).with_condition(part.condition().clone());
                self.routes.push(effects.dress(route));
            }
        }
        Ok(if chosen.covers(&scope.chosen) { End::Answered } else { End::GoesOn })
    }

    fn header(
        &mut self,
        line: &Directive,
        arguments: &[String],
        chosen: Chosen,
        scope: &mut Scope,
    ) -> Done {
        let own = line.head().with_words(arguments.to_vec());
        let lines: Vec<&Directive> =
            if arguments.is_empty() { line.inner().iter().collect() } else { vec![&own] };
        for inner in lines {
            let unknown = || line.told("a field of it has no counterpart");
            let (name, value) = match inner.words() {
                // Nothing that we send by ourselves is removed but our name, which we do not send.
                [name] if name == "defer" || name.eq_ignore_ascii_case("-server") => continue,
                [name, value]
                    if is_plain(value) && !value.is_empty() && !name.starts_with(['-', '+']) =>
                {
                    (name, value)
                }
                _ => return Err(unknown()),
            };
            let name = name.trim_start_matches(['?', '>']);
            let effect = match name.to_ascii_lowercase().as_str() {
                "cache-control" => Effect::Key("cache_control", quoted(value)),
                "location" | "content-type" | "content-encoding" | "content-length" => {
                    return Err(unknown());
                }
                "connection" | "keep-alive" | "date" | "alt-svc" => continue,
                _ => Effect::Header(name.to_owned(), value.clone()),
            };
            scope.layers.push(Layer::new(chosen.clone(), effect));
        }
        Ok(End::GoesOn)
    }

    fn basic_auth(
        &mut self,
        line: &Directive,
        arguments: &[String],
        chosen: Chosen,
        scope: &mut Scope,
    ) -> Done {
        let realm = match arguments {
            [] => "",
            [hash] if hash == "bcrypt" => "",
            [hash, realm] if hash == "bcrypt" => realm,
            _ => return Err(line.unknown()),
        };
        let mut users = Vec::new();
        for inner in line.inner() {
            match inner.words() {
                [name, hash]
                    if hash.starts_with("$2")
                        && is_plain(hash)
                        && is_plain(name)
                        && !name.contains(':') =>
                {
                    users.push(format!("{name}:{hash}"));
                }
                _ => return Err(inner.told("only hashes of bcrypt have a counterpart")),
            }
        }
        if users.is_empty() || chosen.exception().is_some() {
            return Err(line.unknown());
        }
        self.close_variants(&chosen, &line.told("its paths in other cases"));
        let users = Users::new(&self.users.of(users), realm);
        self.layer(scope, chosen, Effect::Users(users))
    }

    fn redir(
        &mut self,
        line: &Directive,
        arguments: &[String],
        chosen: &Chosen,
        scope: &Scope,
    ) -> Done {
        let (to, code) = match arguments {
            [to] => (to, "302"),
            [to, code] => (to, code.as_str()),
            _ => return Err(line.unknown()),
        };
        let status = match code {
            "permanent" => Some(301),
            "temporary" => Some(302),
            code => code.parse().ok().filter(|code| matches!(code, 301 | 302 | 303 | 307 | 308)),
        };
        let status = status.ok_or_else(|| line.unknown())?;
        self.answer(line, chosen, scope, &|matcher, _, scope| {
            let to = target(to, scope.path(matcher)).ok_or_else(|| line.unknown())?;
            Ok(Action::Redirect { to, status })
        })
    }

    /// `respond [BODY] [STATUS]`, `error [MESSAGE] STATUS`.
    fn respond(
        &mut self,
        line: &Directive,
        arguments: &[String],
        chosen: Chosen,
        scope: &mut Scope,
    ) -> Done {
        let unknown = || line.unknown();
        let fallback = if line.name() == "error" { 500 } else { 200 };
        let is_status = |text: &String| text.len() == 3 && text.parse::<u16>().is_ok();
        let (mut body, mut status) = match arguments {
            [] => (String::new(), fallback),
            [one] if is_status(one) => (String::new(), one.parse().map_err(|_| unknown())?),
            [body] => (body.clone(), fallback),
            [body, status] => (body.clone(), status.parse().map_err(|_| unknown())?),
            _ => return Err(unknown()),
        };
        for inner in line.inner() {
            match inner.name() {
                "body" => body = inner.argument(0).to_owned(),
                "close" => {}
                _ => return Err(inner.unknown()),
            }
        }
        if !is_plain(&body) || !(200..=599).contains(&status) {
            return Err(unknown());
        }
        if let Some((networks, rest)) = chosen.exception() {
            if status != 403 {
                return Err(line.told("its matcher has no counterpart here"));
            }
            self.close_variants(&rest, &line.told("its paths in other cases"));
            return self.layer(scope, rest.clone(), Effect::From(networks.to_vec()));
        }
        if line.name() == "error" {
            body.clear();
            status = status.max(400);
        }
        let action = Action::Respond { status, body, content_type: None };
        let done = self.answer(line, &chosen, scope, &|_, _, _| Ok(action.clone()))?;
        if status >= 400 {
            self.close_variants(&chosen, &line.told("its paths in other cases"));
        }
        Ok(done)
    }

    fn rewrite(
        &mut self,
        line: &Directive,
        to: &str,
        chosen: &Chosen,
        behind: &[&Directive],
        scope: &mut Scope,
    ) -> Done {
        let unknown = || line.unknown();
        if chosen.exception().is_some() || scope.tries.is_some() || !to.starts_with(['/', '{']) {
            return Err(unknown());
        }
        let to_of = |matcher: &Matcher| {
            let to = target(to, scope.path(matcher)).ok_or_else(unknown)?;
            let to = to.strip_suffix("$query").unwrap_or(&to).to_owned();
            if to.contains(['?', '%'])
                || to.contains("$query")
                || to.contains("$host")
                || to.contains("$scheme")
            {
                Err(unknown())
            } else {
                Ok(to)
            }
        };
        if scope.chosen.is_all() && scope.base.is_empty() {
            if scope.has_parts() {
                return Err(
                    line.told("behind what is said of a part of the requests: no counterpart")
                );
            }
            for matcher in chosen.paths() {
                let to = to_of(matcher)?;
                // Caddy takes the first rewrite only.
                for other in behind.iter().filter(|other| other.name() == "rewrite") {
                    let (other, _) = self.matchers.of(other, other.arguments(), "")?;
                    if other.paths().iter().any(|path| path.may_take_target(&to)) {
                        return Err(
                            line.told("another rewrite may follow, which Caddy does not do")
                        );
                    }
                }
                let route = Route::new(matcher.clone(), Action::Rewrite { to });
                self.routes.push(route.with_condition(chosen.condition().clone()));
            }
            return Ok(End::GoesOn);
        }
        if *chosen != scope.chosen {
            return Err(line.told("for a part of the requests of a block: no counterpart"));
        }
        let place = jump::place(&mut self.jumps);
        for matcher in chosen.paths() {
            let to = format!("{place}{}", to_of(matcher)?);
            let route = Route::new(matcher.clone(), Action::Rewrite { to });
            self.routes.push(route.with_condition(chosen.condition().clone()));
        }
        self.go_on_at(Chosen::new(vec![Matcher::Prefix(format!("{place}/"))]), place, scope)
            .ok_or_else(unknown)
    }

    /// The requests of a scope go on with other paths; `None` if what was said of them cannot.
    fn go_on_at(&self, chosen: Chosen, base: String, scope: &mut Scope) -> Option<End> {
        let moved: Option<Vec<Option<Layer>>> =
            scope.layers.iter().map(|layer| layer.moved(&scope.chosen, &chosen)).collect();
        scope.layers = moved?.into_iter().flatten().collect();
        scope.outer = scope.layers.len();
        scope.chosen = chosen;
        scope.base = base;
        Some(End::GoesOn)
    }

    /// `uri strip_prefix /api`.
    fn strip(&mut self, line: &Directive, prefix: &str, is_whole: bool, scope: &mut Scope) -> Done {
        let base = format!("{}{}", scope.base, prefix.trim_end_matches('/'));
        let below = Matcher::Prefix(format!("{base}/"));
        if is_whole
            && prefix.starts_with('/')
            && scope.chosen.paths() == [below.clone()]
            && scope.tries.is_none()
        {
            scope.base = base;
            return Ok(End::GoesOn);
        }
        let is_simple = scope.chosen.is_all()
            && !scope.has_parts()
            && scope.base.is_empty()
            && scope.tries.is_none();
        if !is_simple || !is_whole || !below.is_possible() || prefix.contains('*') {
            return Err(line.unknown());
        }
        let mut matchers = Matcher::beginning(&base).into_iter();
        let first = matchers.next().unwrap_or_else(Matcher::all);
        self.routes.push(Route::new(first, Action::Rewrite { to: "/$1".to_owned() }));
        let why = line.told("these paths begin with it in another way");
        self.routes.extend(matchers.map(|matcher| Route::closed(matcher, &why)));
        Ok(End::GoesOn)
    }

    fn handle(
        &mut self,
        line: &Directive,
        chosen: &Chosen,
        behind: &[&Directive],
        scope: &Scope,
    ) -> Done {
        let mut inner = scope.clone();
        inner.chosen = chosen.clone();
        inner.outer = inner.layers.len();
        if chosen.exception().is_some() || scope.tries.is_some() {
            return Err(line.unknown());
        }
        if line.name() == "handle_path" {
            let path = line
                .argument(0)
                .strip_suffix("/*")
                .filter(|path| path.starts_with('/') && path.len() > 1);
            let path =
                path.ok_or_else(|| line.told("only a path that ends with `/*` has a counterpart"))?;
            inner.base = format!("{}{path}", scope.base);
            if chosen.paths() != [Matcher::Prefix(format!("{}/", inner.base))] {
                return Err(line.unknown());
            }
        }
        if self.read(line.inner(), &mut inner) == End::GoesOn {
            self.unanswered(line, behind, &inner);
        }
        Ok(if chosen.covers(&scope.chosen) { End::Answered } else { End::GoesOn })
    }

    /// The rest of the requests of a block, of which no other block is for.
    fn unanswered(&mut self, line: &Directive, behind: &[&Directive], inner: &Scope) {
        if is_answered_behind(behind) || inner.tries.is_some() {
            return self.close(
                &inner.chosen,
                &line.told("what it does not answer goes on: no counterpart"),
            );
        }
        let done = self.answer(line, &inner.chosen, inner, &|_, _, _| Ok(Action::status(200)));
        if let Err(why) = done {
            self.close(&inner.chosen, &why);
        }
    }

    /// `route`, whose directives run in the order in which they are.
    fn route(
        &mut self,
        line: &Directive,
        chosen: &Chosen,
        is_whole: bool,
        scope: &mut Scope,
    ) -> Done {
        if chosen.exception().is_some() || scope.tries.is_some() {
            return Err(line.unknown());
        }
        let is_definition = |line: &&Directive| line.name().starts_with('@');
        line.inner().iter().filter(is_definition).for_each(|line| self.matchers.define(line));
        let lines: Vec<&Directive> =
            line.inner().iter().filter(|line| !is_definition(line)).collect();
        let mut inner = scope.clone();
        inner.chosen = chosen.clone();
        inner.outer = inner.layers.len();
        let end = self.run(&lines, &mut inner);
        if end == End::GoesOn {
            if inner.base != scope.base || inner.chosen != *chosen || inner.tries.is_some() {
                self.close(
                    &inner.chosen,
                    &line.told("what it does not answer goes on: no counterpart"),
                );
                let is_all = is_whole && inner.chosen == *chosen;
                return Ok(if is_all { End::Answered } else { End::GoesOn });
            }
            scope.layers = inner.layers;
            return Ok(End::GoesOn);
        }
        Ok(if chosen.covers(&scope.chosen) { End::Answered } else { End::GoesOn })
    }

    fn files(
        &mut self,
        line: &Directive,
        arguments: &[String],
        chosen: &Chosen,
        scope: &Scope,
    ) -> Done {
        let mut settings = Vec::new();
        let is_listing = arguments == ["browse"];
        if !is_listing && !arguments.is_empty() {
            return Err(line.unknown());
        }
        let mut has_listing = is_listing;
        let mut own_root = None;
        for inner in line.inner() {
            match (inner.name(), inner.arguments()) {
                ("browse", []) if !inner.has_block() => has_listing = true,
                ("index", names) if names.iter().all(|name| !name.contains(['/', '{'])) => {
                    settings.push(("index".to_owned(), list(names)));
                }
                ("root", [root]) if root.starts_with('/') && is_plain(root) => {
                    own_root = Some(root.clone())
                }
                ("precompressed" | "etag_file_extensions", _) => {}
                _ => return Err(inner.unknown()),
            }
        }
        if !settings.iter().any(|(name, _)| name == "index") {
            settings.push(("index".to_owned(), list(["index.html", "index.txt"])));
        }
        if has_listing {
            settings.push(("listing".to_owned(), "true".to_owned()));
        }
        if let Some(tries) = &scope.tries {
            settings.push(("try".to_owned(), list(tries)));
        }
        self.answer(line, chosen, scope, &|matcher, effects, scope| {
            let root = own_root.as_deref().or(effects.root());
            let root = root
                .ok_or_else(|| line.told("only a root that begins with `/` has a counterpart"))?;
            scope.path(matcher).ok_or_else(|| line.unknown())?;
            let root = root.trim_end_matches('/');
            let root = ("root".to_owned(), quoted(if root.is_empty() { "/" } else { root }));
            Ok(Action::Files(std::iter::once(root).chain(settings.clone()).collect()))
        })
    }

    /// The rest of the requests of a site: Caddy answers 200 with nothing.
    pub(super) fn rest(&mut self, scope: &Scope) {
        if scope.tries.is_some() {
            return self
                .close(&scope.chosen, "`try_files` without `file_server` has no counterpart");
        }
        let nothing = Directive::default();
        if let Err(why) =
            self.answer(&nothing, &scope.chosen, scope, &|_, _, _| Ok(Action::status(200)))
        {
            self.close(&scope.chosen, &why);
        }
    }
}

/// The paths of `try_files`.
fn tries(line: &Directive, paths: &[String]) -> Result<Vec<String>, String> {
    let mut tries = Vec::new();
    for path in paths {
        match target(path, Some("$path")).filter(|path| {
            !path.contains('?') && !path.contains("$query") && !path.contains("$host")
        }) {
            _ if path == "=404" => {}
            Some(path)
                if path.starts_with("$path") || path.starts_with('/') && !path.contains('$') =>
            {
                tries.push(path)
            }
            _ => return Err(line.unknown()),
        }
    }
    Ok(tries)
}
