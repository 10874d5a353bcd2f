//! From flags to a plan, with errors for invalid flags.
//!
//! Owns the defaults of omitted flags on this host. The library queries the host.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use bench::host::ProcessSample;
use bench::plan::{
    Aim, AimError, AnswerCheck, Arrivals, BodyCheck, Cpus, Encryption, EncryptionAsk,
    EncryptionError, HandshakeMode, HostRoom, Lifetime, LoadAddressError, LoadPlan, LoadProtocol,
    LoadUrl, OwnFiles, Ownership, PlannedRequest, Ramp, RequestBody, ServerTrust, StoreAim,
    TargetServer, ThreadPinning, Upkeep, check_sources,
};

use super::flags::{
    ArrivalsFlag, Asking, Channel, Compare, Expecting, Hold, Http, Knee, Load, Store, Surroundings,
    Tls,
};
use super::timing::{RateFlag, Timing};
use crate::Failure;

/// Seconds within which `hold` sends one request over every connection, unless a rate is given.
const HOLD_ROUND_S: f64 = 60.0;

/// The default duration.
const DURATION: Duration = Duration::from_secs(10);

/// Streams of a connection over HTTP/2, as browsers and h2load's users have.
const STREAMS: u32 = 100;

/// The default duration of a run with a number of requests.
const COUNT_DURATION: Duration = Duration::from_secs(3600);

/// The plan of `bench http`.
pub(crate) fn http(flags: &Http) -> Result<LoadPlan, Failure> {
    let mut urls = flags.urls.clone();
    if let Some(file) = &flags.urls_file {
        urls.extend(urls_of(file)?);
    }
    let plan = plan(&urls, &flags.load, &flags.place, http_timing(flags)?)?;
    Ok(LoadPlan { count: flags.requests, ..plan })
}

/// When `bench http` sends requests, and for how long.
pub(crate) fn http_timing(flags: &Http) -> Result<Timing, Failure> {
    let otherwise = if flags.requests.is_some() { COUNT_DURATION } else { DURATION };
    Timing::of(flags.rate.as_ref(), arrivals(flags.arrivals), flags.load.duration, otherwise)
}

/// The plan of each step of `bench knee`; the step sets its rate.
pub(crate) fn knee(flags: &Knee) -> Result<LoadPlan, Failure> {
    let timing = Timing::of(None, Arrivals::Constant, flags.load.duration, DURATION)?;
    plan(&flags.urls, &flags.load, &flags.place, timing)
}

/// The plan of a URL as one side of `bench compare`.
pub(crate) fn side(url: &str, flags: &Compare) -> Result<LoadPlan, Failure> {
    let rate = flags.rate.as_ref();
    let timing = Timing::of(rate, Arrivals::Constant, flags.load.duration, DURATION)?;
    plan(&[url.to_owned()], &flags.load, &flags.place, timing)
}

/// The plan of each run of `tune ladder`; it has that verb's duration unless the flags set one.
pub(crate) fn ladder(
    url: &str,
    rate: Option<&RateFlag>,
    load: &Load,
    place: &Surroundings,
    otherwise: Duration,
) -> Result<LoadPlan, Failure> {
    let timing = Timing::of(rate, Arrivals::Constant, load.duration, otherwise)?;
    plan(&[url.to_owned()], load, place, timing)
}

/// The plan of `bench hold`: a low rate over all connections, once they are open.
pub(crate) fn hold(flags: &Hold) -> Result<LoadPlan, Failure> {
    let once = f64::from(flags.connections.max(1)) / HOLD_ROUND_S;
    let rate = RateFlag::Whole(flags.rate.unwrap_or(Ramp { from: once, to: once }));
    let duration = Some(flags.duration);
    let timing = Timing::of(Some(&rate), Arrivals::Constant, duration, flags.duration)?;
    let load = plain_load(flags.connections, duration);
    let plan = plan(std::slice::from_ref(&flags.url), &load, &flags.place, timing)?;
    Ok(LoadPlan { upkeep: Upkeep::Hold, ..plan })
}

/// The plan of `bench channel`: this many connections to its URLs, without the requests of `bench http`.
pub(crate) fn channel(flags: &Channel) -> Result<LoadPlan, Failure> {
    let duration = Some(flags.duration);
    let timing = Timing::of(None, Arrivals::Constant, duration, flags.duration)?;
    let load = plain_load(flags.connections, duration);
    let urls: Vec<String> = flags.urls.iter().map(|url| of_websocket(url)).collect();
    let plan = plan(&urls, &load, &flags.place, timing)?;
    Ok(LoadPlan { upkeep: Upkeep::Hold, ..plan })
}

