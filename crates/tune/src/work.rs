//! What the server spent the time of its CPUs on during the audit.
//!
//! Owns the text form, which is read as a file. Does not sample: the caller of the audit does.

/// The path under which it is read.
pub(crate) fn place(process: u32) -> String {
    format!("/velodrome/work/{process}")
}

/// Work that takes much of the server's time.
#[derive(Clone, Debug, PartialEq)]
pub struct CostlyWork {
    /// The part of its time, in percent, that the thread with the most of it spent with it.
    pub of_thread: f64,
    /// The same of all threads, in percent of one CPU.
    pub of_all: f64,
    /// Whether it is known how it can be done for less.
    pub knowledge: Knowledge,
    /// The work, in words.
    pub text: String,
}

/// Whether it is known what some work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knowledge {
    /// A kind of work that can be done less often, or for less.
    Kind,
    /// Only the name of its function.
    Function,
}

/// The work of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerWork {
    /// It may not be sampled: the reason.
    Unseen(String),
    /// The work that takes much of the time, the most expensive first.
    Seen(Vec<CostlyWork>),
}

impl ServerWork {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Unseen(why) => format!("unseen {why}\n"),
            Self::Seen(found) => {
                let line = |one: &CostlyWork| {
                    let kind = match one.knowledge {
                        Knowledge::Kind => "kind",
                        Knowledge::Function => "function",
                    };
                    format!("{kind} {:.2} {:.2} {}\n", one.of_thread, one.of_all, one.text)
                };
                format!("seen\n{}", found.iter().map(line).collect::<String>())
            }
        }
    }

    /// Parses it; broken lines are left out.
    pub(crate) fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        if first != "seen" {
            let why = first.strip_prefix("unseen ").unwrap_or("not sampled");
            return Self::Unseen(why.to_owned());
        }
        let costly = |line: &str| {
            let mut words = line.splitn(4, ' ');
            let knowledge = match words.next()? {
                "kind" => Knowledge::Kind,
                "function" => Knowledge::Function,
                _ => return None,
            };
            let mut number = || words.next()?.parse().ok();
            let (of_thread, of_all) = (number()?, number()?);
            Some(CostlyWork { of_thread, of_all, knowledge, text: words.next()?.to_owned() })
        };
        Self::Seen(lines.filter_map(costly).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_written_and_read() {
        let one = CostlyWork {
            of_thread: 30.5,
            of_all: 61.0,
            knowledge: Knowledge::Kind,
            text: "compression. Less of it (deflate)".to_owned(),
        };
        let two = CostlyWork { knowledge: Knowledge::Function, ..one.clone() };
        let seen = ServerWork::Seen(vec![one, two]);
        assert_eq!(ServerWork::read(&format!("{}nonsense\n", seen.text())), seen);
        let unseen = ServerWork::Unseen("only root".to_owned());
        assert_eq!(ServerWork::read(&unseen.text()), unseen);
    }
}
