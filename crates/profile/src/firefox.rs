//! A profile in the format of the Firefox Profiler: profiler.firefox.com opens it from a file,
//! without uploading it.

use fxprof_processed_profile::{
    CategoryColor, CpuDelta, Frame as Place, FrameFlags, FrameInfo, Profile, ReferenceTimestamp,
    SamplingInterval, Timestamp,
};

use crate::fold::{Folded, Mode};

/// The profile of a program as JSON. Folded stacks have no timestamps: samples follow each other, equal ones together.
#[must_use]
pub fn to_firefox(folded: &Folded, title: &str, hertz: u64) -> String {
    let reference = ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
    let interval = SamplingInterval::from_hz(hertz.max(1) as f32);
    let mut profile = Profile::new(title, reference, interval);
    let begin = Timestamp::from_nanos_since_reference(0);
    let process = profile.add_process(title, 1, begin);
    let thread = profile.add_thread(process, 1, begin, true);
    profile.set_thread_name(thread, "all threads");
    let user = profile.add_category("program", CategoryColor::Blue);
    let kernel = profile.add_category("kernel", CategoryColor::Red);
    // Weights are whole numbers.
    let parts = folded.parts();
    let mut time_ns = 0;
    for (stack, count) in &folded.stacks {
        let frames: Vec<FrameInfo> = stack
            .iter()
            .map(|frame| FrameInfo {
                frame: Place::Label(profile.intern_string(&frame.name)),
                category_pair: match frame.mode {
                    Mode::User => user.into(),
                    Mode::Kernel => kernel.into(),
                },
                flags: FrameFlags::empty(),
            })
            .collect();
        let stack = profile.intern_stack_frames(thread, frames.into_iter());
        let time = Timestamp::from_nanos_since_reference(time_ns);
        let weight = (count * parts).round() as i32;
        profile.add_sample(thread, time, stack, CpuDelta::ZERO, weight);
        time_ns = u64::saturating_add(time_ns, (interval.nanos() as f64 * count) as u64);
    }
    serde_json::to_string(&profile).expect("no map with strange keys, no failing writer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded_file::tests::folded;

    #[test]
    fn stacks_are_samples_with_their_weights_and_colours() {
        let folded = folded("a;b_[k] 3\na;c 2\n");
        let profile: serde_json::Value =
            serde_json::from_str(&to_firefox(&folded, "server", 99)).unwrap_or_default();
        let thread = &profile["threads"][0];
        assert_eq!(thread["samples"]["weight"].to_string(), "[3,2]");
        assert_eq!(profile["meta"]["categories"][2]["color"], "red");
        let names = thread["stringArray"].to_string() + &profile["shared"].to_string();
        assert!(names.contains("\"c\""), "{names}");
    }
}
