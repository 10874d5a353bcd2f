//! RESP2 and RESP3, the protocol of Redis clients (<https://redis.io/docs/latest/develop/reference/protocol-spec/>).
//!
//! Owns the codec: commands as clients send them, and the replies. Never knows a command.

mod command;
mod reply;

pub use command::{CommandLimits, CommandProblem, Parser, RespCommand};
pub use reply::{
    RespVersion, write_array, write_bulk, write_bulk_head, write_error, write_integer, write_map,
    write_null, write_null_array, write_push, write_simple,
};
