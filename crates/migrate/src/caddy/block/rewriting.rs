//! `rewrite` and `uri` of Caddy: requests that go on with other paths.
//!
//! Owns when a route here has the same effect. A directive whose effect differs closes the block.

use super::{Block, Done, End};
use crate::caddy::matcher::Chosen;
use crate::caddy::placeholders::target;
use crate::caddy::scope::Scope;
use crate::directive::Directive;
use crate::jump;
use crate::matcher::Matcher;
use crate::route::{Action, Route};

impl Block<'_> {
    pub(super) fn rewrite(
        &mut self,
        line: &Directive,
        to: &str,
        chosen: &Chosen,
        behind: &[&Directive],
        scope: &mut Scope,
    ) -> Done {
        let unknown = || line.unknown();
        if chosen.exception().is_some() || scope.tries().is_some() || !to.starts_with(['/', '{']) {
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
        if scope.chosen().is_all() && scope.base().is_empty() {
            if scope.has_parts() {
                return Err(line.told(
                    "a rewrite behind a rule for a part of the requests has no counterpart",
                ));
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
        if chosen != scope.chosen() {
            return Err(line.told("for a part of the requests of a block: no counterpart"));
        }
        let place = jump::place(&mut self.jumps);
        for matcher in chosen.paths() {
            let to = format!("{place}{}", to_of(matcher)?);
            let route = Route::new(matcher.clone(), Action::Rewrite { to });
            self.routes.push(route.with_condition(chosen.condition().clone()));
        }
        scope.go_on_at(place).map(|()| End::GoesOn).ok_or_else(unknown)
    }

    /// `uri strip_prefix /api`.
    pub(super) fn strip(
        &mut self,
        line: &Directive,
        prefix: &str,
        is_whole: bool,
        scope: &mut Scope,
    ) -> Done {
        let base = format!("{}{}", scope.base(), prefix.trim_end_matches('/'));
        let below = Matcher::Prefix(format!("{base}/"));
        if is_whole
            && prefix.starts_with('/')
            && scope.chosen().paths() == [below.clone()]
            && scope.tries().is_none()
        {
            scope.set_base(base);
            return Ok(End::GoesOn);
        }
        let is_simple = scope.chosen().is_all()
            && !scope.has_parts()
            && scope.base().is_empty()
            && scope.tries().is_none();
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
}
