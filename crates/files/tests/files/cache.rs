//! The cache of a scheduler: freshness, running jobs, eviction.

use files::absence::{Absence, FileFailure};
use files::job::Errand;
use files::{EntryKey, FileRules, Job, LookupResult, PathCache, PathContent, PathLookup, limits};
use wire::http::encoding::{Accepted, Available, Coding};

use super::site::{LATER_MS, ROOT, Site, accepts, bytes};

pub(crate) fn key(path: &str) -> EntryKey<'_> {
    EntryKey { root: ROOT, path }
}

fn missing() -> LookupResult {
    LookupResult::Content(PathContent::Missing(Absence::NotFound))
}

/// The result of a look as one word, so that a test reads like a table.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Fresh,
    Refresh,
    Missing,
    Pending,
    Busy,
}

fn look(cache: &mut PathCache, path: &str, now_ms: u64) -> Word {
    match cache.look(key(path), &Accepted::default(), now_ms) {
        PathLookup::Fresh(_) => Word::Fresh,
        PathLookup::Refresh(..) => Word::Refresh,
        PathLookup::Missing(_) => Word::Missing,
        PathLookup::Pending => Word::Pending,
        PathLookup::Busy => Word::Busy,
    }
}

#[test]
fn a_result_is_fresh_then_refreshed_once_then_waited_for() {
    let mut cache = PathCache::new(1 << 20);
    for (now_ms, expected) in [(10_000, Word::Missing), (10_001, Word::Pending)] {
        assert_eq!(look(&mut cache, "/a", now_ms), expected, "{now_ms}");
    }
    cache.insert(key("/a"), missing(), 10_010);
    for (now_ms, expected) in [
        (10_010, Word::Fresh),
        (10_499, Word::Fresh),
        (10_500, Word::Refresh),
        (10_501, Word::Fresh),
        (10_999, Word::Fresh),
        (11_000, Word::Pending),
    ] {
        assert_eq!(look(&mut cache, "/a", now_ms), expected, "{now_ms}");
    }
    // The refresh was sent at 10,500: its age counts from then, but its answer is served now.
    cache.insert(key("/a"), LookupResult::Unchanged, 11_001);
    for (now_ms, expected) in
        [(11_001, Word::Fresh), (11_002, Word::Refresh), (11_601, Word::Pending)]
    {
        assert_eq!(look(&mut cache, "/a", now_ms), expected, "{now_ms}");
    }
    cache.insert(key("/a"), LookupResult::Unchanged, 11_700);
    assert_eq!(look(&mut cache, "/a", 13_000), Word::Missing);
    assert_eq!(look(&mut cache, "/a", 13_000), Word::Pending);
}

#[test]
fn a_changed_file_is_served_within_a_second() {
    let mut site = Site::new(FileRules::default());
    site.write("a.txt", "one");
    let mut cache = PathCache::new(1 << 20);
    let mut changed_at = None;
    let mut refreshes = 0;
    // A request every 10 ms; the disk answers in the same turn. The file changes at 20,000.
    for now_ms in (19_000..22_000).step_by(10) {
        if now_ms == 20_000 {
            site.write("a.txt", "two");
        }
        let errand = match cache.look(key("/a.txt"), &Accepted::default(), now_ms) {
            PathLookup::Fresh(_) => None,
            PathLookup::Refresh(_, errand) | PathLookup::Missing(errand) => Some(errand),
            other => panic!("{other:?}"),
        };
        if let Some(errand) = errand {
            refreshes += 1;
            let job = Job::new(key("/a.txt"), &site.rules, errand, LATER_MS);
            let found = site.disk.look_up(&job);
            cache.insert(job.key(), found, now_ms);
        }
        let PathLookup::Fresh(entry) = cache.look(key("/a.txt"), &Accepted::default(), now_ms)
        else {
            panic!("not fresh after a look at the disk")
        };
        let PathContent::File(file) = entry.content() else { panic!() };
        if bytes(file, Coding::Identity) == b"two" {
            changed_at.get_or_insert(now_ms);
        }
    }
    let changed_at = changed_at.unwrap();
    assert!((20_000..21_000).contains(&changed_at), "{changed_at}");
    assert_eq!(refreshes, 6, "one each half second");
}

