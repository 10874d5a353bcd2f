//! The keys that the screens know.

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PressedKey {
    /// A character.
    Character(char),
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the begin.
    Home,
    /// To the end.
    End,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-L.
    Redraw,
}
