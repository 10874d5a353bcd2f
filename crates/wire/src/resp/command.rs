//! Commands: arrays of bulk strings, or a line of words (inline).
//!
//! Owns where a command ends and what its arguments are. Arguments of arrays are lent from the input; those of lines
//! may have escapes, and are copied.

use std::ops::Range;

use memchr::memchr;

/// The limits of a command. Beyond any of them: a [`CommandProblem`], and the connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandLimits {
    /// Arguments, including the command's name.
    pub arguments: usize,
    /// Bytes of the whole command as sent.
    pub command: usize,
    /// Bytes of a line: an inline command, or a length.
    pub line: usize,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self {
            arguments: crate::limits::RESP_ARGUMENTS,
            command: crate::limits::RESP_COMMAND_SIZE,
            line: crate::limits::RESP_LINE_SIZE,
        }
    }
}

impl CommandLimits {
    /// For a client that has not authenticated yet.
    pub fn of_strangers() -> Self {
        Self {
            arguments: crate::limits::RESP_ARGUMENTS_OF_STRANGERS,
            command: crate::limits::RESP_COMMAND_SIZE_OF_STRANGERS,
            ..Self::default()
        }
    }
}

/// Why bytes are not a command. The bytes after them cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandProblem {
    /// The number of arguments is not a number.
    ArgumentCount,
    /// There are more arguments than this.
    TooManyArguments(usize),
    /// An argument does not begin with a dollar sign, but with this byte.
    ExpectedBulk(u8),
    /// The length of an argument is not a number or too large.
    BulkLength,
    /// A line is too long.
    LineTooLong,
    /// A line has an unbalanced quotation mark.
    UnbalancedQuotes,
    /// The command is too long.
    TooLarge,
    /// An argument does not end at its length.
    NoLineEnd,
}

impl CommandProblem {
    /// The error text of Redis, which clients show to people.
    pub fn text(self) -> String {
        match self {
            Self::ArgumentCount => "ERR Protocol error: invalid multibulk length".to_owned(),
            Self::TooManyArguments(most) => format!(
                "ERR Protocol error: invalid multibulk length: a command has at most {most} words"
            ),
            Self::ExpectedBulk(byte) => {
                let shown = if byte.is_ascii_graphic() { char::from(byte) } else { '?' };
                format!("ERR Protocol error: expected '$', got '{shown}'")
            }
            Self::BulkLength => "ERR Protocol error: invalid bulk length".to_owned(),
            Self::LineTooLong => "ERR Protocol error: too big inline request".to_owned(),
            Self::UnbalancedQuotes => "ERR Protocol error: unbalanced quotes in request".to_owned(),
            Self::TooLarge => "ERR Protocol error: command is too large".to_owned(),
            Self::NoLineEnd => "ERR Protocol error: argument without its line end".to_owned(),
        }
    }
}

/// A command: its name is the first argument. An empty line has no arguments.
#[derive(Debug)]
pub struct RespCommand<'i> {
    input: &'i [u8],
    ranges: &'i [Range<usize>],
    words: Vec<Vec<u8>>,
    /// Bytes of the input that it occupies.
    pub length: usize,
}

impl RespCommand<'_> {
    /// The number of arguments.
    pub fn len(&self) -> usize {
        self.ranges.len() + self.words.len()
    }

    /// Whether there are no arguments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The argument with this index, from 0; empty if there is none.
    pub fn argument(&self, at: usize) -> &[u8] {
        match self.ranges.get(at) {
            Some(range) => self.input.get(range.clone()).unwrap_or_default(),
            None => self.words.get(at).map_or(&[], Vec::as_slice),
        }
    }

    /// The arguments from this one on.
    pub fn arguments_from(&self, first: usize) -> impl Iterator<Item = &[u8]> {
        (first..self.len()).map(|at| self.argument(at))
    }
}

/// Parses commands, and reuses the memory for the positions of their arguments.
#[derive(Debug, Default)]
pub struct Parser {
    ranges: Vec<Range<usize>>,
}

