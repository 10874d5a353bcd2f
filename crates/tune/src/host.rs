//! A host: its files, the change of its counters, and the server in question.

use std::ops::Deref;
use std::path::Path;

use crate::answers::answers;
use crate::connections::{Sockets, place, told};
use crate::counters::Counters;
use crate::files::HostFiles;
use crate::limits::DEVICES;
use crate::processes::Process;

/// A host, read twice: counters are those of the time between.
#[derive(Debug)]
pub struct HostReading {
    files: HostFiles,
    /// The process id of the server.
    pub(crate) process: Option<u32>,
    pub(crate) before: Counters,
    pub(crate) now: Counters,
    /// Seconds between the two readings; `None` if there was one, and counters are those since the host was started.
    pub(crate) seconds: Option<f64>,
}

impl HostReading {
    /// This host, read once.
    #[must_use]
    pub fn live(process: Option<u32>) -> Self {
        Self::of(Path::new("/"), process)
    }

    /// The host whose files are below a directory.
    #[must_use]
    pub fn of(root: &Path, process: Option<u32>) -> Self {
        let mut files = HostFiles::below(root);
        // Another machine's kernel cannot be asked; its answers are in its files.
        if root == Path::new("/") {
            let mut answers = answers(&files);
            let told = process.and_then(|process| Some((place(process), told(process)?)));
            answers.extend(told);
            files.add_answers(answers);
        }
        let now = Counters::read(&files, process);
        Self { files, process, before: Counters::default(), now, seconds: None }
    }

    /// Reads the counters again, this many seconds later.
    pub fn look_again(&mut self, seconds: f64) {
        let now = Counters::read(&self.files, self.process);
        self.before = std::mem::replace(&mut self.now, now);
        self.seconds = Some(seconds);
    }

    /// The increase of a counter: between the two readings, or since the host was started.
    pub(crate) fn moved(&self, count: impl Fn(&Counters) -> Option<u64>) -> Option<u64> {
        let now = count(&self.now)?;
        Some(now.saturating_sub(count(&self.before).unwrap_or(0)))
    }

    /// The time of that increase, in words.
    pub(crate) fn span(&self) -> String {
        match self.seconds {
            Some(seconds) => format!("in {seconds} s"),
            None => "since the start of the host".to_owned(),
        }
    }

    /// CPUs that the server may use: those of its process, or all.
    pub(crate) fn cpus(&self) -> usize {
        let of_process = self.process.and_then(|process| Process::allowed(self, process));
        of_process.map_or_else(|| self.now.cpus.len().max(1), |cpus| cpus.len().max(1))
    }

    /// Network devices to other machines, so without `lo`.
    pub(crate) fn devices(&self) -> Vec<String> {
        let mut names = self.names("/sys/class/net");
        names.retain(|name| name != "lo" && self.has(&format!("/sys/class/net/{name}/queues")));
        names.truncate(DEVICES);
        names
    }

    /// The sums over the server's sockets; `None` if no server is named, or if they may not be inspected.
    pub(crate) fn sockets(&self) -> Option<Sockets> {
        Some(Sockets::read(&self.text(&place(self.process?))?))
    }

    /// Network devices with hardware behind them.
    pub(crate) fn hardware(&self) -> Vec<String> {
        let mut devices = self.devices();
        devices.retain(|device| self.has(&format!("/sys/class/net/{device}/device")));
        devices
    }
}

impl HostReading {
    /// The kernel release: its first two numbers; zeros if it is unknown.
    pub(crate) fn kernel(&self) -> (u32, u32) {
        let release = self.text("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers = release.split(['.', '-']).map_while(|part| part.parse().ok());
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }
}

impl Deref for HostReading {
    type Target = HostFiles;

    fn deref(&self) -> &HostFiles {
        &self.files
    }
}
