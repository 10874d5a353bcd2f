//! `traceparent`: to which trace a request belongs (W3C Trace Context).
//!
//! Owns the syntax of the field. Makes no numbers: who passes a request on says by which span.

use std::fmt;

use super::head::Fields;

/// The name of the field.
pub const TRACE_PARENT: &str = "traceparent";

/// The name of the field with what other tracers add to it. It means nothing without the former.
pub const TRACE_STATE: &str = "tracestate";

/// Characters of the field: two digits of the version, 32 of the trace, 16 of the span, two of the flags.
const SIZE: usize = 55;

/// Where the parts of the field are, and the hyphens between them.
const HYPHENS: [usize; 3] = [2, 35, 52];

/// The flags that are known: sampled, and a trace id that is random.
const FLAGS: u8 = 3;

/// The number of a trace. It is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId(pub u128);

impl fmt::Display for TraceId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", self.0)
    }
}

/// The number of a span within a trace. It is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId(pub u64);

impl fmt::Display for SpanId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.0)
    }
}

/// The trace of a request, and the span in which the request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace: TraceId,
    /// The span of the sender.
    pub span: SpanId,
    /// Its flags, as far as they are known.
    flags: u8,
}

impl TraceParent {
    /// A trace that begins here, and is recorded here.
    pub fn begun(trace: TraceId, span: SpanId) -> Self {
        Self { trace, span, flags: 1 }
    }

    /// The parent in the fields of a request; `None` if they say nothing, or nothing valid, which then counts as
    /// nothing.
    #[inline]
    pub fn of(fields: &Fields<'_, '_>) -> Option<Self> {
        let first = fields.first(TRACE_PARENT)?;
        // Two of them contradict each other.
        if fields.all(TRACE_PARENT).count() == 1 { Self::parse(first) } else { None }
    }

    /// Reads a value (W3C Trace Context, 3.2). A version that is newer than ours may add something at the end.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let (known, more) = value.split_at_checked(SIZE)?;
        if HYPHENS.iter().any(|place| known[*place] != b'-') {
            return None;
        }
        let version = u8::try_from(hexadecimal(&known[..2])?).ok()?;
        let is_whole = match version {
            0 => more.is_empty(),
            0xff => false,
            _ => more.first().is_none_or(|next| *next == b'-'),
        };
        let trace = hexadecimal(&known[3..35])?;
        let span = u64::try_from(hexadecimal(&known[36..52])?).ok()?;
        let flags = u8::try_from(hexadecimal(&known[53..])?).ok()?;
        let is_valid = is_whole && trace != 0 && span != 0;
        is_valid.then_some(Self { trace: TraceId(trace), span: SpanId(span), flags: flags & FLAGS })
    }

    /// The parent for a request that is sent on in this span.
    #[must_use]
    pub fn within(self, span: SpanId) -> Self {
        Self { span, ..self }
    }

    /// The same, of a trace that is recorded here.
    #[must_use]
    pub fn recorded(self) -> Self {
        Self { flags: self.flags | 1, ..self }
    }
}

impl fmt::Display for TraceParent {
    /// As the field has it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "00-{}-{}-{:02x}", self.trace, self.span, self.flags)
    }
}

/// A number of at most 32 digits, with letters in lower case only.
fn hexadecimal(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number: u128, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::super::fields::FieldList;
    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn parse(text: &str) -> Option<TraceParent> {
        TraceParent::parse(text.as_bytes())
    }

    #[test]
    fn a_valid_field_is_read_and_written_as_it_was() {
        let parent = parse(VALID).expect("it is the example of the recommendation");
        assert_eq!(parent.trace, TraceId(0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736));
        assert_eq!(parent.span, SpanId(0x00f0_67aa_0ba9_02b7));
        assert_eq!(parent.to_string(), VALID);
        let on = parent.within(SpanId(0xabc));
        assert_eq!(on.to_string(), "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000abc-01");
        let begun = TraceParent::begun(TraceId(1), SpanId(2));
        assert_eq!(begun.to_string(), format!("00-{:032x}-{:016x}-01", 1, 2));
    }

    #[test]
    fn invalid_traceparent_is_ignored() {
        let with = |place: usize, letter: &str| {
            let mut text = VALID.to_owned();
            text.replace_range(place..=place, letter);
            text
        };
        for text in [
            String::new(),
            VALID[..54].to_owned(),
            format!("{VALID}-"),
            format!("{VALID} "),
            with(3, "B"),
            with(3, "g"),
            with(2, "_"),
            with(35, "0"),
            with(52, "+"),
            format!("ff{}", &VALID[2..]),
            VALID.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            VALID.replace("00f067aa0ba902b7", &"0".repeat(16)),
            format!("01{}x", &VALID[2..]),
        ] {
            assert_eq!(parse(&text), None, "{text}");
        }
    }

    /// Section 3.2.4: what a newer version adds, and its flags, are left out.
    #[test]
    fn a_newer_version_is_read_as_far_as_it_is_known() {
        for more in ["", "-", "-what the future will be like"] {
            let parent = parse(&format!("cc{}ff{more}", &VALID[2..53])).expect("it may be longer");
            assert_eq!(parent.to_string(), format!("{}03", &VALID[..53]));
        }
    }

    #[test]
    fn two_fields_count_as_none() {
        let mut list = FieldList::new();
        assert_eq!(TraceParent::of(&list.fields()), None);
        list.add("Traceparent", VALID.as_bytes()).unwrap();
        assert_eq!(TraceParent::of(&list.fields()), parse(VALID));
        list.add("traceparent", VALID.as_bytes()).unwrap();
        assert_eq!(TraceParent::of(&list.fields()), None);
    }
}
