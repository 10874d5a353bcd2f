//! Processes of pages, apart from what runs them: their ids and names, mailboxes, families, and the times at which
//! background processes start.
//!
//! Owns which process gets what, and the limits of all this. Never runs a process: its user has the engine, gives a
//! process what [`Mail`] hands over, and starts the [`BackgroundProcesses`] that are due. Reads no clock.

mod background;
mod family;
mod id;
mod leased_names;
mod letters;
pub mod limits;
mod mail;
mod mail_answer;
mod mailboxes;
mod names;
mod process_name;
mod schedule;

pub use background::{BackgroundProcesses, ProcessEnd};
pub use family::{Family, FamilyMember};
pub use id::RunKey;
pub use leased_names::LeaseStanding;
pub use letters::{Letter, LetterNumber, Undelivered};
pub use mail::Mail;
pub use mail_answer::{Handed, MailAnswer, MailMoment, MailOutcome, NamesHeard};
pub use mailboxes::MailboxLoad;
pub use names::Naming;
pub use process_name::{NameToken, ProcessName};
pub use schedule::{ProcessPlace, ProcessPlan, ProcessSchedule};
