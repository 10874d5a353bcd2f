//! Requests compiled to bytes, with varying places.
//!
//! Owns the notation of these places and how they are filled: `{{counter}}`, `{{random:A..B}}`, `{{key:...}}`,
//! `{{same}}`, each with an optional `,W` for W digits. Filling allocates nothing; fixed bytes are copied as one piece.
//! Does not know what a request is: [`super::request`] assembles it.

use super::key::{KeyDistribution, KeyError, number};
use super::random::{Purpose, stream};
use crate::limits::{REQUEST_BYTES_MAX, VARYING_PARTS_MAX};

/// A request, ready to be rendered.
#[derive(Clone, Debug, Default)]
pub struct RequestTemplate {
    /// All fixed bytes.
    fixed: Vec<u8>,
    /// The varying places, in order.
    parts: Vec<Part>,
    /// Fixed bytes of the body, and the index of its first part: from these a varying length is computed.
    body_fixed: usize,
    body_part: usize,
}

/// Digits before `fixed[at]`.
#[derive(Clone, Debug)]
struct Part {
    at: usize,
    source: Source,
    width: Width,
}

#[derive(Clone, Debug)]
enum Source {
    Counter,
    Random {
        low: u64,
        high: u64,
    },
    Key(KeyDistribution),
    /// The previous number.
    Same,
    BodyLength,
}

/// How many digits a part has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// As many as the number needs.
    Natural,
    /// This many, with leading zeros.
    Fixed(u8),
}

/// The most digits a number of 64 bits has.
const DIGITS_MAX: u8 = 20;

/// The state that varies from request to request: one for each thread, used by all its templates.
#[derive(Clone, Debug)]
pub struct TemplateState {
    counter: u64,
    step: u64,
    /// The last number drawn.
    last: u64,
    random: fastrand::Rng,
}

impl TemplateState {
    /// The state of one thread among `threads`. Counters of different threads never give the same number.
    pub fn new(seed: u64, thread: u32, threads: u32) -> Self {
        Self {
            counter: u64::from(thread),
            step: u64::from(threads.max(1)),
            last: 0,
            random: stream(seed, thread, Purpose::Content),
        }
    }

    /// The source of all that is drawn for a request.
    #[inline]
    pub(super) fn random(&mut self) -> &mut fastrand::Rng {
        &mut self.random
    }

    /// The number of the key in the last rendered request, if it has one.
    #[inline]
    pub(crate) fn last_key(&self) -> u64 {
        self.last
    }
}

/// An error in a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestTemplateError {
    /// Unclosed braces.
    #[error("`{0}` is not closed; end it with }}}}")]
    Open(String),
    /// Something unknown between braces.
    #[error(
        "nothing is known about `{{{{{0}}}}}`; write {{{{counter}}}}, {{{{random:1..1000}}}}, \
         {{{{key:uniform:N}}}}, {{{{key:zipf:N:S}}}} or {{{{key:hot:N:HOT:SHARE}}}}"
    )]
    Unknown(String),
    /// Not a range.
    #[error(
        "`{0}` is not a range of whole numbers; write the lowest and the highest, as in \
         random:1..1000"
    )]
    Range(String),
    /// An invalid distribution of keys.
    #[error("{0}")]
    Key(KeyError),
    /// Not a number of digits, or too few for the largest number.
    #[error(
        "`,{0}` is not a number of digits that all numbers here fit into; write more, at most \
         {DIGITS_MAX}, or leave it out"
    )]
    Width(String),
    /// Too many varying places.
    #[error("more than {VARYING_PARTS_MAX} places vary in one request; write some of them out")]
    TooMany,
    /// Too many bytes.
    #[error("the request has more than {REQUEST_BYTES_MAX} bytes; send a smaller body")]
    TooLong,
}

impl RequestTemplate {
    /// Maximum bytes of a rendering: with this much room, `render` allocates nothing.
    pub fn bytes_max(&self) -> usize {
        self.fixed.len() + self.parts.iter().map(|part| part.digits_max()).sum::<usize>()
    }

