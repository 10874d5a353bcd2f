//! The figures a run is compared with, kept in the repository.
//!
//! Owns the form of the file. Never changes it unless told to save.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::workspace;

/// Where the figures are kept.
pub(crate) const PATH: &str = "xtask/baseline/instructions.json";

/// Instructions for each request of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    pub(crate) total: f64,
    /// The instructions that the twin with a service that does nothing takes.
    pub(crate) simulator: f64,
}

impl Figures {
    /// The instructions that HTTP and the application take.
    pub(crate) fn server(&self) -> f64 {
        self.total - self.simulator
    }
}

/// The kept figures, by workload; none when nothing was saved yet.
pub(crate) type Baseline = BTreeMap<String, Figures>;

/// Reads the kept figures, and which compiler they are of.
pub(crate) fn read() -> Result<(Baseline, Option<String>), Failure> {
    let path = workspace::root().join(PATH);
    if !path.is_file() {
        return Ok((Baseline::new(), None));
    }
    parse(&std::fs::read_to_string(path)?)
        .ok_or_else(|| Failure::Work(format!("{PATH} is not understood; `--save` writes it anew")))
}

/// Keeps these figures, and those of workloads that were not run.
pub(crate) fn save(figures: &Baseline, compiler: &str) -> Result<(), Failure> {
    let (mut all, _) = read().unwrap_or_default();
    all.extend(figures.clone());
    let path = workspace::root().join(PATH);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text(&all, compiler)?)?;
    Ok(())
}

fn text(figures: &Baseline, compiler: &str) -> Result<String, Failure> {
    let tenths = |value: f64| (value * 10.0).round() / 10.0;
    let workloads: BTreeMap<&String, Value> = figures
        .iter()
        .map(|(name, figures)| {
            let (total, simulator) = (tenths(figures.total), tenths(figures.simulator));
            (name, json!({ "total": total, "simulator": simulator }))
        })
        .collect();
    let value = json!({ "compiler": compiler, "instructions_per_request": workloads });
    serde_json::to_string_pretty(&value)
        .map(|text| text + "\n")
        .map_err(|error| Failure::Work(format!("{PATH}: {error}")))
}

fn parse(text: &str) -> Option<(Baseline, Option<String>)> {
    let value: Value = serde_json::from_str(text).ok()?;
    let of = |(name, value): (&String, &Value)| {
        let figure = |key: &str| value[key].as_f64();
        let figures = Figures { total: figure("total")?, simulator: figure("simulator")? };
        Some((name.clone(), figures))
    };
    let figures = value["instructions_per_request"].as_object()?.iter().map(of);
    Some((figures.collect::<Option<_>>()?, value["compiler"].as_str().map(str::to_owned)))
}

/// `+1.5 %` from the kept figure to this one; empty when none is kept.
pub(crate) fn difference(before: Option<f64>, now: f64) -> String {
    match before {
        Some(before) if before > 0.0 => format!("{:+.1} %", (now / before - 1.0) * 100.0),
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_record_reads_back() {
        let figures = Figures { total: 2_345.67, simulator: 1_000.04 };
        let written = text(&[("json".to_owned(), figures)].into(), "rustc 1.95").expect("text");
        let (read, compiler) = parse(&written).expect("figures");
        assert_eq!(compiler.as_deref(), Some("rustc 1.95"));
        assert_eq!(read["json"], Figures { total: 2_345.7, simulator: 1_000.0 });
        assert_eq!(parse("{}"), None);
    }

    #[test]
    fn differences_are_in_percent() {
        assert_eq!(difference(Some(200.0), 203.0), "+1.5 %");
        assert_eq!(difference(Some(200.0), 190.0), "-5.0 %");
        assert_eq!(difference(None, 190.0), "-");
    }

    #[test]
    fn the_figures_in_the_repository_can_be_read() {
        read().expect("figures or no file");
    }
}
