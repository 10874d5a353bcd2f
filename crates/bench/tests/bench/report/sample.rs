//! A measurement whose figures can be computed by hand.

use bench::host::{Fact, HostFacts, ServerUse, ThreadUse};
use bench::knee::{End, KneeFound, KneeReport, KneeStep, Objective, SearchResult};
use bench::report::{
    ClockBehaviour, EncryptionPlanReport, Ended, HoldReport, Measured, Percentile, PlanReport,
    Report, RunMeasured, StageReport, TargetReport,
};
use bench::tally::{Answering, HandshakeFault, Loop, Opening, Sending, Tally};
use runtime::transport::{Agreed, Resumption};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// When the measured part begins.
const START_NS: u64 = 100 * SECOND_NS;

/// One second of a closed loop over four connections: 3,960 answers after 0.99 ms and 40 after 1.99 ms, together
/// exactly four seconds. 8 us of server CPU each, a quarter of it user time; 5 us of generator CPU each.
pub(crate) fn closed_run() -> RunMeasured {
    let mut tally = Tally::new(Loop::Closed, 4, SECOND_NS);
    [40_000, 50_000, 60_000, 70_000]
        .into_iter()
        .for_each(|connect_ns| open(&mut tally, 1, connect_ns));
    tally.begin(START_NS, Opening::Kept);
    for request in 0..4000u64 {
        let service_ns = if request % 100 == 0 { 1_990_000 } else { 990_000 };
        let sent_ns = START_NS + request * 200_000;
        tally.ask();
        tally.send(Sending { due_ns: sent_ns, free_ns: sent_ns, sent_ns });
        let answered_ns = sent_ns + service_ns;
        tally.answer(Answering { due_ns: sent_ns, sent_ns, answered_ns });
    }
    tally.bytes_in = 4000 * 1000;
    tally.bytes_out = 4000 * 50;
    measured(tally, SECOND_NS)
}

/// Connections that opened after so long.
pub(crate) fn open(tally: &mut Tally, connections: u32, connect_ns: u64) {
    for _ in 0..connections {
        tally.connected(connect_ns);
        tally.open();
    }
}

/// One second of an open loop: 1,000 requests, each sent 20 us after it was due and answered 100 us after that.
pub(crate) fn open_run() -> RunMeasured {
    let mut tally = Tally::new(Loop::Open, 4, SECOND_NS);
    open(&mut tally, 4, 50_000);
    tally.begin(START_NS, Opening::Kept);
    for request in 0..1000u64 {
        send_and_answer(&mut tally, request, 20_000);
    }
    measured(tally, SECOND_NS)
}

/// A request of an open loop with one per millisecond, sent late and answered 100 us after that.
pub(crate) fn send_and_answer(tally: &mut Tally, request: u64, late_ns: u64) {
    let due_ns = START_NS + request * 900_000;
    let sent_ns = due_ns + late_ns;
    tally.ask();
    tally.send(Sending { due_ns, free_ns: 0, sent_ns });
    tally.answer(Answering { due_ns, sent_ns, answered_ns: sent_ns + 100_000 });
}

/// A run on a host without any problem.
pub(crate) fn measured(tally: Tally, wall_ns: u64) -> RunMeasured {
    let answered = tally.answered;
    let generator = ThreadUse {
        core: Some(1),
        cpu_ns: 6000 * answered,
        spun_ns: 1000 * answered,
        waited_ns: 1000,
        longest_wait_ns: 0,
        wall_ns,
    };
    let server = ServerUse {
        name: "example".to_owned(),
        pids: vec![4711],
        threads: 2,
        cpu_ns: 8000 * answered,
        user_ns: Some(2000 * answered),
        system_ns: Some(6000 * answered),
        busiest_thread_ns: 7000 * answered,
        longest_waiting_thread_ns: 0,
        resident_bytes: 12_300_000,
    };
    RunMeasured {
        tally,
        wall_ns,
        generator: vec![generator],
        server: Some(server),
        steal_share: Some(0.002),
        clock: ClockBehaviour {
            went_back: 0,
            monotonic_ns: wall_ns,
            realtime_ns: i64::try_from(wall_ns).expect("a run is shorter than 292 years"),
        },
    }
}

pub(crate) fn closed_plan() -> PlanReport {
    PlanReport {
        verb: "http".to_owned(),
        targets: vec![TargetReport {
            method: "GET".to_owned(),
            url: "http://127.0.0.1:8080/".to_owned(),
            weight: 1,
        }],
        connections: 4,
        threads: 1,
        pace: "closed".to_owned(),
        rate_from_per_s: None,
        rate_to_per_s: None,
        stages: Vec::new(),
        duration_ns: SECOND_NS,
        warmup_ns: 2 * SECOND_NS,
        count: None,
        runs: 1,
        requests_per_connection: None,
        http2: false,
        pipeline: 1,
        timeout_ns: 5 * SECOND_NS,
        pinned: vec![1],
        check: None,
        tls: None,
        seed: 1,
    }
}

