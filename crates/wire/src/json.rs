//! Which texts the server takes as JSON (RFC 8259), wherever they come in.
//!
//! Owns the rule: UTF-8, one value, at most [`JSON_DEPTH`] levels, numbers of at most [`JSON_NUMBER_SIZE`] bytes that a
//! 64-bit float can hold. `json.decode` of pages takes exactly these texts, with more levels ([`check_of_page`]), so
//! whatever passes here can be read by every page, and passed on within other tables. Builds no value: a caller that
//! needs the content of a string gets it from [`string`].

mod problem;
mod string;

use crate::limits::{JSON_DEPTH, JSON_DEPTH_OF_PAGES, JSON_NUMBER_SIZE};

pub use problem::{JsonProblem, ProblemKind};
pub use string::string;

/// Checks that a text is one JSON value, with white space around it at most. Returns it as UTF-8, without that white
/// space.
///
/// # Errors
/// The first problem.
pub fn check(text: &[u8]) -> Result<&str, JsonProblem> {
    check_levels(text, JSON_DEPTH)
}

/// The same for a text that a page wrote. It may have [`JSON_DEPTH_OF_PAGES`] levels.
///
/// # Errors
/// The first problem.
pub fn check_of_page(text: &[u8]) -> Result<&str, JsonProblem> {
    check_around(text, 0)
}

/// The same for a text that has this many levels around values that passed [`check_of_page`], as a record has one
/// around its value.
///
/// # Errors
/// The first problem.
pub fn check_around(text: &[u8], levels: usize) -> Result<&str, JsonProblem> {
    check_levels(text, JSON_DEPTH_OF_PAGES + levels)
}

fn check_levels(text: &[u8], most: usize) -> Result<&str, JsonProblem> {
    let valid = match simdutf8::compat::from_utf8(text) {
        Ok(valid) => valid,
        Err(error) => {
            return Err(JsonProblem { kind: ProblemKind::NotUtf8, at: error.valid_up_to() + 1 });
        }
    };
    let mut cursor = Cursor { text, stop: text.len(), place: Place::beginning(most) };
    cursor.values()?;
    Ok(valid.trim_matches([' ', '\t', '\n', '\r']))
}

/// A [`check`] of a long text in pieces, for a caller that has other work to do between them.
#[derive(Debug)]
pub struct JsonCheck {
    place: Place,
    /// The bytes that are known to be UTF-8.
    valid: usize,
}

impl Default for JsonCheck {
    fn default() -> Self {
        Self { place: Place::beginning(JSON_DEPTH), valid: 0 }
    }
}

impl JsonCheck {
    /// Checks about this many more bytes of a text, which is the same each time. `true`: the text is one JSON value.
    ///
    /// # Errors
    /// The first problem in these bytes.
    pub fn go_on(&mut self, text: &[u8], bytes: usize) -> Result<bool, JsonProblem> {
        let stop = self.place.at.max(self.valid).saturating_add(bytes).min(text.len());
        let piece = text.get(self.valid..stop).unwrap_or_default();
        match simdutf8::compat::from_utf8(piece) {
            Ok(_) => self.valid = stop,
            // A character may go on in the next piece.
            Err(error) if error.error_len().is_none() && stop < text.len() => {
                self.valid += error.valid_up_to();
            }
            Err(error) => {
                let at = self.valid + error.valid_up_to() + 1;
                return Err(JsonProblem { kind: ProblemKind::NotUtf8, at });
            }
        }
        let mut cursor = Cursor { text, stop, place: self.place };
        let is_whole = cursor.values()?;
        self.place = cursor.place;
        Ok(is_whole)
    }
}

/// The part that may come next.
#[derive(Clone, Copy, Debug)]
enum Expects {
    Value,
    /// The first element of an array, or its end.
    FirstElement,
    /// The first field of an object, or its end.
    FirstField,
    /// The name of a field.
    Name,
    /// The rest of the name of a field.
    RestOfName,
    /// The colon behind the name of a field.
    Colon,
    /// The rest of a string that is a value.
    RestOfString,
    /// The part after a value: a comma or an end, or nothing.
    Next,
}

/// How far a check has come.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    expects: Expects,
    /// One bit for each open level, the innermost lowest: 1 for an object, 0 for an array.
    open: u128,
    depth: usize,
    /// Levels that may be open.
    most: usize,
}

impl Place {
    fn beginning(most: usize) -> Self {
        let most = most.min(u128::BITS as usize);
        Self { at: 0, expects: Expects::Value, open: 0, depth: 0, most }
    }
}

struct Cursor<'t> {
    text: &'t [u8],
    /// Where to pause, if that is before the end.
    stop: usize,
    place: Place,
}

