//! Why a stream or connection ends (RFC 9113, 7).
//!
//! Owns the codes and their names.

use std::fmt;

macro_rules! codes {
    ($($name:ident $number:literal $text:literal $doc:literal),+ $(,)?) => {
        /// An error code. One that is not known has no special meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $(#[doc = $doc] $name,)+
            /// Any other.
            Unknown(u32),
        }

        impl ErrorCode {
            /// All that have a name.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The code with this number.
            pub const fn of(number: u32) -> Self {
                match number {
                    $($number => Self::$name,)+
                    _ => Self::Unknown(number),
                }
            }

            /// Its number.
            #[must_use]
            pub const fn number(self) -> u32 {
                match self {
                    $(Self::$name => $number,)+
                    Self::Unknown(number) => number,
                }
            }

            /// The name that the RFC gives it.
            const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => Some($text),)+
                    Self::Unknown(_) => None,
                }
            }
        }
    };
}

codes! {
    NoError 0x0 "NO_ERROR" "The end is no error.",
    ProtocolError 0x1 "PROTOCOL_ERROR" "The peer broke a rule that has no code of its own.",
    InternalError 0x2 "INTERNAL_ERROR" "The sender failed.",
    FlowControlError 0x3 "FLOW_CONTROL_ERROR" "The peer sent more than a window allowed.",
    SettingsTimeout 0x4 "SETTINGS_TIMEOUT" "The peer did not acknowledge settings in time.",
    StreamClosed 0x5 "STREAM_CLOSED" "A frame came for a stream that is half closed.",
    FrameSizeError 0x6 "FRAME_SIZE_ERROR" "A frame has a size that its kind cannot have.",
    RefusedStream 0x7 "REFUSED_STREAM" "Nothing was done for the stream: its request may be repeated.",
    Cancel 0x8 "CANCEL" "The stream is not needed any more.",
    CompressionError 0x9 "COMPRESSION_ERROR" "A block of fields was not HPACK.",
    ConnectError 0xa "CONNECT_ERROR" "A tunnel's connection failed.",
    EnhanceYourCalm 0xb "ENHANCE_YOUR_CALM" "The peer causes too much work.",
    InadequateSecurity 0xc "INADEQUATE_SECURITY" "The transport is not secure enough.",
    Http11Required 0xd "HTTP_1_1_REQUIRED" "The request must be sent over HTTP/1.1.",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => out.write_str(name),
            None => write!(out, "error code {}", self.number()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_one_number_and_one_name() {
        for number in 0..20 {
            assert_eq!(ErrorCode::of(number).number(), number);
        }
        assert_eq!(ErrorCode::ALL.len(), 14);
        for (number, code) in ErrorCode::ALL.iter().enumerate() {
            assert_eq!(ErrorCode::of(number as u32), *code);
        }
        assert_eq!(ErrorCode::EnhanceYourCalm.to_string(), "ENHANCE_YOUR_CALM");
        assert_eq!(ErrorCode::of(77).to_string(), "error code 77");
    }
}
