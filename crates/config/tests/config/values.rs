//! A configuration is a value: it is compared, copied and handed to threads.

use super::{config, errors};

#[test]
fn configurations_compare_and_move_between_threads() {
    fn moves<T: Clone + PartialEq + Send + Sync + 'static>(_: &T) {}
    let first = config("[limits]\nbody_size = 1\n");
    moves(&first);
    assert_eq!(first, first.clone());
    assert_ne!(first, config("[limits]\nbody_size = 2\n"));
    assert_eq!(errors("[limits]\nbody_size = 2\n"), "");
}
