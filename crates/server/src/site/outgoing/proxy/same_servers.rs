//! The servers of an upstream that a reload has changed.
//!
//! Owns which of them are there before and after. Never counts.

use proxy::{ServerIndex, ServerRules, Tried};

/// The servers of an upstream, by the numbers that they had in the one before it.
#[derive(Debug)]
pub(in crate::site) struct SameServers(Vec<Option<ServerIndex>>);

impl SameServers {
    /// The servers of the former upstream as they are found in the current one.
    pub(in crate::site) fn of(former: &[ServerRules], current: &[ServerRules]) -> Self {
        let number = |known: &ServerRules| {
            let place = current.iter().position(|server| server.identity == known.identity)?;
            u8::try_from(place).ok().map(ServerIndex)
        };
        Self(former.iter().map(number).collect())
    }

    /// The number of one of them now; `None`: it is no longer there.
    pub(in crate::site) fn now(&self, server: ServerIndex) -> Option<ServerIndex> {
        self.0.get(usize::from(server.0)).copied().flatten()
    }

    /// Those of a set that are still there.
    pub(in crate::site) fn among(&self, former: Tried) -> Tried {
        let mut among = Tried::default();
        let met = (0..).zip(&self.0).filter(|(number, _)| former.has(ServerIndex(*number)));
        met.filter_map(|(_, server)| *server).for_each(|server| among.add(server));
        among
    }
}
