//! The command line of a server, split into words, and how a step changes it.

use super::Rung;

/// Why a command line cannot be split into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// A quotation mark is not closed.
    #[error("a quotation mark has no end")]
    Quote,
    /// It is empty.
    #[error("there is no command in it")]
    Empty,
}

/// Splits a line into words, with the quotation marks of a shell and nothing else of a shell.
pub(super) fn words(line: &str) -> Result<Vec<String>, CommandLineError> {
    shlex::split(line).ok_or(CommandLineError::Quote)
}

/// The server's command line in a state: `base`, changed by each of these steps in their order.
///
/// # Errors
/// `base` cannot be split into words.
pub fn command_line<'a>(
    base: &str,
    rungs: impl IntoIterator<Item = &'a Rung>,
) -> Result<Vec<String>, CommandLineError> {
    let words = words(base)?;
    if words.is_empty() {
        return Err(CommandLineError::Empty);
    }
    Ok(rungs.into_iter().fold(words, |command, rung| rung.command(command)))
}

/// A flag with a value replaces the same flag with another value; other words are appended. `{}` stands for the command
/// so far.
pub(super) fn with_words(mut command: Vec<String>, words: &[String]) -> Vec<String> {
    if words.iter().any(|word| word == "{}") {
        let around = words.iter().flat_map(|word| match &**word {
            "{}" => command.clone(),
            _ => vec![word.clone()],
        });
        return around.collect();
    }
    for word in words {
        let name = word.split_once('=').map(|(name, _)| format!("{name}="));
        let same = |one: &&mut String| match &name {
            Some(name) => one.starts_with(name.as_str()),
            None => **one == *word,
        };
        match command.iter_mut().find(same) {
            Some(place) => place.clone_from(word),
            None => command.push(word.clone()),
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(base: &str, steps: &[&str]) -> String {
        let rungs: Vec<Rung> = steps.iter().map(|text| Rung::of_words(text).unwrap()).collect();
        command_line(base, &rungs).unwrap().join(" ")
    }

    #[test]
    fn flags_are_replaced_appended_and_wrapped() {
        let base = "serve --threads=1 --quiet";
        assert_eq!(with(base, &["more: --threads=2"]), "serve --threads=2 --quiet");
        assert_eq!(with(base, &["a: --quiet --spin=1us"]), "serve --threads=1 --quiet --spin=1us");
        assert_eq!(
            with(base, &["a: --threads=4", "pinned: taskset -c 0 {}", "b: --b"]),
            "taskset -c 0 serve --threads=4 --quiet --b"
        );
    }

    #[test]
    fn unknown_ladder_command_is_error() {
        assert_eq!(command_line("a 'b", []), Err(CommandLineError::Quote));
        assert_eq!(command_line("  ", []), Err(CommandLineError::Empty));
        for text in ["no colon", ": --a", "name:", "name: "] {
            assert!(Rung::of_words(text).is_err(), "{text}");
        }
    }
}