/// The URL of the request that opens a WebSocket (RFC 6455 section 3).
fn of_websocket(url: &str) -> String {
    for (scheme, plain) in [("ws://", "http://"), ("wss://", "https://")] {
        if let Some((front, rest)) = url.split_at_checked(scheme.len())
            && front.eq_ignore_ascii_case(scheme)
        {
            return format!("{plain}{rest}");
        }
    }
    url.to_owned()
}

/// The plan of `bench store`.
pub(crate) fn store(flags: &Store, aim: StoreAim) -> Result<LoadPlan, Failure> {
    let arrivals = arrivals(flags.arrivals);
    let duration = Some(flags.duration);
    let timing = Timing::of(flags.rate.as_ref(), arrivals, duration, flags.duration)?;
    let load = Load {
        warmup: flags.warmup,
        runs: flags.runs,
        pipeline: flags.pipeline,
        seed: flags.seed,
        ..plain_load(flags.connections, duration)
    };
    let StoreAim { aim, store } = aim;
    let urls: Vec<String> = aim.targets.iter().map(|target| target.url.place.to_string()).collect();
    let plan = plan(&urls, &load, &flags.place, timing)?;
    let upkeep = if flags.hold { Upkeep::Hold } else { Upkeep::Replace };
    let encryption = encryption(&flags.place, &aim.peers, &[])?;
    let (targets, peers, count) = (aim.targets, aim.peers, flags.requests);
    Ok(LoadPlan { targets, peers, encryption, count, store: Some(store), upkeep, ..plan })
}

fn arrivals(flag: ArrivalsFlag) -> Arrivals {
    match flag {
        ArrivalsFlag::Constant => Arrivals::Constant,
        ArrivalsFlag::Poisson => Arrivals::Poisson,
    }
}

/// A load with this many connections and otherwise defaults.
fn plain_load(connections: u32, duration: Option<Duration>) -> Load {
    Load {
        connections,
        duration,
        warmup: Duration::ZERO,
        runs: 1,
        close: false,
        requests_per_connection: None,
        pipeline: 1,
        h2: false,
        streams: None,
        weight: Vec::new(),
        seed: 1,
        asking: Asking::default(),
        expecting: Expecting::default(),
    }
}

fn plan(
    urls: &[String],
    load: &Load,
    place: &Surroundings,
    timing: Timing,
) -> Result<LoadPlan, Failure> {
    let ownership = if place.i_own_this_host { Ownership::Declared } else { Ownership::Unsaid };
    let request = request(&load.asking)?;
    let aim = Aim::at(urls, &load.weight, &request, ownership).map_err(aim_failure)?;
    let room = HostRoom::read();
    let cpus = Cpus::read().map_err(|error| {
        Failure::Failed(format!("the kernel does not report the CPUs: {error}"))
    })?;
    let default = || cpus.threads_by_default(&aim.peers, load.connections, &room);
    let pin = pin(place.pin.as_deref())?;
    let threads = match (place.threads, &pin) {
        (Some(threads), _) => threads,
        (None, Pin::Named(cpus)) => u32::try_from(cpus.len()).unwrap_or(u32::MAX),
        (None, Pin::None | Pin::Last) => default(),
    };
    let (protocol, pipeline) = if load.h2 {
        (LoadProtocol::Http2, load.streams.unwrap_or(STREAMS))
    } else {
        (LoadProtocol::Http1, load.pipeline)
    };
    let encryption = encryption(place, &aim.peers, &[protocol.alpn()])?;
    let mut plan = LoadPlan {
        targets: aim.targets,
        peers: aim.peers,
        connections: load.connections,
        threads,
        pinning: pinning(pin, threads, &cpus)?,
        pace: timing.pace,
        duration: timing.duration,
        count: None,
        warmup: load.warmup,
        runs: load.runs,
        lifetime: lifetime(load),
        upkeep: Upkeep::Replace,
        protocol,
        pipeline,
        timeout: place.timeout,
        check: check(&load.expecting)?,
        encryption,
        store: None,
        sources: place.source.clone(),
        server: place.server_pid,
        seed: load.seed,
    };
    plan.check_consistency().map_err(Failure::wrong_use)?;
    check_sources(&plan.sources).map_err(|error| wrong_at("--source", error))?;
    plan.server.map_or(Ok(()), server)?;
    room.spread_sources(&mut plan);
    room.check(&plan).map_err(Failure::wrong_use)?;
    Ok(plan)
}

