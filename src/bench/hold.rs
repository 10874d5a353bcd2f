//! The verb `bench hold`: connections opened and held, and the report of it.

use super::flags::Hold;
use super::http::deliver;
use super::page;
use super::screen::Screen;
use crate::Failure;

/// Runs the verb.
pub(crate) fn run(flags: &Hold) -> Result<(), Failure> {
    flags.output.html.as_deref().map_or(Ok(()), |file| page::check("--html", file))?;
    let plan = super::plan::hold(flags)?;
    let mut screen = Screen::new("hold");
    let result = bench::run::hold(&plan, std::env::args().collect(), |moment| screen.show(moment));
    screen.close();
    let report = result.map_err(Failure::failed)?;
    deliver(&report, &flags.output)
}
