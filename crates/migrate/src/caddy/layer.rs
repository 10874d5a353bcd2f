//! The effects of directives of Caddy on the requests that later ones answer.
//!
//! Owns how they are put on routes: where one is for a part of the requests of a route, that part is a route of its
//! own.

use super::matcher::Chosen;
use crate::access::{Access, Said, Satisfy, Users};
use crate::limits::PARTS_MAX;
use crate::route::Route;

/// One thing that is said of requests.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    Users(Users),
    /// Only clients at these addresses are let in.
    From(Vec<String>),
    /// A server is asked first: the value of `forward_auth`, as printed.
    Asked(String),
    Header(String, String),
    /// Another key of a route, with its value as printed.
    Key(&'static str, String),
    /// A field of requests to a proxied server; empty to remove it.
    Field(String, String),
    Root(String),
}

/// An effect, and the requests that have it.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    chosen: Chosen,
    effect: Effect,
}

impl Layer {
    pub(super) fn new(chosen: Chosen, effect: Effect) -> Self {
        Self { chosen, effect }
    }

    /// The same for requests that go on as others.
    pub(super) fn moved(&self, from: &Chosen, to: &Chosen) -> Option<Option<Self>> {
        if self.chosen.covers(from) {
            return Some(Some(Self { chosen: to.clone(), effect: self.effect.clone() }));
        }
        self.chosen.is_apart(from).then_some(None)
    }
}

/// The parts of requests that have the same effects, those with most effects first; `None` if they cannot be told.
pub(super) fn parts(layers: &[Layer], chosen: &Chosen) -> Option<Vec<(Chosen, Effects)>> {
    let meets: Vec<&Layer> = layers.iter().filter(|layer| !layer.chosen.is_apart(chosen)).collect();
    let partial: Vec<usize> = meets
        .iter()
        .enumerate()
        .filter(|(_, layer)| !layer.chosen.covers(chosen))
        .map(|(index, _)| index)
        .collect();
    if partial.len() > PARTS_MAX {
        return None;
    }
    let mut masks: Vec<usize> = (0..1 << partial.len()).collect();
    masks.sort_by_key(|mask: &usize| {
        usize::MAX - usize::try_from(mask.count_ones()).unwrap_or_default()
    });
    let mut all = Vec::new();
    for mask in masks {
        let is_in = |index: usize| {
            let bit = partial.iter().position(|one| *one == index);
            bit.is_none_or(|bit| mask >> bit & 1 == 1)
        };
        let mut part = chosen.clone();
        for index in partial.iter().filter(|index| is_in(**index)) {
            part = meets.get(*index)?.chosen.within(&part)?;
        }
        if part.paths().is_empty() {
            continue;
        }
        let mut effects = Effects::default();
        for (_, layer) in meets.iter().enumerate().filter(|(index, _)| is_in(*index)) {
            effects.add(&layer.effect)?;
        }
        all.push((part, effects));
    }
    Some(all)
}

/// The effects on one route.
#[derive(Debug, Clone, Default)]
pub(super) struct Effects {
    users: Option<Users>,
    from: Option<Vec<String>>,
    asked: Option<String>,
    headers: Vec<(String, String)>,
    keys: Vec<(&'static str, String)>,
    fields: Vec<(String, String)>,
    root: Option<String>,
}

impl Effects {
    /// Adds one; `None` if it cannot be beside the others.
    fn add(&mut self, effect: &Effect) -> Option<()> {
        match effect {
            Effect::Users(users) => self.users.replace(users.clone()).is_none().then_some(()),
            Effect::From(networks) => self.from.replace(networks.clone()).is_none().then_some(()),
            // The server that is asked would have got the fields that were changed before it; ours gets the client's.
            Effect::Asked(_) if !self.fields.is_empty() => None,
            Effect::Asked(asked) => self.asked.replace(asked.clone()).is_none().then_some(()),
            Effect::Header(name, value) => {
                self.headers.push((name.clone(), value.clone()));
                Some(())
            }
            Effect::Key(key, value) => {
                self.keys.retain(|(known, _)| known != key);
                self.keys.push((key, value.clone()));
                Some(())
            }
            Effect::Field(name, value) => {
                self.fields.push((name.clone(), value.clone()));
                Some(())
            }
            Effect::Root(root) => {
                self.root = Some(root.clone());
                Some(())
            }
        }
    }

    pub(super) fn root(&self) -> Option<&str> {
        self.root.as_deref()
    }

    pub(super) fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    pub(super) fn dress(&self, route: Route) -> Route {
        let said: Vec<Said> = match &self.from {
            None => Vec::new(),
            Some(networks) => {
                let allowed = networks.iter().cloned().map(Said::Allow);
                allowed.chain([Said::Deny("all".to_owned())]).collect()
            }
        };
        let mut route = route
            .with_access(Access::of(&said, self.users.as_ref(), Satisfy::All))
            .with_headers(&self.headers);
        let asked = self.asked.as_ref().map(|asked| ("forward_auth", asked));
        for (key, value) in self.keys.iter().map(|(key, value)| (*key, value)).chain(asked) {
            route = route.with_key(key, value.clone());
        }
        route
    }
}
