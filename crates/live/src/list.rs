//! The lists that a server has, for whoever asks for one and whoever makes one.
//!
//! Owns their names. What the columns of a list are, the server says with it.

/// A list that a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// Connections.
    Connections,
    /// Routes.
    Routes,
    /// Pages.
    Pages,
    /// Processes of pages.
    Processes,
    /// Channels.
    Channels,
    /// Keys of the store, sampled.
    Keys,
    /// Servers of upstreams.
    Upstreams,
    /// Listeners.
    Listeners,
    /// Mailboxes between threads.
    Mailboxes,
    /// The store.
    Store,
}

impl List {
    /// All of them, in the order of their screens.
    pub const ALL: [Self; 10] = [
        Self::Connections,
        Self::Routes,
        Self::Pages,
        Self::Processes,
        Self::Channels,
        Self::Keys,
        Self::Upstreams,
        Self::Listeners,
        Self::Mailboxes,
        Self::Store,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Routes => "routes",
            Self::Pages => "pages",
            Self::Processes => "processes",
            Self::Channels => "channels",
            Self::Keys => "keys",
            Self::Upstreams => "upstreams",
            Self::Listeners => "listeners",
            Self::Mailboxes => "mailboxes",
            Self::Store => "store",
        }
    }

    /// The list of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.name() == name)
    }
}