/// How connections to these peers are encrypted, and the protocols that they offer; `None` if all are plain.
fn encryption(
    place: &Surroundings,
    peers: &[TargetServer],
    protocols: &[&str],
) -> Result<Option<Encryption>, Failure> {
    if peers.iter().all(|peer| peer.server_name.is_none()) {
        return Ok(None);
    }
    let handshakes = if place.tls_resume { HandshakeMode::Resumed } else { HandshakeMode::Full };
    let ask = EncryptionAsk { handshakes, ..encryption_ask(&place.tls) };
    Encryption::new(ask, protocols).map(Some).map_err(encryption_failure)
}

/// The wishes of these flags for encrypted connections; every handshake is a full one.
pub(crate) fn encryption_ask(tls: &Tls) -> EncryptionAsk {
    let own = tls.cert.as_ref().map(|certificate| OwnFiles {
        certificate: certificate.clone(),
        key: tls.key.as_ref().unwrap_or(certificate).clone(),
    });
    let trust = match &tls.cacert {
        _ if tls.insecure => ServerTrust::Anyone,
        Some(file) => ServerTrust::File(file.clone()),
        None => ServerTrust::System,
    };
    EncryptionAsk { trust, own, server_name: tls.sni.clone(), handshakes: HandshakeMode::Full }
}

/// A file that cannot be used is a failure and not wrong use: the user may mend the file and run the same command.
pub(crate) fn encryption_failure(error: EncryptionError) -> Failure {
    match error {
        EncryptionError::Name(_) => wrong_at("--sni", error),
        error => Failure::failed(error),
    }
}

fn wrong_at(flag: &str, error: impl Display) -> Failure {
    Failure::WrongUse(format!("{flag}: {error}"))
}

/// A host name that cannot be resolved may be resolvable later: that is not wrong use.
fn aim_failure(error: AimError) -> Failure {
    match &error {
        AimError::Address(
            LoadAddressError::Unresolvable { .. }
            | LoadAddressError::NoAddress(_)
            | LoadAddressError::NoSocket { .. },
        ) => Failure::failed(error),
        AimError::WeightCount { .. } | AimError::Weight(_) => wrong_at("--weight", error),
        _ => Failure::wrong_use(error),
    }
}

/// The user who names a process wants its figures: without this check a run would hide the mistake.
fn server(pid: u32) -> Result<(), Failure> {
    ProcessSample::read(pid).map(drop).map_err(|error| {
        Failure::Failed(format!(
            "--server-pid {pid}: this process cannot be seen ({error}); name the server's, or leave it out"
        ))
    })
}

fn lifetime(load: &Load) -> Lifetime {
    match load.requests_per_connection {
        Some(requests) => Lifetime::Requests(requests),
        None if load.close => Lifetime::ONE_REQUEST,
        None => Lifetime::KeptAlive,
    }
}

fn request(flags: &Asking) -> Result<PlannedRequest, Failure> {
    let field =
        |text: &String| PlannedRequest::field(text).map_err(|error| wrong_at("--header", error));
    let body = match (&flags.body, &flags.body_file) {
        (Some(text), _) => RequestBody::Text(text.clone()),
        (None, Some(file)) => RequestBody::Bytes(content("--body-file", file)?),
        (None, None) => RequestBody::None,
    };
    let fields = flags.header.iter().map(field).collect::<Result<_, _>>()?;
    let usual = if matches!(body, RequestBody::None) { "GET" } else { "POST" };
    let method = flags.method.clone().unwrap_or_else(|| usual.to_owned());
    Ok(PlannedRequest { method, fields, body })
}

/// The URLs of a file, one per line. Files of siege and vegeta have a method or a body in some lines: these are refused
/// by their number.
fn urls_of(file: &Path) -> Result<Vec<String>, Failure> {
    let bytes = content("--urls-file", file)?;
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    let mut urls = Vec::new();
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let wrong = |why: &str| {
            let name = file.display();
            Failure::WrongUse(format!("--urls-file {name}:{number}: {why}; a line is a URL alone"))
        };
        let line = str::from_utf8(line).map_err(|_| wrong("not UTF-8"))?.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        line.parse::<LoadUrl>().map_err(|error| wrong(&format!("{line}: {error}")))?;
        urls.push(line.to_owned());
    }
    Ok(urls)
}

