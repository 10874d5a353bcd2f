//! Looks up a path on disk: from a [`Job`] to what exists there.
//!
//! Runs on a helper thread and may wait. Owns which file a path means (index, redirect, listing,
//! siblings) and whether the cached knowledge is still valid. Never decides what a request gets;
//! `load` reads the bytes.

use std::io;
use std::sync::Arc;

use sys::file::{FileKind, Metadata};
use wire::http::encoding::{Available, Coding};

use super::absence::{Absence, FileFailure};
use super::compress::{ON_THE_FLY, compress};
use super::job::{
    FileContent, FileState, Job, LookupResult, PathContent, SIBLINGS, TimeTrust, Warm, Warmed,
};
use super::limits;
use super::listing;
use super::load::{self, Loading};
use super::media_type;
use super::representation::{BodySource, Representation, Shared, Vary, is_settled};
use super::roots::{OpenRoot, Refusal, Roots, classify, with_extension};
use super::rules::{Compress, FileRules, ListingRule, Precompressed, Root};

/// The disk as one helper thread sees it. Neither `Send` nor `Sync`: created on the helper.
#[derive(Debug)]
pub struct Disk {
    roots: Roots,
    scratch: Vec<u8>,
}

/// An existing path, and its meaning.
struct Target {
    relative: Arc<str>,
    file: Metadata,
    siblings: [Option<Metadata>; SIBLINGS.len()],
}

/// The destination of a path.
enum Resolved {
    File(Box<Target>),
    /// The directory, below the root and without a trailing slash.
    Listing(String),
    Redirect,
}

impl Disk {
    /// Opens the roots. A [`RootIndex`](super::RootIndex) is an index in `roots`.
    ///
    /// # Errors
    /// If a root cannot be opened; the message names it.
    pub fn open(roots: &[Root]) -> io::Result<Self> {
        Ok(Self { roots: Roots::open(roots)?, scratch: Vec::new() })
    }

    /// Executes a lookup. May wait for the disk.
    pub fn look_up(&mut self, job: &Job) -> LookupResult {
        match self.find(job) {
            Ok(found) => found,
            Err(Refusal::Absent(absence)) => LookupResult::Content(PathContent::Missing(absence)),
            Err(Refusal::Failed(failure)) => LookupResult::Content(PathContent::Failed(failure)),
        }
    }

    /// Reads a region of a file into the page cache. Waits for the disk.
    pub fn warm(&mut self, warm: &Warm) -> Warmed {
        let scratch = &mut self.scratch;
        let read = self.roots.current(warm.root).and_then(|root| {
            let handle = root.read(&warm.relative)?;
            let length = warm.length.min(limits::WARM_SIZE_MAX);
            load::warm(&handle, warm.offset, length, scratch).map_err(|error| classify(&error))
        });
        match read {
            Ok(length) => Warmed::Read(length),
            Err(Refusal::Failed(failure)) => Warmed::Failed(failure),
            Err(Refusal::Absent(_)) => Warmed::Failed(FileFailure::Storage),
        }
    }

    fn find(&mut self, job: &Job) -> Result<LookupResult, Refusal> {
        let relative = check(&job.path, &job.rules)?;
        let root = self.roots.current(job.root)?;
        match resolve(root, relative, &job.rules)? {
            Resolved::Redirect => Ok(LookupResult::Content(PathContent::Redirect)),
            Resolved::Listing(directory) => {
                let listing = listing::make(root, &directory, &job.rules)?;
                Ok(LookupResult::Content(PathContent::Listing(listing.into())))
            }
            Resolved::File(target) if holds(&target, job) => Ok(LookupResult::Unchanged),
            Resolved::File(target) => {
                let content = read(root, *target, job, &mut self.scratch)?;
                Ok(LookupResult::Content(PathContent::File(content)))
            }
        }
    }
}

/// The path below the root, without its leading slash.
///
/// The request's path was normalised before. A path that was not is a bug of the caller, and does not exist here.
fn check<'p>(path: &'p str, rules: &FileRules) -> Result<&'p str, Absence> {
    let relative = path.strip_prefix('/').ok_or(Absence::NotFound)?;
    let inner = relative.strip_suffix('/').unwrap_or(relative);
    let is_name = |name: &str| !matches!(name, "" | "." | "..");
    let is_plain = relative.is_empty() || inner.split('/').all(is_name);
    if !is_plain || relative.len() > limits::PATH_SIZE_MAX || relative.contains('\0') {
        return Err(Absence::NotFound);
    }
    if rules.hides(inner) { Err(Absence::Hidden) } else { Ok(relative) }
}

