//! The counting allocator as the global one.

use std::hint::black_box;
use std::thread;

use sys::allocation::{CountingAllocator, allocations_of_this_thread, live_bytes_of_this_thread};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Allocations and live bytes that `act` added in this thread; its result is dropped after counting.
fn counted<T>(act: impl FnOnce() -> T) -> (u64, i64) {
    let before = (allocations_of_this_thread(), live_bytes_of_this_thread());
    let result = black_box(act());
    let added = (allocations_of_this_thread() - before.0, live_bytes_of_this_thread() - before.1);
    drop(result);
    added
}

#[test]
fn allocations_and_bytes_are_counted() {
    assert_eq!(counted(|| ()), (0, 0));
    assert_eq!(counted(|| Box::new([0_u8; 100])), (1, 100));
    assert_eq!(counted(|| vec![0_u8; 1000]), (1, 1000), "zeroed");
    assert_eq!(counted(|| drop(black_box(Box::new(7_u64)))), (1, 0), "given back");
}

#[test]
fn a_reallocation_counts_once_and_by_its_difference() {
    let mut bytes: Vec<u8> = Vec::with_capacity(10);
    assert_eq!(counted(|| bytes.reserve_exact(50)), (1, 40));
    bytes.push(1);
    assert_eq!(counted(|| bytes.shrink_to(1)), (1, -49));
}

#[test]
fn other_threads_count_for_themselves() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let maker = thread::spawn(move || {
        let before = live_bytes_of_this_thread();
        let block = black_box(Box::new([1_u8; 4096]));
        let made = live_bytes_of_this_thread() - before;
        sender.send(block).expect("the test listens");
        made
    });
    let made = maker.join().expect("no panic");
    assert_eq!(made, 4096);
    let block = receiver.recv().expect("it was sent");
    let before = live_bytes_of_this_thread();
    drop(black_box(block));
    assert_eq!(live_bytes_of_this_thread() - before, -4096, "freed by another thread");
}
