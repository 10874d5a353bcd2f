//! Rules about what documents point at: a link leads to a file and a heading that exist, and so does a path of this
//! project.

use std::collections::BTreeMap;

use crate::tidy::Finding;
use crate::tidy::tree::{TextFile, Tree};

/// Where a path in backticks begins if it is one of this project.
const TOP: [&str; 8] =
    ["crates/", "docs/", "examples/", "fuzz/", "src/", "tests/", "xtask/", ".ci/"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let is_document = |file: &&TextFile| {
        file.path.ends_with(".md")
            && !file.path.starts_with("crates/")
            && !file.path.starts_with("tests/")
    };
    let headings: BTreeMap<&str, Vec<String>> = tree
        .texts
        .iter()
        .filter(is_document)
        .map(|file| (&*file.path, anchors(&file.text)))
        .collect();
    // Made by the tools, and in no repository.
    let ignored = tree.texts.iter().find(|file| file.path == ".gitignore");
    let ignored: Vec<&str> = ignored.map_or(Vec::new(), |file| {
        file.text.lines().map(|line| line.trim_start_matches('/')).collect()
    });
    let mut findings = Vec::new();
    for file in tree.texts.iter().filter(is_document) {
        let mut is_block = false;
        for (number, line) in file.numbered_lines() {
            if line.starts_with("```") {
                is_block = !is_block;
            }
            if is_block {
                continue;
            }
            let lost =
                links(line).into_iter().filter(|link| !leads(link, &file.path, tree, &headings));
            for link in lost {
                findings.push(Finding::new(
                    &file.path,
                    number,
                    format!("the link `{link}` leads nowhere"),
                    "name a file and a heading that exist",
                ));
            }
            // The change log tells of files that are gone.
            let paths = if file.path == "CHANGELOG.md" { Vec::new() } else { paths(line) };
            for path in
                paths.into_iter().filter(|path| !exists(path, tree) && !ignored.contains(path))
            {
                findings.push(Finding::new(
                    &file.path,
                    number,
                    format!("there is no `{path}`"),
                    "name a file or directory of this project",
                ));
            }
        }
    }
    findings
}

/// The targets of the links of a line that stay in this project.
fn links(line: &str) -> Vec<&str> {
    let behind = line.split("](").skip(1);
    let targets = behind.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

/// The words in backticks that are paths of this project.
fn paths(line: &str) -> Vec<&str> {
    let quoted = line.split('`').skip(1).step_by(2);
    let is_plain = |path: &&str| {
        path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
    };
    let is_ours = |path: &&str| {
        TOP.iter().any(|top| path.starts_with(top)) || (path.contains('/') && path.ends_with(".rs"))
    };
    // `tests/CRATE/main.rs` stands for many.
    let is_one = |path: &&str| {
        let is_word =
            |part: &str| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_uppercase());
        !path.split('/').any(is_word)
    };
    quoted.filter(is_plain).filter(is_ours).filter(is_one).collect()
}

/// Whether there is a file or a directory of this path, perhaps below a crate, whose `src` may be left out.
fn exists(path: &str, tree: &Tree) -> bool {
    let path = path.trim_end_matches('/');
    let longer = match path.split_once('/') {
        Some((name, rest)) => format!("{name}/src/{rest}"),
        None => path.to_owned(),
    };
    tree.paths.iter().any(|known| {
        [path, &*longer].iter().any(|path| {
            let ends = known
                .strip_suffix(path)
                .is_some_and(|before| before.is_empty() || before.ends_with('/'));
            ends || known.match_indices(path).any(|(at, _)| {
                let begins = at == 0 || known[..at].ends_with('/');
                begins && known[at + path.len()..].starts_with('/')
            })
        })
    })
}

/// Whether a link of this document leads to a file and a heading.
fn leads(link: &str, from: &str, tree: &Tree, headings: &BTreeMap<&str, Vec<String>>) -> bool {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { from.to_owned() } else { joined(from, path) };
    let is_there =
        tree.paths.iter().any(|known| *known == target || known.starts_with(&format!("{target}/")));
    let has_heading =
        || headings.get(&*target).is_some_and(|all| all.iter().any(|one| one == anchor));
    is_there && (anchor.is_empty() || has_heading())
}

/// The path that a link of a document names.
fn joined(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a document's headings, as the hosts of repositories make them.
fn anchors(text: &str) -> Vec<String> {
    let (mut anchors, mut is_block): (Vec<String>, bool) = (Vec::new(), false);
    for line in text.lines() {
        if line.starts_with("```") {
            is_block = !is_block;
        }
        let heading = line.trim_start_matches('#');
        if is_block || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept =
            heading.trim().chars().filter(|one| one.is_alphanumeric() || " -_".contains(*one));
        let anchor: String = kept
            .flat_map(char::to_lowercase)
            .map(|one| if one == ' ' { '-' } else { one })
            .collect();
        let same = anchors.iter().filter(|known| **known == anchor).count();
        anchors.push(if same == 0 { anchor } else { format!("{anchor}-{same}") });
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let text = "# One, `two`\n[a](docs/b.md#three-four), [b](docs/b.md#five), [c](nothing.md), \
                    [d](#one-two), [e](https://example.org/x)\n`crates/wire/src/lib.rs`, `wire/lib.rs`, \
                    `crates/wire`, `crates/gone`, `wire/gone.rs`, `a/b`\n```text\n[f](gone.md)\n```\n";
        let tree = Tree::of(&[
            ("README.md", text),
            ("docs/b.md", "## Three: four\n[up](../README.md#one-two) [up](../GONE.md)\n"),
            ("crates/wire/src/lib.rs", ""),
        ]);
        let findings = check(&tree);
        let found: Vec<_> =
            findings.iter().map(|one| (&*one.file, one.line, &*one.reason)).collect();
        assert_eq!(
            found,
            [
                ("README.md", 2, "the link `docs/b.md#five` leads nowhere"),
                ("README.md", 2, "the link `nothing.md` leads nowhere"),
                ("README.md", 3, "there is no `crates/gone`"),
                ("README.md", 3, "there is no `wire/gone.rs`"),
                ("docs/b.md", 2, "the link `../GONE.md` leads nowhere"),
            ]
        );
    }
}