fn resolve(root: &OpenRoot, relative: &str, rules: &FileRules) -> Result<Resolved, Refusal> {
    if relative.is_empty() || relative.ends_with('/') {
        return resolve_directory(root, relative, rules);
    }
    let file = root.look(relative)?;
    match file.kind {
        FileKind::Directory => Ok(Resolved::Redirect),
        FileKind::Regular => Ok(Resolved::File(target(root, relative.into(), file, rules).into())),
        FileKind::Symlink | FileKind::Other => Err(Absence::NotRegular.into()),
    }
}

/// `relative` is empty or ends with a slash.
fn resolve_directory(
    root: &OpenRoot,
    relative: &str,
    rules: &FileRules,
) -> Result<Resolved, Refusal> {
    for index in &rules.index {
        let file = format!("{relative}{index}");
        match root.look(&file) {
            Ok(found) if found.kind == FileKind::Regular && !rules.hides(&file) => {
                return Ok(Resolved::File(target(root, file.into(), found, rules).into()));
            }
            Ok(_) | Err(Refusal::Absent(Absence::NotFound)) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    let directory = relative.trim_end_matches('/');
    match root.look(directory)?.kind {
        FileKind::Directory if rules.listing == ListingRule::On => {
            Ok(Resolved::Listing(directory.to_owned()))
        }
        FileKind::Directory => Err(Absence::NotRegular.into()),
        FileKind::Regular | FileKind::Symlink | FileKind::Other => Err(Absence::NotFound.into()),
    }
}

fn target(root: &OpenRoot, relative: Arc<str>, file: Metadata, rules: &FileRules) -> Target {
    let mut siblings = [None; SIBLINGS.len()];
    let is_packed = media_type::coding_of(&relative) != Coding::Identity;
    if rules.precompressed == Precompressed::Use && !is_packed {
        for (place, (_, extension)) in siblings.iter_mut().zip(SIBLINGS) {
            // If there is any problem with a sibling, the file itself is served.
            let found = root.look(&format!("{relative}{extension}")).ok();
            *place = found.filter(|sibling| is_usable(sibling, &file));
        }
    }
    Target { relative, file, siblings }
}

/// An empty sibling comes from an interrupted compressor; an older one belongs to previous content.
fn is_usable(sibling: &Metadata, file: &Metadata) -> bool {
    sibling.kind == FileKind::Regular && sibling.size > 0 && sibling.modified >= file.modified
}

/// Whether the cached result is current, and nothing more is requested that could be provided.
fn holds(target: &Target, job: &Job) -> bool {
    let Some(known) = &job.errand.known else { return false };
    known.trust == TimeTrust::Settled
        && Arc::ptr_eq(&known.rules, &job.rules)
        && known.relative == target.relative
        && known.file == target.file
        && known.siblings == target.siblings
        && {
            let media_type = media_type::of(&target.relative, &job.rules);
            let worth = worth_compressing(target, &media_type, &job.rules);
            let missing = |coding: &Coding| {
                worth.contains(*coding)
                    && job.errand.wanted.contains(*coding)
                    && !known.tried.contains(*coding)
            };
            !ON_THE_FLY.iter().any(missing)
        }
}

/// The codings worth trying on the fly.
fn worth_compressing(target: &Target, media_type: &str, rules: &FileRules) -> Available {
    let sizes = rules.compress_from..=rules.compress_to.min(limits::COMPRESS_TO);
    if rules.compress == Compress::Off
        || !sizes.contains(&target.file.size)
        || !media_type::is_compressible(media_type)
        || media_type::coding_of(&target.relative) != Coding::Identity
    {
        return Available::IDENTITY;
    }
    let has_sibling = |coding: Coding| {
        SIBLINGS.iter().zip(&target.siblings).any(|((of, _), file)| *of == coding && file.is_some())
    };
    ON_THE_FLY
        .into_iter()
        .filter(|&coding| !has_sibling(coding))
        .fold(Available::IDENTITY, Available::with)
}

/// Reads a file and creates all its representations.
fn read(
    root: &OpenRoot,
    mut target: Target,
    job: &Job,
    scratch: &mut Vec<u8>,
) -> Result<FileContent, Refusal> {
    let rules = &*job.rules;
    let media_type = media_type::of(&target.relative, rules);
    let mut worth = worth_compressing(&target, &media_type, rules);
    let is_wanted = |coding: &Coding| job.errand.wanted.contains(*coding);
    let compresses = ON_THE_FLY.iter().any(|coding| worth.contains(*coding) && is_wanted(coding));

    let most = if compresses { rules.held_size.max(target.file.size) } else { rules.held_size };
    let loaded = load::read(root, &target.relative, Loading { held_size: most }, scratch)?;
    target.file = loaded.metadata;
    if !matches!(loaded.body, BodySource::Memory(_)) {
        // Between lookup and read it grew beyond what can be compressed.
        worth = if compresses { Available::IDENTITY } else { worth };
    }

    let has_siblings = target.siblings.iter().any(Option::is_some);
    let varies = has_siblings || worth != Available::IDENTITY;
    let last_modified = last_modified(&target.file, job.wall_ms);
    let shared = Shared {
        media_type,
        modified: target.file.modified,
        last_modified,
        read_ms: job.wall_ms,
        vary: if varies { Vary::AcceptEncoding } else { Vary::Nothing },
        cache_control: rules.cache_control(&target.relative),
    };
    let mut making = Making {
        shared: &shared,
        representations: Vec::with_capacity(1 + SIBLINGS.len()),
        tried: Available::IDENTITY,
    };
    making.add_identity(&target, &loaded.body, rules.held_size);
    making.add_siblings(root, &mut target, rules, scratch);
    if let BodySource::Memory(bytes) = &loaded.body {
        for coding in ON_THE_FLY.into_iter().filter(|coding| worth.contains(*coding)) {
            if is_wanted(&coding) {
                making.add_compressed(bytes, coding);
            }
        }
    }
    let Making { representations, tried, .. } = making;
    let available = representations
        .iter()
        .fold(Available::IDENTITY, |all, representation| all.with(representation.coding));
    let possible = ON_THE_FLY
        .into_iter()
        .filter(|&coding| worth.contains(coding) && !tried.contains(coding))
        .fold(Available::IDENTITY, Available::with);
    let trust = if loaded.is_stable { trust(&target, job.wall_ms) } else { TimeTrust::Unsettled };
    let Target { relative, file, siblings } = target;
    let rules = Arc::clone(&job.rules);
    let known = Arc::new(FileState { relative, file, siblings, trust, tried, rules });
    Ok(FileContent { known, representations, available, possible, last_modified })
}

/// The representations of one file while they are created.
struct Making<'m> {
    shared: &'m Shared<'m>,
    representations: Vec<Representation>,
    tried: Available,
}

impl Making<'_> {
    /// A file that was only read for compression is itself still sent from its descriptor.
    fn add_identity(&mut self, target: &Target, body: &BodySource, held_size: u64) {
        let body = match body {
            BodySource::Memory(bytes) if bytes.len() as u64 > held_size => {
                load::large(&target.relative, target.file)
            }
            body => body.clone(),
        };
        self.add(media_type::coding_of(&target.relative), body);
    }

    /// A sibling that can no longer be read counts as missing.
    fn add_siblings(
        &mut self,
        root: &OpenRoot,
        target: &mut Target,
        rules: &FileRules,
        scratch: &mut Vec<u8>,
    ) {
        for (place, (coding, extension)) in target.siblings.iter_mut().zip(SIBLINGS) {
            if place.is_none() {
                continue;
            }
            let relative = with_extension(&target.relative, extension);
            let loading = Loading { held_size: rules.held_size };
            let Ok(loaded) = load::read(root, &relative, loading, scratch) else { continue };
            if is_usable(&loaded.metadata, &target.file) {
                *place = Some(loaded.metadata);
                let modified = loaded.metadata.modified;
                let made = Representation::new(coding, loaded.body, modified, self.shared);
                self.representations.push(made);
            }
        }
    }

    fn add_compressed(&mut self, bytes: &[u8], coding: Coding) {
        self.tried = self.tried.with(coding);
        if let Some(compressed) = compress(bytes, coding) {
            self.add(coding, BodySource::Memory(compressed.into()));
        }
    }

    fn add(&mut self, coding: Coding, body: BodySource) {
        let made = Representation::new(coding, body, self.shared.modified, self.shared);
        self.representations.push(made);
    }
}

/// RFC 9110 section 8.8.2.1: never later than the answer itself. 0 for a time that says nothing.
fn last_modified(file: &Metadata, wall_ms: u64) -> u64 {
    let seconds = u64::try_from(file.modified.seconds).unwrap_or(0);
    if seconds < limits::LAST_MODIFIED_FROM_S { 0 } else { seconds.min(wall_ms / 1000) }
}

/// Whether the time stamps are old enough that another change would change them.
fn trust(target: &Target, wall_ms: u64) -> TimeTrust {
    let mut files = target.siblings.iter().flatten().chain([&target.file]);
    if files.all(|file| is_settled(file.changed, wall_ms)) {
        TimeTrust::Settled
    } else {
        TimeTrust::Unsettled
    }
}
