//! How many of the configured connections one scheduler may have.
//!
//! Owns how the descriptors of this host bound them. Opens nothing.

use config::{Config, DescriptorTables};

use crate::limits;

/// The connections that a scheduler may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionShare {
    schedulers: u64,
    /// As many as its descriptors allow.
    possible: u64,
}

impl ConnectionShare {
    /// That of one of so many schedulers, where a table of descriptors has so many.
    ///
    /// # Errors
    /// Its descriptors, if they are too few for a server.
    pub fn new(config: &Config, schedulers: usize, descriptors: u64) -> Result<Self, u64> {
        let schedulers = schedulers as u64;
        let share = match config.descriptor_tables {
            DescriptorTables::Private => descriptors,
            DescriptorTables::Shared => descriptors / schedulers,
        };
        if share < limits::DESCRIPTORS_MIN {
            return Err(share);
        }
        let part = share / limits::DESCRIPTORS_RESERVED_PART;
        let reserved =
            part.clamp(limits::DESCRIPTORS_RESERVED_MIN, limits::DESCRIPTORS_RESERVED_MAX);
        Ok(Self { schedulers, possible: share - reserved })
    }

    /// Its part of all that are configured.
    #[must_use]
    pub fn of(self, config: &Config) -> usize {
        let part = config.limits.connections.div_ceil(self.schedulers).min(self.possible);
        usize::try_from(part).unwrap_or(usize::MAX)
    }
}
