//! The blocks of a document: where they are, and what their fences say.

use std::fmt;

/// A fenced block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'d> {
    /// Where its fence is.
    pub(crate) document: &'d str,
    pub(crate) line: usize,
    /// The first word after the fence.
    pub(crate) kind: &'d str,
    /// The rest of that line.
    pub(crate) mark: &'d str,
    pub(crate) text: &'d str,
}

impl fmt::Display for Block<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: ```{} {}", self.document, self.line, self.kind, self.mark)
    }
}

/// All blocks of a document. Its text may contain none that is only indented: nothing says what that is.
pub(crate) fn blocks_of<'d>(document: &'d str, text: &'d str) -> Vec<Block<'d>> {
    let (mut blocks, mut open): (Vec<Block<'d>>, Option<(usize, &str, usize)>) = (Vec::new(), None);
    let (mut at, mut is_after_space) = (0, true);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let next = at + line.len();
        match (line.strip_prefix("```"), open) {
            (Some(fence), None) => open = Some((number + 1, fence.trim(), next)),
            (Some(_), Some((line, fence, begin))) => {
                let (kind, mark) = fence.split_once(' ').unwrap_or((fence, ""));
                blocks.push(Block { document, line, kind, mark, text: &text[begin..at] });
                open = None;
            }
            (None, None) => {
                let is_indented = is_after_space && line.starts_with("    ");
                assert!(!is_indented, "{document}:{}: a block without a fence: {line}", number + 1);
            }
            (None, Some(_)) => {}
        }
        is_after_space = line.trim().is_empty();
        at = next;
    }
    assert!(open.is_none(), "{document}: a fence is not closed");
    blocks
}

/// The commands of a console block, each with its output. A backslash joins a line with the next.
pub(crate) fn commands_of(block: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut is_open = false;
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (None, Some((command, _))) if is_open => *command += &format!("\n{line}"),
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((_, printed))) => *printed += &format!("{line}\n"),
            (None, None) => panic!("{line}: there is no command before it"),
        }
        let is_command = is_open || line.starts_with("$ ");
        is_open = is_command && line.ends_with('\\');
    }
    commands
}