impl Parser {
    /// Parses the first command of the input; `None` if it is incomplete.
    ///
    /// ```
    /// use wire::resp::{CommandLimits, Parser};
    ///
    /// let mut parser = Parser::default();
    /// let command = parser.parse(b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", &CommandLimits::default()).unwrap().unwrap();
    /// assert_eq!((command.argument(0), command.argument(1), command.length), (&b"ECHO"[..], &b"hi"[..], 22));
    /// ```
    ///
    /// # Errors
    /// If it is not a command.
    pub fn parse<'i>(
        &'i mut self,
        input: &'i [u8],
        limits: &CommandLimits,
    ) -> Result<Option<RespCommand<'i>>, CommandProblem> {
        self.ranges.clear();
        let length = match input.first() {
            None => return Ok(None),
            Some(b'*') => self.parse_array(input, limits)?,
            Some(_) => return parse_line(input, limits),
        };
        let ranges = self.ranges.as_slice();
        Ok(length.map(|length| RespCommand { input, ranges, words: Vec::new(), length }))
    }

    fn parse_array(
        &mut self,
        input: &[u8],
        limits: &CommandLimits,
    ) -> Result<Option<usize>, CommandProblem> {
        let Some((count, mut at)) = number(input, 1, limits, CommandProblem::ArgumentCount)? else {
            return Ok(None);
        };
        // Redis treats a negative count as 0.
        let count = usize::try_from(count.max(0)).map_err(|_| CommandProblem::ArgumentCount)?;
        if count > limits.arguments {
            return Err(CommandProblem::TooManyArguments(limits.arguments));
        }
        for _ in 0..count {
            match input.get(at) {
                None => return Ok(None),
                Some(b'$') => {}
                Some(other) => return Err(CommandProblem::ExpectedBulk(*other)),
            }
            let Some((length, begin)) = number(input, at + 1, limits, CommandProblem::BulkLength)?
            else {
                return Ok(None);
            };
            let length = usize::try_from(length).map_err(|_| CommandProblem::BulkLength)?;
            if length > limits.command {
                return Err(CommandProblem::BulkLength);
            }
            let end = begin + length;
            if end + 2 > limits.command {
                return Err(CommandProblem::TooLarge);
            }
            match input.get(end..end + 2) {
                Some(b"\r\n") => {}
                Some(_) => return Err(CommandProblem::NoLineEnd),
                None => return Ok(None),
            }
            self.ranges.push(begin..end);
            at = end + 2;
        }
        Ok(Some(at))
    }
}

/// The number in the line that begins here, and the index of the next line.
fn number(
    input: &[u8],
    begin: usize,
    limits: &CommandLimits,
    problem: CommandProblem,
) -> Result<Option<(i64, usize)>, CommandProblem> {
    let rest = input.get(begin..).unwrap_or_default();
    let Some(end) = memchr(b'\n', rest) else {
        return if rest.len() > limits.line { Err(problem) } else { Ok(None) };
    };
    let digits = rest[..end].strip_suffix(b"\r").ok_or(problem)?;
    let is_number = matches!(digits, [b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..]);
    let text = str::from_utf8(digits).ok().filter(|_| is_number).ok_or(problem)?;
    let number = text.parse().map_err(|_| problem)?;
    Ok(Some((number, begin + end + 1)))
}

fn parse_line<'i>(
    input: &'i [u8],
    limits: &CommandLimits,
) -> Result<Option<RespCommand<'i>>, CommandProblem> {
    let Some(end) = memchr(b'\n', input) else {
        return if input.len() > limits.line { Err(CommandProblem::LineTooLong) } else { Ok(None) };
    };
    if end > limits.line {
        return Err(CommandProblem::LineTooLong);
    }
    let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
    let words = words(line)?;
    if words.len() > limits.arguments {
        return Err(CommandProblem::TooManyArguments(limits.arguments));
    }
    Ok(Some(RespCommand { input, ranges: &[], words, length: end + 1 }))
}

/// The words of a line, in the syntax of redis-cli.
fn words(line: &[u8]) -> Result<Vec<Vec<u8>>, CommandProblem> {
    let mut words = Vec::new();
    let mut rest = line.trim_ascii_start();
    while !rest.is_empty() {
        let (word, behind) = word(rest)?;
        words.push(word);
        rest = behind.trim_ascii_start();
    }
    Ok(words)
}

/// The first word of a line, and the rest. Its last part may be quoted: with `"`, which knows escapes, or with `'`,
/// which knows `\'` only.
fn word(line: &[u8]) -> Result<(Vec<u8>, &[u8]), CommandProblem> {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'');
    let (plain, rest) = line.split_at(line.iter().position(ends).unwrap_or(line.len()));
    let mut word = plain.to_vec();
    let [quote @ (b'"' | b'\''), quoted @ ..] = rest else { return Ok((word, rest)) };
    let behind = unquote(*quote, quoted, &mut word)?;
    if behind.first().is_some_and(|byte| !byte.is_ascii_whitespace()) {
        return Err(CommandProblem::UnbalancedQuotes);
    }
    Ok((word, behind))
}

