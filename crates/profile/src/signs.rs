//! Functions in a profile, and the causes that they indicate.
//!
//! Owns these tables alone; `hints` compares a profile with them.

/// Kernel functions, and their checks.
pub(crate) const SIGNS: [(&str, &str); 25] = [
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
pub(crate) const USUAL_SIGNS: [(&str, &str, f64); 2] =
    [("bbr_main", "stack.cc", 5.0), ("veth_xmit", "stack.docker", 5.0)];

/// A kind of work, the percent from which it is worth a line, and the begins of names of functions that do it: in the
/// program, a library or the kernel.
pub(crate) type Work = (&'static str, f64, &'static [&'static str]);

/// Begins of names of functions that run code of Lua; what LuaJIT makes of it has no names.
pub(crate) const LUA: [&str; 2] = ["lj_", "lua_"];

/// Where code of Lua is, and what names its lines.
pub(crate) const LUA_CODE: &str = "code of Lua: pages and modules of Velodrome (profile --pages SOCKET names their \
    lines, `velodrome top` the pages), of OpenResty, or scripts of Redis (EVAL)";

/// Work of the program that only a profile shows.
pub(crate) const WORK: [Work; 15] = [
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
            "VM_GenCollect",
            "VM_G1Collect",
            "VM_ParallelGC",
            "VM_CollectFor",
            "GenCollectedHeap::",
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
            "Builtins_RegExp",
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
            "[libcrypt.so",
            "xcrypt_r",
            "crypt_r",
            "__crypt_r",
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
        "files that are read or written in the thread of an event loop, where all other requests wait for it",
        10.0,
        // Not those that go on when the thread of a pool has done it: `AfterInteger`, `FSReqAfterScope`.
        &[
            "node::fs::Re",
            "node::fs::Open",
            "node::fs::Close",
            "node::fs::Write",
            "node::fs::Stat",
            "node::fs::LStat",
            "node::fs::FStat",
            "node::fs::Access",
            "node::fs::Exists",
            "node::fs::Internal",
            "node::fs::Unlink",
            "node::fs::Copy",
            "node::fs::Fsync",
            "node::fs::Fdatasync",
        ],
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
        "exceptions. Each walks the stack, and collects a trace of it in some languages: return errors that are \
         usual, or keep an exception without a trace",
        LEAST_WORK,
        &[
            "java_lang_Throwable::fill_in_stack_trace",
            "_Unwind_RaiseException",
            "__cxa_throw",
            "v8::internal::Isolate::CaptureAndSetErrorStack",
            "v8::internal::ErrorUtils::Construct",
            "runtime.gopanic",
        ],
    ),
    (
        "compilation of code as it runs (JIT). The program has just been started, or its cache of such code is too \
         small (-XX:ReservedCodeCacheSize)",
        20.0,
        &[
            "CompileBroker::",
            "v8::internal::OptimizingCompileDispatcher",
            "v8::internal::compiler::",
        ],
    ),
    (
        "instrumentation that was compiled in (-pg, --coverage, -finstrument-functions)",
        LEAST_WORK,
        &["mcount", "__mcount", "_mcount", "__gcov_", "__llvm_profile_", "__cyg_profile_"],
    ),
    (
        "rows or keys that are walked through one after the other. An index (EXPLAIN shows whether there is one), or \
         a cursor (SCAN instead of KEYS), costs less",
        20.0,
        &[
            "heap_getnext",
            "heapgetpage",
            "ExecSeqScan",
            "SeqNext",
            "sqlite3BtreeNext",
            "btreeNext",
            "keysCommand",
            "scanGenericCommand",
        ],
    ),
    (
        "breakpoints of a tracer (uprobes: perf probe, bpftrace), each of which enters the kernel twice",
        LEAST_WORK,
        &["asm_exc_int3", "exc_int3", "uprobe_dispatcher", "uprobe_notify_resume"],
    ),
    (
        "cryptography: handshakes of TLS (kept connections and resumed sessions have none, and an ECDSA key costs less \
         than a long one of RSA), or data that is encrypted",
        20.0,
        &[
            "[libcrypto.so",
            "aws_lc_",
            "ring_core_",
            "__bn_",
            "bn_mul",
            "bn_sqr",
            "mulx4x_",
            "rsaz_",
            "ecp_nistz256_",
        ],
    ),
];

/// Work that counters and system calls show, too.
pub(crate) const COUNTED_WORK: [Work; 14] = [
    (
        "signals that interrupt it, and their handlers: a profiler that was left on (SIGPROF), a timer (setitimer)",
        LEAST_WORK,
        &[
            "__restore_rt",
            "arch_do_signal_or_restart",
            "__x64_sys_rt_sigreturn",
            "__do_sys_rt_sigreturn",
            "restore_sigcontext",
        ],
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
pub(crate) const LEAST: f64 = 1.0;
pub(crate) const LEAST_WORK: f64 = 5.0;
