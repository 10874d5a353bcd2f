//! Import cycles between the files of a crate: two files that need each other are one idea in two places.
//!
//! Owns the reading of paths (`use`, `crate::`, `super::`, `self::`) and the search for cycles among the modules of one
//! parent. Code of tests does not count. Never resolves a re-export: a path counts for the deepest module that it
//! names.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::Finding;
use crate::tidy::source::Source;
use crate::tidy::tree::Tree;

/// The path of a module: the folder of its crate, then names.
type Module = Vec<String>;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let crates = crates(tree);
    let groups = crates.iter().flat_map(|(root, sources)| cycles(root, sources));
    let finding = |(parent, names): (String, Vec<String>)| {
        let what = format!("{} import each other", names.join(", "));
        Finding::new(&parent, 1, what, "move what both need into a file of its own")
    };
    groups.map(finding).collect()
}

/// The sources below each `src` folder.
fn crates(tree: &Tree) -> BTreeMap<String, Vec<&Source>> {
    let mut crates: BTreeMap<String, Vec<&Source>> = BTreeMap::new();
    for source in &tree.sources {
        let folder = match source.path.find("/src/") {
            Some(at) => &source.path[..at + 4],
            None if source.path.starts_with("src/") => "src",
            None => continue,
        };
        crates.entry(folder.to_owned()).or_default().push(source);
    }
    crates
}

/// The groups of sibling modules that need each other, with their parent as a path of files.
fn cycles(root: &str, sources: &[&Source]) -> Vec<(String, Vec<String>)> {
    let modules: BTreeMap<Module, &Source> =
        sources.iter().map(|source| (module_of(root, &source.path), *source)).collect();
    // By parent: which child needs which.
    let mut needs: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (module, source) in &modules {
        for path in paths_in(source) {
            let Some(target) = resolve(&modules, module, &path) else { continue };
            let same = module.iter().zip(&target).take_while(|(one, other)| one == other).count();
            if let (Some(from), Some(to)) = (module.get(same), target.get(same)) {
                let children = needs.entry(module[..same].to_vec()).or_default();
                children.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    let shown = |parent: &Module| [&[root.to_owned()][..], parent].concat().join("/");
    let groups = needs.iter().flat_map(|(parent, children)| {
        groups(children).into_iter().map(move |group| (shown(parent), group))
    });
    groups.collect()
}

/// `src/a/mod.rs` and `src/a.rs` are `a`; the root of the crate has no name.
fn module_of(root: &str, path: &str) -> Module {
    let rest = path.strip_prefix(root).unwrap_or(path).trim_start_matches('/');
    let mut names: Module = rest.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// Every path of the code, as its segments; the groups of `use` are taken apart.
fn paths_in(source: &Source) -> Vec<Vec<String>> {
    let lines = source.code.iter().zip(&source.in_test).filter(|(_, in_test)| !**in_test);
    let code = lines.map(|(line, _)| line.as_str()).collect::<Vec<&str>>().join(" ");
    let mut paths = Vec::new();
    for part in code.split([';', '}']).filter_map(|part| part.rsplit_once("use ")) {
        // A group has closing braces of its own: read on from where it begins.
        let start = part.1.as_ptr() as usize - code.as_ptr() as usize;
        let end = code[start..].find(';').map_or(code.len(), |end| start + end);
        expand(&[], &code[start..end], &mut paths);
    }
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let path = |character: char| character.is_alphanumeric() || "_:".contains(character);
            let text = &code[at..];
            let end = text.find(|character| !path(character)).unwrap_or(text.len());
            paths.push(segments(&text[..end]));
        }
    }
    paths
}

fn segments(text: &str) -> Vec<String> {
    let text = text.split(" as ").next().unwrap_or(text);
    text.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The paths of a `use`.
fn expand(before: &[String], text: &str, paths: &mut Vec<Vec<String>>) {
    let Some((front, rest)) = text.split_once('{') else {
        return paths.push([before, &segments(text)].concat());
    };
    let before = [before, &segments(front)].concat();
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut start) = (0_usize, 0);
    for (at, character) in inside.char_indices().chain([(inside.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                if !inside[start..at].trim().is_empty() {
                    expand(&before, &inside[start..at], paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The module that a path of `from` leads to, if it is one of this crate.
fn resolve(modules: &BTreeMap<Module, &Source>, from: &Module, path: &[String]) -> Option<Module> {
    let mut base = from.clone();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &rest[1..];
        }
        "self" | "super" => {
            while let Some(name @ ("self" | "super")) = rest.first().map(String::as_str) {
                if name == "super" {
                    base.pop()?;
                }
                rest = &rest[1..];
            }
        }
        _ => {}
    }
    let full = [base, rest.to_vec()].concat();
    (1..=full.len())
        .rev()
        .map(|length| full[..length].to_vec())
        .find(|module| modules.contains_key(module) && module != from)
        .filter(|module| !from.starts_with(module))
}

/// Sets of names that reach each other, each sorted.
fn groups(needs: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached = |from: &String| {
        let mut seen: BTreeSet<&String> = BTreeSet::new();
        let mut open: Vec<&String> = needs.get(from).into_iter().flatten().collect();
        while let Some(name) = open.pop() {
            if seen.insert(name) {
                open.extend(needs.get(name).into_iter().flatten());
            }
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        needs.keys().map(|name| (name, reached(name))).collect();
    let mut groups: Vec<Vec<String>> = Vec::new();
    for (name, seen) in &reach {
        let is_listed = groups.iter().any(|group| group.contains(name));
        if !seen.contains(name) || is_listed {
            continue;
        }
        let back = |other: &&&String| reach.get(**other).is_some_and(|seen| seen.contains(name));
        groups.push(seen.iter().filter(back).map(|name| (*name).clone()).collect());
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn two_files_that_import_each_other_are_found() {
        let findings = found(&[
            ("crates/x/src/lib.rs", "//! x\nmod a;\nmod b;\nmod c;\n"),
            ("crates/x/src/a.rs", "//! a\nuse super::b::B;\n"),
            ("crates/x/src/b.rs", "//! b\nuse std::fmt;\nuse crate::{a::A, c::{C, D}};\n"),
            ("crates/x/src/c.rs", "//! c\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n"),
        ]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("crates/x/src:1: a, b import each other"), "{findings:?}");
    }

    #[test]
    fn a_parent_and_its_child_are_no_cycle_and_cousins_count_for_their_parents() {
        let findings = found(&[
            ("src/lib.rs", "//! x\n"),
            ("src/a/mod.rs", "//! a\nmod one;\nuse one::One;\n"),
            ("src/a/one.rs", "//! one\nuse super::A;\nfn f() { crate::b::two::g() }\n"),
            ("src/b/mod.rs", "//! b\n"),
            ("src/b/two.rs", "//! two\nfn g() { crate::a::one::f() }\n"),
        ]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("src:1: a, b import each other"), "{findings:?}");
    }
}
