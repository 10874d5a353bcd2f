//! Records of a leader, applied by a replica: both have the same, and nothing else is applied.

use std::sync::Arc;

use proptest::prelude::*;
use store::{
    CommitRecord, DatabaseChange, LoadFailure, LoadedRow, Membership, NotApplied, Order,
    SnapshotCursor, SnapshotEnd, SnapshotSpool, Store, StoreFailure, StorePosition, Sync,
    Unfollowed, Value, Writer,
};

use crate::model::steps;
use crate::place::{FIRST, Place, SECOND, change, put, text};
use crate::repeated::start_kernel;

const ORIGIN: u64 = 77;

/// A store with a role.
pub(crate) struct Member {
    pub(crate) place: Place,
    pub(crate) store: Store,
    pub(crate) writer: Writer,
}

impl Member {
    pub(crate) fn new(sync: Sync) -> Self {
        let mut place = Place::new();
        place.settings.membership = Membership::Member;
        place.settings.sync = sync;
        Self::of(place)
    }

    fn of(place: Place) -> Self {
        let store = place.open();
        let mut writer = store.writer();
        writer.join().unwrap();
        Self { place, store, writer }
    }

    fn leader(sync: Sync) -> Self {
        let mut member = Self::new(sync);
        member.writer.found(ORIGIN, 1).unwrap();
        member
    }

    /// Has the state of another one.
    fn following(leader: &mut Self) -> Self {
        let mut member = Self::new(leader.place.settings.sync);
        member.load(leader, |_| {});
        member
    }

    /// Takes a snapshot, while something else is done between its pieces.
    fn load(&mut self, leader: &mut Self, mut between: impl FnMut(&mut Self)) {
        let mut spool = SnapshotSpool::begin(&self.place.settings.directory).unwrap();
        leader.writer.take_records();
        let (mut cursor, mut end) = (Some(SnapshotCursor::default()), SnapshotEnd::default());
        while let Some(next) = cursor {
            let piece = leader.writer.piece(&next).unwrap();
            spool.add_piece(&piece.changes).unwrap();
            (cursor, end) = (piece.next, piece.end);
            between(leader);
        }
        for record in leader.writer.take_records() {
            spool.add_record(&record).unwrap();
        }
        end.position = leader.position();
        self.writer.replace(&mut spool, &end).unwrap();
    }

    pub(crate) fn position(&mut self) -> StorePosition {
        self.writer.position().unwrap().unwrap()
    }

    fn reopen(self, between: impl FnOnce(&Place)) -> Self {
        let Self { place, store, writer } = self;
        drop((writer, store));
        between(&place);
        Self::of(place)
    }

    /// Everything in it.
    pub(crate) fn all(&mut self) -> Vec<u8> {
        let (mut cursor, mut all) = (Some(SnapshotCursor::default()), Vec::new());
        while let Some(next) = cursor {
            let piece = self.writer.piece(&next).unwrap();
            all.extend(piece.changes);
            cursor = piece.next;
        }
        all
    }
}

