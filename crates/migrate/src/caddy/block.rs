//! The directives of a block of a Caddyfile as routes of ours.
//!
//! Owns the order in which they run, and what closes a block: from a directive without counterpart on, its requests are
//! answered 501, with the other cases of their letters.

mod rewriting;

use super::answers::{FileServer, effects, redir, respond, tries};
use super::asking::forward_auth;
use super::layer::{Effect, Effects};
use super::matcher::{Chosen, Matchers};
use super::order::{is_answered_behind, sorted};
use super::placeholders::target;
use super::proxying::Proxy;
use super::scope::Scope;
use super::users::UserFiles;
use crate::directive::Directive;
use crate::jump;
use crate::matcher::Matcher;
use crate::route::{Action, Route};
use crate::upstreams::Upstreams;
use crate::word::is_in;

/// Whether a block answers all of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    GoesOn,
    Answered,
}

/// A site that is being read.
pub(super) struct Block<'b> {
    matchers: &'b mut Matchers,
    upstreams: &'b mut Upstreams,
    users: &'b mut UserFiles,
    routes: Vec<Route>,
    jumps: usize,
}

/// Directives that change nothing of what is answered.
const SPARE: &str = "encode push tracing log_skip skip_log log_name log_append";

/// The effect of a directive, or the reason why its block is closed.
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
                    let chosen = scope.chosen().clone();
                    self.close(&chosen, &why);
                    return End::Answered;
                }
            }
        }
        End::GoesOn
    }

    fn directive(&mut self, line: &Directive, behind: &[&Directive], scope: &mut Scope) -> Done {
        if is_in(SPARE, line.name()) {
            return Ok(End::GoesOn);
        }
        let (own, arguments) = self.matchers.of(line, line.arguments(), scope.base())?;
        let chosen = scope
            .chosen()
            .within(&own)
            .ok_or_else(|| line.told("its requests cannot be told from others"))?;
        if chosen.paths().is_empty() {
            return Ok(End::GoesOn);
        }
        let unknown = || line.unknown();
        // Whether it is for all requests that come here.
        let is_whole = chosen == *scope.chosen();
        if scope.tries().is_some() && !is_whole && !matches!(line.name(), "file_server") {
            return self.behind_tries(line, &chosen, scope);
        }
        if let Some(effects) = effects(line, arguments)? {
            effects.into_iter().for_each(|effect| scope.say(chosen.clone(), effect));
            return Ok(End::GoesOn);
        }
        match (line.name(), arguments) {
            ("try_files", paths) if is_whole && scope.tries().is_none() => {
                scope.set_tries(tries(line, paths)?);
                Ok(End::GoesOn)
            }
            ("basic_auth" | "basicauth" | "forward_auth", _) if chosen.exception().is_none() => {
                self.guard(line, arguments, chosen, scope)
            }
            ("redir", _) => {
                let (to, status) = redir(line, arguments)?;
                self.answer(line, &chosen, scope, &|matcher, _, scope| {
                    let to = target(to, scope.path(matcher)).ok_or_else(unknown)?;
                    Ok(Action::Redirect { to, status })
                })
            }
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
                    proxy.action(effects.fields(), !scope.base().is_empty())
                })
            }
            ("file_server", arguments) => {
                let files = FileServer::read(line, arguments, scope.tries())?;
                self.answer(line, &chosen, scope, &|matcher, effects, scope| {
                    let no_root = "only a root that begins with `/` has a counterpart";
                    scope.path(matcher).ok_or_else(unknown)?;
                    files.action(effects).ok_or_else(|| line.told(no_root))
                })
            }
            _ => Err(unknown()),
        }
    }

    /// A directive that lets only some clients pass.
    fn guard(
        &mut self,
        line: &Directive,
        arguments: &[String],
        chosen: Chosen,
        scope: &mut Scope,
    ) -> Done {
        let effect = match line.name() {
            "forward_auth" => Effect::Asked(forward_auth(line, arguments, self.upstreams)?),
            _ => Effect::Users(self.users.read(line, arguments)?),
        };
        self.close_variants(&chosen, &line.told("its paths in other cases"));
        scope.say(chosen, effect);
        Ok(End::GoesOn)
    }

    /// A directive for some paths behind `try_files`, which may have changed the path before.
    fn behind_tries(&mut self, line: &Directive, chosen: &Chosen, scope: &Scope) -> Done {
        let why = line.told("behind `try_files` its paths have no counterpart");
        let tries = scope.tries().unwrap_or_default();
        let mut others = tries.iter().filter(|path| !path.starts_with("$path"));
        let takes = |path: &String| {
            chosen.paths().iter().any(|matcher| matcher.takes(&format!("{}{path}", scope.base())))
        };
        let is_change = |path: &String| path.starts_with("$path") && path.len() > "$path/".len();
        let changes = tries.iter().any(is_change);
        if changes || others.any(takes) {
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
        if scope.tries().is_some() && line.name() != "file_server" {
            return Err(line.told("behind `try_files`: no counterpart"));
        }
        let parts = scope
            .parts(chosen)
            .ok_or_else(|| line.told("a rule for a part of its requests has no counterpart"))?;
        for (part, effects) in &parts {
            for path in part.paths() {
                let made = action(path, effects, scope)?;
                let is_files = matches!(made, Action::Files(_));
                // Files lie below their whole path, unless Caddy removes a part of it.
                let path =
                    if is_files && scope.base().is_empty() { path.whole() } else { path.clone() };
                let route = Route::new(path, made).with_condition(part.condition().clone());
                self.routes.push(effects.dress(route));
            }
        }
        Ok(if chosen.covers(scope.chosen()) { End::Answered } else { End::GoesOn })
    }

    fn respond(
        &mut self,
        line: &Directive,
        arguments: &[String],
        chosen: Chosen,
        scope: &mut Scope,
    ) -> Done {
        let (status, body) = respond(line, arguments)?;
        if let Some((networks, rest)) = chosen.exception() {
            if status != 403 {
                return Err(line.told("its matcher has no counterpart here"));
            }
            self.close_variants(&rest, &line.told("its paths in other cases"));
            scope.say(rest, Effect::From(networks.to_vec()));
            return Ok(End::GoesOn);
        }
        let action = Action::Respond { status, body, content_type: None };
        let done = self.answer(line, &chosen, scope, &|_, _, _| Ok(action.clone()))?;
        if status >= 400 {
            self.close_variants(&chosen, &line.told("its paths in other cases"));
        }
        Ok(done)
    }

    fn handle(
        &mut self,
        line: &Directive,
        chosen: &Chosen,
        behind: &[&Directive],
        scope: &Scope,
    ) -> Done {
        let mut inner = scope.inside(chosen).followed(is_answered_behind(behind));
        if chosen.exception().is_some() || scope.tries().is_some() {
            return Err(line.unknown());
        }
        let done = Ok(if chosen.covers(scope.chosen()) { End::Answered } else { End::GoesOn });
        if line.name() == "handle_path" {
            let path = line.argument(0).strip_suffix("/*").unwrap_or_default();
            inner.set_base(format!("{}{path}", scope.base()));
            let below = Matcher::Prefix(format!("{}/", inner.base()));
            if !path.starts_with('/') || chosen.paths() != [below] {
                let why = line.told("only a path that ends with `/*` has a counterpart");
                self.close(chosen, &why);
                return done;
            }
        }
        if self.read(line.inner(), &mut inner) == End::GoesOn {
            self.unanswered(line, &inner);
        }
        done
    }

    /// The rest of the requests of a block, of which no other block is for.
    fn unanswered(&mut self, line: &Directive, inner: &Scope) {
        if inner.is_followed() || inner.tries().is_some() {
            return self.close(
                inner.chosen(),
                &line.told("passing unanswered requests to later directives has no counterpart"),
            );
        }
        let done = self.answer(line, inner.chosen(), inner, &|_, _, _| Ok(Action::status(200)));
        if let Err(why) = done {
            self.close(inner.chosen(), &why);
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
        if chosen.exception().is_some() || scope.tries().is_some() {
            return Err(line.unknown());
        }
        let is_definition = |line: &&Directive| line.name().starts_with('@');
        line.inner().iter().filter(is_definition).for_each(|line| self.matchers.define(line));
        let lines: Vec<&Directive> =
            line.inner().iter().filter(|line| !is_definition(line)).collect();
        let mut inner = scope.inside(chosen);
        let end = self.run(&lines, &mut inner);
        if end == End::GoesOn {
            if inner.base() != scope.base() || inner.chosen() != chosen || inner.tries().is_some() {
                self.close(
                    inner.chosen(),
                    &line
                        .told("passing unanswered requests to later directives has no counterpart"),
                );
                let is_all = is_whole && inner.chosen() == chosen;
                return Ok(if is_all { End::Answered } else { End::GoesOn });
            }
            scope.take_layers(inner);
            return Ok(End::GoesOn);
        }
        Ok(if chosen.covers(scope.chosen()) { End::Answered } else { End::GoesOn })
    }

    /// The rest of the requests of a site: Caddy answers 200 with nothing.
    pub(super) fn rest(&mut self, scope: &Scope) {
        if scope.tries().is_some() {
            return self
                .close(scope.chosen(), "`try_files` without `file_server` has no counterpart");
        }
        let nothing = Directive::default();
        if let Err(why) =
            self.answer(&nothing, scope.chosen(), scope, &|_, _, _| Ok(Action::status(200)))
        {
            self.close(scope.chosen(), &why);
        }
    }
}
