//! A document whose examples are run: its fenced blocks, and what its commands print.

use std::process::Command;

use super::{Server, errors_of, printed_by, run};

/// Where documents say that the server listens.
const ADDRESS: &str = "127.0.0.1:8080";

/// A fenced block: what stands behind its fence, and its text.
pub(crate) type Block = (&'static str, &'static str);

/// All blocks of a document.
pub(crate) fn blocks(document: &'static str) -> Vec<Block> {
    let fences: Vec<_> = document.split("\n```").collect();
    // Outside, inside, outside, ..: every second piece stands between fences.
    assert!(fences.len() % 2 == 1, "a fence is not closed");
    let inside = fences.iter().skip(1).step_by(2);
    inside.map(|block| block.split_once('\n').unwrap()).collect()
}

/// Those whose fence begins so, each with the rest of its fence.
pub(crate) fn of_kind(document: &'static str, kind: &str) -> Vec<Block> {
    let named = |(fence, text)| Some((str::strip_prefix(fence, kind)?.trim(), text));
    blocks(document).into_iter().filter_map(named).collect()
}

/// The commands of a console block, each with what it prints.
fn commands(block: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((_, printed))) => *printed += &format!("{line}\n"),
            (None, None) => panic!("{line}: there is no command before it"),
        }
    }
    commands
}

/// Runs the commands of all console blocks against a server and compares what they print. A line end that is missing at the
/// very end, as in JSON, is not to be seen in a block.
pub(crate) fn try_commands(document: &'static str, server: &Server) {
    for (command, printed) in
        of_kind(document, "console").iter().flat_map(|(_, block)| commands(block))
    {
        let command = command.replace(ADDRESS, &server.address().to_string());
        let shell = command.replacen("curl ", "curl --silent --show-error --max-time 20 ", 1);
        let output = run(Command::new("sh").args(["-c", &shell]));
        let same = |text: &str| text.trim_end_matches('\n').to_owned();
        assert_eq!(same(&printed_by(&output)), same(&printed), "{command}: {}", errors_of(&output));
    }
}
