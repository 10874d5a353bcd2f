//! Priorities (RFC 9218): urgency, and whether an answer is of use in parts.
//!
//! Owns how they are read from a Priority field. Never decides what is sent first.

/// The priority of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPriority {
    urgency: u8,
    is_incremental: bool,
}

/// Urgency without a field (RFC 9218, 4.1).
const USUAL_URGENCY: u8 = 3;

impl Default for StreamPriority {
    fn default() -> Self {
        Self { urgency: USUAL_URGENCY, is_incremental: false }
    }
}

impl StreamPriority {
    /// That of a request without a field whose answer is of use in parts.
    pub const SHARED: Self = Self { urgency: USUAL_URGENCY, is_incremental: true };

    /// Reads the value of a Priority field, a dictionary (RFC 8941, 3.2) in which the last member of a name counts.
    /// A part that cannot be read is ignored, as if it were not there.
    ///
    /// ```
    /// use wire::h2::StreamPriority;
    ///
    /// let priority = StreamPriority::parse(b"u=1, i");
    /// assert_eq!((priority.urgency(), priority.is_incremental()), (1, true));
    /// assert_eq!(StreamPriority::parse(b"u=9, x=?1;a"), StreamPriority::default());
    /// ```
    pub fn parse(value: &[u8]) -> Self {
        let mut priority = Self::default();
        for member in value.split(|byte| *byte == b',') {
            let member = member.split(|byte| *byte == b';').next().unwrap_or_default();
            match member.trim_ascii() {
                [b'u', b'=', digit @ b'0'..=b'7'] => priority.urgency = digit - b'0',
                b"i" | b"i=?1" => priority.is_incremental = true,
                b"i=?0" => priority.is_incremental = false,
                _ => {}
            }
        }
        priority
    }

    /// 0 is the most urgent, 7 the least.
    #[must_use]
    pub fn urgency(self) -> u8 {
        self.urgency
    }

    /// Whether a part of the answer is of use, so that answers of one urgency share the connection.
    #[must_use]
    pub fn is_incremental(self) -> bool {
        self.is_incremental
    }

    /// The same with another urgency, at most 7.
    #[must_use]
    pub fn with_urgency(self, urgency: u8) -> Self {
        Self { urgency: urgency.min(7), ..self }
    }
}