    /// Whether every rendering is the same.
    pub fn is_fixed(&self) -> bool {
        self.parts.is_empty()
    }

    /// Appends one request to `out`.
    #[inline]
    pub fn render(&self, state: &mut TemplateState, out: &mut Vec<u8>) {
        if self.parts.is_empty() {
            out.extend_from_slice(&self.fixed);
        } else {
            self.render_parts(state, out);
        }
    }

    fn render_parts(&self, state: &mut TemplateState, out: &mut Vec<u8>) {
        // The length comes before the body it counts, so all numbers are drawn first.
        let mut numbers = [0_u64; VARYING_PARTS_MAX];
        for (part, number) in self.parts.iter().zip(&mut numbers) {
            *number = part.draw(state);
            state.last = *number;
        }
        state.counter = state.counter.wrapping_add(state.step);
        let in_body = self.parts.iter().zip(&numbers).skip(self.body_part);
        let body_length =
            self.body_fixed + in_body.map(|(part, number)| part.digits(*number)).sum::<usize>();
        let mut copied = 0;
        for (part, number) in self.parts.iter().zip(&numbers) {
            out.extend_from_slice(&self.fixed[copied..part.at]);
            copied = part.at;
            let number = if matches!(part.source, Source::BodyLength) {
                body_length as u64
            } else {
                *number
            };
            part.write(number, out);
        }
        out.extend_from_slice(&self.fixed[copied..]);
    }

    /// Adds fixed bytes.
    ///
    /// # Errors
    /// If the request becomes too long.
    pub(super) fn add_bytes(&mut self, bytes: &[u8]) -> Result<(), RequestTemplateError> {
        if self.fixed.len() + bytes.len() > REQUEST_BYTES_MAX {
            return Err(RequestTemplateError::TooLong);
        }
        self.fixed.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds text with varying places.
    ///
    /// # Errors
    /// The text is not a valid template.
    pub(super) fn add_text(&mut self, text: &str) -> Result<(), RequestTemplateError> {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            self.add_bytes(before.as_bytes())?;
            let (inside, behind) = after
                .split_once("}}")
                .ok_or_else(|| RequestTemplateError::Open(format!("{{{{{after}")))?;
            self.add_part(inside)?;
            rest = behind;
        }
        self.add_bytes(rest.as_bytes())
    }

    /// Adds `Content-Length` of the body and everything in between, then the body.
    ///
    /// # Errors
    /// If it becomes too long.
    pub(super) fn add_length_and_body(
        &mut self,
        between: &[u8],
        body: &Self,
    ) -> Result<(), RequestTemplateError> {
        let digits: Option<usize> = body.parts.iter().map(Part::digits_fixed).sum();
        match digits {
            Some(digits) => {
                let mut text = itoa::Buffer::new();
                self.add_bytes(text.format(body.fixed.len() + digits).as_bytes())?;
            }
            None => self.push(Source::BodyLength, Width::Natural)?,
        }
        self.add_bytes(between)?;
        (self.body_fixed, self.body_part) = (body.fixed.len(), self.parts.len());
        let start = self.fixed.len();
        self.add_bytes(&body.fixed)?;
        for part in &body.parts {
            self.parts.push(Part { at: start + part.at, ..part.clone() });
        }
        if self.parts.len() > VARYING_PARTS_MAX {
            Err(RequestTemplateError::TooMany)
        } else {
            Ok(())
        }
    }

    fn add_part(&mut self, inside: &str) -> Result<(), RequestTemplateError> {
        let (what, digits) = match inside.split_once(',') {
            Some((what, digits)) => (what, Some(digits)),
            None => (inside, None),
        };
        let (source, largest) = source(what.trim())?;
        let width = match digits {
            None => Width::Natural,
            Some(text) => {
                let digits = number(text).and_then(|digits| u8::try_from(digits).ok());
                let needed = largest.map_or(1, digits_of);
                let fits = digits.filter(|digits| (needed..=DIGITS_MAX).contains(digits));
                Width::Fixed(fits.ok_or_else(|| RequestTemplateError::Width(text.to_owned()))?)
            }
        };
        self.push(source, width)
    }

