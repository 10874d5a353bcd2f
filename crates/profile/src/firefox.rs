//! A profile in the format of the Firefox Profiler: profiler.firefox.com opens it from a file,
//! without uploading it.

use std::collections::BTreeMap;

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame as Place, FrameFlags, FrameInfo, ProcessHandle,
    Profile, ReferenceTimestamp, SamplingInterval, StackHandle, ThreadHandle, Timestamp,
};

use crate::fold::{Folded, Frame, Mode};
use crate::timeline::Timeline;

/// The profile of a program as JSON: each thread with its samples at their times. Folded stacks alone have no times:
/// then samples follow each other, equal ones together.
pub fn to_firefox(folded: &Folded, title: &str, hertz: u64, timeline: Option<&Timeline>) -> String {
    let reference = ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
    let interval = SamplingInterval::from_hz(hertz.max(1) as f32);
    let mut written = Written::new(Profile::new(title, reference, interval));
    match timeline.and_then(|timeline| Some((timeline, timeline.span_ns()?))) {
        Some((timeline, (begin_ns, _))) => written.add_threads(timeline, title, begin_ns),
        None => written.add_folded(folded, title, interval),
    }
    serde_json::to_string(&written.profile).expect("no map with strange keys, no failing writer")
}

struct Written {
    profile: Profile,
    user: CategoryHandle,
    kernel: CategoryHandle,
}

impl Written {
    fn new(mut profile: Profile) -> Self {
        let user = profile.add_category("program", CategoryColor::Blue);
        let kernel = profile.add_category("kernel", CategoryColor::Red);
        Self { profile, user, kernel }
    }

    fn stack(&mut self, thread: ThreadHandle, stack: &[Frame]) -> Option<StackHandle> {
        let frame = |profile: &mut Profile, frame: &Frame| FrameInfo {
            frame: Place::Label(profile.intern_string(&frame.name)),
            category_pair: match frame.mode {
                Mode::User => self.user.into(),
                Mode::Kernel => self.kernel.into(),
            },
            flags: FrameFlags::empty(),
        };
        let profile = &mut self.profile;
        let frames: Vec<FrameInfo> = stack.iter().map(|one| frame(profile, one)).collect();
        profile.intern_stack_frames(thread, frames.into_iter())
    }

    fn add_threads(&mut self, timeline: &Timeline, title: &str, begin_ns: u64) {
        let begin = Timestamp::from_nanos_since_reference(0);
        let mut processes: BTreeMap<u32, ProcessHandle> = BTreeMap::new();
        for line in &timeline.threads {
            let profile = &mut self.profile;
            let add = || profile.add_process(title, line.process, begin);
            let process = *processes.entry(line.process).or_insert_with(add);
            let is_main = line.process == line.thread;
            let thread = self.profile.add_thread(process, line.thread, begin, is_main);
            self.profile.set_thread_name(thread, &line.name);
            for sample in &line.samples {
                let frames = timeline.stacks.get(sample.stack).map_or(&[][..], |stack| stack);
                let stack = self.stack(thread, frames);
                let time = Timestamp::from_nanos_since_reference(sample.time_ns - begin_ns);
                self.profile.add_sample(thread, time, stack, CpuDelta::ZERO, 1);
            }
        }
    }

    fn add_folded(&mut self, folded: &Folded, title: &str, interval: SamplingInterval) {
        let begin = Timestamp::from_nanos_since_reference(0);
        let process = self.profile.add_process(title, 1, begin);
        let thread = self.profile.add_thread(process, 1, begin, true);
        self.profile.set_thread_name(thread, "all threads");
        // Weights are whole numbers.
        let parts = folded.parts();
        let mut time_ns = 0;
        for (stack, count) in &folded.stacks {
            let stack = self.stack(thread, stack);
            let time = Timestamp::from_nanos_since_reference(time_ns);
            let weight = (count * parts).round() as i32;
            self.profile.add_sample(thread, time, stack, CpuDelta::ZERO, weight);
            time_ns = u64::saturating_add(time_ns, (interval.nanos() as f64 * count) as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded_file::tests::folded;

    #[test]
    fn stacks_are_samples_with_their_weights_and_colours() {
        let folded = folded("a;b_[k] 3\na;c 2\n");
        let profile: serde_json::Value =
            serde_json::from_str(&to_firefox(&folded, "server", 99, None)).unwrap_or_default();
        let thread = &profile["threads"][0];
        assert_eq!(thread["samples"]["weight"].to_string(), "[3,2]");
        assert_eq!(profile["meta"]["categories"][2]["color"], "red");
        let names = thread["stringArray"].to_string() + &profile["shared"].to_string();
        assert!(names.contains("\"c\""), "{names}");
    }
    #[test]
    fn threads_have_their_samples_at_their_times() {
        let timeline = crate::timeline::tests::two_threads();
        let text = to_firefox(&Folded::default(), "server", 99, Some(&timeline));
        let profile: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let threads = profile["threads"].as_array().map_or(&[][..], |threads| threads);
        let thread = |name: &str| {
            threads.iter().find(|thread| thread["name"] == name).unwrap_or_else(|| panic!("{text}"))
        };
        assert_eq!((threads.len(), &thread("main")["samples"]["length"]), (2, &1.into()));
        assert_eq!(thread("work<er>")["samples"]["length"], 3);
        let times = thread("work<er>")["samples"]["timeDeltas"].to_string();
        assert_eq!(times, "[0.0,1000.0,1000.0]");
    }
}
