//! Goal: over TLS the generator measures what it says, names every handshake that fails, and calls no such run valid.
//! Method: servers over TLS, right ones and ones that do one thing wrong, and runs of a few hundred milliseconds.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

use bench::plan::{
    Aim, Encryption, EncryptionAsk, HandshakeMode, Lifetime, LoadPlan, Ownership, PlannedRequest,
    ServerTrust, Upkeep,
};
use bench::report::{
    EncryptionReport, ReasonCode, Report, ResultTrust, RunReport, VerdictReason, write_text,
};
use bench::tally::FailureKind;
use tls::{ClientCertificates, TlsStream};

use crate::faults::generator::{
    TRIES, assert_answered, assert_only, impatient_plan, plan, rate, run, undisturbed,
};
use server::{Authority, NAMES, accepting, acceptor, answering, converse};

/// The wishes of a user that trusts this authority alone.
fn trusting(authority: &Authority) -> EncryptionAsk {
    EncryptionAsk {
        trust: ServerTrust::File(authority.file()),
        own: None,
        server_name: None,
        handshakes: HandshakeMode::Full,
    }
}

/// A plan as [`plan`] for a server over TLS.
fn secret(address: SocketAddr, ask: EncryptionAsk) -> LoadPlan {
    of_urls(&[format!("https://{address}/")], ask, plan(address))
}

fn of_urls(urls: &[String], ask: EncryptionAsk, plan: LoadPlan) -> LoadPlan {
    let aim = Aim::at(urls, &[], &PlannedRequest::default(), Ownership::Unsaid).unwrap();
    let encryption = Some(Encryption::new(ask, &["http/1.1"]).unwrap());
    LoadPlan { targets: aim.targets, peers: aim.peers, encryption, ..plan }
}

fn tls(run: &RunReport) -> &EncryptionReport {
    run.tls.as_ref().unwrap()
}

/// The report of a plan, measured again while it has no handshake.
fn report(plan: &LoadPlan) -> Report {
    let once = || bench::run::requests(plan, Vec::new(), |_| {}).unwrap();
    let is_whole = |report: &Report| report.runs.first().is_some_and(|run| run.tls.is_some());
    (0..TRIES).map(|_| once()).find(is_whole).unwrap()
}

fn has(reasons: &[VerdictReason], code: ReasonCode) -> bool {
    reasons.iter().any(|reason| reason.code == code)
}

fn text_of(report: &Report) -> String {
    let mut text = String::new();
    write_text(report, &mut text).unwrap();
    text
}

#[test]
fn kept_connections_shake_hands_once_and_the_report_says_with_whom() {
    let authority = Authority::new();
    let address = answering(authority.acceptor(&NAMES));
    let report = report(&secret(address, trusting(&authority)));
    let run = &report.runs[0];
    assert_answered(run, "over TLS");
    let tls = tls(run);
    assert_eq!((tls.full, tls.resumed, tls.failures()), (3, 0, 0));
    assert_eq!((tls.handshake.count, run.connect.count), (3, 3));
    assert!(tls.handshake.min_ns > 0);
    let [agreement] = tls.agreements.as_slice() else { panic!("{tls:?}") };
    assert_eq!(agreement.version, "TLSv1.3");
    assert_eq!((agreement.protocol.as_deref(), agreement.connections), (Some("http/1.1"), 3));
    let certificate = agreement.certificate.as_ref().unwrap();
    assert_eq!(
        (certificate.key.as_str(), certificate.names.as_slice()),
        ("ECDSA P-256", &NAMES.map(str::to_owned)[..])
    );
    assert!(!has(&report.verdict.reasons, ReasonCode::HandshakesFailed), "{:?}", report.verdict);
    assert!(!has(&report.verdict.notes, ReasonCode::NotChecked), "{:?}", report.verdict);
    assert_eq!(report.plan.targets[0].url, format!("https://{address}/"));
    let text = text_of(&report);
    assert!(text.contains("tls         3 handshakes, 0 resumed (0.0 %), 0 failed"), "{text}");
    assert!(text.contains("\nhandshake  ") && text.contains("CN=Authority of tests"), "{text}");
    assert!(!text.contains("NOT CHECKED"), "{text}");
    let read = Report::from_json(&report.to_json()).unwrap();
    assert_eq!(read.runs[0].tls.as_ref().unwrap().agreements, tls.agreements);
}

