//! NATS: any cut gives the same result, what was read is written and read again, and nothing is taken of what follows.

use wire::nats::{NatsClientSaid, NatsHeaders, NatsServerSaid};

use crate::cutting;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/nats"];

/// Operations of both sides.
pub const SEEDS: &[&[u8]] = &[
    b"INFO {\"server_id\":\"N\",\"max_payload\":1048576}\r\n",
    b"MSG v.c.a 7 2\r\nhi\r\nPING\r\n",
    b"HMSG v.r.1.a 7 _INBOX.x 37 39\r\nNATS/1.0\r\nNats-Sequence: 12345678\r\n\r\nhi\r\n",
    b"-ERR 'Slow Consumer'\r\n",
    b"HPUB a b 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
    b"SUB a.> group 12\r\nUNSUB 12 5\r\n",
    b"NATS/1.0 503 No Responders\r\nA: b\r\n\r\n",
];

/// Pieces of operations.
pub const WORDS: &[&[u8]] = &[
    b"MSG ",
    b"HMSG ",
    b"PUB ",
    b"HPUB ",
    b"SUB ",
    b"UNSUB ",
    b"+OK",
    b"\r\n",
    b"0",
    b"99999999999",
    b" ",
    b"NATS/1.0",
];

const PAYLOAD_MOST: usize = 4_096;

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    // The operation is lent, and its text says the same.
    let partial = "Ok(None)".to_owned();
    cutting::assert_settles(data, &partial, |data| {
        format!("{:?}", NatsServerSaid::read(data, PAYLOAD_MOST))
    });
    cutting::assert_settles(data, &partial, |data| {
        format!("{:?}", NatsClientSaid::read(data, PAYLOAD_MOST))
    });
    if let Ok(Some((said, length))) = NatsServerSaid::read(data, PAYLOAD_MOST) {
        assert!(length <= data.len());
        let mut written = Vec::new();
        said.write(&mut written);
        let again = NatsServerSaid::read(&written, PAYLOAD_MOST);
        assert_eq!(again, Ok(Some((said, written.len()))));
    }
    if let Ok(Some((said, length))) = NatsClientSaid::read(data, PAYLOAD_MOST) {
        assert!(length <= data.len());
        let mut written = Vec::new();
        said.write(&mut written);
        let again = NatsClientSaid::read(&written, PAYLOAD_MOST);
        assert_eq!(again, Ok(Some((said, written.len()))));
    }
    let headers = NatsHeaders::new(data);
    let _any = (headers.status(), headers.number("A"));
}