fn content(flag: &str, file: &Path) -> Result<Vec<u8>, Failure> {
    let cannot =
        |error| Failure::Failed(format!("{flag} {}: cannot be read: {error}", file.display()));
    std::fs::read(file).map_err(cannot)
}

fn check(flags: &Expecting) -> Result<AnswerCheck, Failure> {
    let body = match (&flags.expect_body, &flags.expect_body_file, &flags.expect_sha256) {
        (Some(text), _, _) => BodyCheck::Equal(text.clone().into_bytes()),
        (_, Some(file), _) => BodyCheck::Equal(content("--expect-body-file", file)?),
        (_, _, Some(hash)) => {
            BodyCheck::sha256(hash).map_err(|error| wrong_at("--expect-sha256", error))?
        }
        (None, None, None) => BodyCheck::Any,
    };
    let status = flags.expect_status.unwrap_or_default();
    Ok(AnswerCheck { status, length: flags.expect_length, body })
}

/// The setting of `--pin`.
enum Pin {
    None,
    Last,
    Named(Vec<usize>),
}

fn pin(flag: Option<&str>) -> Result<Pin, Failure> {
    let numbers = match flag {
        None => return Ok(Pin::None),
        Some("") => return Ok(Pin::Last),
        Some(numbers) => numbers,
    };
    let number = |text: &str| {
        let wrong =
            || format!("--pin={numbers}: `{text}` is not the number of a CPU; write --pin=2,3");
        text.parse::<usize>().map_err(|_| Failure::WrongUse(wrong()))
    };
    numbers.split(',').map(number).collect::<Result<_, _>>().map(Pin::Named)
}

fn pinning(pin: Pin, threads: u32, cpus: &Cpus) -> Result<ThreadPinning, Failure> {
    match pin {
        Pin::None => Ok(ThreadPinning::None),
        Pin::Last => {
            cpus.last(threads).map(ThreadPinning::Cpus).map_err(|error| wrong_at("--pin", error))
        }
        Pin::Named(named) => {
            cpus.check(&named).map_err(|error| wrong_at("--pin", error))?;
            Ok(ThreadPinning::Cpus(named))
        }
    }
}

#[cfg(test)]
mod tests {
    use bench::plan::{RateStage, RequestPace, RequestRate};
    use clap::{Args, Parser};

    use super::*;

    /// A command line of one verb.
    #[derive(Debug, Parser)]
    struct Line<Verb: Args> {
        #[command(flatten)]
        verb: Verb,
    }

    fn parsed<Verb: Args>(words: &str) -> Result<Verb, String> {
        let words = std::iter::once("bench").chain(words.split_whitespace());
        Line::try_parse_from(words).map(|line| line.verb).map_err(|error| error.to_string())
    }

