//! The lists that a server has, for whoever asks for one and whoever makes one.
//!
//! Owns their names. What the columns of a list are, the server says with it.

use crate::table::TableRow;

/// The name in place of an upstream's, for a server that pages fetch from.
pub const FETCHED: &str = "(fetch)";

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

    /// The list that has the row of this id, and what the row is; `None` for connections and processes of pages, which
    /// have more to tell.
    pub fn of_id(id: &str) -> Option<(Self, &'static str)> {
        Some(match id.split_once('-')?.0 {
            "r" => (Self::Routes, "route"),
            "g" => (Self::Pages, "page"),
            "n" => (Self::Channels, "channel"),
            "k" => (Self::Keys, "key"),
            "u" | "f" => (Self::Upstreams, "server"),
            "l" => (Self::Listeners, "listener"),
            "m" => (Self::Mailboxes, "mailbox"),
            "s" => (Self::Store, "store"),
            _ => return None,
        })
    }

    /// The kind of the times of a row ([`LatencyFigures::of`](crate::LatencyFigures::of)), and their name; `None` if
    /// it has none.
    pub fn timed_as(self, row: &TableRow) -> Option<(&'static str, &str)> {
        let of = |of, key| Some((of, row.text_in(key)?));
        match self {
            Self::Routes => of("route", "name"),
            Self::Pages => of("page", "page"),
            Self::Channels => of("channel", "pattern"),
            Self::Upstreams if row.text_in("upstream") == Some(FETCHED) => of("fetch", "server"),
            Self::Upstreams => of("upstream", "upstream"),
            _ => None,
        }
    }

    /// The list of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.name() == name)
    }
}