fn syncs() -> impl Strategy<Value = Sync> {
    prop_oneof![Just(Sync::Commit), Just(Sync::Log)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn a_replica_has_what_its_leader_has(
        steps in steps(),
        sync in syncs(),
        together in prop::collection::vec(any::<bool>(), 25),
        power in any::<bool>(),
    ) {
        let mut leader = Member::leader(sync);
        change(&mut leader.writer, put("before", "1"), 0);
        let mut replica = Member::following(&mut leader);
        let (mut now, mut records) = (0, Vec::new());
        for ((pause, removes, step), is_sent) in steps.into_iter().zip(together) {
            now += pause;
            if removes {
                leader.writer.delete_expired(now).unwrap();
            }
            change(&mut leader.writer, step, now);
            records.extend(leader.writer.take_records());
            if is_sent {
                replica.writer.apply(&std::mem::take(&mut records)).unwrap();
            }
        }
        change(&mut leader.writer, put("last", "1"), now);
        records.extend(leader.writer.take_records());
        replica.writer.apply(&records).unwrap();
        if power && sync == Sync::Log {
            leader = leader.reopen(|place| start_kernel(&place.settings.directory));
            replica = replica.reopen(|place| start_kernel(&place.settings.directory));
            change(&mut leader.writer, put("after", "1"), now);
            replica.writer.apply(&leader.writer.take_records()).unwrap();
        }
        prop_assert_eq!(leader.position(), replica.position());
        for member in [&mut leader, &mut replica] {
            while member.writer.delete_expired(now).unwrap() {}
        }
        prop_assert_eq!(leader.all(), replica.all());
        prop_assert!(replica.writer.check(FIRST).unwrap().is_ok());
    }
}

#[test]
fn a_record_that_does_not_continue_the_history_is_refused() {
    let mut leader = Member::leader(Sync::Commit);
    let mut replica = Member::following(&mut leader);
    for number in 1..=3 {
        change(&mut leader.writer, put("a", &number.to_string()), 0);
    }
    let records = leader.writer.take_records();
    let mut apply = |records: &[Arc<[u8]>]| replica.writer.apply(records);
    let refused = |why| Err(NotApplied::Unfollowed(why));
    assert_eq!(apply(&records[1..]), refused(Unfollowed::Behind));
    // None of several is applied if one is refused.
    assert_eq!(apply(&[records[0].clone(), records[2].clone()]), refused(Unfollowed::Behind));
    for at in 0..records[0].len() {
        let mut damaged = records[0].to_vec();
        damaged[at] ^= 1;
        assert_eq!(apply(&[damaged.into()]), Err(NotApplied::Damaged), "byte {at}");
    }
    apply(&records[..1]).unwrap();
    assert_eq!(apply(&records[..1]), refused(Unfollowed::Known));
    let mut other = Member::leader(Sync::Commit);
    for number in 1..=2 {
        change(&mut other.writer, put("b", &number.to_string()), 0);
    }
    assert_eq!(apply(&other.writer.take_records()[1..]), refused(Unfollowed::Broken));
    apply(&records[1..]).unwrap();
    assert_eq!(text(&replica.store, "a").as_deref(), Some("3"));
    // A replica writes nothing of its own.
    let order = Order::of(FIRST, put("c", "1"));
    assert_eq!(replica.writer.execute(&[order], 0), [Err(StoreFailure::Replica)]);
}

#[test]
fn a_promoted_replica_ends_the_term_of_its_leader() {
    let mut leader = Member::leader(Sync::Commit);
    let mut replica = Member::following(&mut leader);
    let mut late = Member::following(&mut leader);
    change(&mut leader.writer, put("a", "1"), 0);
    let sent = leader.writer.take_records();
    replica.writer.apply(&sent).unwrap();
    late.writer.apply(&sent).unwrap();
    let before = replica.position();
    change(&mut leader.writer, put("a", "unsent"), 0);
    let version = |store: &Store| {
        let snapshot = store.snapshot().unwrap();
        snapshot.get(FIRST, b"a", 0).unwrap().unwrap().version
    };
    let unsent = leader.writer.take_records();
    let highest = version(&leader.store);
    let term = replica.writer.promote(2, 0).unwrap();
    assert_eq!((term.number, term.by), (2, 2));
    change(&mut replica.writer, put("a", "2"), 0);
    assert!(version(&replica.store) > highest, "no version is used twice");
    // Its records are applied where its term was heard of, and those of the ended term are not.
    let records = replica.writer.take_records();
    assert_eq!(records.len(), 2, "the first one begins the term");
    let refused = |why| Err(NotApplied::Unfollowed(why));
    assert_eq!(late.writer.apply(&records), refused(Unfollowed::Fenced));
    late.writer.hear(term).unwrap();
    late.writer.apply(&records).unwrap();
    assert_eq!(late.all(), replica.all());
    assert_eq!(late.writer.apply(&unsent), refused(Unfollowed::Known));
    // The old leader is fenced, also after a restart, and sets aside what nobody has.
    leader.writer.hear(term).unwrap();
    let order = Order::of(FIRST, put("c", "1"));
    assert_eq!(
        leader.writer.execute(std::slice::from_ref(&order), 0),
        [Err(StoreFailure::Replica)]
    );
    let mut leader = leader.reopen(|_| {});
    assert_eq!(leader.writer.execute(&[order], 0), [Err(StoreFailure::Replica)]);
    let aside = leader.writer.set_aside(before.number).unwrap().unwrap();
    assert_eq!((aside.first, aside.last), (2, 2));
    let kept = std::fs::read(aside.path).unwrap();
    assert_eq!(&kept[4..], &*unsent[0]);
    leader.load(&mut replica, |_| {});
    assert_eq!(leader.all(), replica.all());
    assert_eq!(leader.position(), replica.position());
}

#[test]
fn the_last_records_outlive_the_program_and_name_what_is_missing() {
    let mut leader = Member::leader(Sync::Commit);
    let mut replica = Member::following(&mut leader);
    for number in 1..=20 {
        change(&mut leader.writer, put("a", &number.to_string()), 0);
    }
    leader.writer.take_records();
    leader = leader.reopen(|_| {});
    assert_eq!(leader.writer.records_after(20, 1), Some(Vec::new()));
    assert_eq!(leader.writer.records_after(3, 1).unwrap().len(), 1);
    let all = leader.writer.records_after(0, usize::MAX).unwrap();
    assert_eq!(all.len(), 20);
    let numbers: Vec<_> =
        all.iter().map(|record| CommitRecord::decode(record).unwrap().number).collect();
    assert!(numbers.iter().copied().eq(1..=20), "{numbers:?}");
    replica.writer.apply(&all).unwrap();
    assert_eq!(leader.writer.hash_at(20), Some(replica.position().hash));
    assert_eq!(leader.writer.hash_at(0), Some(ORIGIN));
    assert_eq!(leader.writer.hash_at(21), None);
    // A record whose transaction was not committed is dropped.
    let path = leader.place.settings.directory.join("records.0");
    leader = leader.reopen(|_| {
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend([9, 0, 0, 0, 1]);
        std::fs::write(&path, bytes).unwrap();
    });
    change(&mut leader.writer, put("a", "21"), 0);
    let leader = &mut leader.reopen(|_| {}).writer;
    assert_eq!(leader.records_after(0, usize::MAX).unwrap().len(), 21);
}

#[test]
fn an_import_of_another_program_leaves_no_record_and_is_refused_by_a_replica() {
    let mut leader = Member::leader(Sync::Commit);
    let mut replica = Member::following(&mut leader);
    change(&mut leader.writer, put("a", "1"), 0);
    replica.writer.apply(&leader.writer.take_records()).unwrap();
    // A writer that has not joined is like that of another program.
    let alone = |member: &Member| member.store.writer();
    let row = || {
        let row = LoadedRow { key: (*b"row").into(), value: Value::bytes(b"1"), expiry_ms: None };
        std::iter::once(Ok::<_, ()>(row))
    };
    alone(&leader).load(SECOND, row()).unwrap();
    change(&mut leader.writer, put("a", "2"), 0);
    let records = leader.writer.take_records();
    assert_eq!(leader.position().number, 3);
    let behind = Err(NotApplied::Unfollowed(Unfollowed::Behind));
    assert_eq!(replica.writer.apply(&records), behind);
    assert_eq!(leader.writer.records_after(1, 1), None);
    replica.load(&mut leader, |_| {});
    assert_eq!(leader.all(), replica.all());
    let refused = alone(&replica).load(SECOND, row());
    assert!(matches!(refused, Err(LoadFailure::Store(StoreFailure::Replica))), "{refused:?}");
    // A copy is no second leader.
    let copied = Place::new();
    std::fs::create_dir(&copied.settings.directory).unwrap();
    leader.store.copy_to(&copied.settings.directory).unwrap();
    let refused = copied.open().writer().load(FIRST, row());
    assert!(matches!(refused, Err(LoadFailure::Store(StoreFailure::Replica))), "{refused:?}");
}

#[test]
fn a_snapshot_whose_pieces_show_different_commits_ends_as_one_state() {
    let mut leader = Member::leader(Sync::Log);
    let value = "x".repeat(9_000);
    for number in 0..200 {
        change(&mut leader.writer, put(&format!("key:{number:03}"), &value), 0);
    }
    let mut replica = Member::new(Sync::Commit);
    let mut round = 0;
    replica.load(&mut leader, |leader| {
        round += 1;
        let key = |number: i32| format!("key:{:03}", (number * 67 + round * 31) % 200);
        change(&mut leader.writer, put(&key(0), "changed"), 0);
        change(&mut leader.writer, put(&format!("{}:new", key(1)), &value), 0);
        change(&mut leader.writer, DatabaseChange::Delete(vec![key(2).as_bytes().into()]), 0);
    });
    assert!(round > 5, "{round} pieces");
    assert_eq!(leader.all(), replica.all());
    assert_eq!(leader.position(), replica.position());
    change(&mut leader.writer, put("next", "1"), 0);
    replica.writer.apply(&leader.writer.take_records()).unwrap();
    assert_eq!(leader.all(), replica.all());
}

#[test]
fn a_snapshot_that_does_not_arrive_whole_changes_nothing() {
    let mut leader = Member::leader(Sync::Commit);
    change(&mut leader.writer, put("a", "new"), 0);
    let mut replica = Member::following(&mut leader);
    let before = (replica.position(), replica.all());
    change(&mut leader.writer, put("b", &"x".repeat(100)), 0);
    let directory = replica.place.settings.directory.clone();
    let piece = leader.writer.piece(&SnapshotCursor::default()).unwrap();
    let mut spool = SnapshotSpool::begin(&directory).unwrap();
    spool.add_piece(&piece.changes).unwrap();
    spool.add_record(b"torn").unwrap();
    assert_eq!(replica.writer.replace(&mut spool, &piece.end), Err(NotApplied::Damaged));
    assert_eq!((replica.position(), replica.all()), before);
    // As after kill -9: the file stays, and the next program removes it.
    std::mem::forget(spool);
    assert!(directory.join("snapshot.part").exists());
    let mut replica = replica.reopen(|_| {});
    assert!(!directory.join("snapshot.part").exists());
    assert_eq!((replica.position(), replica.all()), before);
}