#[test]
fn a_certificate_that_is_not_checked_is_said_wherever_the_report_is_read() {
    let authority = Authority::new();
    let address = answering(authority.acceptor(&["other.example"]));
    let anyone = EncryptionAsk { trust: ServerTrust::Anyone, ..trusting(&authority) };
    let report = report(&secret(address, anyone));
    assert_answered(&report.runs[0], "anyone");
    assert!(report.plan.tls.as_ref().unwrap().insecure);
    assert!(has(&report.verdict.notes, ReasonCode::NotChecked), "{:?}", report.verdict);
    assert!(text_of(&report).contains("CN=Authority of tests, NOT CHECKED (--insecure)"));
    assert!(bench::report::write_html(&report).contains("NOT CHECKED (--insecure)"));
}

#[test]
fn each_new_connection_shakes_hands_and_resumes_if_it_should() {
    let authority = Authority::new();
    let address = answering(authority.acceptor(&NAMES));
    for handshakes in [HandshakeMode::Full, HandshakeMode::Resumed] {
        let ask = EncryptionAsk { handshakes, ..trusting(&authority) };
        let plan = LoadPlan { lifetime: Lifetime::ONE_REQUEST, ..secret(address, ask) };
        let run = undisturbed(&plan, |run| run.requests.answered > 20);
        assert_answered(&run, "a connection per request");
        let tls = tls(&run);
        assert!((tls.full + tls.resumed).abs_diff(run.requests.sent) <= 3, "{tls:?} {run:?}");
        match handshakes {
            HandshakeMode::Full => assert_eq!(tls.resumed, 0),
            // Three connections begin before there is a session.
            HandshakeMode::Resumed => assert!(tls.full <= 3 && tls.resumed > 10, "{tls:?}"),
        }
    }
}

#[test]
fn a_server_that_accepts_no_ticket_is_noted_if_sessions_should_be_resumed() {
    let authority = Authority::new();
    let files = authority.issue(&NAMES, |_| {});
    // This server makes new keys of tickets for each connection, so it accepts no ticket of an earlier one.
    let address = accepting(move |connection| {
        let acceptor = acceptor(&files, "http/1.1", &ClientCertificates::Ignored);
        if let Ok(stream) = TlsStream::accept(&acceptor, connection) {
            converse(stream);
        }
    });
    let ask = EncryptionAsk { handshakes: HandshakeMode::Resumed, ..trusting(&authority) };
    let plan = LoadPlan { lifetime: Lifetime::ONE_REQUEST, ..secret(address, ask) };
    let report = report(&plan);
    assert_eq!(tls(&report.runs[0]).resumed, 0);
    assert!(has(&report.verdict.notes, ReasonCode::NotResumed), "{:?}", report.verdict);
}

/// Checks that every request fails by its handshake, for this reason, and that the verdict says so.
fn assert_refused(plan: &LoadPlan, reason: &str) {
    let report = report(plan);
    let run = &report.runs[0];
    assert_only(run, FailureKind::Handshake, reason);
    let tls = tls(run);
    assert_eq!(tls.failed.iter().map(|fault| fault.reason.as_str()).collect::<Vec<_>>(), [reason]);
    assert!(tls.failures() >= run.requests.failed, "{tls:?}");
    assert_eq!(report.verdict.state, ResultTrust::Invalid);
    let told = report.verdict.reasons.iter().find(|one| one.code == ReasonCode::HandshakesFailed);
    assert!(told.unwrap().text.contains(&tls.failed[0].text), "{told:?}");
    assert!(text_of(&report).contains(&tls.failed[0].text));
    // Three connections, each tried at once and then every 50 ms for 320 ms.
    assert!(tls.failures() <= 3 * 8, "not as fast as they are refused: {tls:?}");
}

#[test]
fn a_certificate_that_is_not_accepted_is_named_by_its_fault() {
    let (authority, other) = (Authority::new(), Authority::named("Another authority"));
    let right = answering(authority.acceptor(&NAMES));
    assert_refused(&secret(right, trusting(&other)), "unknown_authority");
    let elsewhere = answering(authority.acceptor(&["other.example"]));
    assert_refused(&secret(elsewhere, trusting(&authority)), "wrong_name");
    let named =
        EncryptionAsk { server_name: Some("other.example".to_owned()), ..trusting(&authority) };
    assert_answered(&run(&secret(elsewhere, named)), "by another name than that of the URL");
    for (from, to, reason) in [(2020, 2021, "expired"), (2090, 2091, "not_yet_valid")] {
        let files = authority.issue(&NAMES, |params| {
            params.not_before = rcgen::date_time_ymd(from, 1, 1);
            params.not_after = rcgen::date_time_ymd(to, 1, 1);
        });
        let address = answering(acceptor(&files, "http/1.1", &ClientCertificates::Ignored));
        assert_refused(&secret(address, trusting(&authority)), reason);
    }
}

