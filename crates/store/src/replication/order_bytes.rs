//! Orders as bytes, from a replica to its leader.
//!
//! Owns the encoding. Databases have names in it, because nodes may number them differently. What a client may do wrong
//! (a key that is too long, for example) is still for the leader's writer to refuse, so that the answer is the same on
//! every node.

use super::bytes::{ByteReader, Cut, put_count, put_option, put_text};
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
            put_text(&mut out, key);
            put_number(&mut out, *version);
        }
        put_count(&mut out, order.steps.len());
        for (database, step) in &order.steps {
            put_name(&mut out, *database, names);
            match step {
                StoreOperation::Query(query) => put_query(&mut out, query),
                StoreOperation::Change(change) => put_change(&mut out, change),
            }
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
            Ok(OrderCondition { database, key: bytes.text()?.into(), version: bytes.u64()? })
        })?;
        let steps = bytes.list(|bytes| Ok((database(bytes)?, step(bytes)?)))?;
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

fn put_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_keys(out: &mut Vec<u8>, keys: &[Box<[u8]>]) {
    put_count(out, keys.len());
    for key in keys {
        put_text(out, key);
    }
}

fn keys(bytes: &mut ByteReader<'_>) -> Result<Vec<Box<[u8]>>, Cut> {
    bytes.list(|bytes| Ok(bytes.text()?.into()))
}

fn put_query(out: &mut Vec<u8>, query: &Query) {
    match query {
        Query::Get(key) => put_key(out, 1, key),
        Query::GetMany(keys) => {
            out.push(2);
            put_keys(out, keys);
        }
        Query::Exists(keys) => {
            out.push(3);
            put_keys(out, keys);
        }
        Query::Length(key) => put_key(out, 4, key),
        Query::Remaining(key) => put_key(out, 5, key),
        Query::Kind(key) => put_key(out, 6, key),
        Query::Page(PageOf { prefix, after, keys, with }) => {
            put_key(out, 7, prefix);
            put_option(out, after.as_ref(), |out, key| put_text(out, key));
            put_number(out, *keys as u64);
            out.push(match with {
                With::Keys => 0,
                With::Versions => 1,
                With::Values => 2,
            });
        }
        Query::Ending => out.push(8),
        Query::Count => out.push(9),
    }
}

fn put_key(out: &mut Vec<u8>, kind: u8, key: &[u8]) {
    out.push(kind);
    put_text(out, key);
}

fn put_change(out: &mut Vec<u8>, change: &DatabaseChange) {
    match change {
        DatabaseChange::Put { key, value, expiry, only, old } => {
            put_key(out, 64, key);
            out.push(kind_byte(value.kind));
            put_text(out, &value.bytes);
            put_expiry(out, *expiry);
            put_only(out, *only);
            out.push(u8::from(*old == Old::Given));
        }
        DatabaseChange::PutAll { pairs, only } => {
            out.push(65);
            put_count(out, pairs.len());
            for (key, value) in pairs {
                put_text(out, key);
                put_text(out, value);
            }
            put_only(out, *only);
        }
        DatabaseChange::Delete(keys) => {
            out.push(66);
            put_keys(out, keys);
        }
        DatabaseChange::DeleteVersion(key, version) => {
            put_key(out, 67, key);
            put_number(out, *version);
        }
        DatabaseChange::Take(key) => put_key(out, 68, key),
        DatabaseChange::Add(key, amount) => {
            put_key(out, 69, key);
            out.extend_from_slice(&amount.to_le_bytes());
        }
        DatabaseChange::Append(key, bytes) => {
            put_key(out, 70, key);
            put_text(out, bytes);
        }
        DatabaseChange::Overwrite(key, at, bytes) => {
            put_key(out, 71, key);
            put_number(out, *at as u64);
            put_text(out, bytes);
        }
        DatabaseChange::AddDecimal(key, amount) => {
            put_key(out, 72, key);
            put_text(out, amount);
        }
        DatabaseChange::Copy { from, to, only, source } => {
            put_key(out, 73, from);
            put_text(out, to);
            put_only(out, *only);
            out.push(u8::from(*source == KeyTransfer::Move));
        }
        DatabaseChange::Expire { key, expiry, only } => {
            put_key(out, 74, key);
            put_expiry(out, *expiry);
            out.push(expiry_only_byte(*only));
        }
        DatabaseChange::Touch(key, expiry) => {
            put_key(out, 75, key);
            put_expiry(out, *expiry);
        }
        DatabaseChange::Clear => out.push(76),
        DatabaseChange::ClearAll => out.push(77),
    }
}

fn step(bytes: &mut ByteReader<'_>) -> Result<StoreOperation, Cut> {
    let kind = bytes.u8()?;
    if kind < 64 {
        query(kind, bytes).map(StoreOperation::Query)
    } else {
        change(kind, bytes).map(StoreOperation::Change)
    }
}

