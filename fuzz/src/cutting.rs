//! Where to cut an input: network reads end anywhere, and no cut may change the meaning of the bytes.

/// Most cuts of one input; a long one is cut near both ends and evenly between.
const CUTS_MAX: usize = 96;

/// Positions to cut `length` bytes at, ascending, both ends included.
pub fn positions(length: usize) -> Vec<usize> {
    if length <= CUTS_MAX {
        return (0..=length).collect();
    }
    let third = CUTS_MAX / 3;
    let step = (length / third).max(1);
    let mut positions: Vec<usize> = (0..third).collect();
    positions.extend((0..length).step_by(step));
    positions.extend(length - third..=length);
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// Asserts that a parser that is called again with more bytes does not change its result: once it is
/// other than `partial`, it stays.
pub fn assert_settles<T: PartialEq + std::fmt::Debug>(
    data: &[u8],
    partial: &T,
    parse: impl Fn(&[u8]) -> T,
) {
    let whole = parse(data);
    let mut settled_at = None;
    for position in positions(data.len()) {
        let answer = parse(&data[..position]);
        match settled_at {
            None if answer == *partial => {}
            None => {
                assert_eq!(answer, whole, "the first {position} bytes mean something else");
                settled_at = Some(position);
            }
            Some(first) => {
                assert_eq!(answer, whole, "settled at {first} bytes, changed at {position}");
            }
        }
    }
}
