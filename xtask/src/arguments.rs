//! The arguments after a verb, split into options and positional words.
//!
//! Owns the form of options (`--name value`). Does not know what an option means.

use crate::failure::Failure;

/// The arguments after a verb. Take the known ones, then call [`Arguments::finish`].
pub(crate) struct Arguments {
    words: Vec<String>,
}

impl Arguments {
    pub(crate) fn new(words: &[String]) -> Arguments {
        // `--name=value` and `--name value` are the same.
        let split = |word: &String| match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => {
                vec![name.to_owned(), value.to_owned()]
            }
            _ => vec![word.clone()],
        };
        Arguments { words: words.iter().flat_map(split).collect() }
    }

    /// Takes an option without a value; returns whether it was given.
    pub(crate) fn take_switch(&mut self, name: &str) -> bool {
        let before = self.words.len();
        self.words.retain(|word| word != name);
        self.words.len() != before
    }

    /// Takes an option and its value.
    pub(crate) fn take_value(&mut self, name: &str) -> Result<Option<String>, Failure> {
        let Some(at) = self.words.iter().position(|word| word == name) else {
            return Ok(None);
        };
        if at + 1 >= self.words.len() {
            return Err(Failure::Usage(format!("{name} needs a value")));
        }
        let value = self.words.remove(at + 1);
        self.words.remove(at);
        Ok(Some(value))
    }

    /// Takes an option whose value is an integer.
    pub(crate) fn take_number(&mut self, name: &str) -> Result<Option<u64>, Failure> {
        match self.take_value(name)? {
            None => Ok(None),
            Some(text) => text
                .parse()
                .map(Some)
                .map_err(|_| Failure::Usage(format!("{name} needs a whole number, not `{text}`"))),
        }
    }

    /// Takes an option whose value is a list separated by commas; empty if it is not given.
    pub(crate) fn take_list(&mut self, name: &str) -> Result<Vec<String>, Failure> {
        let text = self.take_value(name)?.unwrap_or_default();
        Ok(text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect())
    }

    /// Takes the first word that is not an option.
    pub(crate) fn take_word(&mut self) -> Option<String> {
        let at = self.words.iter().position(|word| !word.starts_with('-'))?;
        Some(self.words.remove(at))
    }

    /// Refuses arguments that were not taken.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(Failure::Usage(format!("unknown argument `{word}`"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> Arguments {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Arguments::new(&words)
    }

    #[test]
    fn options_and_words_in_any_order() {
        let mut given = arguments("--quick range --seconds=5 --only a,c");
        assert_eq!(given.take_number("--seconds").expect("a number"), Some(5));
        assert_eq!(given.take_list("--only").expect("a list"), ["a", "c"]);
        assert!(given.take_switch("--quick"));
        assert_eq!(given.take_word().as_deref(), Some("range"));
        given.finish().expect("all taken");
    }

    #[test]
    fn a_missing_value_a_bad_number_and_a_stranger_are_refused() {
        assert!(arguments("--seconds").take_number("--seconds").is_err());
        assert!(arguments("--seconds soon").take_number("--seconds").is_err());
        assert!(arguments("--colour").finish().is_err());
    }
}
