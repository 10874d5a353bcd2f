//! One thing as a whole, by the id that its row has.
//!
//! Owns the reading of ids, and the form in which a row is told. Ends nothing itself.

use live::{CellValue, Info, TableRow};
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;

/// The id of something that one scheduler has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id<'a> {
    Connection(Endpoint, ProcessId),
    /// A suspended page, or a process of a page, by its name on its scheduler.
    Run(Endpoint, &'a str),
}

impl<'a> Id<'a> {
    /// Reads an id; `None` if nothing that can be looked at or ended has such an id.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (kind, rest) = text.split_once('-')?;
        let (scheduler, name) = rest.split_once('-')?;
        let scheduler = Endpoint(scheduler.parse().ok()?);
        match kind {
            "c" => Some(Self::Connection(scheduler, ProcessId::from_bits(name.parse().ok()?))),
            "p" => Some(Self::Run(scheduler, name)),
            _ => None,
        }
    }

    pub(crate) fn scheduler(self) -> Endpoint {
        match self {
            Self::Connection(scheduler, _) | Self::Run(scheduler, _) => scheduler,
        }
    }
}

/// The facts of a thing that has only a row.
pub(crate) fn info_of_row(kind: &str, row: &TableRow) -> Info {
    let fact = |(key, value): (&String, &CellValue)| {
        let text = match value {
            CellValue::Text(text) => text.clone(),
            CellValue::Number(number) => number.to_string(),
            CellValue::Fraction(number) => number.to_string(),
        };
        (key.clone(), text)
    };
    Info {
        id: row.id.clone(),
        kind: kind.to_owned(),
        facts: row.values.iter().map(fact).collect(),
        texts: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_its_scheduler_or_is_none() {
        let id = ProcessId::from_bits(12);
        assert_eq!(Id::parse("c-3-12"), Some(Id::Connection(Endpoint(3), id)));
        assert_eq!(Id::parse("p-0-r7"), Some(Id::Run(Endpoint(0), "r7")));
        for wrong in ["", "c", "c-", "c-1", "c-x-1", "c-1-x", "n-0-a", "c-99999999-1"] {
            assert_eq!(Id::parse(wrong), None, "{wrong}");
        }
    }
}
