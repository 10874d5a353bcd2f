//! Common parts of the tests of processes: an engine for them, and pages that spawn.

use std::rc::Rc;
use std::time::Duration;

use script::engine::{EngineRole, EngineSettings, MemoryAccount, Run, WaitReply};

use crate::stage::Stage;
use crate::waits::{Step, Wait};

/// An engine for processes, with one account for all.
pub(crate) struct ProcessEngine {
    pub(crate) stage: Stage,
    pub(crate) account: Rc<MemoryAccount>,
}

impl ProcessEngine {
    pub(crate) fn new() -> Self {
        Self::with(EngineSettings { slice: Duration::from_secs(3600), ..EngineSettings::default() })
    }

    pub(crate) fn with(settings: EngineSettings) -> Self {
        let mut stage = Stage::with(EngineSettings { role: EngineRole::Processes, ..settings });
        let account = stage.state.open_account();
        Self { stage, account }
    }

    pub(crate) fn spawn(&mut self, body: &[u8]) -> Run {
        self.stage.state.spawn("test.page.html", body, &self.account).expect("there is room")
    }

    pub(crate) fn resume(&mut self, run: Run) -> Step {
        self.stage.resume(run)
    }
}

/// A page that spawned a process: its run, and the encoded function of the process.
pub(crate) fn asked(stage: &mut Stage, code: &str) -> (Run, Vec<u8>) {
    let page = stage.load(code);
    let mut step = stage.start(&page);
    loop {
        step = match step {
            Step::Sliced(run) => stage.resume(run),
            Step::Waits(parent, Wait::Spawn(body)) => return (parent, body),
            Step::Failed(error) => panic!("{error}"),
            Step::Waits(..) | Step::Done => panic!("it makes a process"),
        };
    }
}

/// A page that spawned a process: its run and the process, which is in another engine.
pub(crate) fn spawned(
    stage: &mut Stage,
    process_engine: &mut ProcessEngine,
    code: &str,
) -> (Run, Run) {
    let (parent, body) = asked(stage, code);
    (parent, process_engine.spawn(&body))
}

/// Continues with the result of a wait.
pub(crate) fn resume_with(stage: &mut Stage, run: Run, text: &[u8]) -> Step {
    stage.reply(run, WaitReply::Texts(&[text]))
}
