//! The terminal: set up, restored whatever happens, and its keys.
//!
//! Owns raw mode, the alternate screen, the cursor, and the signals that end or stop the program while these are in
//! force. Never knows what is drawn.

use std::io::{self, Stdout, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use signal_hook::consts::{SIGINT, SIGTERM, SIGTSTP};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;

use crate::keys::PressedKey;

/// The signals that would leave the terminal as it is now.
const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGTSTP];

/// The exit status of a program of Rust that panicked.
const PANICKED: i32 = 101;

/// The terminal while it is ours; dropping it gives it back.
pub(crate) struct Screen {
    pub(crate) terminal: Terminal<CrosstermBackend<Stdout>>,
    /// Which of [`SIGNALS`] have come.
    arrived: [Arc<AtomicBool>; SIGNALS.len()],
}

/// Input from the terminal.
pub(crate) enum Input {
    Key(PressedKey),
    /// The size changed.
    Resized,
    Nothing,
}

impl Screen {
    pub(crate) fn set_up() -> io::Result<Self> {
        let arrived: [Arc<AtomicBool>; SIGNALS.len()] = Default::default();
        for (signal, arrived) in SIGNALS.into_iter().zip(&arrived) {
            flag::register(signal, Arc::clone(arrived))?;
        }
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // The message would be lost with the alternate screen.
            give_back();
            usual(panic);
            // If it is not the thread that draws, that one would take no answer any more.
            std::process::exit(PANICKED);
        }));
        take()?;
        let terminal =
            Terminal::new(CrosstermBackend::new(stdout())).inspect_err(|_| give_back())?;
        Ok(Self { terminal, arrived })
    }

    /// The next input within a time. A signal comes first, as the key that does the same.
    pub(crate) fn next(&self, within: Duration) -> io::Result<Input> {
        if self.arrived[2].swap(false, Relaxed) {
            return Ok(Input::Key(PressedKey::Suspend));
        }
        match poll(within) {
            Ok(true) => Ok(input(&read()?)),
            Ok(false) => Ok(Input::Nothing),
            // A signal.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Input::Nothing),
            Err(error) => Err(error),
        }
    }

    /// The signal that asks the program to end, if one has come.
    pub(crate) fn end_asked(&self) -> Option<i32> {
        let place = self.arrived[..2].iter().position(|arrived| arrived.load(Relaxed))?;
        Some(SIGNALS[place])
    }

    /// Gives the terminal back and stops, until the shell continues the program; then everything is drawn anew.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        give_back();
        emulate_default_handler(SIGTSTP)?;
        take()?;
        self.terminal.clear()
    }

    /// Ends the program as the signal would have ended it.
    pub(crate) fn die_of(self, signal: i32) -> io::Result<()> {
        drop(self);
        emulate_default_handler(signal)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, cursor::Hide).inspect_err(|_| give_back())
}

fn give_back() {
    // There is nowhere to report an error, and the other step may still succeed.
    let _unheard = execute!(stdout(), LeaveAlternateScreen, cursor::Show);
    let _unheard = disable_raw_mode();
}

fn input(event: &Event) -> Input {
    match event {
        Event::Resize(..) => Input::Resized,
        Event::Key(event) if event.kind != KeyEventKind::Release => {
            key(*event).map_or(Input::Nothing, Input::Key)
        }
        _ => Input::Nothing,
    }
}

fn key(event: KeyEvent) -> Option<PressedKey> {
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return match event.code {
            KeyCode::Char('c') => Some(PressedKey::Interrupt),
            KeyCode::Char('z') => Some(PressedKey::Suspend),
            KeyCode::Char('l') => Some(PressedKey::Redraw),
            _ => None,
        };
    }
    if event.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    match event.code {
        KeyCode::Char(character) => Some(PressedKey::Character(character)),
        KeyCode::Up => Some(PressedKey::Up),
        KeyCode::Down => Some(PressedKey::Down),
        KeyCode::PageUp => Some(PressedKey::PageUp),
        KeyCode::PageDown => Some(PressedKey::PageDown),
        KeyCode::Home => Some(PressedKey::Home),
        KeyCode::End => Some(PressedKey::End),
        KeyCode::Enter => Some(PressedKey::Enter),
        KeyCode::Esc => Some(PressedKey::Escape),
        KeyCode::Tab => Some(PressedKey::Tab),
        KeyCode::BackTab => Some(PressedKey::BackTab),
        KeyCode::Backspace => Some(PressedKey::Backspace),
        _ => None,
    }
}
