//! The beginning and the end of the control thread.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, JoinHandle};

use crate::agent::Agent;
use crate::authority::Line;
use crate::control::Control;
use crate::ending::Ending;
use crate::limits::STOP;
use crate::provider::client_config;
use crate::records::RecordKeeper;
use crate::settings::{RenewalSettings, SettingsError};
use crate::sink::Sink;
use crate::state::State;
use crate::status::{Board, CertificateStatus};

/// A running control thread. It ends when this is dropped, without being waited for.
#[derive(Debug)]
pub struct AcmeThread {
    ending: Ending,
    board: Board,
    thread: Option<JoinHandle<()>>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

/// Why the control thread cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings cannot be used.
    #[error("{0}")]
    Settings(SettingsError),
    /// An additional root is not a certificate.
    #[error("a root certificate cannot be used: {0}")]
    Root(rustls::Error),
    /// The state cannot be opened.
    #[error("the state directory cannot be opened: {0}")]
    State(io::Error),
    /// There is no thread.
    #[error("there is no thread for certificates: {0}")]
    Thread(io::Error),
}

/// Does what of [`start`] can fail, except for the thread, and makes the state directory: for a server that wants to
/// know before it ends what runs.
///
/// # Errors
/// If the settings are wrong or the directory cannot be made.
pub fn prepare(settings: &RenewalSettings) -> Result<(), StartError> {
    settings.check().map_err(StartError::Settings)?;
    client_config(&settings.roots).map_err(StartError::Root)?;
    settings.state.make().map_err(StartError::State)
}

/// Passes the certificates of the state on, and starts the control thread, which orders and renews. The certificates
/// have been passed when this returns, so a server can listen with them. `records` are those of a server that keeps
/// the state itself ([`StatePlace::Server`](crate::StatePlace::Server)).
///
/// # Errors
/// If the settings are wrong or the state cannot be opened.
pub fn start(
    settings: RenewalSettings,
    records: Option<Box<dyn RecordKeeper>>,
    sink: Box<dyn Sink>,
) -> Result<AcmeThread, StartError> {
    settings.check().map_err(StartError::Settings)?;
    let state = State::open(&settings.state, records).map_err(StartError::State)?;
    let tls = client_config(&settings.roots).map_err(StartError::Root)?;
    let (ending, board) = (Ending::default(), Board::default());
    let (agent, notes) = Agent::new(tls, ending.clone());
    let line = Line::new(agent, notes);
    let control = Control::open((settings, state), sink, line, ending.clone(), board.clone());
    let (running, ended) = channel::<()>();
    let run = move || {
        let _running = running;
        control.run();
    };
    let thread = Builder::new().name("acme".to_owned()).spawn(run).map_err(StartError::Thread)?;
    Ok(AcmeThread { ending, board, thread: Some(thread), ended })
}

impl AcmeThread {
    /// The state of each certificate, as of the last look. It is the same allocation until something has changed.
    pub fn status(&self) -> Arc<[CertificateStatus]> {
        self.board.read()
    }

    /// Makes the control thread look at all certificates and files now, instead of within ten minutes.
    pub fn look_now(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Ends the control thread and waits for it, at most [`STOP`]. A thread that waits longer, for the look-up of a
    /// name or for a connection, is left behind: it neither orders nor calls the sink any more, except to withdraw
    /// answers.
    pub fn stop(mut self) {
        self.ask_to_end();
        // Nothing is ever sent: the other end is dropped when the thread ends.
        let _ = self.ended.recv_timeout(STOP);
        if let Some(thread) = self.thread.take().filter(JoinHandle::is_finished) {
            // A panic of the thread was printed when it happened.
            let _ = thread.join();
        }
    }

    fn ask_to_end(&self) {
        self.ending.ask();
        self.look_now();
    }
}

impl Drop for AcmeThread {
    fn drop(&mut self) {
        self.ask_to_end();
    }
}