    fn planned(words: &str) -> LoadPlan {
        let flags = parsed(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        match http(&flags) {
            Ok(plan) => plan,
            Err(Failure::Failed(text) | Failure::WrongUse(text)) => panic!("{words}: {text}"),
            Err(Failure::Told | Failure::Invalid | Failure::Worse | Failure::Met) => {
                panic!("{words}: nothing was measured")
            }
        }
    }

    fn refused(words: &str) -> String {
        match parsed(words).map(|flags| http(&flags)) {
            Ok(Err(Failure::Failed(text))) => format!("failed: {text}"),
            Ok(Err(Failure::WrongUse(text))) => text,
            Ok(Err(Failure::Told | Failure::Invalid | Failure::Worse | Failure::Met)) => {
                panic!("{words}: nothing was measured")
            }
            Ok(Ok(plan)) => panic!("{words}: {plan:?}"),
            Err(text) => text,
        }
    }

    #[test]
    fn without_flags_it_is_a_closed_loop_of_ten_seconds() {
        let plan = planned("127.0.0.1:9/a");
        assert_eq!((plan.connections, plan.pipeline, plan.runs), (256, 1, 1));
        assert_eq!((plan.duration.as_secs(), plan.warmup.as_secs()), (10, 2));
        assert_eq!((plan.pace, plan.lifetime), (RequestPace::Closed, Lifetime::KeptAlive));
        assert_eq!((plan.pinning, plan.check), (ThreadPinning::None, AnswerCheck::default()));
        assert_eq!((plan.targets.len(), plan.peers.len(), plan.server), (1, 1, None));
        assert!(plan.threads >= 1 && plan.sources.is_empty());
    }

    #[test]
    fn stages_say_how_long_a_run_is() {
        let plan = planned("127.0.0.1:9 --rate 0:5k@30s,5k@60s -n 7");
        assert_eq!(
            (plan.duration.as_secs(), plan.count.map(std::num::NonZeroU64::get)),
            (90, Some(7))
        );
        let RequestPace::Open(rate) = plan.pace else { panic!("a rate is an open loop") };
        assert_eq!(rate.stages.len(), 2);
        assert!(refused("127.0.0.1:9 --rate 5k@30s -d 30s").contains("leave -d out"));
        assert!(refused("127.0.0.1:9 --rate 0@30s").contains("--rate 10k"));
    }

    #[test]
    fn flags_become_the_plan() {
        let own = std::process::id();
        let plan = planned(&format!(
            "127.0.0.1:9/a 127.0.0.1:8/ --weight 3,1 -c 8 -t 2 --rate 10:2k --arrivals poisson -d 1m \
             --warmup 0s --runs 3 --requests-per-connection 5 --pipeline 4 --timeout 300ms --source \
             127.0.0.2,127.0.0.3 --server-pid {own} --seed 5 --expect-status 2xx --expect-length 3 \
             --expect-body abc",
        ));
        let ramp = Ramp { from: 10.0, to: 2000.0 };
        let stages = vec![RateStage { ramp, lasts: plan.duration }];
        let rate = RequestRate { stages, arrivals: Arrivals::Poisson };
        assert_eq!(plan.pace, RequestPace::Open(rate));
        assert_eq!((plan.connections, plan.threads, plan.pipeline, plan.runs), (8, 2, 4, 3));
        assert_eq!((plan.duration.as_secs(), plan.warmup.as_secs(), plan.seed), (60, 0, 5));
        assert_eq!(
            plan.lifetime,
            Lifetime::Requests(5.try_into().expect("five is more than none"))
        );
        assert_eq!((plan.timeout.as_millis(), plan.server), (300, Some(own)));
        assert_eq!(plan.sources.len(), 2);
        assert_eq!((plan.targets[0].weight, plan.targets[1].peer), (3, 1));
        assert!(!plan.check.status.contains(300));
        assert_eq!(
            (plan.check.length, plan.check.body),
            (Some(3), BodyCheck::Equal(b"abc".to_vec()))
        );
        assert_eq!(planned("127.0.0.1:9 --close").lifetime, Lifetime::ONE_REQUEST);
    }

    #[test]
    fn threads_are_pinned_as_said() {
        let last = Cpus::read().expect("there are CPUs").last(1).expect("there is one");
        assert_eq!(planned("127.0.0.1:9 -t 1 --pin").pinning, ThreadPinning::Cpus(last.clone()));
        let named = planned(&format!("127.0.0.1:9 --pin={}", last[0]));
        assert_eq!((named.threads, named.pinning), (1, ThreadPinning::Cpus(last)));
    }

    #[test]
    fn invalid_option_is_error_with_place_and_mend() {
        for (words, expected) in [
            ("ftp://127.0.0.1/", "ftp://127.0.0.1/: the scheme is neither http nor https"),
            ("http://8.8.8.8/", "--i-own-this-host"),
            (
                "http://no-such-name.invalid/",
                "failed: the name `no-such-name.invalid` cannot be resolved",
            ),
            ("unix:/no/such.sock", "failed: `/no/such.sock` cannot be asked"),
            ("127.0.0.1:9 --weight 1,2", "--weight: 2 weights for 1 URLs"),
            ("127.0.0.1:9 --header nothing", "--header: `nothing` is not a header field"),
            ("127.0.0.1:9 --body-file /no/such", "failed: --body-file /no/such: cannot be read"),
            (
                "127.0.0.1:9 --body {{x}}",
                "127.0.0.1:9: in the body: nothing is known about `{{x}}`",
            ),
            ("127.0.0.1:9 --expect-sha256 00", "--expect-sha256: `00` is not a SHA-256 hash"),
            ("127.0.0.1:9 --pin=a", "--pin=a: `a` is not the number of a CPU"),
            ("127.0.0.1:9 --pin=100000", "--pin: CPU 100000 is not one this process may use"),
            ("127.0.0.1:9 --source 192.0.2.1", "--source: cannot connect from 192.0.2.1"),
            ("127.0.0.1:9 -c 1 -t 2", "1 connections are too few"),
            ("127.0.0.1:9 -c -1", "invalid value '-1' for '--connections"),
            ("127.0.0.1:9 -c 70000 -t 100 --source 127.0.0.1", "addresses with --source"),
            ("127.0.0.1:9 --rate -1", "`-1` is not a number of requests per second"),
            ("127.0.0.1:9 --rate 0", "nothing is asked at a rate of 0"),
            ("127.0.0.1:9 --rate 1k,2k@5s", "the stage `1k` has no time"),
            ("127.0.0.1:9 --rate nan", "`nan` is not a number of requests per second"),
            ("127.0.0.1:9 --server-pid 0", "failed: --server-pid 0: this process cannot be seen"),
            ("127.0.0.1:9 --rate fast", "`fast` is not a number of requests per second"),
            ("127.0.0.1:9 --expect-status ok", "`ok` is not a status"),
            ("127.0.0.1:9 -d ten", "ten"),
            ("--urls-file /no/such", "failed: --urls-file /no/such: cannot be read"),
            ("-c 5", "<URL>"),
            ("127.0.0.1:9 --arrivals poisson", "--rate"),
            ("127.0.0.1:9 --close --requests-per-connection 2", "cannot be used with"),
            ("127.0.0.1:9 -c 9000000 -t 1", "9000000 connections do not fit"),
        ] {
            let told = refused(words);
            assert!(told.contains(expected), "{words}: {told}");
        }
    }

    #[test]
    fn a_line_that_is_no_url_is_named_by_its_number() {
        let file = std::env::temp_dir().join(format!("velodrome-urls-{}", std::process::id()));
        for (lines, expected) in [
            ("127.0.0.1:9/a\n\n# b\nGET http://127.0.0.1:9/b\n", ":4: GET http://127.0.0.1:9/b: "),
            ("127.0.0.1:9/a\n127.0.0.1:9/b POST x=1\n", ":2: 127.0.0.1:9/b POST x=1: ' ' is not"),
        ] {
            std::fs::write(&file, lines).unwrap();
            let told = refused(&format!("--urls-file {}", file.display()));
            assert!(told.contains(expected) && told.contains("a URL alone"), "{told}");
        }
        std::fs::write(&file, b"127.0.0.1:9/\xe9\n").unwrap();
        let told = refused(&format!("--urls-file {}", file.display()));
        assert!(told.contains(":1: not UTF-8"), "{told}");
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn the_help_has_examples() {
        for (help, example) in [
            (parsed::<Http>("--help").map(drop), "{{key:zipf:N:S}}"),
            (parsed::<Hold>("--help").map(drop), "bench hold http://127.0.0.1:8080/ -c 200000"),
            (parsed::<Knee>("--help").map(drop), "--slo p99=5ms --slo p99.9=20ms"),
            (parsed::<Compare>("--help").map(drop), "bench compare before.json after.json"),
        ] {
            let help = help.expect_err("help is no plan");
            assert!(help.contains(example), "no `{example}` in {help}");
        }
    }

    #[test]
    fn hold_asks_each_connection_once_a_minute() {
        let flags: Hold = parsed("127.0.0.1:9 -c 600").expect("right flags");
        let Ok(plan) = hold(&flags) else { panic!("a right plan") };
        assert_eq!(
            plan.pace,
            RequestPace::Open(RequestRate::steady(10.0, plan.duration, Arrivals::Constant))
        );
        assert_eq!(plan.upkeep, Upkeep::Hold);
        assert_eq!(
            (plan.connections, plan.duration.as_secs(), plan.warmup.as_secs()),
            (600, 60, 0)
        );
    }

    #[test]
    fn knee_and_compare_take_the_flags_of_a_load() {
        let flags: Knee =
            parsed("127.0.0.1:9 --slo p99=5ms --rate 1k:9k -c 7").expect("right flags");
        let Ok(plan) = knee(&flags) else { panic!("a right plan") };
        assert_eq!((plan.connections, flags.slo.as_slice()), (7, &["p99=5ms".to_owned()][..]));
        let flags: Compare = parsed("127.0.0.1:9 127.0.0.1:8 --aa -c 7").expect("right flags");
        let Ok(plan) = side(&flags.second, &flags) else { panic!("a right plan") };
        assert_eq!((plan.peers[0].address.to_string().as_str(), flags.aa), ("127.0.0.1:8", true));
    }
}
