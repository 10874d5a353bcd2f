//! A service that is not HTTP: echoes every line. `cargo run --release --example echo -- 127.0.0.1:8080`

use velodrome::Peer;
use velodrome::launch::{Speaks, serve};
use velodrome::service::{Context, Event, ListenerIndex, Next, Progress, Service};

/// Longest line. Beyond: the connection ends.
const LINE_BYTES: usize = 64 * 1024;

struct Echo;

/// The state of a connection: none.
struct Line;

enum NoMessage {}

impl Service for Echo {
    type Process = Line;
    type Message = NoMessage;
    const KINDS: &'static [&'static str] = &["line"];

    fn kind(_: &Line) -> usize {
        0
    }

    fn is_idle(_: &Line) -> bool {
        true
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        _: &mut Context<'_, NoMessage>,
    ) -> Option<Line> {
        Some(Line)
    }

    fn on_input(
        &mut self,
        _: &mut Line,
        input: &[u8],
        context: &mut Context<'_, NoMessage>,
    ) -> Progress {
        // An incomplete line is left where it is and comes again with the next bytes.
        let consumed = input.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        context.output.put(&input[..consumed]);
        let next = if input.len() - consumed > LINE_BYTES { Next::Finish } else { Next::Read };
        Progress { consumed, next: if context.output_is_full() { Next::Park } else { next } }
    }

    fn on_event(&mut self, _: &mut Line, event: Event, _: &mut Context<'_, NoMessage>) -> Next {
        if event == Event::InputEnded { Next::Finish } else { Next::Read }
    }
}

fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    serve(&address, Speaks::Either, || Echo)
}
