//! A plan as a report shows it.

use crate::plan::{
    AnswerCheck, Arrivals, BodyCheck, Lifetime, LoadPlan, LoadProtocol, LoadUrl, RateStage,
    RequestPace, RightValues, StatusSet, ThreadPinning,
};
use crate::report::{EncryptionPlanReport, PlanReport, StageReport, TargetReport};

/// The plan of a measurement of that verb.
pub(super) fn plan(plan: &LoadPlan, verb: &str) -> PlanReport {
    let nanoseconds =
        |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let (pace, rate) = match &plan.pace {
        RequestPace::Closed => ("closed", None),
        RequestPace::Open(rate) => match rate.arrivals {
            Arrivals::Constant => ("constant", Some(rate)),
            Arrivals::Poisson => ("poisson", Some(rate)),
        },
    };
    let stage = |stage: &RateStage| StageReport {
        from_per_s: stage.ramp.from,
        to_per_s: stage.ramp.to,
        duration_ns: nanoseconds(stage.lasts),
    };
    let stages: Vec<StageReport> =
        rate.map_or(Vec::new(), |rate| rate.stages.iter().map(stage).collect());
    let targets = plan.targets.iter().map(|target| TargetReport {
        method: target.method.clone(),
        url: match &plan.store {
            Some(store) => {
                let LoadUrl { scheme, place, path_and_query } = &target.url;
                format!("{}://{place}{path_and_query}", store.dialect.scheme(*scheme))
            }
            None => target.url.to_string(),
        },
        weight: target.weight,
    });
    PlanReport {
        verb: verb.to_owned(),
        targets: targets.collect(),
        connections: u64::from(plan.connections),
        threads: plan.threads,
        pace: pace.to_owned(),
        rate_from_per_s: stages.first().map(|stage| stage.from_per_s),
        rate_to_per_s: stages.last().map(|stage| stage.to_per_s),
        stages,
        duration_ns: nanoseconds(plan.duration),
        warmup_ns: nanoseconds(plan.warmup),
        count: plan.count.map(std::num::NonZeroU64::get),
        runs: plan.runs,
        requests_per_connection: match plan.lifetime {
            Lifetime::KeptAlive => None,
            Lifetime::Requests(requests) => Some(requests.get()),
        },
        http2: plan.protocol == LoadProtocol::Http2,
        pipeline: plan.pipeline,
        timeout_ns: nanoseconds(plan.timeout),
        pinned: match &plan.pinning {
            ThreadPinning::None => Vec::new(),
            ThreadPinning::Cpus(cpus) => {
                cpus.iter().map(|cpu| u32::try_from(*cpu).unwrap_or(u32::MAX)).collect()
            }
        },
        check: match &plan.store {
            Some(store) => (store.values == RightValues::Own)
                .then(|| format!("values of {} bytes that begin with their key", store.value_size)),
            None => check(&plan.check),
        },
        tls: plan.encryption.as_ref().map(EncryptionPlanReport::of),
        seed: plan.seed,
    }
}

fn check(check: &AnswerCheck) -> Option<String> {
    let mut words = Vec::new();
    if check.status != StatusSet::default() {
        words.push(format!("status {}", check.status));
    }
    if let Some(length) = check.length {
        words.push(format!("{length} bytes"));
    }
    match &check.body {
        BodyCheck::Any => {}
        BodyCheck::Equal(body) => words.push(format!("a body of {} given bytes", body.len())),
        BodyCheck::Sha256(_) => words.push("a body of a given SHA-256".to_owned()),
    }
    if words.is_empty() { None } else { Some(words.join(", ")) }
}
