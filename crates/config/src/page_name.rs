//! Which file is a page and which a module, and which paths a page answers.
//!
//! Owns the rule for names, for the search for pages and for requests. Never looks at a directory.

/// The extension of a module.
const MODULE: &str = ".lua";

/// The mark of a page in its file name: `hello.page.html`.
const MARK: &str = ".page.";

/// The name of a page, below its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageName {
    /// The file, without a leading slash: `a/hello.page.html`.
    pub file: Box<str>,
    /// The path without the mark: `a/hello.html`, the name by which other pages include it. For a module, the name by
    /// which others require it: `a.hello`.
    pub full: Box<str>,
    /// The path without mark and extension: `a/hello`; for a module its name again.
    pub short: Box<str>,
}

impl PageName {
    /// The page in a file, if it is one. `EXT` consists of letters and digits, because it determines the media type.
    /// Temporary files of editors are not pages: `.#a.page.html`, `a.page.html~`.
    pub fn of(file: &str) -> Option<Self> {
        let (directory, name) = file
            .rsplit_once('/')
            .map_or(("", file), |(directory, name)| (&file[..=directory.len()], name));
        let (stem, extension) = name.rsplit_once(MARK)?;
        let is_type = extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if stem.is_empty() || stem.starts_with('.') || extension.is_empty() || !is_type {
            return None;
        }
        Some(Self {
            file: file.into(),
            full: format!("{directory}{stem}.{extension}").into(),
            short: format!("{directory}{stem}").into(),
        })
    }

    /// Whether a file with this name is meant to be a page, valid or not: clients must not see its text.
    pub fn is_source(name: &str) -> bool {
        name.contains(MARK) || name.ends_with(MARK.trim_end_matches('.'))
    }

    /// The module in a file, if it is one: letters, digits, `_` and `-`, also in the names of its directories.
    pub fn of_module(file: &str) -> Option<Self> {
        let stem = file.strip_suffix(MODULE)?;
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_piece = |piece: &str| !piece.is_empty() && piece.bytes().all(known);
        let name: Box<str> = stem.replace('/', ".").into();
        let is_module = stem.split('/').all(is_piece);
        is_module.then(|| Self { file: file.into(), full: name.clone(), short: name })
    }

    /// A missing module, with the file where it would be.
    pub fn of_missing_module(name: &str) -> Self {
        let file = name.replace('.', "/") + MODULE;
        Self { file: file.into(), full: name.into(), short: name.into() }
    }

    /// The extension, which determines the media type.
    pub fn extension(&self) -> &str {
        self.full.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Whether it can only be included: its name, or that of a directory on its path, begins with `_`.
    pub fn is_part(&self) -> bool {
        self.file.split('/').any(|name| name.starts_with('_'))
    }

    /// The paths it answers, without the leading slash. An index page also answers for its directory; a part answers
    /// none.
    pub fn paths(&self, indexes: &[String]) -> impl Iterator<Item = Box<str>> {
        let name = self.full.rsplit('/').next().unwrap_or(&self.full);
        let directory = &self.full[..self.full.len() - name.len()];
        let index = indexes.iter().any(|index| index == name).then(|| Box::from(directory));
        let all = [self.full.clone(), self.short.clone()].into_iter().chain(index);
        all.filter(|_| !self.is_part())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(file: &str) -> Vec<String> {
        let name = PageName::of(file).unwrap_or_else(|| panic!("{file} is a page"));
        name.paths(&["index.html".to_owned()]).map(String::from).collect()
    }

    #[test]
    fn a_page_answers_with_and_without_its_extension() {
        assert_eq!(paths("hello.page.html"), ["hello.html", "hello"]);
        assert_eq!(paths("a/b/feed.page.xml"), ["a/b/feed.xml", "a/b/feed"]);
        assert_eq!(paths("a.b.page.txt"), ["a.b.txt", "a.b"]);
        assert_eq!(
            PageName::of("a/feed.page.xml").map(|name| name.extension().to_owned()).as_deref(),
            Some("xml")
        );
    }

    #[test]
    fn an_index_page_answers_for_its_directory() {
        assert_eq!(paths("index.page.html"), ["index.html", "index", ""]);
        assert_eq!(paths("a/index.page.html"), ["a/index.html", "a/index", "a/"]);
        assert_eq!(paths("a/index.page.xml"), ["a/index.xml", "a/index"]);
    }

    #[test]
    fn a_part_answers_nothing() {
        for file in ["_row.page.html", "_parts/row.page.html", "a/_index.page.html"] {
            assert!(paths(file).is_empty(), "{file}");
        }
        assert_eq!(paths("a_b.page.html"), ["a_b.html", "a_b"]);
    }

    #[test]
    fn a_module_is_named_by_its_path() {
        let name = |file| PageName::of_module(file).map(|name| String::from(name.full));
        assert_eq!(name("api.lua").as_deref(), Some("api"));
        assert_eq!(name("shop/my-basket_2.lua").as_deref(), Some("shop.my-basket_2"));
        for file in
            ["api", ".lua", "a.b.lua", "a//b.lua", ".#api.lua", "api.lua~", "a b.lua", "a/.lua"]
        {
            assert_eq!(name(file), None, "{file}");
        }
        let missing = PageName::of_missing_module("shop.basket");
        assert_eq!(PageName::of_module(&missing.file), Some(missing));
    }

    #[test]
    fn other_files_are_no_pages() {
        for file in [
            "hello.html",
            ".page.html",
            "hello.page.",
            "page.html",
            "a.page.d/x.html",
            "a.page.tar.gz",
            "a/.#b.page.html",
            "a.page.html~",
            "",
        ] {
            assert_eq!(PageName::of(file), None, "{file}");
        }
    }
}
