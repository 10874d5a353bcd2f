//! The library's Lua code, in the order in which it is loaded.

use std::ffi::CStr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::engine::call::CallNumber;
use crate::engine::host::{HostAnswer, PageHost, PageLogLevel, RequestPart};
use crate::engine::settings::{EngineRole, EngineSettings, Sessions};
use crate::limits;

/// The prefix of the names of the library's chunks; tracebacks leave them out.
pub(super) const MARK: &str = "=[library]";

/// The chunks.
pub(super) const CHUNKS: &[(&CStr, &str)] = &[
    (c"=[library] fault", include_str!("../library/fault.lua")),
    (c"=[library] base", include_str!("../library/base.lua")),
    (c"=[library] text", include_str!("../library/text.lua")),
    (c"=[library] received", include_str!("../library/received.lua")),
    (c"=[library] target", include_str!("../library/target.lua")),
    (c"=[library] request", include_str!("../library/request.lua")),
    (c"=[library] run", include_str!("../library/run.lua")),
    (c"=[library] young", include_str!("../library/young.lua")),
    (c"=[library] parts", include_str!("../library/parts.lua")),
    (c"=[library] sandbox", include_str!("../library/sandbox.lua")),
    (c"=[library] load", include_str!("../library/load.lua")),
    (c"=[library] log", include_str!("../library/log.lua")),
    (c"=[library] coroutines", include_str!("../library/coroutines.lua")),
    (c"=[library] calls", include_str!("../library/calls.lua")),
    (c"=[library] uploads", include_str!("../library/uploads.lua")),
    (c"=[library] processes", include_str!("../library/processes.lua")),
    (c"=[library] pieces", include_str!("../library/pieces.lua")),
    (c"=[library] time", include_str!("../library/time.lua")),
    (c"=[library] formats", include_str!("../library/formats.lua")),
    (c"=[library] sort", include_str!("../library/sort.lua")),
    (c"=[library] pattern", include_str!("../library/pattern.lua")),
    (c"=[library] matching", include_str!("../library/matching.lua")),
    (c"=[library] replacing", include_str!("../library/replacing.lua")),
    (c"=[library] url", include_str!("../library/url.lua")),
    (c"=[library] utf8", include_str!("../library/utf8.lua")),
    (c"=[library] json", include_str!("../library/json.lua")),
    (c"=[library] channel", include_str!("../library/channel.lua")),
    (c"=[library] limit", include_str!("../library/limit.lua")),
    (c"=[library] records", include_str!("../library/records.lua")),
    (c"=[library] watch", include_str!("../library/watch.lua")),
    (c"=[library] store", include_str!("../library/store.lua")),
    (c"=[library] crypto", include_str!("../library/crypto.lua")),
    (c"=[library] cookies", include_str!("../library/cookies.lua")),
    (c"=[library] stored_session", include_str!("../library/stored_session.lua")),
    (c"=[library] session", include_str!("../library/session.lua")),
    (c"=[library] fetch", include_str!("../library/fetch.lua")),
    (c"=[library] websocket", include_str!("../library/websocket.lua")),
    (c"=[library] upstream", include_str!("../library/upstream.lua")),
    (c"=[library] routes", include_str!("../library/routes.lua")),
    (c"=[library] modules", include_str!("../library/modules.lua")),
    (c"=[library] random", include_str!("../library/random.lua")),
    (c"=[library] globals", include_str!("../library/globals.lua")),
    (c"=[library] tails", include_str!("../library/tails.lua")),
    (c"=[library] finish", include_str!("../library/finish.lua")),
    (c"=[library] instances", include_str!("../library/instances.lua")),
    (c"=[library] copying", include_str!("../library/copying.lua")),
];

/// The fields of the library's table that the engine keeps.
pub(super) const KEPT: [&CStr; 14] = [
    c"loop",
    c"environment",
    c"modules",
    c"adopt",
    c"withdraw",
    c"lead",
    c"refuse",
    c"strangers",
    c"globals",
    c"lost",
    c"blamed",
    c"contexts",
    c"current",
    c"leave",
];

