//! Descriptor tables, names and numbers of threads. Each table is parted in a thread of its own and ends with it.

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::mpsc;
use std::thread;

use rustix::event::{EventfdFlags, eventfd};
use sys::descriptor::borrow_inherited;
use sys::thread::{id, part_descriptor_table, set_name};

fn is_open(number: RawFd) -> bool {
    borrow_inherited(number).is_ok()
}

fn open() -> OwnedFd {
    eventfd(0, EventfdFlags::CLOEXEC).expect("room for a descriptor")
}

#[test]
fn only_what_is_kept_stays_open_and_only_here() {
    let inherited: Vec<OwnedFd> = (0..6).map(|_| open()).collect();
    let numbers: Vec<RawFd> = inherited.iter().map(AsRawFd::as_raw_fd).collect();
    let keep = [numbers[4], numbers[1]];
    let numbers_there = numbers.clone();
    let there = thread::spawn(move || {
        let table = part_descriptor_table().expect("parting needs no privilege");
        table.close_all_except(&keep).expect("closing works");
        let standard = (0..=2).filter(|number| is_open(*number)).count();
        let inherited: Vec<bool> = numbers_there.iter().map(|number| is_open(*number)).collect();
        (standard, inherited)
    });
    let (standard, open_there) = there.join().expect("no panic");
    assert_eq!(standard, (0..=2).filter(|number| is_open(*number)).count(), "0 to 2 stay");
    assert_eq!(open_there, [false, true, false, false, true, false]);
    assert!(numbers.iter().all(|number| is_open(*number)), "other tables are not touched");
}

#[test]
fn a_named_thread_is_shown_with_at_most_fifteen_bytes() {
    for (name, shown) in [
        ("scheduler 3", "scheduler 3"),
        ("exactly fifteen", "exactly fifteen"),
        ("sixteen letters.", "sixteen letters"),
        ("cut before this ä", "cut before this"),
        ("fourteen bytesä", "fourteen bytes"),
        ("nul\0after", "nul"),
        ("", ""),
    ] {
        let read = thread::spawn(move || {
            set_name(name).expect("naming works");
            std::fs::read_to_string(format!("/proc/self/task/{}/comm", id()))
                .expect("/proc is there")
        });
        assert_eq!(read.join().expect("no panic").trim_end_matches('\n'), shown, "{name:?}");
    }
}

#[test]
fn every_thread_has_its_own_number() {
    let other = thread::spawn(id).join().expect("no panic");
    assert!(other > 0);
    assert_ne!(other, id());
    assert_eq!(id(), id());
}

#[test]
fn a_descriptor_opened_after_parting_is_not_seen_outside() {
    let (to_test, from_thread) = mpsc::channel::<RawFd>();
    let (to_thread, from_test) = mpsc::channel::<()>();
    let parted = thread::spawn(move || {
        let _table = part_descriptor_table().expect("parting needs no privilege");
        let high = rustix::io::fcntl_dupfd_cloexec(open(), 950).expect("the limit allows 950");
        to_test.send(high.as_raw_fd()).expect("the test listens");
        from_test.recv().expect("the test has looked");
        is_open(high.into_raw_fd())
    });
    let number = from_thread.recv().expect("the thread sends a number");
    let seen = is_open(number);
    to_thread.send(()).expect("the thread listens");
    assert!(!seen, "{number} was opened in another table");
    assert!(parted.join().expect("no panic"), "it is open where it was opened");
}
