//! The protocol of NATS: what one side writes the other reads, however it is cut into reads.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use wire::limits::NATS_LINE_SIZE;
use wire::nats::{NatsClientSaid, NatsMessage, NatsProblem, NatsPublication, NatsServerSaid};

const MOST: usize = 1_000;

/// Pieces of operations.
const WORDS: [&[u8]; 17] = [
    b"MSG a 1 ",
    b"HMSG a 1 r 3 ",
    b"PUB a ",
    b"HPUB a 1 ",
    b"0",
    b"2\r\n",
    b"5\r\n",
    b"\r\n",
    b"\n",
    b" ",
    b"ab",
    b"\xff",
    b"SUB a ",
    b"UNSUB ",
    b"18446744073709551616",
    b"ping",
    b"INFO {}",
];

/// The parts of a message.
#[derive(Clone, Debug)]
struct Parts {
    subject: String,
    subscription: u64,
    reply: Option<String>,
    headers: Vec<u8>,
    payload: Vec<u8>,
}

fn parts() -> impl Strategy<Value = Parts> {
    let subject = "[!-~ä]{1,20}";
    let headers = prop_oneof![Just(Vec::new()), vec(any::<u8>(), 1..40)];
    (subject, any::<u64>(), option::of("[!-~]{1,10}"), headers, vec(any::<u8>(), 0..100)).prop_map(
        |(subject, subscription, reply, headers, payload)| Parts {
            subject,
            subscription,
            reply,
            headers,
            payload,
        },
    )
}

impl Parts {
    fn message(&self) -> NatsServerSaid<'_> {
        NatsServerSaid::Message(NatsMessage {
            subject: &self.subject,
            subscription: self.subscription,
            reply: self.reply.as_deref(),
            headers: &self.headers,
            payload: &self.payload,
        })
    }

    fn publication(&self) -> NatsClientSaid<'_> {
        NatsClientSaid::Publish(NatsPublication {
            subject: &self.subject,
            reply: self.reply.as_deref(),
            headers: &self.headers,
            payload: &self.payload,
        })
    }

    fn server_says(&self, which: u8) -> NatsServerSaid<'_> {
        match which % 6 {
            0 => NatsServerSaid::Ping,
            1 => NatsServerSaid::Pong,
            2 => NatsServerSaid::Ok,
            3 => NatsServerSaid::Error("Authorization Violation"),
            4 => NatsServerSaid::Info(br#"{"server_id":"x"}"#),
            _ => self.message(),
        }
    }

    fn client_says(&self, which: u8) -> NatsClientSaid<'_> {
        let (subject, queue) = (&*self.subject, self.reply.as_deref());
        let subscription = self.subscription;
        match which % 7 {
            0 => NatsClientSaid::Ping,
            1 => NatsClientSaid::Pong,
            2 => NatsClientSaid::Connect(b"{}"),
            3 => NatsClientSaid::Subscribe { subject, queue, subscription },
            4 => NatsClientSaid::Unsubscribe { subscription, after: None },
            5 => NatsClientSaid::Unsubscribe { subscription, after: Some(7) },
            _ => self.publication(),
        }
    }
}

/// Every prefix of an operation is incomplete, and what follows it does not matter.
macro_rules! check_cuts {
    ($said:expr, $kind:ty) => {{
        let mut bytes = Vec::new();
        $said.write(&mut bytes);
        for length in 0..bytes.len() {
            assert_eq!(<$kind>::read(&bytes[..length], MOST), Ok(None), "{length} {:?}", $said);
        }
        let length = bytes.len();
        bytes.extend_from_slice(b"MSG PUB\r\n\xff");
        assert_eq!(<$kind>::read(&bytes, MOST), Ok(Some(($said, length))));
    }};
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn an_operation_is_read_as_written_however_it_is_cut(parts in parts(), which in any::<u8>()) {
        check_cuts!(parts.server_says(which), NatsServerSaid<'_>);
        check_cuts!(parts.client_says(which), NatsClientSaid<'_>);
    }

    #[test]
    fn an_answer_to_a_part_is_the_answer_to_the_whole(
        words in vec(select(&WORDS[..]), 0..8),
    ) {
        let bytes: Vec<u8> = words.concat();
        let (server, client) = (NatsServerSaid::read(&bytes, MOST), NatsClientSaid::read(&bytes, MOST));
        for length in 0..bytes.len() {
            let now = NatsServerSaid::read(&bytes[..length], MOST);
            prop_assert!(now == Ok(None) || now == server, "{} of {:?}", length, bytes.escape_ascii());
            let now = NatsClientSaid::read(&bytes[..length], MOST);
            prop_assert!(now == Ok(None) || now == client, "{} of {:?}", length, bytes.escape_ascii());
        }
    }
}

#[test]
fn an_invalid_operation_is_refused_with_its_reason() {
    let refused = |text: &str| NatsServerSaid::read(text.as_bytes(), MOST).unwrap_err();
    for (text, problem) in [
        ("HTTP/1.1 400 Bad\r\n", NatsProblem::UnknownOperation),
        ("PING now\r\n", NatsProblem::Arguments),
        ("PING\n", NatsProblem::Frame),
        ("MSG a 1\r\n", NatsProblem::Arguments),
        ("MSG a 1 b c 2\r\n", NatsProblem::Arguments),
        ("MSG a x 2\r\n", NatsProblem::Arguments),
        ("MSG a 1 +2\r\n", NatsProblem::Size),
        ("MSG a 1 12345678901\r\n", NatsProblem::Size),
        ("MSG a 1 1001\r\n", NatsProblem::TooLarge),
        ("HMSG a 1 3 2\r\n", NatsProblem::Size),
        ("HMSG a 1 0 2\r\n", NatsProblem::Size),
        ("MSG a 1 2\r\nabc", NatsProblem::Frame),
        ("MSG a 1 2\r\nab\rx", NatsProblem::Frame),
    ] {
        assert_eq!(refused(text), problem, "{text}");
    }
    assert_eq!(NatsServerSaid::read(b"MSG \xff 1 2\r\n", MOST), Err(NatsProblem::NotUtf8));
    let mut long = vec![b'a'; NATS_LINE_SIZE - 1];
    assert_eq!(NatsServerSaid::read(&long, MOST), Ok(None));
    long.push(b'a');
    assert_eq!(NatsServerSaid::read(&long, MOST), Err(NatsProblem::LineTooLong));
}

#[test]
fn words_of_any_case_and_several_blanks_are_read() {
    let (said, length) =
        NatsServerSaid::read(b"msg \t a  7\t2\r\nhi\r\nPING", MOST).unwrap().unwrap();
    let message =
        NatsMessage { subject: "a", subscription: 7, reply: None, headers: b"", payload: b"hi" };
    assert_eq!((said, length), (NatsServerSaid::Message(message), 18));
}
