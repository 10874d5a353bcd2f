//! Bodies that come only once the application lets them.

use http::{
    AccessLog, Answer, AnswerContext, Application, BodyPolicy, Http, HttpSettings, Intake,
    LogFormat, Reply, Request,
};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use world::Stage;

/// Lets bodies come, or not, once it is told which; answers with their length, or that none was let in.
#[derive(Default)]
struct Door {
    verdict: Option<Intake>,
    waiting: Vec<ProcessId>,
    asked: usize,
    gone: usize,
}

impl Application for Door {
    type Message = ();

    fn body_policy(&mut self, _: &Request<'_>, _: &mut AnswerContext<'_, ()>) -> BodyPolicy {
        BodyPolicy::Admit { limit: 8 }
    }

    fn admit_body(&mut self, _: &Request<'_>, context: &mut AnswerContext<'_, ()>) -> Intake {
        self.asked += 1;
        self.verdict.unwrap_or_else(|| {
            self.waiting.push(context.id);
            Intake::Pause
        })
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        _: &mut AnswerContext<'_, ()>,
    ) -> Answer {
        match self.verdict {
            Some(Intake::More) => reply.text(&request.body.len().to_string()),
            _ => reply.text("refused"),
        }
        Answer::Done
    }

    fn on_gone(&mut self, _: ProcessId) {
        self.gone += 1;
    }

    fn on_turn_end(http: &mut Http<Self>, context: &mut ServiceContext<'_, ()>) {
        let door = http.application_mut();
        if door.verdict.is_some() {
            for process in door.waiting.drain(..) {
                context.command(SchedulerCommand::Resume(process));
            }
        }
    }
}

fn stage(verdict: Option<Intake>) -> Stage<Http<Door>> {
    let settings = HttpSettings { answer_deadline_ms: 5_000, ..HttpSettings::default() };
    let log = || Some(AccessLog::new(LogFormat::text("$method $path $status").unwrap()));
    Stage::new(1, || Http::new(Door { verdict, ..Door::default() }, settings.clone().into(), log()))
}

fn decide(stage: &mut Stage<Http<Door>>, verdict: Intake) {
    stage.schedulers()[0].service().application_mut().verdict = Some(verdict);
    // Another client has the scheduler run a turn.
    let other = stage.connect();
    stage.send(other, b"G");
    stage.rest();
}

fn door(stage: &mut Stage<Http<Door>>) -> (usize, usize) {
    let door = stage.schedulers()[0].service().application();
    (door.asked, door.gone)
}

const HEAD: &str = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n";
const GO_ON: &str = "HTTP/1.1 100 Continue\r\n\r\n";

#[test]
fn a_body_is_collected_once_it_may_come() {
    for expects in ["", "Expect: 100-continue\r\n"] {
        let mut stage = stage(None);
        let client = stage.connect();
        assert_eq!(stage.exchange(client, &format!("{HEAD}{expects}\r\n")), "");
        decide(&mut stage, Intake::More);
        assert_eq!(stage.received(client), if expects.is_empty() { "" } else { GO_ON });
        let answer = stage.exchange(client, "abcde");
        assert!(answer.ends_with("\r\n\r\n5") && !answer.contains("close"), "{answer}");
        assert_eq!(door(&mut stage), (2, 0));
    }
}

#[test]
fn body_bytes_behind_the_head_are_kept_while_the_application_decides() {
    let mut stage = stage(None);
    let client = stage.connect();
    assert_eq!(stage.exchange(client, &format!("{HEAD}\r\nabcde")), "");
    decide(&mut stage, Intake::More);
    assert!(stage.received(client).ends_with("\r\n\r\n5"));
}

#[test]
fn a_refusal_waits_for_no_body() {
    for expects in ["", "Expect: 100-continue\r\n"] {
        let mut stage = stage(None);
        let client = stage.connect();
        assert_eq!(stage.exchange(client, &format!("{HEAD}{expects}\r\n")), "");
        decide(&mut stage, Intake::Enough);
        let answer = stage.received(client);
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("refused"), "{answer}");
        assert!(answer.contains("Connection: close\r\n"), "{answer}");
    }
}

#[test]
fn an_application_hears_of_each_request_that_ends_without_an_answer() {
    // One that waits for its verdict, one whose body is incomplete, and one whose body is too long.
    for (verdict, body) in [(None, ""), (Some(Intake::More), "ab")] {
        let mut stage = stage(verdict);
        let client = stage.connect();
        stage.exchange(client, &format!("{HEAD}\r\n{body}"));
        assert_eq!(door(&mut stage), (1, 0));
        stage.world().client_reset(client);
        stage.rest();
        assert_eq!(door(&mut stage), (1, 1));
        let http = stage.schedulers()[0].service();
        assert_eq!((http.stats().requests, http.stats().by_class[4]), (1, 1));
        let (lines, _count) = http.log_mut().as_mut().unwrap().take();
        assert_eq!(String::from_utf8(lines).unwrap(), "POST /a 499\n");
    }
    let mut stage = stage(None);
    let client = stage.connect();
    let answer = stage.exchange(client, &format!("{}\r\n", HEAD.replace('5', "9")));
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert_eq!(door(&mut stage), (0, 1));
}

#[test]
fn the_log_has_a_request_that_was_refused_while_it_waited() {
    let mut stage = stage(None);
    let client = stage.connect();
    stage.exchange(client, &format!("{HEAD}\r\n"));
    stage.pass(std::time::Duration::from_secs(6));
    assert!(stage.received(client).starts_with("HTTP/1.1 504 "));
    let too_long = stage.connect();
    stage.exchange(too_long, &format!("{}\r\n", HEAD.replace('5', "9")));
    let http = stage.schedulers()[0].service();
    let (lines, _count) = http.log_mut().as_mut().unwrap().take();
    assert_eq!(String::from_utf8(lines).unwrap(), "POST /a 504\nPOST /a 413\n");
}
