//! Fetches in worlds with all faults.

use world::{ClientId, Faults, Random};

use crate::fetcher::{Stage, get, get_pieces};
use crate::seeds;
use crate::small::pattern;
use crate::world::{MILLISECOND_NS, SECOND_NS};
use pages::fetch::FetchRequest;

/// Whatever a network does, every fetch ends once, in time, with the complete answer or none.
#[test]
fn every_fetch_ends_once_and_answers_are_whole() {
    seeds::run("every_fetch_ends_once_and_answers_are_whole", 25, |seed| {
        let mut random = Random::new(seed);
        let mut chance = |most: u64| u32::try_from(random.below(most)).unwrap();
        let faults = Faults {
            cut_receive: chance(500_000),
            cut_send: chance(500_000),
            split: chance(500_000),
            delay: chance(500_000),
            small_buffer: chance(900_000),
            shuffle: chance(500_000),
            hold: chance(300_000),
            duplicate: chance(300_000),
            spurious: chance(300_000),
            cut_connection: chance(20_000),
            no_descriptor: chance(50_000),
            watch_refused: chance(50_000),
            no_port: chance(50_000),
            refused: chance(100_000),
            unanswered: chance(50_000),
            connect_late: chance(500_000),
            latency_ns_maximum: 5 * MILLISECOND_NS,
            delay_ns_maximum: 50 * MILLISECOND_NS,
            no_descriptor_ns_maximum: 50 * MILLISECOND_NS,
            ..Faults::none()
        };
        let mut stage = Stage::new(seed, faults);
        let mut servers: Vec<(ClientId, String)> = Vec::new();
        let (mut begun, mut ended) = (0_u64, 0_u64);
        for _ in 0..200 {
            if begun < 40 && random.below(3) == 0 {
                let asked = any_request(&mut random);
                stage.begin(begun, &asked);
                begun += 1;
            }
            servers.extend(
                std::iter::from_fn(|| stage.accepted()).map(|client| (client, String::new())),
            );
            for (client, got) in &mut servers {
                got.push_str(&String::from_utf8(stage.world.client_received(*client)).unwrap());
                serve(&stage, *client, got);
            }
            stage.turn_for(random.below(30) * MILLISECOND_NS);
            if random.below(3) == 0 {
                stage.read_on();
            }
            for (owner, result) in stage.outcomes() {
                ended += 1;
                let Ok(answer) = result else { continue };
                assert_eq!(answer.status, 200, "{owner}");
                assert_eq!(answer.body, pattern(answer.body.len()), "{owner}");
                let length = format!("content-length\n{}\n", answer.body.len());
                assert_eq!(answer.fields, length.as_bytes(), "{owner}");
            }
        }
        for _ in 0..20 {
            stage.read_on();
            stage.turn_for(11 * SECOND_NS);
            ended += stage.outcomes().len() as u64;
        }
        assert_eq!((ended, stage.under_way()), (begun, 0));
        stage.turn_for(31 * SECOND_NS);
        assert_eq!(stage.outbound(), 0, "none is idle for ever");
        assert_eq!(stage.world.open_descriptors(0), 0);
    });
}

/// A request of any kind; the path contains the length of its answer.
fn any_request(random: &mut Random) -> FetchRequest {
    if random.below(3) == 0 {
        // Longer than what is buffered.
        return get_pieces(&format!("/{}", random.index(400_000)));
    }
    let plain = get(&format!("/{}", random.index(60_000)));
    if random.below(2) == 0 {
        return plain;
    }
    FetchRequest { body: Some(pattern(random.index(100_000))), method: "POST".into(), ..plain }
}

/// Answers the complete requests.
fn serve(stage: &Stage, client: ClientId, got: &mut String) {
    while let Some(end) = got.find("\r\n\r\n") {
        let length = got[..end].lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        let whole = end + 4 + length;
        if got.len() < whole {
            return;
        }
        assert_eq!(got.as_bytes()[end + 4..whole], pattern(length), "the request is whole");
        let path = got.split(' ').nth(1).unwrap();
        let size: usize = path[1..].parse().unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n");
        stage.world.client_send(client, &[head.as_bytes(), &pattern(size)].concat());
        got.drain(..whole);
    }
}
