//! Close codes (RFC 6455 section 7.4 and the registry of IANA).
//!
//! Owns which codes may stand in a close frame.

/// The reason in a close frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    /// The purpose of the connection is fulfilled.
    pub const NORMAL: Self = Self(1000);
    /// The server is going down, or the browser leaves the page.
    pub const GOING_AWAY: Self = Self(1001);
    /// The peer broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(1002);
    /// This side does not accept this kind of data.
    pub const UNSUPPORTED: Self = Self(1003);
    /// Text that is not UTF-8.
    pub const INVALID_DATA: Self = Self(1007);
    /// The message violates the policy of this side.
    pub const POLICY: Self = Self(1008);
    /// The message is too big.
    pub const TOO_BIG: Self = Self(1009);
    /// This side has failed.
    pub const INTERNAL_ERROR: Self = Self(1011);
    /// Come back later.
    pub const TRY_AGAIN_LATER: Self = Self(1013);

    /// A code that an application defines: 3000 to 4999 (RFC 6455 section 7.4.2). `None` for others.
    pub const fn of_application(code: u16) -> Option<Self> {
        if matches!(code, 3000..=4999) { Some(Self(code)) } else { None }
    }

    /// A code received from a peer. `None`: it must not be sent, or is not defined.
    pub const fn received(code: u16) -> Option<Self> {
        // 1004 has no meaning; 1005, 1006 and 1015 only describe what was not sent.
        if matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
            Some(Self(code))
        } else {
            None
        }
    }

    /// As a number.
    pub const fn number(self) -> u16 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455 sections 7.4.1 and 7.4.2.
    #[test]
    fn codes_that_must_not_be_sent_are_not_received() {
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] {
            assert_eq!(CloseCode::received(code), None, "{code}");
        }
        for code in [1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 3999, 4000, 4999] {
            assert_eq!(CloseCode::received(code).map(CloseCode::number), Some(code));
        }
        assert_eq!(CloseCode::of_application(1000), None);
        assert_eq!(CloseCode::of_application(4008).map(CloseCode::number), Some(4008));
    }
}
