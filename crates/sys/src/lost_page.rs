//! Says which mapped file lost a page, before the process ends (SIGBUS, mmap(2)).
//!
//! A file that another program makes shorter, or that its disk cannot read, ends every process that reads it through a
//! map, with nothing but a signal's number. Owns the handler of that signal, which names the file, and the text. Never
//! prevents the end: what is mapped there cannot be read.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Bytes of a line of /proc/self/maps: the range and 512 bytes of the path. The rest of a longer path is not printed.
const LINE: usize = 640;

/// Bytes read at a time. The handler runs on the alternative stack of a thread, which has 8 KiB.
const PIECE: usize = 512;

/// The text that is printed for a file, around its name.
const BEFORE: &[u8] = b"velodrome: error: the file `";
const BEHIND: &[u8] = b"` has become shorter while it was in use, or its disk cannot read it, so this \
                        program ends: restore a backup if it is a store's, and let no other program write \
                        to it\n";
const UNKNOWN: &[u8] = b"(the name cannot be found)";

/// From now on a page that is lost is reported on standard error before it ends the process.
///
/// # Errors
/// The kernel's; none is known.
pub fn report() -> io::Result<()> {
    // SAFETY: all zeros are a sigaction without flags, whose handler blocks nothing more.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    // On the alternative stack, if the thread has one: the usual stack may be the lost memory.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_signal;
    action.sa_sigaction = handler as usize;
    // SAFETY: the handler makes only calls that signal-safety(7) allows, and allocates nothing; the last pointer asks
    // for nothing.
    let status = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

extern "C" fn on_signal(
    number: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // First, so that whatever goes wrong here ends the process as well.
    // SAFETY: SIG_DFL is no handler of ours.
    unsafe { libc::signal(number, libc::SIG_DFL) };
    // SAFETY: the kernel passes a whole siginfo_t to a handler with SA_SIGINFO.
    let info = unsafe { &*info };
    // A positive code is the kernel's; another program that sends the signal has no address.
    if info.si_code > 0 {
        // SAFETY: for this signal of the kernel the address is set.
        let address = unsafe { info.si_addr() };
        tell(address as usize);
    }
    // It waits until this handler returns. The process then dies at the instruction that found the page missing.
    // SAFETY: raise takes a number.
    unsafe { libc::raise(number) };
}

/// Prints the file that is mapped at an address.
fn tell(address: usize) {
    let mut line = Line { bytes: [0; LINE], length: 0 };
    print(BEFORE);
    if line.find(address) {
        print(path(&line.bytes[..line.length]));
    } else {
        print(UNKNOWN);
    }
    print(BEHIND);
}

fn print(bytes: &[u8]) {
    // SAFETY: the pointer is to that many bytes, which are only read.
    unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
}

/// A line of /proc/self/maps.
struct Line {
    bytes: [u8; LINE],
    length: usize,
}

impl Line {
    /// Reads lines until the one of the map with this address; whether there is one.
    fn find(&mut self, address: usize) -> bool {
        // SAFETY: the path ends with a zero byte.
        let maps =
            unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if maps < 0 {
            return false;
        }
        let mut piece = [0_u8; PIECE];
        loop {
            // SAFETY: the pointer is to that many bytes, which the call may write.
            let count = unsafe { libc::read(maps, piece.as_mut_ptr().cast(), PIECE) };
            let Some(read) = usize::try_from(count).ok().and_then(|count| piece.get(..count))
            else {
                return false;
            };
            if read.is_empty() {
                return false;
            }
            for byte in read {
                if *byte != b'\n' {
                    self.push(*byte);
                } else if holds(&self.bytes[..self.length], address) {
                    return true;
                } else {
                    self.length = 0;
                }
            }
        }
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }
}

/// Whether a line of /proc/self/maps is of the map with this address: `start-end rights offset device inode path`.
fn holds(line: &[u8], address: usize) -> bool {
    let mut ends = line.splitn(3, |byte| b"- ".contains(byte)).map(hexadecimal);
    match (ends.next().flatten(), ends.next().flatten()) {
        (Some(start), Some(end)) => (start..end).contains(&address),
        _ => false,
    }
}

fn hexadecimal(digits: &[u8]) -> Option<usize> {
    digits.iter().try_fold(0_usize, |number, digit| {
        let value = char::from(*digit).to_digit(16)?;
        number.checked_mul(16)?.checked_add(value as usize)
    })
}

/// The path in such a line.
fn path(line: &[u8]) -> &[u8] {
    line.iter().position(|byte| *byte == b'/').map_or(UNKNOWN, |start| &line[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_an_address_is_found() {
        let line = b"7f00-7f1f r--s 00001000 fe:00 4242      /var/lib/a store/data.mdb";
        let found = [0x7eff, 0x7f00, 0x7f1e, 0x7f1f].map(|address| holds(line, address));
        assert_eq!(found, [false, true, true, false]);
        assert_eq!(path(line), b"/var/lib/a store/data.mdb");
        assert!(!holds(b"", 0));
        assert!(!holds(b"ffffffffffffffffff-0 r", 1));
        assert_eq!(path(b"7f00-7f1f rw-p 0 00:00 0"), UNKNOWN);
    }
}
