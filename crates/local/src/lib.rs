//! The store client and the channels of a scheduler, which its protocols share.
//!
//! Owns no protocol and no page: HTTP, WebSockets, Redis clients and pages reach both through [`Local`]. Nothing here
//! is shared between threads.

mod access;
pub mod limits;
mod list_turns;
mod message;
mod stats;
mod store_client;
mod value_bytes;

use std::cell::{RefCell, RefMut};
use std::fmt;
use std::rc::Rc;

use channels::Channels;

pub use access::{AccessNeed, DatabaseRequirements, NoAccess, Requirement};
pub use message::{OrderedBy, StoreOrders, Stored, ToStoreWriter};
pub use stats::StoreStats;
pub use store_client::{Awaited, StoreClient};
pub use value_bytes::ValueBytes;

/// The state of one scheduler that belongs to no protocol. Each part is borrowed while it is used, by one protocol at a
/// time: nothing that is called with a borrowed part may borrow it again.
pub struct Local {
    store: RefCell<Option<StoreClient>>,
    channels: RefCell<Channels>,
}

impl Local {
    /// Without a store.
    pub fn new(channels: Channels) -> Rc<Self> {
        Rc::new(Self { store: RefCell::new(None), channels: RefCell::new(channels) })
    }

    /// The channels of the scheduler.
    pub fn channels(&self) -> RefMut<'_, Channels> {
        self.channels.borrow_mut()
    }

    /// The scheduler has these channels instead: before its first turn, it joins other schedulers.
    pub fn set_channels(&self, channels: Channels) {
        self.channels.replace(channels);
    }

    /// The store, if there is one.
    pub fn store(&self) -> Option<RefMut<'_, StoreClient>> {
        RefMut::filter_map(self.store.borrow_mut(), Option::as_mut).ok()
    }

    /// The scheduler has a store.
    pub fn open_store(&self, store: StoreClient) {
        self.store.replace(Some(store));
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Local").finish_non_exhaustive()
    }
}