#[test]
fn failures_and_absences_are_forgotten_like_the_rest() {
    let mut cache = PathCache::new(1 << 20);
    for content in [
        PathContent::Missing(Absence::Outside),
        PathContent::Failed(FileFailure::Exhausted),
        PathContent::Redirect,
    ] {
        assert_eq!(look(&mut cache, "/a", 1_000), Word::Missing);
        cache.insert(key("/a"), LookupResult::Content(content), 1_000);
        assert_eq!(look(&mut cache, "/a", 1_499), Word::Fresh);
        cache.expire(key("/a"));
        assert_eq!(look(&mut cache, "/a", 1_499), Word::Missing);
        cache.abandon(key("/a"));
    }
    cache.clear();
    assert_eq!(look(&mut cache, "/a", 1_500), Word::Missing);
}

#[test]
fn a_job_that_is_lost_is_sent_again() {
    let mut cache = PathCache::new(1 << 20);
    assert_eq!(look(&mut cache, "/a", 1_000), Word::Missing);
    cache.abandon(key("/a"));
    assert_eq!(cache.stats().paths, 0);
    assert_eq!(look(&mut cache, "/a", 1_000), Word::Missing, "abandoned");
    let late = 1_000 + limits::ANSWER_WAIT_MS;
    assert_eq!(look(&mut cache, "/a", late - 1), Word::Pending);
    assert_eq!(look(&mut cache, "/a", late), Word::Missing, "without an answer for too long");
    assert_eq!(look(&mut cache, "/a", late), Word::Pending);
}

#[test]
fn jobs_under_way_are_bounded() {
    let mut cache = PathCache::new(1 << 30);
    for number in 0..limits::IN_FLIGHT_MAX {
        assert_eq!(look(&mut cache, &format!("/{number}"), 1_000), Word::Missing);
    }
    assert_eq!(look(&mut cache, "/more", 1_000), Word::Busy);
    assert_eq!(look(&mut cache, "/7", 1_000), Word::Pending);
    cache.insert(key("/7"), missing(), 1_000);
    assert_eq!(look(&mut cache, "/more", 1_001), Word::Missing);
    // Full again: a refresh is postponed, a request that cannot be answered is refused.
    assert_eq!(look(&mut cache, "/7", 1_600), Word::Fresh);
    assert_eq!(look(&mut cache, "/7", 2_000), Word::Busy);
    // All are lost: there is room again.
    let late = 1_001 + limits::ANSWER_WAIT_MS;
    assert_eq!(look(&mut cache, "/another", late), Word::Missing);
}

#[test]
fn negative_results_are_bounded() {
    let mut cache = PathCache::new(1 << 30);
    for number in 0..limits::NEGATIVE_MAX + 100 {
        let path = format!("/{number}");
        assert_eq!(look(&mut cache, &path, 1_000), Word::Missing);
        cache.insert(key(&path), missing(), 1_000);
    }
    assert_eq!(cache.stats().paths, limits::NEGATIVE_MAX);
    assert_eq!(look(&mut cache, "/99", 1_001), Word::Missing, "the oldest are gone");
    assert_eq!(look(&mut cache, "/100", 1_001), Word::Fresh);
}

/// A site with files of 1,000 bytes and a cache, each result put in at its own time.
struct Filler {
    site: Site,
    cache: PathCache,
}

impl Filler {
    fn new(bytes_max: usize) -> Self {
        let site = Site::new(FileRules::default());
        site.write("x", [b'x'; 1000]);
        Self { site, cache: PathCache::new(bytes_max) }
    }

    fn insert(&mut self, path: &str, now_ms: u64) {
        let errand = Errand { known: None, wanted: Available::IDENTITY };
        let found = self.site.look_up_with("/x", errand);
        self.cache.insert(key(path), found, now_ms);
    }

    fn holds(&mut self, path: &str, now_ms: u64) -> bool {
        let word = look(&mut self.cache, path, now_ms);
        if word == Word::Missing {
            self.cache.abandon(key(path));
        }
        word != Word::Missing
    }
}

