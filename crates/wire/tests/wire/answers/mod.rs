//! Reads a response as a client with a buffer does, and returns everything about it.

use wire::http::method::Method;
use wire::http::received::{AfterStep, ResponseError, ResponseReader};

/// The result of reading one response from a connection that closes after the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The status, if the head was complete.
    pub(crate) status: Option<u16>,
    /// Interim responses.
    pub(crate) interim: u8,
    /// Whether another request may follow.
    pub(crate) persistent: bool,
    /// The content.
    pub(crate) body: Vec<u8>,
    /// Bytes up to the end of the response; zero after an error, because that depends on the cut.
    pub(crate) consumed: usize,
    /// How it ended.
    pub(crate) end: End,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Complete.
    Over,
    /// With an error.
    Failed(ResponseError),
}

/// Reads input that arrives at once.
pub(crate) fn read_whole(method: Method, input: &[u8]) -> Outcome {
    read_in_pieces(method, &[input])
}

/// Reads input that arrives in pieces.
pub(crate) fn read_in_pieces(method: Method, pieces: &[&[u8]]) -> Outcome {
    let mut reader = ResponseReader::new(method);
    let (mut body, mut consumed) = (Vec::new(), 0);
    let end = follow(&mut reader, pieces, &mut body, &mut consumed);
    let failed = matches!(end, End::Failed(_));
    Outcome {
        status: reader.status(),
        interim: reader.interim(),
        persistent: reader.is_persistent(),
        body,
        consumed: if failed { 0 } else { consumed },
        end,
    }
}

fn follow(
    reader: &mut ResponseReader,
    pieces: &[&[u8]],
    body: &mut Vec<u8>,
    consumed: &mut usize,
) -> End {
    let mut held = Vec::new();
    for piece in pieces {
        held.extend_from_slice(piece);
        loop {
            let step = match reader.read(&held) {
                Ok(step) => step,
                Err(error) => return End::Failed(error),
            };
            assert!(held[..step.consumed].ends_with(step.body), "content stands at the end");
            body.extend_from_slice(step.body);
            *consumed += step.consumed;
            let (taken, then) = (step.consumed, step.then);
            held.drain(..taken);
            match then {
                AfterStep::Finish => {
                    assert!(reader.is_over());
                    return End::Over;
                }
                AfterStep::Wait => break,
                AfterStep::ReadRest => assert!(!held.is_empty(), "there is no rest"),
            }
        }
    }
    match reader.close(held.len()) {
        Ok(()) => End::Over,
        Err(error) => End::Failed(error),
    }
}
