//! `return`, `rewrite` and `if` of nginx: what happens before a location answers.
//!
//! Owns the order in which they stand, and which of them have a counterpart. What has none closes what comes after it.

use super::emitted::{Emitted, Leads};
use super::location::Location;
use super::place::Place;
use super::variables::{Context, is_plain, path, target};
use crate::condition::Condition;
use crate::directive::Directive;
use crate::jump;
use crate::matcher::Matcher;
use crate::pattern::{Case, Pattern};
use crate::route::{Action, Route};

/// Whether requests go on after these steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    GoesOn,
    Answered,
}

/// The steps of a block on their way.
pub(super) struct Steps<'s> {
    location: &'s Location,
    places: &'s [Place],
    context: &'s Context,
    routes: Vec<Emitted>,
    /// The number of the next place for paths that only a rewrite can lead to.
    jumps: &'s mut usize,
}

impl<'s> Steps<'s> {
    pub(super) fn new(
        location: &'s Location,
        places: &'s [Place],
        context: &'s Context,
        jumps: &'s mut usize,
    ) -> Self {
        Self { location, places, context, routes: Vec::new(), jumps }
    }

    /// The routes of all steps.
    pub(super) fn read(mut self) -> (Vec<Emitted>, End) {
        let steps = self.location.steps();
        for (number, step) in steps.iter().enumerate() {
            let is_last = number + 1 == steps.len();
            let done = match step.name() {
                "return" => self.give(step, &Condition::default()).map(|()| true),
                "if" => self.condition(step),
                "rewrite" => self.rewrite(step, is_last),
                "break" => return (self.routes, End::GoesOn),
                _ => set(step).map(|()| false),
            };
            match done {
                Ok(false) => {}
                Ok(true) => return (self.routes, End::Answered),
                Err(why) => {
                    let closed = self
                        .places
                        .iter()
                        .map(|place| Route::closed(place.matcher().clone(), &why));
                    self.routes.extend(closed.map(Emitted::plain));
                    return (self.routes, End::Answered);
                }
            }
        }
        (self.routes, End::GoesOn)
    }

    /// `return CODE [TEXT or URL]`.
    fn give(&mut self, step: &Directive, condition: &Condition) -> Result<(), String> {
        for place in self.places {
            let action = self.answer(step, place.groups()).ok_or_else(|| step.unknown())?;
            let route =
                Route::new(place.matcher().clone(), action).with_condition(condition.clone());
            self.routes.push(Emitted::plain(self.location.settings().early(route)));
        }
        Ok(())
    }

    fn answer(&self, step: &Directive, groups: &[Option<String>]) -> Option<Action> {
        let (first, second) = (step.argument(0), step.argument(1));
        let Ok(status) = first.parse::<u16>() else {
            return Some(Action::Redirect {
                to: target(first, self.context, groups)?,
                status: 302,
            });
        };
        match status {
            444 => Some(Action::Drop),
            301 | 302 | 303 | 307 | 308 => {
                Some(Action::Redirect { to: target(second, self.context, groups)?, status })
            }
            206 | 416 => None,
            200..=299 | 400..=599 if is_plain(second) => {
                let content_type = self.location.settings().text_type();
                Some(Action::Respond { status, body: second.to_owned(), content_type })
            }
            _ => None,
        }
    }

    /// `if (...) { return ...; }`. Whether all requests were answered.
    fn condition(&mut self, step: &Directive) -> Result<bool, String> {
        let unknown = || step.unknown();
        let [inner] = step.inner() else { return Err(unknown()) };
        let met = met(step, self.context).ok_or_else(unknown)?;
        if inner.name() != "return" {
            return if met == Met::Never {
                Ok(false)
            } else {
                Err(inner.told("in an `if`: no counterpart"))
            };
        }
        match met {
            Met::Never => Ok(false),
            Met::Always => self.give(inner, &Condition::default()).map(|()| true),
            Met::When(condition) => self.give(inner, &condition).map(|()| false),
        }
    }

    /// `rewrite EXPRESSION TARGET [FLAG]`.
    fn rewrite(&mut self, step: &Directive, is_last: bool) -> Result<bool, String> {
        let unknown = || step.unknown();
        let pattern = Pattern::of(step.argument(0), Case::Sensitive);
        if !pattern.is_exact() {
            return self.unclear(step, &pattern);
        }
        let (text, flag) = (step.argument(1), step.argument(2));
        let is_url = text.starts_with("http://")
            || text.starts_with("https://")
            || text.starts_with("$scheme");
        let status = match flag {
            "permanent" => Some(301),
            "redirect" => Some(302),
            _ if is_url => Some(302),
            _ => None,
        };
        let mut found = Vec::new();
        for place in self.places {
            for alternative in pattern.alternatives() {
                let matcher = alternative.matcher();
                if place.matcher().covers(matcher) {
                    found.push((matcher.clone(), alternative.groups()));
                } else if matcher.covers(place.matcher()) && !text.contains('$') {
                    found.push((place.matcher().clone(), &[]));
                } else if place.matcher().may_meet(matcher) {
                    return Err(step.told("its expression takes a part of these paths"));
                }
            }
        }
        for hole in pattern.holes().iter().filter(|_| !found.is_empty()) {
            let route =
                Route::closed(hole.clone(), &step.told("this path is none of its expression"));
            self.routes.push(Emitted::plain(route));
        }
        if let Some(status) = status {
            for (matcher, groups) in found {
                let to = target(text.strip_suffix('?').unwrap_or(text), self.context, groups)
                    .ok_or_else(unknown)?;
                // nginx adds the query of the request, unless a `?` ends the target.
                let has_query = text.contains('?') || to.contains("$query");
                if has_query && !text.ends_with('?') && !to.contains("$query") {
                    return Err(unknown());
                }
                let to = if has_query { to } else { format!("{to}$query") };
                let route = Route::new(matcher, Action::Redirect { to, status });
                self.routes.push(Emitted::plain(self.location.settings().early(route)));
            }
            return Ok(false);
        }
        let paths: Option<Vec<(Matcher, String)>> = found
            .into_iter()
            .map(|(matcher, groups)| Some((matcher, path(text, groups)?)))
            .collect();
        let paths = paths.ok_or_else(unknown)?;
        match (flag, self.location.is_whole()) {
            ("break", false) => self.jump(step, paths)?,
            ("last" | "break", true) => self.lead(step, paths, Leads::Last),
            ("last", false) => self.lead(step, paths, Leads::Last),
            ("", true) => self.lead(step, paths, Leads::On),
            ("", false) if is_last => self.lead(step, paths, Leads::Last),
            _ => return Err(unknown()),
        }
        Ok(false)
    }

