//! Answers that begin before the end of the body.

use http::{
    Answer, AnswerContext, Application, BodyPolicy, ClientInterest, FieldList, Http, HttpSettings,
    Intake, Reply, Request, Status, Urgency,
};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use world::{ClientId, Stage, Stall};

use crate::carrier::Carrier;

/// Sends back what it gets, at once. It takes no more of a body that says "pause" until its client has ended its
/// output.
#[derive(Default)]
struct Echo {
    pending: Vec<u8>,
    begun: bool,
    ended: bool,
    pausing: Option<ProcessId>,
    unpaused: Option<ProcessId>,
    cuts: bool,
}

impl Application for Echo {
    type Message = ();

    fn body_policy(&mut self, _: &Request<'_>, _: &mut AnswerContext<'_, ()>) -> BodyPolicy {
        BodyPolicy::Stream { limit: 1 << 20 }
    }

    fn on_body(&mut self, piece: &[u8], context: &mut AnswerContext<'_, ()>) -> Intake {
        self.pending.extend_from_slice(piece);
        if piece == b"pause" {
            self.pausing = Some(context.id);
            self.pending.clear();
        }
        self.cuts |= piece == b"cut";
        if self.pausing.is_some() { Intake::Pause } else { Intake::More }
    }

    fn on_body_end(&mut self, _: &FieldList, _: &mut AnswerContext<'_, ()>) {
        self.ended = true;
    }

    fn urgency(&mut self, _: ProcessId) -> Urgency {
        match self.pending.is_empty() {
            _ if self.cuts => Urgency::Cut,
            true => Urgency::Nothing,
            false => Urgency::Answer,
        }
    }

    fn on_request(
        &mut self,
        _: &Request<'_>,
        reply: &mut Reply<'_>,
        _: &mut AnswerContext<'_, ()>,
    ) -> Answer {
        if !self.begun {
            reply.begin_parts(Status::OK);
            reply.end_head();
            self.begun = true;
        }
        reply.part(&std::mem::take(&mut self.pending));
        if self.ended { Answer::Done } else { Answer::Part }
    }

    fn on_peer_finished(&mut self, _: ProcessId) -> ClientInterest {
        self.unpaused = self.pausing.take();
        ClientInterest::Doubted
    }

    fn on_turn_end(http: &mut Http<Self>, context: &mut ServiceContext<'_, ()>) {
        if let Some(process) = http.application_mut().unpaused.take() {
            context.command(SchedulerCommand::Resume(process));
        }
    }
}

fn stage() -> Stage<Http<Echo>> {
    Stage::new(1, || Http::new(Echo::default(), HttpSettings::default().into(), None))
}

const HEAD: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n";

#[test]
fn parts_of_an_answer_are_sent_while_the_body_arrives() {
    let mut stage = stage();
    let client = stage.connect();
    let first = stage.exchange(client, &format!("{HEAD}abc"));
    assert!(first.starts_with("HTTP/1.1 200 OK\r\n"), "{first}");
    // The rest of the body may stay unread, so the connection ends.
    assert!(first.contains("\r\nConnection: close\r\n"), "{first}");
    assert!(first.ends_with("\r\n\r\n3\r\nabc\r\n"), "{first}");
    assert_eq!(stage.exchange(client, "de"), "2\r\nde\r\n");
    let again = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let last = stage.exchange(client, &format!("fgh{again}"));
    assert_eq!(last.replace("3\r\nfgh\r\n", ""), "0\r\n\r\n");
    assert!(last.starts_with("3\r\nfgh\r\n"), "{last}");
    stage.world().client_end_output(client);
    stage.rest();
    assert!(stage.is_closed(client));
}

/// Pieces that come while the client takes nothing are kept by the application, and no part is lost.
#[test]
fn a_client_that_sends_on_and_reads_late_gets_everything() {
    let mut stage = stage();
    let client = stage.connect();
    let length = 200_000;
    stage.world().client_stall(client, Stall::Reading);
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    stage.send(client, head.as_bytes());
    for piece in 0..length / 1000 {
        stage.send(client, &[b'a' + (piece % 26) as u8; 1000]);
    }
    stage.world().client_stall(client, Stall::Nothing);
    let answer = stage.received(client);
    let letters = |letter: char| answer.matches(&letter.to_string().repeat(1000)).count();
    assert!(answer.ends_with("\r\n0\r\n\r\n"), "{}", &answer[answer.len() - 50..]);
    assert_eq!(letters('z'), length / 1000 / 26);
}

#[test]
fn streams_are_answered_early_too() {
    let mut stage =
        Stage::new(1, || Carrier(Http::new(Echo::default(), HttpSettings::default().into(), None)));
    let client = stage.connect();
    let send = |stage: &mut Stage<Carrier<Echo>>, client: ClientId, text: &str| {
        stage.send(client, text.as_bytes());
        stage.rest();
        String::from_utf8_lossy(&stage.world().client_received(client)).into_owned()
    };
    assert!(send(&mut stage, client, "POST /\nabc").ends_with("abc"));
    assert_eq!(send(&mut stage, client, "def"), "def");
}

#[test]
fn an_application_may_cut_its_answer_before_the_end_of_the_body() {
    let mut stage = stage();
    let client = stage.connect();
    assert!(stage.exchange(client, &format!("{HEAD}abc")).ends_with("3\r\nabc\r\n"));
    assert_eq!(stage.exchange(client, "cut"), "");
    stage.world().client_end_output(client);
    stage.rest();
    assert!(stage.is_closed(client));
    // Before the answer has begun, it is refused.
    let client = stage.connect();
    stage.schedulers()[0].service().application_mut().begun = false;
    assert!(stage.exchange(client, &format!("{HEAD}cut")).starts_with("HTTP/1.1 504 "));
}

/// A client that ends its output may have closed: it is found out by sending the bytes with which every answer begins.
#[test]
fn the_end_of_a_client_is_noticed_while_its_body_is_not_wanted() {
    let mut stage = stage();
    let client = stage.connect();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(stage.exchange(client, &format!("{head}pause")), "");
    stage.world().client_end_output(client);
    let answer = stage.received(client);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "the first bytes are not sent twice");
}