fn query(kind: u8, bytes: &mut ByteReader<'_>) -> Result<Query, Cut> {
    Ok(match kind {
        1 => Query::Get(bytes.text()?.into()),
        2 => Query::GetMany(keys(bytes)?),
        3 => Query::Exists(keys(bytes)?),
        4 => Query::Length(bytes.text()?.into()),
        5 => Query::Remaining(bytes.text()?.into()),
        6 => Query::Kind(bytes.text()?.into()),
        7 => Query::Page(PageOf {
            prefix: bytes.text()?.into(),
            after: bytes.option(|bytes| Ok(bytes.text()?.into()))?,
            keys: size(bytes)?,
            with: match bytes.u8()? {
                0 => With::Keys,
                1 => With::Versions,
                2 => With::Values,
                _ => return Err(Cut),
            },
        }),
        8 => Query::Ending,
        9 => Query::Count,
        _ => return Err(Cut),
    })
}

fn change(kind: u8, bytes: &mut ByteReader<'_>) -> Result<DatabaseChange, Cut> {
    if kind == 65 {
        let pairs = bytes.list(|bytes| Ok((bytes.text()?.into(), bytes.text()?.into())))?;
        return Ok(DatabaseChange::PutAll { pairs, only: only(bytes)? });
    }
    if kind == 66 {
        return Ok(DatabaseChange::Delete(keys(bytes)?));
    }
    if kind == 76 || kind == 77 {
        return Ok(if kind == 76 { DatabaseChange::Clear } else { DatabaseChange::ClearAll });
    }
    let key = bytes.text()?.into();
    Ok(match kind {
        64 => DatabaseChange::Put {
            key,
            value: Value { kind: kind_of(bytes.u8()?)?, bytes: bytes.text()?.into() },
            expiry: expiry(bytes)?,
            only: only(bytes)?,
            old: if flag(bytes)? { Old::Given } else { Old::Dropped },
        },
        67 => DatabaseChange::DeleteVersion(key, bytes.u64()?),
        68 => DatabaseChange::Take(key),
        69 => DatabaseChange::Add(key, bytes.u64()?.cast_signed()),
        70 => DatabaseChange::Append(key, bytes.text()?.into()),
        71 => DatabaseChange::Overwrite(key, size(bytes)?, bytes.text()?.into()),
        72 => DatabaseChange::AddDecimal(key, bytes.text()?.into()),
        73 => DatabaseChange::Copy {
            from: key,
            to: bytes.text()?.into(),
            only: only(bytes)?,
            source: if flag(bytes)? { KeyTransfer::Move } else { KeyTransfer::Copy },
        },
        74 => DatabaseChange::Expire { key, expiry: expiry(bytes)?, only: expiry_only(bytes)? },
        75 => DatabaseChange::Touch(key, expiry(bytes)?),
        _ => return Err(Cut),
    })
}

fn flag(bytes: &mut ByteReader<'_>) -> Result<bool, Cut> {
    match bytes.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Cut),
    }
}

fn size(bytes: &mut ByteReader<'_>) -> Result<usize, Cut> {
    usize::try_from(bytes.u64()?).map_err(|_| Cut)
}

fn put_expiry(out: &mut Vec<u8>, expiry: Expiry) {
    match expiry {
        Expiry::Never => out.push(0),
        Expiry::Keep => out.push(1),
        Expiry::At(time_ms) => {
            out.push(2);
            put_number(out, time_ms);
        }
    }
}

fn expiry(bytes: &mut ByteReader<'_>) -> Result<Expiry, Cut> {
    Ok(match bytes.u8()? {
        0 => Expiry::Never,
        1 => Expiry::Keep,
        2 => Expiry::At(bytes.u64()?),
        _ => return Err(Cut),
    })
}

fn put_only(out: &mut Vec<u8>, only: Only) {
    match only {
        Only::Always => out.push(0),
        Only::IfAbsent => out.push(1),
        Only::IfPresent => out.push(2),
        Only::IfVersion(version) => {
            out.push(3);
            put_number(out, version);
        }
    }
}

fn only(bytes: &mut ByteReader<'_>) -> Result<Only, Cut> {
    Ok(match bytes.u8()? {
        0 => Only::Always,
        1 => Only::IfAbsent,
        2 => Only::IfPresent,
        3 => Only::IfVersion(bytes.u64()?),
        _ => return Err(Cut),
    })
}

fn expiry_only_byte(only: ExpiryOnly) -> u8 {
    match only {
        ExpiryOnly::Always => 0,
        ExpiryOnly::IfNone => 1,
        ExpiryOnly::IfAny => 2,
        ExpiryOnly::IfLater => 3,
        ExpiryOnly::IfSooner => 4,
        ExpiryOnly::IfAnyAndSooner => 5,
    }
}

fn expiry_only(bytes: &mut ByteReader<'_>) -> Result<ExpiryOnly, Cut> {
    Ok(match bytes.u8()? {
        0 => ExpiryOnly::Always,
        1 => ExpiryOnly::IfNone,
        2 => ExpiryOnly::IfAny,
        3 => ExpiryOnly::IfLater,
        4 => ExpiryOnly::IfSooner,
        5 => ExpiryOnly::IfAnyAndSooner,
        _ => return Err(Cut),
    })
}

pub(super) fn kind_byte(kind: ValueKind) -> u8 {
    match kind {
        ValueKind::Bytes => 0,
        ValueKind::Number => 1,
        ValueKind::Table => 2,
    }
}

pub(super) fn kind_of(byte: u8) -> Result<ValueKind, Cut> {
    Ok(match byte {
        0 => ValueKind::Bytes,
        1 => ValueKind::Number,
        2 => ValueKind::Table,
        _ => return Err(Cut),
    })
}
