//! A profile of a running program: where its time goes, in the program and in the kernel.
//!
//! [`Sampling`] samples stacks of all threads of a process, [`WaitRecording`] those at which they wait,
//! [`Tracing`] system calls and kernel locks; [`SymbolNames`] symbolises their frames; [`Folded`] counts
//! equal stacks; [`Ring`] keeps samples of the last minutes; [`flame_graph`] draws them, and [`table`] lists the frames
//! that cost most. Kernel frames are recognised by the kernel's own markers, never by their names.

mod atomics;
mod binary;
mod call_causes;
mod call_findings;
mod calls;
mod debug_files;
mod difference;
mod disks;
mod drops;
mod ended;
mod firefox;
mod fold;
mod folded_file;
mod goroutine_locks;
mod graph;
mod hints;
mod kernel_names;
pub mod limits;
mod lock_functions;
mod locks;
mod machine;
mod mappings;
mod memory;
mod perf_map;
mod pprof;
mod processes;
mod record;
mod refused;
mod ring;
mod sampling;
mod scheduling;
mod signals;
mod signs;
mod sleepers;
mod states;
mod symbols;
mod table;
mod threads;
mod timeline;
mod trace;
mod tracepoints;
mod unnamed;
mod unwinding;
mod wait_kind;
mod waits;
mod work;

pub use atomics::atomic_samples;
pub use call_findings::{CallFinding, call_findings, call_remarks};
pub use calls::{call_table, calls_named};
pub use difference::difference_table;
pub use disks::Disks;
pub use drops::DropWatch;
pub use ended::SeenProcesses;
pub use firefox::to_firefox;
pub use fold::{Folded, Frame, Mode};
pub use folded_file::{BadLine, FoldedFile, LineFault};
pub use goroutine_locks::GoroutineLocks;
pub use graph::{difference_graph, flame_graph};
pub use hints::{Cause, Hint, clock_artefacts, hints, nameless_code};
pub use kernel_names::KernelNames;
pub use lock_functions::LockFunctions;
pub use locks::{
    Met, WaitRow, is_of_looking, kind_of_flags, lock_of, lock_table, lock_taken_at, place_of,
    wait_rows, wait_table,
};
pub use machine::{CpuActivity, is_idle_cpu, softirqs};
pub use memory::{MemoryLook, MemoryLooks};
pub use pprof::write_pprof;
pub use record::Stack;
pub use ring::{Counted, Ring};
pub use sampling::{SampleKind, Sampling, StackSamples, TakenSamples, refusal};
pub use scheduling::Scheduling;
pub use sleepers::{Sleeper, deadlocks, sleepers};
pub use states::{States, ThreadState};
pub use symbols::{SymbolNames, names_in_this_process};
pub use table::{CountUnit, table};
pub use threads::Scope;
pub use timeline::Timeline;
pub use trace::{Pairs, TraceEvent, Tracing};
pub use wait_kind::{idle_in_words, is_idle, takes_lock, wait_in, wait_of, waits_of_tasks};
pub use waits::{WaitRecording, Waited, Waits};
pub use work::{SampledTime, WorkFinding, WorkKind, work_findings};