/// The numbers that the library uses.
pub(super) fn numbers(settings: &EngineSettings) -> [(&'static CStr, f64); 60] {
    [
        (c"buffer_kept", limits::BUFFER_KEPT_SIZE as f64),
        (c"load_size", limits::LOAD_SIZE as f64),
        (c"sort_size", limits::SORT_SIZE as f64),
        (c"sort_bytes", limits::SORT_BYTES as f64),
        (c"text_piece", limits::TEXT_PIECE_SIZE as f64),
        (c"searched_piece", limits::SEARCHED_PIECE_SIZE as f64),
        (c"values_joined", limits::VALUES_JOINED as f64),
        (c"bytes_joined", limits::BYTES_JOINED as f64),
        (c"values_shifted", limits::VALUES_SHIFTED as f64),
        (c"number_size", limits::NUMBER_SIZE as f64),
        (c"needle_size", limits::NEEDLE_SIZE as f64),
        (c"replaced_size", limits::REPLACED_SIZE as f64),
        (c"format_size", limits::FORMAT_SIZE as f64),
        (c"format_values", limits::FORMAT_VALUES as f64),
        (c"json_piece", limits::JSON_PIECE_SIZE as f64),
        (c"utf8_piece", limits::UTF8_PIECE_SIZE as f64),
        (c"json_number", limits::JSON_NUMBER_SIZE as f64),
        (c"date_size", limits::DATE_SIZE as f64),
        (c"line_size", limits::LINE_SIZE as f64),
        (c"load_jumps", limits::LOAD_JUMPS as f64),
        (c"load_numbers", limits::LOAD_NUMBERS as f64),
        (c"field_name", limits::FIELD_NAME_SIZE as f64),
        (c"field_value", limits::FIELD_VALUE_SIZE as f64),
        (c"head_size", limits::HEAD_SIZE as f64),
        (c"hint_count", limits::EARLY_HINTS as f64),
        (c"hint_size", limits::EARLY_HINTS_SIZE as f64),
        (c"url_size", limits::URL_SIZE as f64),
        (c"name_size", limits::NAME_SIZE as f64),
        (c"text_size", limits::REPEATED_SIZE as f64),
        (c"pattern_steps", limits::PATTERN_STEPS as f64),
        (c"escaped_size", limits::ESCAPED_SIZE as f64),
        (c"escapes_kept", limits::ESCAPES_KEPT as f64),
        (c"coroutine_depth", limits::COROUTINE_DEPTH as f64),
        (c"escape_piece", limits::ESCAPE_PIECE_SIZE as f64),
        (c"json_depth", limits::JSON_DEPTH as f64),
        (c"pattern_size", limits::PATTERN_SIZE as f64),
        (c"patterns_kept", limits::PATTERNS_KEPT as f64),
        (c"file_read_size", limits::FILE_READ_SIZE as f64),
        (c"message_size", limits::MESSAGE_SIZE as f64),
        (c"message_values", limits::MESSAGE_VALUES as f64),
        (c"message_depth", limits::MESSAGE_DEPTH as f64),
        (c"crypto_piece", limits::CRYPTO_PIECE_SIZE as f64),
        (c"random_size", limits::RANDOM_SIZE as f64),
        (c"cookie_size", limits::COOKIE_SIZE as f64),
        (c"cookies_tried", limits::COOKIES_TRIED as f64),
        (c"session_age", settings.session_age.as_secs() as f64),
        (c"sessions_stored", f64::from(u8::from(settings.sessions == Sessions::Stored))),
        (c"stored_session", limits::STORED_SESSION_SIZE as f64),
        (c"secure_cookies", f64::from(settings.secure_cookies)),
        (c"traceback_levels", limits::TRACEBACK_LEVELS.into()),
        (c"tail_code", limits::TAIL_CODE_SIZE.into()),
        (c"fetch_timeout", limits::FETCH_TIMEOUT.as_secs_f64()),
        (c"is_for_processes", f64::from(u8::from(settings.role == EngineRole::Processes))),
        (c"store_key", limits::STORE_KEY_SIZE as f64),
        (c"store_value", limits::STORE_VALUE_SIZE as f64),
        (c"store_scan", limits::STORE_SCAN_KEYS as f64),
        (c"store_watched", limits::STORE_WATCHED_KEYS as f64),
        (c"store_tries", limits::STORE_TRIES as f64),
        (c"store_steps", limits::STORE_STEPS as f64),
        (c"seed", (settings.seed % (1 << 53)) as f64),
    ]
}

/// The tables of numbers by name that the library uses.
pub(super) fn tables(settings: &EngineSettings) -> [(&'static CStr, Vec<(&'static str, f64)>); 3] {
    let parts = RequestPart::ALL.iter().map(|(name, _)| *name).zip((1_u8..).map(f64::from));
    let calls = settings.calls.iter();
    let answers = calls.clone().map(|call| (call.name, f64::from(call.answer as u8)));
    let calls = calls.enumerate().map(|(at, call)| (call.name, CallNumber::tag(at)));
    [(c"parts", parts.collect()), (c"calls", calls.collect()), (c"answers", answers.collect())]
}

