//! The descriptors of a world's sockets: a number each, as in a kernel, closed when dropped.
//!
//! Owns the table from number to connection. The table belongs to the thread, not to a world, so that a socket has
//! four bytes like the kernel's: the memory that a scheduler needs for a connection is the same in both.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::rc::Rc;

use super::state::State;

/// A connection as its scheduler holds it. Dropping it closes the connection.
#[derive(Debug)]
pub struct SimulatedSocket {
    number: NonZeroU32,
    _table: PhantomData<*const ()>,
}

// The size of a kernel socket.
const _: () = assert!(size_of::<Option<SimulatedSocket>>() == 4);

struct Entry {
    world: Rc<RefCell<State>>,
    connection: u32,
}

#[derive(Default)]
struct Table {
    entries: Vec<Option<Entry>>,
    free: Vec<NonZeroU32>,
}

thread_local! {
    static TABLE: RefCell<Table> = RefCell::default();
}

impl Table {
    fn insert(&mut self, entry: Entry) -> NonZeroU32 {
        if let Some(number) = self.free.pop() {
            self.entries[place(number)] = Some(entry);
            return number;
        }
        self.entries.push(Some(entry));
        u32::try_from(self.entries.len())
            .ok()
            .and_then(NonZeroU32::new)
            .expect("memory ends before four thousand million sockets")
    }

    fn remove(&mut self, number: NonZeroU32) -> Option<Entry> {
        let entry = self.entries.get_mut(place(number))?.take()?;
        self.free.push(number);
        Some(entry)
    }
}

fn place(number: NonZeroU32) -> usize {
    number.get() as usize - 1
}

impl SimulatedSocket {
    pub(super) fn new(world: Rc<RefCell<State>>, connection: u32) -> Self {
        let number = TABLE.with_borrow_mut(|table| table.insert(Entry { world, connection }));
        Self { number, _table: PhantomData }
    }

    /// The connection with this number in this world.
    pub(super) fn connection(&self, world: &Rc<RefCell<State>>) -> u32 {
        TABLE.with_borrow(|table| {
            let entry = table.entries[place(self.number)].as_ref().expect("it is open while held");
            assert!(Rc::ptr_eq(&entry.world, world), "a socket stays in its world");
            entry.connection
        })
    }
}

impl Drop for SimulatedSocket {
    fn drop(&mut self) {
        // The table no longer exists when the thread ends; neither does any world.
        let removed = TABLE.try_with(|table| table.borrow_mut().remove(self.number)).ok().flatten();
        if let Some(entry) = removed {
            entry.world.borrow_mut().close_socket(entry.connection);
        }
    }
}