impl Cursor<'_> {
    fn problem(&self, kind: ProblemKind) -> JsonProblem {
        JsonProblem { kind, at: self.place.at + 1 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.place.at).copied()
    }

    fn skip_space(&mut self) {
        while self.place.at < self.stop && matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t'))
        {
            self.place.at += 1;
        }
    }

    /// Reads one value, with all that is in it and the white space behind it. `false`: the pause comes first. The
    /// levels are bits, so no input can exhaust the stack.
    fn values(&mut self) -> Result<bool, JsonProblem> {
        loop {
            let is_in_string =
                matches!(self.place.expects, Expects::RestOfName | Expects::RestOfString);
            if !is_in_string {
                self.skip_space();
            }
            if self.place.at >= self.stop && self.stop < self.text.len() {
                return Ok(false);
            }
            self.place.expects = match self.place.expects {
                Expects::FirstElement if self.peek() == Some(b']') => self.close(),
                Expects::Value | Expects::FirstElement => self.value()?,
                Expects::FirstField if self.peek() == Some(b'}') => self.close(),
                Expects::FirstField | Expects::Name => self.name()?,
                Expects::RestOfName => self.string(Expects::Colon)?,
                Expects::RestOfString => self.string(Expects::Next)?,
                Expects::Colon => self.colon()?,
                Expects::Next if self.place.depth > 0 => self.next()?,
                Expects::Next if self.place.at == self.text.len() => return Ok(true),
                Expects::Next => return Err(self.problem(ProblemKind::AfterValue)),
            };
        }
    }

    fn open(&mut self, bit: u128) -> Result<(), JsonProblem> {
        if self.place.depth >= self.place.most {
            return Err(self.problem(ProblemKind::TooDeep(self.place.most)));
        }
        self.place.at += 1;
        self.place.depth += 1;
        self.place.open = self.place.open << 1 | bit;
        Ok(())
    }

    fn close(&mut self) -> Expects {
        self.place.at += 1;
        self.place.depth -= 1;
        self.place.open >>= 1;
        Expects::Next
    }

    fn next(&mut self) -> Result<Expects, JsonProblem> {
        let is_object = self.place.open & 1 == 1;
        let (end, problem, after_comma) = if is_object {
            (b'}', ProblemKind::NoObjectEnd, Expects::Name)
        } else {
            (b']', ProblemKind::NoArrayEnd, Expects::Value)
        };
        match self.peek() {
            Some(b',') => {
                self.place.at += 1;
                Ok(after_comma)
            }
            Some(byte) if byte == end => Ok(self.close()),
            _ => Err(self.problem(problem)),
        }
    }

    fn name(&mut self) -> Result<Expects, JsonProblem> {
        if self.peek() != Some(b'"') {
            return Err(self.problem(ProblemKind::NoName));
        }
        self.place.at += 1;
        Ok(Expects::RestOfName)
    }

    fn colon(&mut self) -> Result<Expects, JsonProblem> {
        if self.peek() != Some(b':') {
            return Err(self.problem(ProblemKind::NoColon));
        }
        self.place.at += 1;
        Ok(Expects::Value)
    }

    fn value(&mut self) -> Result<Expects, JsonProblem> {
        match self.peek() {
            Some(b'{') => {
                self.open(1)?;
                return Ok(Expects::FirstField);
            }
            Some(b'[') => {
                self.open(0)?;
                return Ok(Expects::FirstElement);
            }
            Some(b'"') => {
                self.place.at += 1;
                return Ok(Expects::RestOfString);
            }
            Some(b't') => self.word(b"true")?,
            Some(b'f') => self.word(b"false")?,
            Some(b'n') => self.word(b"null")?,
            _ => self.number()?,
        }
        Ok(Expects::Next)
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonProblem> {
        if !self.text.get(self.place.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(self.problem(ProblemKind::NoValue));
        }
        self.place.at += word.len();
        Ok(())
    }

    /// The rest of a string, to behind its closing quotation mark or to the pause. Returns what comes then.
    fn string(&mut self, next: Expects) -> Result<Expects, JsonProblem> {
        while self.place.at < self.stop {
            match self.peek() {
                Some(b'"') => {
                    self.place.at += 1;
                    return Ok(next);
                }
                Some(b'\\') => self.escape()?,
                Some(..32) => return Err(self.problem(ProblemKind::Control)),
                _ => self.place.at += 1,
            }
        }
        if self.stop < self.text.len() {
            return Ok(self.place.expects);
        }
        Err(self.problem(ProblemKind::OpenString))
    }

    fn escape(&mut self) -> Result<(), JsonProblem> {
        self.place.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.place.at += 1,
            Some(b'u') => {
                self.place.at += 1;
                let digits = self.text.get(self.place.at..self.place.at + 4).unwrap_or_default();
                if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(self.problem(ProblemKind::Digits));
                }
                self.place.at += 4;
            }
            _ => return Err(self.problem(ProblemKind::Escape)),
        }
        Ok(())
    }

    fn digits(&mut self) -> usize {
        let start = self.place.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.place.at += 1;
        }
        self.place.at - start
    }

    /// A number (RFC 8259 section 6).
    fn number(&mut self) -> Result<(), JsonProblem> {
        let start = self.place.at;
        if self.number_end().is_none() {
            self.place.at = start;
            return Err(self.problem(ProblemKind::NoValue));
        }
        let end = std::mem::replace(&mut self.place.at, start);
        let digits = &self.text[start..end];
        if digits.len() > JSON_NUMBER_SIZE {
            return Err(self.problem(ProblemKind::LongNumber));
        }
        // Without an exponent, and with so few digits, it is in range: most numbers need no conversion.
        if digits.len() > 300 || digits.contains(&b'e') || digits.contains(&b'E') {
            let value = str::from_utf8(digits).ok().and_then(|digits| digits.parse::<f64>().ok());
            if !value.is_some_and(f64::is_finite) {
                return Err(self.problem(ProblemKind::LargeNumber));
            }
        }
        self.place.at = end;
        Ok(())
    }

    /// Moves behind a number; `None` if there is none.
    fn number_end(&mut self) -> Option<()> {
        if self.peek() == Some(b'-') {
            self.place.at += 1;
        }
        let starts_with_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || starts_with_zero && whole > 1 {
            return None;
        }
        if self.peek() == Some(b'.') {
            self.place.at += 1;
            if self.digits() == 0 {
                return None;
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.place.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.place.at += 1;
            }
            if self.digits() == 0 {
                return None;
            }
        }
        Some(())
    }
}