/// A page whose loop ends by itself, but only after about a hundred slices.
pub(super) const PROOF: &str = "return function()
  local sum = 0
  for index = 1, 2e8 do
    sum = sum + index
  end
  return sum
end";

/// Slices in which it must be interrupted.
pub(super) const PROOF_SLICES: usize = 3;

/// Whether native code was interrupted in any engine of this process. It depends on the build, and proving it
/// takes real ticks, so once is enough.
pub(super) static IS_PROVEN: AtomicBool = AtomicBool::new(false);

/// The host while there is no request.
pub(super) struct NoHost;

impl PageHost for NoHost {
    fn request(&mut self, _: RequestPart, _: &mut HostAnswer) {}

    fn now(&mut self) -> Duration {
        Duration::ZERO
    }

    fn log(&mut self, _: PageLogLevel, _: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ffi::{Lua, MemorySizes};

    /// Runs Lua code with these parts of the library.
    fn check(names: &[&str], name: &'static CStr, code: &str) {
        let mut lua =
            Lua::open(MemorySizes { whole: 64 << 20, table: 3 << 20 }, Duration::from_millis(1))
                .unwrap()
                .unwrap();
        let is_named = |name: &CStr| {
            names.iter().any(|wanted| name.to_str().is_ok_and(|name| name.ends_with(wanted)))
        };
        let mut chunks: Vec<_> =
            CHUNKS.iter().copied().filter(|(name, _)| is_named(name)).collect();
        chunks.push((name, code));
        let numbers = [
            (c"pattern_steps", 0.0),
            (c"escaped_size", 0.0),
            (c"escapes_kept", 0.0),
            (c"patterns_kept", 10.0),
            (c"pattern_size", 100.0),
            (c"sort_size", 0.0),
            (c"sort_bytes", 0.0),
            (c"text_piece", 3.0),
            (c"searched_piece", 2.0),
            (c"values_joined", 3.0),
            (c"bytes_joined", 5.0),
            (c"values_shifted", 0.0),
            (c"number_size", 50.0),
            (c"needle_size", 40.0),
            (c"replaced_size", 0.0),
            (c"format_size", 0.0),
            (c"format_values", 0.0),
            (c"text_size", 1e6),
            (c"traceback_levels", 48.0),
            (c"seed", 0.0),
        ];
        let built = lua.build(&chunks, &[], &numbers, [c"environment"]);
        assert_eq!(built.err(), None);
    }

    #[test]
    fn young_code_is_compiled_again() {
        check(&["fault", "base", "young"], c"=young", include_str!("../library/tests/young.lua"));
    }

    #[test]
    fn the_interruptible_functions_agree_with_the_native_ones() {
        let names = [
            "fault",
            "base",
            "text",
            "request",
            "run",
            "young",
            "parts",
            "sandbox",
            "pieces",
            "formats",
            "sort",
            "pattern",
            "matching",
            "replacing",
        ];
        check(&names, c"=agreement", include_str!("../library/tests/agreement.lua"));
    }

    #[test]
    fn printing_in_loops_is_compiled_natively() {
        let names = ["fault", "base", "text", "request", "run", "young", "parts"];
        check(&names, c"=native", include_str!("../library/tests/native.lua"));
    }
}