/// Adds a quoted part to a word, and returns the input after its closing quotation mark.
fn unquote<'l>(
    quote: u8,
    mut rest: &'l [u8],
    word: &mut Vec<u8>,
) -> Result<&'l [u8], CommandProblem> {
    loop {
        match rest {
            [] => return Err(CommandProblem::UnbalancedQuotes),
            [end, behind @ ..] if *end == quote => return Ok(behind),
            [b'\\', b'\'', behind @ ..] if quote == b'\'' => {
                word.push(b'\'');
                rest = behind;
            }
            [b'\\', b'x', high, low, behind @ ..]
                if quote == b'"' && high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or(0) as u8;
                word.push(digit(high) << 4 | digit(low));
                rest = behind;
            }
            [b'\\', escaped, behind @ ..] if quote == b'"' => {
                word.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                rest = behind;
            }
            [plain, behind @ ..] => {
                word.push(*plain);
                rest = behind;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: CommandLimits = CommandLimits { arguments: 4, command: 100, line: 40 };

    type Read = Result<Option<(Vec<String>, usize)>, CommandProblem>;

    fn parse(input: &[u8]) -> Read {
        let mut parser = Parser::default();
        let parsed = parser.parse(input, &LIMITS)?;
        Ok(parsed.map(|command| {
            let text = |argument: &[u8]| String::from_utf8_lossy(argument).into_owned();
            (command.arguments_from(0).map(text).collect(), command.length)
        }))
    }

    fn read(words: &[&str], length: usize) -> Read {
        Ok(Some((words.iter().map(|word| (*word).to_owned()).collect(), length)))
    }

    #[test]
    fn commands_are_arrays_of_bulk_strings() {
        let input = b"*3\r\n$7\r\nPUBLISH\r\n$1\r\na\r\n$4\r\nb\r\nc\r\nPING\r\n";
        assert_eq!(parse(input), read(&["PUBLISH", "a", "b\r\nc"], input.len() - 6));
        for cut in 1..input.len() - 6 {
            assert_eq!(parse(&input[..cut]), Ok(None), "{cut}");
        }
        assert_eq!(parse(b"*1\r\n$0\r\n\r\n"), read(&[""], 10));
        assert_eq!(parse(b"*0\r\n"), read(&[], 4));
        assert_eq!(parse(b"*-1\r\n"), read(&[], 5));
    }

    #[test]
    fn a_line_is_a_command_as_well() {
        assert_eq!(parse(b"PING\r\n"), read(&["PING"], 6));
        assert_eq!(parse(b"  set  a\tb \nx"), read(&["set", "a", "b"], 12));
        assert_eq!(parse(b"\r\n"), read(&[], 2));
        assert_eq!(parse(b"a \"b \\\"c\\x41\\n\" 'd\\'e'\n"), read(&["a", "b \"cA\n", "d'e"], 23));
        assert_eq!(parse(b"a b\"c d\" e'f'\n"), read(&["a", "bc d", "ef"], 14));
        for wrong in [&b"a \"b\n"[..], b"a 'b\n", b"a \"b\"c\n", b"a b\"c\"d\n"] {
            assert_eq!(parse(wrong), Err(CommandProblem::UnbalancedQuotes), "{wrong:?}");
        }
    }

    #[test]
    fn invalid_command_is_refused_at_first_wrong_byte() {
        let cases: &[(&[u8], CommandProblem)] = &[
            (b"*5\r\n", CommandProblem::TooManyArguments(4)),
            (b"*a\r\n", CommandProblem::ArgumentCount),
            (b"*+1\r\n", CommandProblem::ArgumentCount),
            (b"*1\n", CommandProblem::ArgumentCount),
            (b"*99999999999999999999\r\n", CommandProblem::ArgumentCount),
            (b"*1\r\n:1\r\n", CommandProblem::ExpectedBulk(b':')),
            (b"*1\r\n$-1\r\n", CommandProblem::BulkLength),
            (b"*1\r\n$101\r\n", CommandProblem::BulkLength),
            (b"*1\r\n$95\r\n", CommandProblem::TooLarge),
            (b"*1\r\n$1\r\nabc", CommandProblem::NoLineEnd),
            (b"a b c d e\r\n", CommandProblem::TooManyArguments(4)),
            (&[b'a'; 41], CommandProblem::LineTooLong),
            (&[b'*'; 50], CommandProblem::ArgumentCount),
        ];
        for (input, problem) in cases {
            assert_eq!(parse(input), Err(*problem), "{}", String::from_utf8_lossy(input));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fail_and_more_bytes_do_not_change_a_command(
            input in prop::collection::vec(prop_oneof![
                Just(b'*'), Just(b'$'), Just(b'1'), Just(b'2'), Just(b'\r'), Just(b'\n'), Just(b'"'), any::<u8>()
            ], 0..60),
            more in prop::collection::vec(any::<u8>(), 0..10),
        ) {
            if let Ok(Some(read)) = parse(&input) {
                prop_assert!(read.1 <= input.len());
                prop_assert_eq!(parse(&[input, more].concat()), Ok(Some(read)));
            }
        }
    }
}
