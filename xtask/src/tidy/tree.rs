//! The files of the project as the rules see them.
//!
//! Owns reading them. Never judges anything.

use crate::failure::Failure;
use crate::tidy::source::Source;
use crate::workspace;

/// A text file that is not Rust (or Rust as plain text).
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl TextFile {
    /// Lines with their numbers, counted from 1.
    pub(crate) fn numbered_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// All files: the paths of everything, the text of what is text, the Rust sources taken apart.
pub(crate) struct Tree {
    pub(crate) paths: Vec<String>,
    pub(crate) texts: Vec<TextFile>,
    pub(crate) sources: Vec<Source>,
}

impl Tree {
    /// Reads the project's files.
    pub(crate) fn read() -> Result<Tree, Failure> {
        let root = workspace::root();
        let mut files = Vec::new();
        for path in workspace::files()? {
            files.push((path.clone(), std::fs::read(root.join(&path))?));
        }
        Ok(Tree::new(files))
    }

    fn new(files: Vec<(String, Vec<u8>)>) -> Tree {
        let paths = files.iter().map(|(path, _)| path.clone()).collect();
        // A file that is not UTF-8 (an image, a corpus entry) has no lines to judge.
        let texts: Vec<TextFile> = files
            .into_iter()
            .filter_map(|(path, bytes)| {
                String::from_utf8(bytes).ok().map(|text| TextFile { path, text })
            })
            .collect();
        let sources = texts
            .iter()
            .filter(|file| file.path.ends_with(".rs"))
            .map(|file| Source::new(&file.path, &file.text))
            .collect();
        Tree { paths, texts, sources }
    }

    /// A tree of given files, for the tests of the rules.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let owned = |(path, text): &(&str, &str)| (path.to_string(), text.as_bytes().to_vec());
        Tree::new(files.iter().map(owned).collect())
    }
}