#[test]
fn used_entry_stays_and_unused_entry_is_evicted() {
    let mut filler = Filler::new(20_000);
    for number in 0..1000_u64 {
        let now_ms = 1_000 + number / 4;
        filler.insert(&format!("/{number}"), now_ms);
        assert!(filler.cache.stats().bytes <= 20_000 + 5 * 2_200, "{:?}", filler.cache.stats());
        if number == 0 || number % 3 == 0 {
            assert!(filler.holds("/0", now_ms), "used all the time, gone after {number}");
        }
    }
    assert!(filler.cache.stats().evictions > 900);
    assert!(!filler.holds("/500", 1_250));
    assert!(filler.holds("/999", 1_250));
}

#[test]
fn entry_of_this_turn_is_not_evicted() {
    let mut filler = Filler::new(0);
    for number in 0..10 {
        filler.insert(&format!("/{number}"), 1_000);
    }
    for number in 0..10 {
        assert!(filler.holds(&format!("/{number}"), 1_000), "{number}");
    }
    filler.insert("/next", 1_001);
    assert_eq!(filler.cache.stats().paths, 1);
    assert!(filler.holds("/next", 1_001));
}

#[test]
fn evicted_entry_is_not_pending() {
    let mut filler = Filler::new(0);
    for number in 0..limits::IN_FLIGHT_MAX as u64 + 1 {
        let (path, now_ms) = (format!("/{number}"), 1_000 + number);
        filler.cache.insert(key(&path), missing(), now_ms);
        assert_eq!(look(&mut filler.cache, &path, now_ms + 1), Word::Refresh);
    }
    assert_eq!(look(&mut filler.cache, "/new", 10_000), Word::Missing);
}

#[test]
fn an_entry_evicted_while_it_is_looked_at_again_begins_anew() {
    let mut filler = Filler::new(1_500);
    filler.insert("/a", 1_000);
    assert_eq!(
        look(&mut filler.cache, "/a", 1_100),
        Word::Refresh,
        "when it was sent is not known"
    );
    filler.insert("/b", 1_601);
    filler.insert("/c", 1_602);
    filler.cache.insert(key("/a"), LookupResult::Unchanged, 1_603);
    assert_eq!(look(&mut filler.cache, "/a", 1_603), Word::Missing);
    // An answer to the old errand does not end the new one.
    filler.cache.insert(key("/a"), LookupResult::Unchanged, 1_604);
    assert_eq!(look(&mut filler.cache, "/a", 1_604), Word::Pending);
}

#[test]
fn a_coding_that_could_be_had_is_asked_for_once() {
    let mut site = Site::new(FileRules::default());
    site.write("a.txt", "text ".repeat(1000));
    let mut cache = PathCache::new(1 << 20);
    let mut run = |accept: &str, now_ms: u64| -> Option<Errand> {
        let errand = match cache.look(key("/a.txt"), &accepts(accept), now_ms) {
            PathLookup::Fresh(_) => return None,
            PathLookup::Missing(errand) | PathLookup::Refresh(_, errand) => errand,
            other => panic!("{other:?}"),
        };
        let job = Job::new(key("/a.txt"), &site.rules, errand.clone(), LATER_MS);
        cache.insert(job.key(), site.disk.look_up(&job), now_ms);
        Some(errand)
    };
    let gzip = Available::IDENTITY.with(Coding::Gzip);
    let both = gzip.with(Coding::Zstd);
    assert_eq!(run("gzip, br", 1_000).map(|errand| errand.wanted), Some(gzip));
    assert_eq!(run("gzip, br", 1_001), None);
    assert_eq!(run("", 1_001), None);
    assert_eq!(run("zstd, gzip", 1_002).map(|errand| errand.wanted), Some(both), "while fresh");
    assert_eq!(run("zstd, gzip", 1_003), None);
    assert_eq!(run("", 1_600).map(|errand| errand.wanted), Some(both), "and both stay wanted");
    assert_eq!(run("gzip", 1_601), None);
}

#[test]
fn roots_are_apart() {
    let mut cache = PathCache::new(1 << 20);
    cache.insert(key("/a"), missing(), 1_000);
    let other = EntryKey { root: files::RootIndex(3), path: "/a" };
    assert!(matches!(cache.look(other, &Accepted::default(), 1_000), PathLookup::Missing(_)));
    cache.insert(other, missing(), 1_000);
    assert_eq!(cache.stats().paths, 2);
}
