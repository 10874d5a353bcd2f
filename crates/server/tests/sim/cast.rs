//! The clients of a world: scripts drawn from a generator.
//!
//! Owns how a client behaves between its requests, whatever they are. A well-behaved client gets every answer;
//! another one must not affect others.

use world::Random;

use crate::client::{Client, Step};
use crate::small::Exchange;
use crate::world::{MILLISECOND_NS, SECOND_NS};

/// Most requests of one client.
const REQUESTS_MAXIMUM: usize = 6;

/// The requests of an application's clients.
pub(crate) struct Repertoire<'r> {
    /// A request after which the connection continues.
    pub(crate) exchange: &'r dyn Fn(&mut Random) -> Exchange,
    /// Steps from a request to the end of the connection by the server.
    pub(crate) last: &'r dyn Fn(&mut Random) -> Vec<Step>,
}

/// A client that behaves, or at least does not harm itself.
pub(crate) fn well_behaved(
    start_ns: u64,
    random: &mut Random,
    repertoire: &Repertoire<'_>,
) -> Client {
    let count = 1 + random.index(REQUESTS_MAXIMUM);
    let exchanges: Vec<Exchange> = (0..count).map(|_| (repertoire.exchange)(random)).collect();
    let mut script = match random.below(6) {
        0 => in_turn(exchanges, random),
        1 => pipelined(exchanges),
        2 => in_pieces(&exchanges, random),
        3 => {
            // The end of its output travels with its requests.
            let mut script = pipelined(exchanges);
            script.insert(1, Step::EndOutput);
            script.extend([Step::ExpectEndSoon, Step::Close]);
            return Client::new(start_ns, script);
        }
        4 => {
            // Answers are sent no faster than they are read; above the minimum rate that is allowed.
            let (count, every_ns) = (2_000 + random.index(60_000), SECOND_NS / 4);
            std::iter::once(Step::Pace(count, every_ns)).chain(pipelined(exchanges)).collect()
        }
        _ => {
            let mut script = in_turn(exchanges, random);
            let pause = Step::Pause(random.below(20 * SECOND_NS));
            script.insert(script.len() / 2, pause);
            script
        }
    };
    match random.below(4) {
        0 => script.push(Step::Close),
        1 => script.extend([Step::EndOutput, Step::ExpectEndSoon, Step::Close]),
        2 => script.extend((repertoire.last)(random)),
        // The server ends an idle connection.
        _ => script.extend([Step::ExpectEnd, Step::Close]),
    }
    Client::new(start_ns, script)
}

/// A request, its answer, the next.
fn in_turn(exchanges: Vec<Exchange>, random: &mut Random) -> Vec<Step> {
    let steps = exchanges.into_iter().flat_map(|exchange| {
        let pause = Step::Pause(random.below(100 * MILLISECOND_NS));
        [Step::Send(exchange.request), Step::Expect(exchange.expected), pause]
    });
    steps.collect()
}

/// All requests, then all answers.
fn pipelined(exchanges: Vec<Exchange>) -> Vec<Step> {
    let (requests, answers): (Vec<_>, Vec<_>) =
        exchanges.into_iter().map(|exchange| (exchange.request, exchange.expected)).unzip();
    let mut script = vec![Step::Send(requests.concat())];
    script.extend(answers.into_iter().map(Step::Expect));
    script
}

/// All requests, cut anywhere, with pauses shorter than every deadline.
fn in_pieces(exchanges: &[Exchange], random: &mut Random) -> Vec<Step> {
    let requests: Vec<u8> =
        exchanges.iter().flat_map(|exchange| exchange.request.iter().copied()).collect();
    let mut script = Vec::new();
    let mut rest = requests.as_slice();
    while !rest.is_empty() {
        let most = if random.below(2) == 0 { rest.len().min(40) } else { rest.len() };
        let (piece, after) = rest.split_at(1 + random.index(most));
        script.push(Step::Send(piece.to_vec()));
        // Long requests in short pieces would take longer than a head may.
        if script.len() < 60 {
            script.push(Step::Pause(random.below(100 * MILLISECOND_NS)));
        }
        rest = after;
    }
    script.extend(exchanges.iter().map(|exchange| Step::Expect(exchange.expected.clone())));
    script
}

/// A client that closes, falls silent, or sends something unexpected.
pub(crate) fn ill_behaved(
    start_ns: u64,
    random: &mut Random,
    repertoire: &Repertoire<'_>,
) -> Client {
    let mut requests = Vec::new();
    for _ in 0..1 + random.index(REQUESTS_MAXIMUM) {
        requests.extend((repertoire.exchange)(random).request);
    }
    let cut = requests[..random.index(requests.len())].to_vec();
    let pause = Step::Pause(random.below(200 * MILLISECOND_NS));
    let script = match random.below(7) {
        0 => vec![Step::Send(requests), pause, Step::Reset],
        1 => vec![Step::Send(cut), pause, Step::Reset],
        2 => {
            // Longer than any deadline; then it reads the result.
            let (asleep, reads) = (Step::Pause(200 * SECOND_NS), Step::Pace(usize::MAX, SECOND_NS));
            vec![Step::Stall, Step::Send(requests), asleep, reads, Step::ExpectLoss]
        }
        3 => vec![Step::Send(cut), Step::ExpectLoss],
        4 => vec![Step::Send(cut), Step::EndOutput, Step::ExpectLoss],
        5 => vec![Step::ExpectLoss],
        _ => {
            let noise = (0..random.index(2_000)).map(|_| random.bits().to_le_bytes()[0]);
            vec![Step::Send(noise.collect()), Step::ExpectLoss]
        }
    };
    Client::new(start_ns, script)
}
