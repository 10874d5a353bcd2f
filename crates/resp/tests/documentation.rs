//! The documentation matches the table of commands.

const DOCUMENT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/store.md"));

/// The table of commands in docs/store.md is the one that the rows make. If it differs, this prints the correct one.
#[test]
fn documented_commands_are_those_of_the_rows() {
    let (_, part) = DOCUMENT.split_once("\n## Commands\n").expect("a section about commands");
    let part = part.split("\n## ").next().unwrap_or_default();
    let lines = part.lines().filter(|line| line.starts_with('|'));
    let found: String = lines.map(|line| format!("{line}\n")).collect();
    let right = resp::command_table();
    assert_eq!(found, right, "the right table:\n{right}");
}