    fn push(&mut self, source: Source, width: Width) -> Result<(), RequestTemplateError> {
        if self.parts.len() >= VARYING_PARTS_MAX {
            return Err(RequestTemplateError::TooMany);
        }
        self.parts.push(Part { at: self.fixed.len(), source, width });
        Ok(())
    }
}

/// The content of braces, and the largest number it gives; a counter has none, and its last digits are shown.
fn source(text: &str) -> Result<(Source, Option<u64>), RequestTemplateError> {
    if text == "counter" {
        return Ok((Source::Counter, None));
    }
    if text == "same" {
        return Ok((Source::Same, None));
    }
    if let Some(range) = text.strip_prefix("random:") {
        let ends =
            range.split_once("..").and_then(|(low, high)| Some((number(low)?, number(high)?)));
        let (low, high) = ends
            .filter(|(low, high)| low <= high)
            .ok_or_else(|| RequestTemplateError::Range(range.to_owned()))?;
        return Ok((Source::Random { low, high }, Some(high)));
    }
    if let Some(key) = text.strip_prefix("key:") {
        let key: KeyDistribution = key.parse().map_err(RequestTemplateError::Key)?;
        return Ok((Source::Key(key), Some(key.count() - 1)));
    }
    Err(RequestTemplateError::Unknown(text.to_owned()))
}

/// How many digits a number has.
fn digits_of(number: u64) -> u8 {
    // At most 19 and 1.
    number.checked_ilog10().map_or(1, |logarithm| logarithm as u8 + 1)
}

impl Part {
    #[inline]
    fn draw(&self, state: &mut TemplateState) -> u64 {
        match &self.source {
            Source::Counter => state.counter,
            Source::Random { low, high } => state.random.u64(*low..=*high),
            Source::Key(key) => key.draw(&mut state.random),
            Source::Same => state.last,
            Source::BodyLength => 0,
        }
    }

    fn digits(&self, number: u64) -> usize {
        usize::from(match self.width {
            Width::Natural => digits_of(number),
            Width::Fixed(digits) => digits,
        })
    }

    fn digits_fixed(&self) -> Option<usize> {
        match self.width {
            Width::Natural => None,
            Width::Fixed(digits) => Some(digits.into()),
        }
    }

    fn digits_max(&self) -> usize {
        self.digits_fixed().unwrap_or(DIGITS_MAX.into())
    }

