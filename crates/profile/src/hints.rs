//! Functions in a profile that indicate a cause: a check of `velodrome tune`, or something that the program or one of
//! its libraries does.
//!
//! Owns which function indicates which cause. It only names the cause.

use crate::fold::{Folded, Frame, Mode};

/// A cause that the profile indicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Hint {
    /// The function that was found.
    pub function: String,
    /// Percent of the samples that contain it, or another function of the same cause.
    pub percent: f64,
    /// The cause.
    pub cause: Cause,
}

/// The cause that a function indicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A check of the tuner, by its name.
    Check(&'static str),
    /// Something that the program does, in words.
    Work(&'static str),
}

/// Kernel functions, and their checks.
const SIGNS: [(&str, &str); 25] = [
    ("nf_hook_slow", "stack.netfilter"),
    ("ipt_do_table", "stack.netfilter"),
    ("nft_do_chain", "stack.netfilter"),
    ("nf_conntrack_in", "stack.notrack"),
    ("packet_rcv", "stack.taps"),
    ("tpacket_rcv", "stack.taps"),
    ("dev_queue_xmit_nit", "stack.taps"),
    ("fq_codel_enqueue", "stack.qdisc"),
    ("fq_enqueue", "stack.qdisc"),
    ("__audit_syscall_entry", "cpu.audit"),
    ("__seccomp_filter", "app.seccomp"),
    ("read_hpet", "cpu.clocksource"),
    ("acpi_pm_read", "cpu.clocksource"),
    ("entry_ibpb", "cpu.mitigations"),
    ("br_nf_pre_routing", "stack.docker"),
    ("compact_zone", "vm.thp"),
    ("nf_log_packet", "stack.netfilter"),
    ("uprobe_notify_resume", "obs.trace"),
    ("function_trace_call", "obs.trace"),
    ("trace_call_bpf", "obs.bpf"),
    ("ptrace_stop", "app.tracer"),
    ("n_tty_write", "app.output"),
    ("do_swap_page", "vm.swap"),
    ("try_to_free_mem_cgroup_pages", "env.memory"),
    ("do_try_to_free_pages", "vm.pressure"),
];

/// The same of work that is expected up to a part of the time: it indicates something only beyond it.
const USUAL_SIGNS: [(&str, &str, f64); 2] =
    [("bbr_main", "stack.cc", 5.0), ("veth_xmit", "stack.docker", 5.0)];

/// Work that costs, the percent from which it is worth a line, and the begins of names of functions that do it: in the
/// program, a library or the kernel.
const WORK: [(&str, f64, &[&str]); 22] = [
    (
        "compression. A lower level (gzip_comp_level 1 to 4), or files that are compressed once, cost less",
        LEAST_WORK,
        &[
            "deflate",
            "longest_match",
            "compress_block",
            "fill_window",
            "[libz.so",
            "[libz-ng.so",
            "ZSTD_compress",
            "[libzstd.so",
            "BrotliEncoder",
            "[libbrotlienc.so",
            "zlib_rs::deflate",
            "compress/flate.",
        ],
    ),
    (
        "TLS handshakes. Kept connections and resumed sessions have none",
        LEAST_WORK,
        &[
            "SSL_do_handshake",
            "SSL_accept",
            "ossl_statem_",
            "state_machine",
            "tls_construct_server",
            "tls_process_client_hello",
            "rsa_ossl_private",
            "RSA_private",
            "EVP_DigestSign",
            "crypto/tls.(*Conn).serverHandshake",
            "rustls::server::hs",
            "rustls::server::tls",
        ],
    ),
    (
        "garbage collection. Fewer objects for each request, or a larger heap (GOGC, GOMEMLIMIT, -Xmx, \
         --max-semi-space-size, gc.set_threshold), cost less",
        LEAST_WORK,
        &[
            "runtime.gcDrain",
            "runtime.gcBgMark",
            "runtime.gcAssist",
            "runtime.scanobject",
            "runtime.scanObject",
            "runtime.scanSpan",
            "runtime.greyobject",
            "runtime.bgsweep",
            "runtime.sweepone",
            "gc_collect_main",
            "gc_collect_generations",
            "deduce_unreachable",
            "update_refs",
            "subtract_refs",
            "v8::internal::Scavenger",
            "v8::internal::MarkCompact",
            "v8::internal::Heap::CollectGarbage",
            "v8::internal::ConcurrentMarking",
            "G1ParScan",
            "G1CollectedHeap",
            "G1EvacuateRegions",
            "G1ConcurrentMark",
            "PSScavenge",
            "ParMarkBitMap",
            "ZMark",
            "ShenandoahHeap",
            "gc_mark",
            "gc_sweep",
            "lj_gc_",
            "luaC_",
        ],
    ),
    (
        "regular expressions. One that tries many ways, or hundreds of them in turn, costs more than a search",
        LEAST_WORK,
        &[
            "pcre2_match",
            "pcre_exec",
            "jit_machine_stack_exec",
            "[libpcre",
            "v8::internal::RegExp",
            "v8::internal::IrregexpInterpreter",
            "sre_ucs",
            "SRE(match)",
            "regexp.(*Regexp)",
            "regexp.(*machine)",
            "regex_automata::",
        ],
    ),
    (
        "hashes of passwords, which are slow on purpose. In an event loop they stop all other requests",
        LEAST_WORK,
        &[
            "PKCS5_PBKDF2",
            "kdf_pbkdf2",
            "pbkdf2",
            "_crypt_blowfish",
            "BF_crypt",
            "argon2",
            "bcrypt",
            "crypto_scrypt",
            "kdf_scrypt",
            "php_crypt_",
            "php_password_",
            "golang.org/x/crypto/bcrypt",
            "golang.org/x/crypto/blowfish",
            "golang.org/x/crypto/argon2",
            "golang.org/x/crypto/scrypt",
            "golang.org/x/crypto/pbkdf2",
            "[_bcrypt",
        ],
    ),
    (
        "times in words. Without the variable TZ, the C library looks at /etc/localtime each time: TZ=:/etc/localtime",
        LEAST_WORK,
        &["tzset_internal", "__tz_convert", "__tzset", "__tzfile_"],
    ),
    (
        "programs that are started. A process for each request costs a millisecond; one that stays does not",
        LEAST_WORK,
        &["do_execve", "bprm_execve", "kernel_clone", "copy_process", "dup_mm"],
    ),
    (
        "page faults. Memory that is mapped and given back for each request costs more than memory that is kept \
         (malloc: M_MMAP_THRESHOLD, M_TRIM_THRESHOLD)",
        LEAST_WORK,
        &[
            "do_anonymous_page",
            "clear_page",
            "clear_huge_page",
            "unmap_page_range",
            "zap_pte_range",
        ],
    ),
    (
        "files that are looked up or opened again and again. Keep them open (open_file_cache of nginx), or what they \
         contain",
        10.0,
        &["do_sys_openat2", "vfs_statx", "vfs_fstatat", "do_faccessat", "do_readlinkat"],
    ),
    ("directories that are listed", LEAST_WORK, &["iterate_dir"]),
    (
        "data that is forced to the disk. Several records together, or a helper thread, cost less",
        LEAST_WORK,
        &["vfs_fsync_range", "ext4_sync_file", "xfs_file_fsync", "btrfs_sync_file"],
    ),
    (
        "checks of a debugging aid (address sanitizer, valgrind, an allocator that checks)",
        LEAST_WORK,
        &[
            "__asan",
            "__tsan",
            "__ubsan",
            "__msan",
            "__sanitizer",
            "[memcheck-",
            "[libasan.so",
            "[libtsan.so",
            "_PyMem_Debug",
        ],
    ),
    (
        "a lock of the kernel that spins: velodrome profile --locks shows which",
        LEAST_WORK,
        &[
            "native_queued_spin_lock_slowpath",
            "__pv_queued_spin_lock_slowpath",
            "queued_spin_lock_slowpath",
        ],
    ),
    (
        "the lock of the address space, which all threads of a program share: mmap, munmap and page faults at once",
        LEAST_WORK,
        &["rwsem_down_", "rwsem_spin_on_owner", "rwsem_optimistic_spin", "osq_lock"],
    ),
    (
        "sched_yield: a lock that gives up the CPU and tries again",
        LEAST_WORK,
        &["do_sched_yield", "__x64_sys_sched_yield", "__do_sys_sched_yield"],
    ),
    (
        "rules that choose a routing table (ip rule), which each new connection walks",
        LEAST_WORK,
        &["fib_rules_lookup", "fib4_rule_match", "fib6_rule_match"],
    ),
    (
        "samples of another profiler (perf record, a continuous profiler)",
        LEAST_WORK,
        &["perf_swevent_hrtimer", "perf_event_overflow", "__perf_event_overflow"],
    ),
    (
        "files that are read or written in the thread of an event loop, where all other requests wait for it",
        10.0,
        &["node::fs::"],
    ),
    (
        "JSON. A streaming or faster library, smaller documents, or answers that are kept, cost less",
        15.0,
        &[
            "v8::internal::JsonParser",
            "v8::internal::JsonStringifier",
            "encoding/json.",
            "serde_json::",
            "[_json.",
            "_parse_object_unicode",
            "encoder_listencode",
        ],
    ),
    (
        "lines of text that are formatted, mostly for a log. A lower log level, or a helper thread, costs less",
        20.0,
        &["__vfprintf_internal", "__printf_fp", "fmt.Fprintf", "log.(*Logger)", "log/slog."],
    ),
    (
        "files of /proc, which the kernel computes anew for each read",
        LEAST_WORK,
        &["show_smap", "show_map_vma", "smaps_pte_range", "proc_pid_", "do_task_stat", "show_stat"],
    ),
    (
        "random numbers that are asked of the kernel in small pieces: a generator of the program's own costs less",
        LEAST_WORK,
        &["get_random_bytes_user", "urandom_read_iter", "random_read_iter", "crng_make_state"],
    ),
];

/// Percent below which a function of the kernel is ignored, and below which work of the program is.
const LEAST: f64 = 1.0;
const LEAST_WORK: f64 = 5.0;

/// The causes that the profile indicates, the strongest first; each once.
pub fn hints(folded: &Folded) -> Vec<Hint> {
    let total = folded.total().max(f64::MIN_POSITIVE);
    let mut found: Vec<Hint> = Vec::new();
    let usual = SIGNS.iter().map(|(sign, check)| (*sign, *check, LEAST));
    for (sign, check, least) in usual.chain(USUAL_SIGNS) {
        let percent = share(folded, |frame| frame.name == sign) * 100.0 / total;
        if percent >= least {
            found.push(Hint { function: sign.to_owned(), percent, cause: Cause::Check(check) });
        }
    }
    for (work, least, signs) in WORK {
        let is_sign = |frame: &Frame| signs.iter().any(|sign| frame.name.starts_with(sign));
        let percent = share(folded, is_sign) * 100.0 / total;
        if percent >= least
            && let Some(function) = outermost(folded, is_sign)
        {
            found.push(Hint { function, percent, cause: Cause::Work(work) });
        }
    }
    found.sort_by(|one, other| other.percent.total_cmp(&one.percent));
    let mut seen = Vec::new();
    found.retain(|hint| {
        let is_new = !seen.contains(&hint.cause);
        seen.push(hint.cause);
        is_new
    });
    found
}

/// The samples with such a frame.
fn share(folded: &Folded, is_sign: impl Fn(&Frame) -> bool) -> f64 {
    let has = |stack: &[Frame]| stack.iter().any(&is_sign);
    folded.stacks.iter().filter(|(stack, _)| has(stack)).map(|(_, count)| count).sum()
}

/// The outermost such function of the stack that was seen most often.
fn outermost(folded: &Folded, is_sign: impl Fn(&Frame) -> bool) -> Option<String> {
    let of = |stack: &[Frame]| stack.iter().find(|frame| is_sign(frame)).cloned();
    let stacks = folded.stacks.iter().filter_map(|(stack, count)| Some((of(stack)?, count)));
    let most = stacks.max_by(|one, other| one.1.total_cmp(other.1));
    most.map(|(frame, _)| frame.name)
}

/// Begins of names of kernel functions at which interrupts are allowed again.
const LATE: [&str; 9] = [
    "finish_task_switch",
    "_raw_spin_unlock_irq",
    "__raw_spin_unlock_irq",
    "local_bh_enable",
    "__local_bh_enable_ip",
    "handle_softirqs",
    "__do_softirq",
    "pv_native_safe_halt",
    "exit_to_user_mode_loop",
];

/// Percent of samples below which that is not worth a line.
const LEAST_LATE: f64 = 5.0;

/// The artefacts of a clock without a hardware counter, in one line, if there are many of them.
pub fn clock_artefacts(folded: &Folded) -> Option<String> {
    let is_late = |stack: &[Frame]| {
        let last = stack.last().filter(|frame| frame.mode == Mode::Kernel);
        last.is_some_and(|frame| LATE.iter().any(|late| frame.name.starts_with(late)))
    };
    let late: f64 =
        folded.stacks.iter().filter(|(stack, _)| is_late(stack)).map(|(_, count)| count).sum();
    let percent = late * 100.0 / folded.total().max(f64::MIN_POSITIVE);
    (percent >= LEAST_LATE).then(|| {
        format!(
            "{percent:.0} % at finish_task_switch, _raw_spin_unlock_irqrestore and the like is time before them: this \
             clock cannot interrupt a part of the kernel that does not allow interrupts, and comes at its end"
        )
    })
}

/// The means by which code that programs make at run time gets names, if there is much of it.
pub fn nameless_code(folded: &Folded) -> Option<String> {
    let total = folded.total().max(f64::MIN_POSITIVE);
    let of = |is_sign: &dyn Fn(&Frame) -> bool| share(folded, is_sign) * 100.0 / total;
    let made = of(&|frame| frame.name == crate::unnamed::MADE);
    let python = of(&|frame| frame.name.starts_with("_PyEval_EvalFrame"));
    let python_names = of(&|frame| frame.name.starts_with("py::"));
    match () {
        () if made >= LEAST_WORK => Some(format!(
            "{made:.0} % in code made at run time, without names: node --perf-basic-prof; java \
             -XX:+PreserveFramePointer, then jcmd PID Compiler.perfmap; python -X perf (3.12 or later)"
        )),
        () if python >= LEAST_WORK && python_names == 0.0 => Some(format!(
            "{python:.0} % in Python's interpreter: functions of Python have names with python -X perf (3.12 or later)"
        )),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded_file::tests::folded;

    #[test]
    fn signs_are_named_once_and_small_ones_not() {
        let text = "a;nf_hook_slow_[k];ipt_do_table_[k] 18\na;packet_rcv_[k] 3\na;b 978\na;bbr_main_[k] 9\n";
        let found = hints(&folded(text));
        let found: Vec<_> = found.iter().map(|hint| (&*hint.function, hint.cause)).collect();
        assert_eq!(found, [("nf_hook_slow", Cause::Check("stack.netfilter"))]);
        let more = folded("x;packet_rcv_[k] 1\nx;y 9\n");
        assert_eq!(hints(&more)[0].percent, 10.0);
    }

    #[test]
    fn work_is_named_by_its_outermost_function_also_in_a_library_without_symbols() {
        let text = "main;filter;[libz.so.1.2.13+0x4a0];[libz.so.1.2.13+0x5b0] 60\nmain;deflate;x 10\nmain;b 30\n";
        let found = hints(&folded(text));
        let [hint] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&*hint.function, hint.percent), ("[libz.so.1.2.13+0x4a0]", 70.0));
        assert!(matches!(hint.cause, Cause::Work(work) if work.starts_with("compression")));
        assert!(hints(&folded("main;deflate 4\nmain;b 96\n")).is_empty());
    }

    #[test]
    fn late_clocks_and_code_without_names_have_a_line() {
        let late = folded("a;finish_task_switch.isra.0_[k] 10\na;b 90\n");
        assert!(clock_artefacts(&late).is_some_and(|line| line.starts_with("10 % at")));
        assert_eq!(clock_artefacts(&folded("a;finish_task_switch;b 10\n")), None);
        let made = folded("main;[code made at run time];x 10\nb 90\n");
        assert!(nameless_code(&made).is_some_and(|line| line.contains("--perf-basic-prof")));
        let python = "main;_PyEval_EvalFrameDefault 10\n";
        assert!(nameless_code(&folded(python)).is_some_and(|line| line.contains("-X perf")));
        let named = format!("{python}main;py::work:a.py;_PyEval_EvalFrameDefault 10\n");
        assert_eq!(nameless_code(&folded(&named)), None);
    }
}
