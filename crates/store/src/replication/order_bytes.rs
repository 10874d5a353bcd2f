//! Orders as bytes, from a replica to its leader.
//!
//! Owns the encoding. Databases have names in it, because nodes may number them differently. What a client may do wrong
//! (a key that is too long, for example) is still for the leader's writer to refuse, so that the answer is the same on
//! every node.

use super::bytes::{ByteReader, Coded, Cut, coded, put_count, put_text};
use crate::change::{DatabaseChange, Expiry, ExpiryOnly, KeyTransfer, Old, Only};
use crate::order::{Database, Order, OrderCondition, StoreOperation};
use crate::page::{PageOf, With};
use crate::query::Query;
use crate::record::{Value, ValueKind};

/// Why orders cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderUnread {
    /// The bytes are damaged, or of a later version.
    Cut,
    /// They name a database that this store does not have.
    NoDatabase(String),
}

impl From<Cut> for OrderUnread {
    fn from(_: Cut) -> Self {
        Self::Cut
    }
}

/// The bytes of orders for a store that names its databases like this.
pub fn encode_orders(orders: &[Order], names: &[String]) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + orders.iter().map(Order::size).sum::<usize>());
    put_count(&mut out, orders.len());
    for order in orders {
        put_count(&mut out, order.conditions.len());
        for OrderCondition { database, key, version } in &order.conditions {
            put_name(&mut out, *database, names);
            key.put(&mut out);
            version.put(&mut out);
        }
        put_count(&mut out, order.steps.len());
        for (database, step) in &order.steps {
            put_name(&mut out, *database, names);
            step.put(&mut out);
        }
    }
    out
}

/// The orders that these bytes are, in a store that names its databases like this.
///
/// # Errors
/// If they cannot be read; none of them is to be executed then.
pub fn decode_orders(bytes: &[u8], names: &[String]) -> Result<Vec<Order>, OrderUnread> {
    let mut bytes = ByteReader::new(bytes);
    let mut unknown = None;
    let mut database = |bytes: &mut ByteReader<'_>| {
        let name = str::from_utf8(bytes.text()?).map_err(|_| Cut)?;
        let at = names.iter().position(|known| known == name);
        let at = at.and_then(|at| u8::try_from(at).ok());
        if at.is_none() {
            unknown.get_or_insert_with(|| name.to_owned());
        }
        Ok(Database(at.unwrap_or_default()))
    };
    let orders = bytes.list(|bytes| {
        let conditions = bytes.list(|bytes| {
            let database = database(bytes)?;
            Ok(OrderCondition { database, key: Coded::read(bytes)?, version: Coded::read(bytes)? })
        })?;
        let steps = bytes.list(|bytes| Ok((database(bytes)?, Coded::read(bytes)?)))?;
        Ok(Order { conditions, steps })
    })?;
    match unknown {
        Some(name) => Err(OrderUnread::NoDatabase(name)),
        None if bytes.is_at_end() => Ok(orders),
        None => Err(OrderUnread::Cut),
    }
}

fn put_name(out: &mut Vec<u8>, database: Database, names: &[String]) {
    let name = names.get(usize::from(database.0)).map_or("", String::as_str);
    put_text(out, name.as_bytes());
}

// Queries have numbers below 64, and changes the others.
coded!(StoreOperation {
    1 => (Self::Query(Query::Get(key))) key;
    2 => (Self::Query(Query::GetMany(keys))) keys;
    3 => (Self::Query(Query::Exists(keys))) keys;
    4 => (Self::Query(Query::Length(key))) key;
    5 => (Self::Query(Query::Remaining(key))) key;
    6 => (Self::Query(Query::Kind(key))) key;
    7 => (Self::Query(Query::Page(page))) page;
    8 => (Self::Query(Query::Ending));
    9 => (Self::Query(Query::Count));
    64 => (Self::Change(DatabaseChange::Put { key, value, expiry, only, old })) key value expiry only old;
    65 => (Self::Change(DatabaseChange::PutAll { pairs, only })) pairs only;
    66 => (Self::Change(DatabaseChange::Delete(keys))) keys;
    67 => (Self::Change(DatabaseChange::DeleteVersion(key, version))) key version;
    68 => (Self::Change(DatabaseChange::Take(key))) key;
    69 => (Self::Change(DatabaseChange::Add(key, amount))) key amount;
    70 => (Self::Change(DatabaseChange::Append(key, more))) key more;
    71 => (Self::Change(DatabaseChange::Overwrite(key, at, more))) key at more;
    72 => (Self::Change(DatabaseChange::AddDecimal(key, amount))) key amount;
    73 => (Self::Change(DatabaseChange::Copy { from, to, only, source })) from to only source;
    74 => (Self::Change(DatabaseChange::Expire { key, expiry, only })) key expiry only;
    75 => (Self::Change(DatabaseChange::Touch(key, expiry))) key expiry;
    76 => (Self::Change(DatabaseChange::Clear));
    77 => (Self::Change(DatabaseChange::ClearAll));
});

coded!(struct PageOf { prefix, after, keys, with });
coded!(struct Value { kind, bytes });
coded!(With { 0 => (Self::Keys); 1 => (Self::Versions); 2 => (Self::Values); });
coded!(ValueKind { 0 => (Self::Bytes); 1 => (Self::Number); 2 => (Self::Table); });
coded!(Expiry { 0 => (Self::Never); 1 => (Self::Keep); 2 => (Self::At(time_ms)) time_ms; });
coded!(Old { 0 => (Self::Dropped); 1 => (Self::Given); });
coded!(KeyTransfer { 0 => (Self::Copy); 1 => (Self::Move); });

coded!(Only {
    0 => (Self::Always);
    1 => (Self::IfAbsent);
    2 => (Self::IfPresent);
    3 => (Self::IfVersion(version)) version;
});

coded!(ExpiryOnly {
    0 => (Self::Always);
    1 => (Self::IfNone);
    2 => (Self::IfAny);
    3 => (Self::IfLater);
    4 => (Self::IfSooner);
    5 => (Self::IfAnyAndSooner);
});