#[test]
fn a_server_that_refuses_is_named_by_its_alert() {
    let authority = Authority::new();
    let files = authority.issue(&NAMES, |_| {});
    let h2 = answering(acceptor(&files, "h2", &ClientCertificates::Ignored));
    assert_refused(&secret(h2, trusting(&authority)), "alert_120");
    let asking = answering(authority.asking_acceptor());
    // The server refuses after this side has agreed.
    let report = report(&secret(asking, trusting(&authority)));
    assert_only(&report.runs[0], FailureKind::Handshake, "no certificate of the client");
    let tls = tls(&report.runs[0]);
    assert_eq!((tls.failed.len(), tls.failed[0].reason.as_str()), (1, "alert_116"));
    assert!(tls.failed[0].mend.as_ref().unwrap().contains("--cert"), "{tls:?}");
    assert!(has(&report.verdict.reasons, ReasonCode::HandshakesFailed));
    let own = Some(authority.issue(&["client.example"], |_| {}));
    let shown = EncryptionAsk { own, ..trusting(&authority) };
    assert_answered(&run(&secret(asking, shown)), "with a certificate of the client");
}

#[test]
fn a_server_that_does_not_shake_hands_is_named_by_what_it_does_instead() {
    let authority = Authority::new();
    let ask = || trusting(&authority);
    let talking = accepting(|mut connection| {
        std::io::Write::write_all(&mut connection, b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Until the generator ends.
        let _rest = connection.read_to_end(&mut Vec::new());
    });
    assert_refused(&secret(talking, ask()), "protocol");
    // The hello is not read: the kernel resets the connection.
    let closing = accepting(|mut connection| {
        let _some = connection.read(&mut [0; 10]);
    });
    assert_refused(&secret(closing, ask()), "cut");
    let silent = accepting(|mut connection| {
        let _rest = connection.read_to_end(&mut Vec::new());
    });
    assert_refused(
        &of_urls(&[format!("https://{silent}/")], ask(), impatient_plan(silent)),
        "timeout",
    );
}

#[test]
fn a_slow_handshake_is_part_of_the_response_time_in_an_open_loop_and_of_no_service_time() {
    const SLOW_MS: u64 = 60;
    let authority = Authority::new();
    let offered = authority.acceptor(&NAMES);
    let address = accepting(move |connection| {
        // Paced: this server is slow on purpose, and the sleep is what the test measures; nothing is waited for.
        std::thread::sleep(Duration::from_millis(SLOW_MS));
        if let Ok(stream) = TlsStream::accept(&offered, connection) {
            converse(stream);
        }
    });
    let plan = LoadPlan {
        connections: 40,
        pace: rate(100.0),
        lifetime: Lifetime::ONE_REQUEST,
        ..secret(address, trusting(&authority))
    };
    let slow_ns = SLOW_MS * 1_000_000;
    let run =
        undisturbed(&plan, |run| run.requests.answered > 10 && run.service.p50_ns < slow_ns / 2);
    assert_answered(&run, "slow to shake hands");
    // Requests without an answer at the end are among the response times with their age.
    assert!(run.response.p50_ns > slow_ns, "{:?}", run.response);
    // A client that is not run in time begins to measure late.
    assert!(tls(&run).handshake.p50_ns > slow_ns / 2, "{:?}", run.tls);
    assert!(run.connect.p50_ns < slow_ns / 2, "{:?}", run.connect);
    assert!(run.service.p50_ns < slow_ns / 2, "{:?}", run.service);
}

#[test]
fn plain_and_encrypted_servers_can_be_in_one_run() {
    let authority = Authority::new();
    let secret = answering(authority.acceptor(&NAMES));
    let plain = crate::faults::server::answering(server::ANSWER);
    let urls = [format!("https://{secret}/"), format!("http://{plain}/")];
    let mixed = of_urls(&urls, trusting(&authority), plan(plain));
    let run = run(&LoadPlan { connections: 4, ..mixed });
    assert_answered(&run, "both");
    assert_eq!((tls(&run).full, run.connections.opened), (2, 4));
}

#[test]
fn encrypted_connections_are_held_and_counted_when_they_end() {
    let authority = Authority::new();
    let address = answering(authority.acceptor(&NAMES));
    let plan = LoadPlan {
        connections: 10,
        pace: rate(100.0),
        upkeep: Upkeep::Hold,
        ..secret(address, trusting(&authority))
    };
    let report = bench::run::hold(&plan, Vec::new(), |_| {}).unwrap();
    let hold = report.hold.as_ref().unwrap();
    assert_eq!((hold.open, hold.dead), (10, 0));
    assert_eq!((tls(&report.runs[0]).full, report.runs[0].connect.count), (10, 10));
    assert_answered(&report.runs[0], "held");
}
