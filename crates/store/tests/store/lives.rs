//! Lives of nodes in a world where everything goes wrong, and what must hold after each.

use std::collections::BTreeMap;

use store::{
    CommitRecord, Database, DatabaseChange, Expiry, Old, Only, PromoteRefused, Query, Remaining,
    ReplicationEvent, StepOutcome, Store, StoreFailure, StoreOperation, StoreOptions, Sync, Value,
};

use crate::place::{FIRST, everything};
use crate::weather::{CALM, Weather, weather};
use crate::world::{COUNT, Promotes, Told, World};

impl World {
    /// Everything in records that were set aside.
    fn set_aside(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for node in &self.nodes {
            for file in std::fs::read_dir(&node.place.settings.directory).unwrap() {
                let path = file.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if name.starts_with("aside-") && name.ends_with(".mdb") {
                    let directory = path.with_extension("opened");
                    std::fs::create_dir(&directory).unwrap();
                    std::fs::rename(path, directory.join("data.mdb")).unwrap();
                    let settings = StoreOptions { directory, ..node.place.settings.clone() };
                    all.extend(everything(&mut Store::open(&settings).unwrap().writer()));
                } else if path.extension().is_some_and(|extension| extension == "records") {
                    let mut bytes = &std::fs::read(path).unwrap()[..];
                    while let Some((length, rest)) = bytes.split_first_chunk() {
                        let (record, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
                        CommitRecord::decode(record).unwrap();
                        all.extend_from_slice(record);
                        bytes = rest;
                    }
                }
            }
        }
        all
    }

    /// A node is killed, and begins with an empty directory.
    fn begin_anew(&mut self, node: usize) {
        self.kill(node);
        std::fs::remove_dir_all(&self.nodes[node].place.settings.directory).unwrap();
        self.start(node);
    }

    fn check(&mut self, promotes: Promotes) {
        let first = self.all(0);
        for node in 1..3 {
            assert!(self.all(node) == first, "node {node} has another state");
        }
        let aside = self.set_aside();
        let running = self.nodes[0].running.as_mut().unwrap();
        let snapshot = running.store.snapshot().unwrap();
        let mut counts = BTreeMap::from([("written", 0), ("there", 0)]);
        for (key, told) in &self.told {
            let name = key.to_be_bytes();
            let is_there = snapshot.get(Database(1), &name, 0).unwrap().is_some();
            // A key of eight bytes, behind its length.
            let needle = [&8_u32.to_le_bytes()[..], &name].concat();
            let is_aside = || aside.windows(needle.len()).any(|window| window == needle);
            match told {
                Told::Written if promotes == Promotes::Never => assert!(is_there, "{key} is lost"),
                Told::Written => assert!(is_there || is_aside(), "{key} is lost"),
                Told::Nothing => assert!(!is_there, "{key} was said not to be written"),
                Told::Unknown => {}
            }
            *counts.get_mut("written").unwrap() += i64::from(*told == Told::Written);
            *counts.get_mut("there").unwrap() += i64::from(is_there);
        }
        let count = snapshot.answer(FIRST, &Query::Get(COUNT.into()), 0).unwrap();
        let StepOutcome::Value(count) = count else { panic!("a value") };
        let count: i64 =
            count.map_or(0, |entry| str::from_utf8(&entry.bytes).unwrap().parse().unwrap());
        // Both were written in one transaction, and each order at most once.
        assert_eq!(count, counts["there"], "{counts:?}");
    }
}

fn live(seed: u64, promotes: Promotes) {
    let sync = if seed.is_multiple_of(4) { Sync::Log } else { Sync::Commit };
    let mut world = World::new(seed, sync);
    world.weather = weather(&mut world.dice);
    for _ in 0..120 {
        world.step(promotes);
    }
    world.heal();
    world.check(promotes);
}

/// Runs seeds, and names the one that fails. `WORLD_SEED` runs one, `WORLD_SEEDS` as many.
fn seeds(promotes: Promotes) {
    let of = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match of("WORLD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..of("WORLD_SEEDS").unwrap_or(30),
    };
    for seed in seeds {
        let lived = std::panic::catch_unwind(|| live(seed, promotes));
        assert!(lived.is_ok(), "seed {seed}");
    }
}

#[test]
fn no_write_of_a_leader_is_lost_or_made_twice() {
    seeds(Promotes::Never);
}

#[test]
fn leaders_that_are_replaced_lose_nothing_silently_and_all_stores_become_the_same() {
    seeds(Promotes::Any);
}

#[test]
fn a_leader_that_is_well_hands_over_and_no_write_is_lost_or_refused_at_it() {
    for seed in 0..12 {
        let mut world = World::new(seed, Sync::Commit);
        // Every second transport changes the order of messages: then a replica may not catch up in time.
        let is_ordered = seed % 2 == 0;
        world.weather = Weather { delay_ms: if is_ordered { 1 } else { 40 }, ..CALM };
        world.write(0);
        world.run(5_000);
        for _ in 0..120 {
            let node = world.dice.below(3) as usize;
            if world.dice.one_in(8) && !world.leads(node) {
                world.promote(node)
            } else {
                world.write(node)
            }
            let ms = 5 + world.dice.below(60);
            world.run(ms);
        }
        world.heal();
        world.check(Promotes::Never);
        let is_aside = |event: &ReplicationEvent| matches!(event, ReplicationEvent::SetAside(_));
        assert!(!world.events.iter().any(|(_, event)| is_aside(event)), "{:?}", world.events);
        let promoted = std::mem::take(&mut world.promoted);
        let (ended, all) = (promoted.iter().filter(|(_, end)| end.is_ok()), world.told.values());
        assert!(ended.count() > 2, "{promoted:?}");
        let told: Vec<_> = all.filter(|told| **told != Told::Written).collect();
        assert!(!is_ordered || told.is_empty(), "{told:?}");
        for (node, end) in promoted {
            match end {
                Ok(promoted) => assert!(promoted.handed_over.is_some(), "{seed}: {node}"),
                Err(PromoteRefused::Leads | PromoteRefused::OtherTerm(_)) => {}
                Err(PromoteRefused::Incomplete(_) | PromoteRefused::Unanswered) if !is_ordered => {}
                Err(refused) => panic!("{seed}: node {node}: {refused:?}"),
            }
        }
    }
}

#[test]
fn a_refusal_of_the_leader_is_told_as_it_is() {
    let mut world = World::new(1, Sync::Commit);
    world.run(3_000);
    world.kill(0);
    // The others have another one, too.
    world.nodes[0].place.settings.databases.truncate(1);
    world.start(0);
    world.run(3_000);
    let step = StoreOperation::Change(DatabaseChange::put(b"key", Value::bytes(b"1")));
    let told = world.executed(1, (Database(1), step)).expect_err("its leader has no such database");
    let StoreFailure::Storage(told) = told else { panic!("{told:?}") };
    assert!(told.starts_with("its leader has no database `"), "{told}");
}

#[test]
fn a_write_that_comes_to_a_leader_together_with_the_question_to_hand_over_is_made() {
    let mut world = World::new(1, Sync::Commit);
    world.weather = Weather { delay_ms: 1, ..CALM };
    world.write(0);
    world.run(3_000);
    world.write(1);
    world.turn(1);
    world.promote(1);
    world.turn(1);
    world.run(500);
    assert_eq!(world.told.get(&2), Some(&Told::Written));
    world.heal();
    world.check(Promotes::Never);
}

#[test]
fn a_replica_that_its_leader_does_not_answer_leads_after_a_second() {
    let mut world = World::new(1, Sync::Commit);
    world.write(0);
    world.run(3_000);
    world.kill(0);
    world.promote(1);
    world.run(1_100);
    assert!(world.promoted.is_empty(), "{:?}", world.promoted);
    world.run(200);
    let (_, end) = world.promoted.remove(0);
    assert_eq!(end.map(|promoted| promoted.handed_over), Ok(None));
}

#[test]
fn a_replica_that_cannot_apply_the_last_records_does_not_lead_in_place_of_a_leader_that_is_well() {
    let mut world = World::new(1, Sync::Commit);
    world.write(0);
    world.run(3_000);
    world.kill(2);
    // The leader has another one, too.
    world.nodes[2].place.settings.databases.truncate(1);
    world.start(2);
    world.run(1_000);
    world.write(0);
    world.run(500);
    world.promote(2);
    world.run(500);
    world.write(0);
    world.run(1_000);
    assert_eq!(world.promoted, [(2, Err(PromoteRefused::Incomplete(2)))]);
    // The leader, which has waited, goes on.
    assert_eq!(world.told.get(&3), None);
    world.run(1_000);
    assert_eq!(world.told.get(&3), Some(&Told::Written));
}

#[test]
fn a_replica_whose_leader_is_gone_says_that_it_does_not_hear_it() {
    let mut world = World::new(1, Sync::Commit);
    world.run(2_000);
    world.kill(0);
    world.run(20_000);
    let told = |node| {
        let is_it = |(of, event): &&(usize, ReplicationEvent)| {
            *of == node && matches!(event, ReplicationEvent::Behind(_, None))
        };
        world.events.iter().filter(is_it).count()
    };
    assert_eq!((told(1), told(2)), (1, 1), "{:?}", world.events);
}

#[test]
fn a_replica_asks_again_for_what_it_cannot_apply_only_after_a_while() {
    let mut world = World::new(1, Sync::Commit);
    // The leader has another one, too.
    world.nodes[2].place.settings.databases.truncate(1);
    world.begin_anew(2);
    world.run(2_000);
    world.write(0);
    let refused = |world: &World| {
        let is_it = |event: &ReplicationEvent| matches!(event, ReplicationEvent::NotApplied(_));
        world.events.iter().filter(|(node, event)| *node == 2 && is_it(event)).count()
    };
    world.run(20_000);
    let records = refused(&world);
    assert!((1..=3).contains(&records), "{records} times in 20 s");
    world.begin_anew(2);
    world.run(20_000);
    let snapshots = refused(&world) - records;
    assert!((1..=3).contains(&snapshots), "{snapshots} times in 20 s");
}

#[test]
fn keys_expire_at_the_same_moment_on_servers_whose_clocks_are_an_hour_apart() {
    let mut world = World::new(1, Sync::Commit);
    world.run(3_000);
    let key = || Box::from(*b"key");
    let get = Query::Get(key());
    let is_there = |world: &mut World, node| world.ask(node, &get) != StepOutcome::Value(None);
    for writer in 0..3 {
        // The client of this server says: in ten seconds.
        let until = world.moment(writer).unix_ms + 10_000;
        let expiry = Expiry::At(until);
        let put = DatabaseChange::Put {
            key: key(),
            value: Value::bytes(b"1"),
            expiry,
            only: Only::Always,
            old: Old::Dropped,
        };
        world.client(writer, StoreOperation::Change(put));
        world.run(1_000);
        for node in 0..3 {
            assert!(is_there(&mut world, node), "written on {writer}, read on {node}");
            let hours = (node as i64 - writer as i64) * 3_600_000;
            let StepOutcome::Remaining(Remaining::Until(time)) =
                world.ask(node, &Query::Remaining(key()))
            else {
                panic!("it expires")
            };
            let error = time.cast_signed() - until.cast_signed() - hours;
            assert!(error.abs() <= 20, "written on {writer}, read on {node}: {error} ms");
        }
        // The outcome of an order has the times of the server that has sent it.
        let touched = DatabaseChange::Touch(key(), Expiry::Keep);
        let StepOutcome::Value(Some(entry)) = world.client(writer, StoreOperation::Change(touched))
        else {
            panic!("it is there")
        };
        assert_eq!(entry.expiry_ms, Some(until));
        world.run(7_000);
        assert!((0..3).all(|node| is_there(&mut world, node)));
        world.run(2_200);
        assert!((0..3).all(|node| !is_there(&mut world, node)));
    }
}

/// A world in which the third node has just sent a write to the first one.
fn with_a_write_under_way(first: impl Fn(&mut World)) -> World {
    let mut world = World::new(1, Sync::Commit);
    world.write(0);
    world.run(3_000);
    first(&mut world);
    world.write(2);
    world.run(5);
    world
}

#[test]
fn a_write_that_the_last_leader_has_not_begun_is_made_by_the_next_one() {
    let mut world = with_a_write_under_way(|world| world.promote(1));
    world.run(1_500);
    assert_eq!(world.told.get(&2), Some(&Told::Written));
    world.heal();
    world.check(Promotes::Any);
}

#[test]
fn a_write_that_waits_behind_another_one_is_not_acknowledged_after_the_next_leader_has_dropped_it()
{
    let mut world = World::new(1, Sync::Commit);
    world.write(0);
    world.run(3_000);
    // The third node gets nothing more, and the second one no answer to its first write.
    world.cut.extend([(0, 2), (0, 1)]);
    world.write(1);
    world.run(50);
    world.cut.remove(&(0, 1));
    world.write(1);
    world.run(1_100);
    assert_eq!((world.told.get(&2), world.told.get(&3)), (None, None));
    world.kill(0);
    world.promote(2);
    world.run(1_300);
    // The next leader comes beyond the numbers of the last one.
    for _ in 0..4 {
        world.write(2);
        world.run(20);
    }
    world.run(2_000);
    assert_eq!(world.told.get(&2), Some(&Told::Unknown));
    assert_eq!(world.told.get(&3), Some(&Told::Unknown));
    world.heal();
    world.check(Promotes::Any);
}

#[test]
fn a_write_under_way_to_a_leader_that_died_is_unknown_a_second_after_the_next_one_begins() {
    let mut world = with_a_write_under_way(|_| ());
    world.kill(0);
    world.promote(1);
    world.run(2_100);
    assert_eq!(world.told.get(&2), None);
    world.run(300);
    assert_eq!(world.told.get(&2), Some(&Told::Unknown));
    world.heal();
    world.check(Promotes::Any);
}

#[test]
fn a_leader_that_begins_again_writes_at_the_one_that_was_promoted_meanwhile() {
    let mut world = World::new(1, Sync::Commit);
    world.write(0);
    world.run(3_000);
    world.kill(0);
    world.promote(1);
    world.run(1_500);
    world.start(0);
    world.write(0);
    world.run(2_000);
    assert_eq!(world.told.get(&2), Some(&Told::Written));
    // If nobody was, it goes on a second later, though nobody hears it.
    world.heal();
    (0..3).for_each(|node| world.kill(node));
    world.start(1);
    world.write(1);
    world.run(900);
    assert_eq!(world.told.get(&3), None);
    world.run(200);
    assert_eq!(world.told.get(&3), Some(&Told::Written));
}
