//! One event of a thread or a CPU: its attribute as perf_event_open(2) reads it.
//!
//! Owns the bits and words of `struct perf_event_attr`. Reads no record.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use crate::sampling::trigger::{
    CallEdge, Modes, SampleForm, SampleTarget, SampleTrigger, UserStacks,
};

/// Words of `struct perf_event_attr` up to its fifth version.
const ATTRIBUTE_WORDS: usize = 14;

/// The content of each sample: address, thread, time, period, call chain; after these the fields of a tracepoint, then
/// registers and the stack (`PERF_SAMPLE_*`).
const SAMPLE_TYPE: u64 = 1 | 2 | 4 | (1 << 8) | (1 << 5);
const WITH_FIELDS: u64 = 1 << 10;
/// `PERF_SAMPLE_REGS_USER`, `PERF_SAMPLE_STACK_USER`.
const WITH_REGISTERS: u64 = 1 << 12;
const WITH_STACK: u64 = 1 << 13;
/// Bytes of the top of a stack: on x86-64 the return address, at the begin of a function.
const STACK_TOP: u64 = 8;

/// The registers that find the caller of a frame, in the order in which a sample has them (`PERF_REG_*`): `bp`, `sp`,
/// `ip`; on ARM `fp`, `lr`, `sp`, `pc`.
#[cfg(not(target_arch = "aarch64"))]
const REGISTERS: u64 = (1 << 6) | (1 << 7) | (1 << 8);
#[cfg(target_arch = "aarch64")]
const REGISTERS: u64 = (1 << 29) | (1 << 30) | (1 << 31) | (1 << 32);

/// Bits of the flags: `exclude_kernel`, `exclude_hv`, `freq`.
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const BY_FREQUENCY: u64 = 1 << 10;
/// `exclude_callchain_kernel`, `exclude_callchain_user`.
const EXCLUDE_CHAINS: u64 = 3 << 21;
/// `sample_id_all`, `use_clockid`, `context_switch`.
const TIME_IN_ALL: u64 = 1 << 18;
const WITH_CLOCK: u64 = 1 << 25;
const WITH_SWITCHES: u64 = 1 << 26;

/// The monotonic clock, in the upper half of its word.
const CLOCK: u64 = (libc::CLOCK_MONOTONIC as u64) << 32;

/// Opens one event, which counts from now on.
pub(crate) fn open(
    target: SampleTarget,
    trigger: &SampleTrigger,
    form: &SampleForm,
) -> io::Result<OwnedFd> {
    let attribute = attribute(trigger, form);
    let number = |number: u32| {
        libc::pid_t::try_from(number).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))
    };
    // -1 is every thread, or every CPU.
    let (thread, cpu) = match target {
        SampleTarget::Thread(thread) => (number(thread)?, -1),
        SampleTarget::Cpu(cpu) => (-1, number(cpu)?),
    };
    let (no_group, close_on_exec) = (-1_i32, 8_u64);
    // SAFETY: the kernel reads as many bytes of the attribute as its size field says, which is that of the array, and
    // the string of a probe, which lives in `trigger`; the other arguments are numbers.
    let number = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attribute.as_ptr(),
            thread,
            cpu,
            no_group,
            close_on_exec,
        )
    };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number as i32) })
}

fn attribute(trigger: &SampleTrigger, form: &SampleForm) -> [u64; ATTRIBUTE_WORDS] {
    let mut attribute = [0_u64; ATTRIBUTE_WORDS];
    let (kind, event, period, more) = match trigger {
        SampleTrigger::Cycles => (0, 0, form.hertz, BY_FREQUENCY),
        SampleTrigger::CpuClock => (1, 0, form.hertz, BY_FREQUENCY),
        SampleTrigger::PageFaults => (1, 2, form.hertz, BY_FREQUENCY),
        SampleTrigger::Switches => (1, 3, 1, WITH_SWITCHES),
        SampleTrigger::Tracepoint(number) => (2, *number, 1, 0),
        SampleTrigger::Probe(probe) => {
            (probe.kind(), u64::from(probe.edge() == CallEdge::Return), 1, 0)
        }
    };
    // The kind and, above it, the size of the attribute.
    attribute[0] = kind | ((size_of_val(&attribute) as u64) << 32);
    attribute[1] = event;
    attribute[2] = period;
    attribute[3] = SAMPLE_TYPE;
    let excluded = match form.modes {
        Modes::Both => 0,
        Modes::User => EXCLUDE_KERNEL,
        Modes::Stackless => EXCLUDE_CHAINS,
    };
    attribute[5] = more | EXCLUDE_HYPERVISOR | TIME_IN_ALL | WITH_CLOCK | excluded;
    attribute[11] = CLOCK;
    if let SampleTrigger::Tracepoint(_) = trigger {
        attribute[3] |= WITH_FIELDS;
    }
    match (trigger, form.user) {
        (SampleTrigger::Probe(probe), _) => {
            // The kernel copies the path during the call.
            attribute[7] = probe.path().as_ptr() as u64;
            attribute[8] = probe.offset();
            if probe.edge() == CallEdge::Begin {
                attribute[3] |= WITH_STACK;
                attribute[11] |= STACK_TOP;
            }
        }
        (_, UserStacks::Copied(bytes)) if form.modes != Modes::Stackless => {
            attribute[3] |= WITH_REGISTERS | WITH_STACK;
            attribute[10] = REGISTERS;
            attribute[11] |= u64::from(bytes);
        }
        _ => {}
    }
    attribute
}
