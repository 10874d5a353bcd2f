//! A document whose examples are run: its fenced blocks, and the output of its commands.

pub(crate) mod blocks;
pub(crate) mod likeness;
pub(crate) mod session;

use std::process::Command;

use self::blocks::commands_of;
use super::{Server, errors_of, printed_by, run};

/// The server's address in documents.
const ADDRESS: &str = "127.0.0.1:8080";

/// A fenced block: the text after its fence, and its content.
pub(crate) type Block = (&'static str, &'static str);

/// All blocks of a document.
pub(crate) fn blocks(document: &'static str) -> Vec<Block> {
    let fences: Vec<_> = document.split("\n```").collect();
    // Outside, inside, outside, ..: every second piece is between fences.
    assert!(fences.len() % 2 == 1, "a fence is not closed");
    let inside = fences.iter().skip(1).step_by(2);
    inside.map(|block| block.split_once('\n').unwrap()).collect()
}

/// The blocks whose fence begins with this, each with the rest of its fence.
pub(crate) fn of_kind(document: &'static str, kind: &str) -> Vec<Block> {
    let named = |(fence, text)| Some((str::strip_prefix(fence, kind)?.trim(), text));
    blocks(document).into_iter().filter_map(named).collect()
}

/// Runs the commands of all console blocks against a server and compares their output. A missing line end at the
/// very end, as in JSON, cannot be shown in a block.
pub(crate) fn try_commands(document: &'static str, server: &Server) {
    for (command, printed) in
        of_kind(document, "console").iter().flat_map(|(_, block)| commands_of(block))
    {
        let command = command.replace(ADDRESS, &server.address().to_string());
        let shell = command.replacen("curl ", "curl --silent --show-error --max-time 20 ", 1);
        let output = run(Command::new("sh").args(["-c", &shell]));
        let same = |text: &str| text.trim_end_matches('\n').to_owned();
        assert_eq!(same(&printed_by(&output)), same(&printed), "{command}: {}", errors_of(&output));
    }
}