    #[inline]
    fn write(&self, number: u64, out: &mut Vec<u8>) {
        let mut buffer = itoa::Buffer::new();
        let text = buffer.format(number).as_bytes();
        let Width::Fixed(digits) = self.width else { return out.extend_from_slice(text) };
        let digits = usize::from(digits);
        match digits.checked_sub(text.len()) {
            Some(missing) => {
                out.resize(out.len() + missing, b'0');
                out.extend_from_slice(text);
            }
            None => out.extend_from_slice(&text[text.len() - digits..]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(text: &str) -> RequestTemplate {
        let mut template = RequestTemplate::default();
        template.add_text(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        template
    }

    fn rendered(template: &RequestTemplate, state: &mut TemplateState) -> String {
        let mut out = Vec::with_capacity(template.bytes_max());
        let room = out.capacity();
        template.render(state, &mut out);
        assert_eq!(out.capacity(), room, "rendering allocated");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn constant_template_is_copied() {
        let template = template("GET / HTTP/1.1\r\n\r\n");
        let mut state = TemplateState::new(1, 0, 1);
        assert!(template.is_fixed());
        assert_eq!(rendered(&template, &mut state), "GET / HTTP/1.1\r\n\r\n");
        assert_eq!(state.counter, 0);
    }

    #[test]
    fn a_counter_is_one_number_in_one_request() {
        let template = template("{{counter}}-{{counter,3}}-{{ counter }}");
        let mut state = TemplateState::new(1, 1, 400);
        let all: Vec<String> = (0..4).map(|_| rendered(&template, &mut state)).collect();
        assert_eq!(all, ["1-001-1", "401-401-401", "801-801-801", "1201-201-1201"]);
        assert!(!template.is_fixed());
    }

    #[test]
    fn counters_of_threads_never_meet() {
        let template = template("{{counter}}");
        let mut all: Vec<String> = Vec::new();
        for thread in 0..3 {
            let mut state = TemplateState::new(1, thread, 3);
            all.extend((0..100).map(|_| rendered(&template, &mut state)));
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 300);
    }

    #[test]
    fn random_numbers_have_both_ends() {
        let template = template("{{random:7..9}}");
        let mut state = TemplateState::new(1, 0, 1);
        let mut seen: Vec<String> = (0..200).map(|_| rendered(&template, &mut state)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, ["7", "8", "9"]);
        let whole = super::tests::template("{{random:0..18446744073709551615,20}}");
        assert_eq!(rendered(&whole, &mut state).len(), 20);
    }

    #[test]
    fn keys_are_below_their_number_and_come_again_with_the_seed() {
        let template = template("{{key:uniform:10}} {{key:zipf:10:1.1,2}} {{key:hot:10:1:0.5}}");
        let render = |thread| {
            let mut state = TemplateState::new(9, thread, 2);
            (0..50).map(|_| rendered(&template, &mut state)).collect::<Vec<_>>()
        };
        let first = render(0);
        assert_eq!(first, render(0));
        assert_ne!(first, render(1));
        for text in first {
            let words: Vec<&str> = text.split(' ').collect();
            assert!(words.iter().all(|word| word.parse::<u64>().unwrap() < 10), "{text}");
            assert_eq!((words.len(), words[1].len()), (3, 2));
        }
    }

    #[test]
    fn a_wrong_template_is_refused_by_its_part() {
        let sixteen = "{{counter}}".repeat(VARYING_PARTS_MAX);
        template(&sixteen);
        for (text, expected) in [
            ("a{{counter", RequestTemplateError::Open("{{counter".to_owned())),
            ("{{name}}", RequestTemplateError::Unknown("name".to_owned())),
            ("{{}}", RequestTemplateError::Unknown(String::new())),
            ("{{random:9..1}}", RequestTemplateError::Range("9..1".to_owned())),
            ("{{random:-1..1}}", RequestTemplateError::Range("-1..1".to_owned())),
            ("{{random:1}}", RequestTemplateError::Range("1".to_owned())),
            ("{{random:1..1000,3}}", RequestTemplateError::Width("3".to_owned())),
            ("{{counter,0}}", RequestTemplateError::Width("0".to_owned())),
            ("{{counter,21}}", RequestTemplateError::Width("21".to_owned())),
            ("{{counter,}}", RequestTemplateError::Width(String::new())),
            ("{{key:uniform:0}}", RequestTemplateError::Key(KeyError::Count("0".to_owned()))),
            (&format!("{sixteen}{{{{counter}}}}"), RequestTemplateError::TooMany),
            (&"x".repeat(REQUEST_BYTES_MAX + 1), RequestTemplateError::TooLong),
        ] {
            let mut template = RequestTemplate::default();
            assert_eq!(template.add_text(text), Err(expected));
        }
    }

    #[test]
    fn braces_are_shown_as_they_are_written() {
        let unknown = RequestTemplateError::Unknown("name".to_owned()).to_string();
        assert!(unknown.contains("`{{name}}`; write {{counter}}, {{random:1..1000}}"), "{unknown}");
        let open = RequestTemplateError::Open("{{a".to_owned()).to_string();
        assert_eq!(open, "`{{a` is not closed; end it with }}");
    }
}