    /// Closes all paths that an expression may take.
    fn unclear(&mut self, step: &Directive, pattern: &Pattern) -> Result<bool, String> {
        let why = step.told("its expression has no counterpart");
        for place in self.places {
            for alternative in pattern.alternatives() {
                let both =
                    place.matcher().within(alternative.matcher()).ok_or_else(|| why.clone())?;
                let closed = both.into_iter().map(|matcher| Route::closed(matcher, &why));
                self.routes.extend(closed.map(Emitted::plain));
            }
        }
        Ok(false)
    }

    fn lead(&mut self, step: &Directive, paths: Vec<(Matcher, String)>, leads: Leads) {
        for (matcher, to) in paths {
            let route = Route::new(matcher, Action::Rewrite { to });
            self.routes.push(Emitted::new(route, leads, step.unknown()));
        }
    }

    /// `rewrite ... break`: this location answers for another path.
    fn jump(&mut self, step: &Directive, paths: Vec<(Matcher, String)>) -> Result<(), String> {
        let place = jump::place(self.jumps);
        for (_, to) in &paths {
            let target = format!("{place}{to}");
            if paths.iter().any(|(matcher, _)| matcher.may_take_target(&target)) {
                return Err(step.unknown());
            }
        }
        for (matcher, to) in paths {
            let route = Route::new(matcher, Action::Rewrite { to: format!("{place}{to}") });
            self.routes.push(Emitted::new(route, Leads::Jump, String::new()));
        }
        let answers = self.location.answer_behind(&place);
        self.routes.extend(answers.into_iter().map(Emitted::plain));
        Ok(())
    }
}

/// `set`, whose variables have no counterpart wherever they are used.
fn set(step: &Directive) -> Result<(), String> {
    let is_own = !matches!(step.argument(0), "$args" | "$limit_rate" | "$uri" | "$host");
    if step.name() == "set" && is_own { Ok(()) } else { Err(step.unknown()) }
}

/// When a condition is met.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Met {
    Always,
    Never,
    When(Condition),
}

/// When the condition of an `if` is met; `None` if that has no counterpart.
fn met(step: &Directive, context: &Context) -> Option<Met> {
    let words = step.arguments().join(" ");
    let words = words.trim().strip_prefix('(')?.strip_suffix(')')?.trim();
    let (variable, rest) = words.split_once(' ')?;
    let (operator, value) = rest.trim().split_once(' ')?;
    let value = value.trim();
    let known = |is: bool| Some(if is { Met::Always } else { Met::Never });
    match (variable, operator) {
        ("$host", "=") => known(context.host()? == value),
        ("$host", "!=") => known(context.host()? != value),
        ("$scheme", "=") => known(context.scheme()? == value),
        ("$scheme", "!=") => known(context.scheme()? != value),
        ("$https", "=" | "!=") if matches!(value, "on" | "") => {
            let is = (context.scheme()? == "https") == (value == "on");
            known(is == (operator == "="))
        }
        // GET would take HEAD too.
        ("$request_method", "=") if value != "GET" => of_methods(|method| method == value),
        ("$request_method", "!~") => {
            let names = value.strip_prefix("^(")?.strip_suffix(")$")?;
            let names: Vec<&str> = names.strip_prefix("?:").unwrap_or(names).split('|').collect();
            (names.contains(&"GET") == names.contains(&"HEAD")).then_some(())?;
            let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_uppercase());
            names.iter().all(is_name).then_some(())?;
            of_methods(|method| !names.contains(&method))
        }
        (variable, "=") if is_plain(value) && !value.is_empty() && !value.contains('*') => {
            let name = variable.strip_prefix("$http_")?.replace('_', "-");
            Some(Met::When(Condition::header(&name, value)))
        }
        _ => None,
    }
}

/// A condition for those methods that we know; others are refused anyway.
fn of_methods(is_wanted: impl Fn(&str) -> bool) -> Option<Met> {
    let all = config::Method::ALL.map(config::Method::as_str);
    let names: Vec<String> =
        all.into_iter().filter(|name| is_wanted(name)).map(str::to_owned).collect();
    Some(if names.is_empty() { Met::Never } else { Met::When(Condition::methods(names)) })
}