/// A plan of encryption in which every field has a value.
pub(crate) fn encryption_plan() -> EncryptionPlanReport {
    EncryptionPlanReport {
        insecure: false,
        authorities: Some("ca.pem".to_owned()),
        client_certificate: Some("own.pem".to_owned()),
        server_name: Some("example.org".to_owned()),
        handshakes: "resumed".to_owned(),
    }
}

/// Three full handshakes of 2 ms, one resumed, and two that failed.
pub(crate) fn encrypt(tally: &mut Tally) {
    let certificate = rcgen::generate_simple_self_signed(["example.org".to_owned()]);
    let der: Box<[u8]> = certificate.expect("a name").cert.der().as_ref().into();
    for resumption in [Resumption::None, Resumption::None, Resumption::None, Resumption::Resumed] {
        let agreed = Agreed {
            version: "TLSv1.3",
            cipher: "TLS_AES_128_GCM_SHA256",
            group: "X25519MLKEM768",
            resumption,
            protocol: Some(b"http/1.1".as_slice().into()),
            server_name: None,
            peer_certificate: Some(der.clone()),
            client: None,
        };
        tally.agree(&agreed, 2_000_000);
    }
    for _ in 0..2 {
        tally.handshakes.get_or_insert_default().fail(HandshakeFault::Cut);
    }
}

/// A second at those rates.
pub(crate) fn stage(from_per_s: f64, to_per_s: f64) -> StageReport {
    StageReport { from_per_s, to_per_s, duration_ns: SECOND_NS }
}

pub(crate) fn open_plan() -> PlanReport {
    PlanReport {
        pace: "constant".to_owned(),
        rate_from_per_s: Some(1000.0),
        rate_to_per_s: Some(1000.0),
        stages: vec![stage(1000.0, 1000.0)],
        ..closed_plan()
    }
}

pub(crate) fn host() -> HostFacts {
    let fact = |name: &str, value: &str| Fact { name: name.to_owned(), value: value.to_owned() };
    HostFacts {
        kernel: Some("6.18.0".to_owned()),
        architecture: "x86_64".to_owned(),
        cpu_model: Some("Example 9000".to_owned()),
        cpus_online: Some(4),
        cpus_allowed: vec![0, 1],
        cpu_quota: Some(1.5),
        governor: Some("performance".to_owned()),
        smt: Some("0".to_owned()),
        virtual_machine: Some(false),
        clock_source: Some("tsc".to_owned()),
        memory_bytes: Some(8 << 30),
        open_files_maximum: Some(1024),
        mitigations: vec![fact("spectre_v2", "Mitigation: Retpolines")],
        sysctls: vec![fact("net.core.somaxconn", "4096")],
    }
}

pub(crate) fn of(plan: PlanReport, runs: Vec<RunMeasured>) -> Measured {
    Measured {
        begun_unix_s: 1_800_000_000,
        command: vec!["velodrome".to_owned(), "bench".to_owned(), "http".to_owned()],
        plan,
        ended: Ended::Complete,
        host: host(),
        runs,
        hold: None,
    }
}

/// 1,000 connections that were opened in 20 ms.
pub(crate) fn hold() -> HoldReport {
    HoldReport {
        opening_ns: 20_000_000,
        open: 1000,
        opened_per_s: 50_000.0,
        dead: 2,
        server_bytes_per_connection: Some(104.0),
        server_bytes_per_connection_end: Some(2300.0),
        generator_bytes_per_connection: Some(250.0),
    }
}

/// A search that met its objectives at 1,000 and 2,000 requests per second and failed at 2,100.
pub(crate) fn knee() -> KneeReport {
    let objective = |percentile, limit_ns| Objective { percentile, limit_ns };
    let objectives = [objective(Percentile::P50, 1_000_000), objective(Percentile::P99, 5_000_000)];
    let step = |rate_per_s: f64, p99_ns: u64| {
        let holds = p99_ns <= 5_000_000;
        KneeStep {
            rate_per_s,
            outcome: if holds { KneeFound::Held } else { KneeFound::Broken },
            reasons: (!holds)
                .then(|| "p99 8.00 ms (at most 5.00 ms)".to_owned())
                .into_iter()
                .collect(),
            answered_per_s: rate_per_s,
            failed: 0,
            response_ns: [100_000, 200_000, p99_ns, p99_ns, p99_ns, p99_ns].to_vec(),
            server_cores: Some(0.25),
        }
    };
    let steps = vec![step(1000.0, 400_000), step(2100.0, 8_000_000), step(2000.0, 900_000)];
    let found = SearchResult {
        end: End::Found,
        last_good_per_s: Some(2000.0),
        first_bad_per_s: Some(2100.0),
    };
    let mut measured = of(open_plan(), vec![open_run()]);
    measured.command = ["velodrome", "bench", "knee"].map(str::to_owned).to_vec();
    KneeReport::of(&objectives, [1000.0, 1e6], found, Report::of(measured), steps)
}
