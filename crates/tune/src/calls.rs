//! The system calls that the server made during a moment of the audit.
//!
//! Owns their text form, which is read as a file. Does not record them: the caller of the audit does.

/// The path under which they are read.
pub(crate) fn place(process: u32) -> String {
    format!("/velodrome/calls/{process}")
}

/// Calls that cost the server something.
#[derive(Clone, Debug, PartialEq)]
pub struct CostlyCalls {
    /// The part of its time, in percent, that a thread of it spent in them.
    pub share: f64,
    /// The part of them, in percent, whose failure is lost work.
    pub lost: f64,
    /// The calls and their cause, in words.
    pub text: String,
}

impl CostlyCalls {
    /// Whether they fail because no more files may be open.
    pub(crate) fn lacks_files(&self) -> bool {
        self.text.contains("EMFILE") || self.text.contains("ENFILE")
    }
}

/// Connections per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opened {
    /// Accepted ones.
    pub accepted: f64,
    /// Attempts to open one.
    pub attempts: f64,
}

/// The calls of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerCalls {
    /// They may not be seen: the reason.
    Unseen(String),
    /// They were seen.
    Seen {
        /// All calls per second.
        rate: f64,
        /// Connections per second that were accepted, and attempts to open one; `None` in an old record.
        opened: Option<Opened>,
        /// Those that cost, the most expensive first.
        found: Vec<CostlyCalls>,
    },
}

impl ServerCalls {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Unseen(why) => format!("unseen {why}\n"),
            Self::Seen { rate, opened, found } => {
                let line =
                    |one: &CostlyCalls| format!("{:.2} {:.2} {}\n", one.share, one.lost, one.text);
                let told = |one: &Opened| format!(" {:.1} {:.1}", one.accepted, one.attempts);
                let opened = opened.as_ref().map(told).unwrap_or_default();
                format!("rate {rate:.0}{opened}\n{}", found.iter().map(line).collect::<String>())
            }
        }
    }

    /// Parses them; broken lines are left out.
    pub(crate) fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let numbers = first.strip_prefix("rate ").unwrap_or_default();
        let numbers: Vec<f64> = numbers.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [rate, rest @ ..] = &*numbers else {
            return Self::Unseen(
                first.strip_prefix("unseen ").unwrap_or("not recorded").to_owned(),
            );
        };
        let costly = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let mut number = || words.next()?.parse().ok();
            Some(CostlyCalls { share: number()?, lost: number()?, text: words.next()?.to_owned() })
        };
        let opened = match rest {
            [accepted, attempts] => Some(Opened { accepted: *accepted, attempts: *attempts }),
            _ => None,
        };
        Self::Seen { rate: *rate, opened, found: lines.filter_map(costly).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_written_and_read() {
        let one = CostlyCalls { share: 30.5, lost: 0.0, text: "openat: it looks".to_owned() };
        for opened in [None, Some(Opened { accepted: 3.0, attempts: 0.5 })] {
            let seen = ServerCalls::Seen { rate: 5.0, opened, found: vec![one.clone()] };
            assert_eq!(ServerCalls::read(&format!("{}nonsense\n", seen.text())), seen);
        }
        let unseen = ServerCalls::Unseen("only root".to_owned());
        assert_eq!(ServerCalls::read(&unseen.text()), unseen);
    }
}
