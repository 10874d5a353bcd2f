//! The end of the page: the host and the command line, for reproduction.
//!
//! Shows what is known, and leaves out what could not be read.

use super::page::HtmlPage;
use crate::host::HostFacts;
use crate::report::figures::{bytes, count, numbered, percent};
use crate::report::measured::PlanReport;
use crate::report::schema::Tool;

/// The facts of the host, with the share of stolen time if it is known.
pub(crate) fn write(host: &HostFacts, steal_share: Option<f64>, page: &mut HtmlPage) {
    let steal =
        steal_share.map(|share| ("time given to others", format!("{} at most", percent(share))));
    page.element("dl", &[], |page| {
        facts(host).into_iter().chain(steal).for_each(|(name, value)| fact(page, name, &value));
    });
    for (title, facts) in
        [("Mitigations", &host.mitigations), ("Settings of the kernel", &host.sysctls)]
    {
        if facts.is_empty() {
            continue;
        }
        page.leaf("h3", &[], title);
        page.element("dl", &[("class", &"small")], |page| {
            facts.iter().for_each(|known| fact(page, &known.name, &known.value));
        });
    }
}

fn facts(host: &HostFacts) -> Vec<(&'static str, String)> {
    let cpus: Vec<String> = host.cpus_allowed.iter().map(u32::to_string).collect();
    let on = |smt: &String| match smt.as_str() {
        "1" => "two threads share a core".to_owned(),
        "0" => "off".to_owned(),
        other => other.to_owned(),
    };
    let facts = [
        ("kernel", host.kernel.as_ref().map(|release| format!("Linux {release}"))),
        ("architecture", Some(host.architecture.clone())),
        ("processor", host.cpu_model.clone()),
        ("cores online", host.cpus_online.map(|cores| count(u64::from(cores)))),
        ("cores to use", Some(cpus.join(", "))),
        ("quota", host.cpu_quota.map(|quota| format!("{quota} cores"))),
        ("clock rate", host.governor.clone()),
        ("SMT", host.smt.as_ref().map(on)),
        (
            "virtual machine",
            host.virtual_machine.map(|is| if is { "yes" } else { "no" }.to_owned()),
        ),
        ("clock", host.clock_source.clone()),
        ("memory", host.memory_bytes.map(|size| bytes(size as f64))),
        ("open files", host.open_files_maximum.map(|most| format!("{} at most", count(most)))),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn fact(page: &mut HtmlPage, name: &str, value: &str) {
    page.element("div", &[], |page| {
        page.leaf("dt", &[], name);
        page.leaf("dd", &[], value);
    });
}

/// The command line, quoted for a shell.
pub(crate) fn write_command(
    command: &[String],
    tool: &Tool,
    plan: &PlanReport,
    page: &mut HtmlPage,
) {
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    page.leaf("pre", &[], words.join(" "));
    let cores = match plan.pinned.len() {
        0 => "no thread pinned".to_owned(),
        count => format!("threads pinned to {}", numbered(count as u64, "core")),
    };
    let text = format_args!("version {}, seed {}, {cores}", tool.version, plan.seed);
    page.leaf("p", &[("class", &"plan")], text);
}

/// A word in quotes, if a shell would split it.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        let written = ["http://127.0.0.1:80/a?b=1", "", "a b", "it's", "--rate=1k:2k"].map(quoted);
        assert_eq!(
            written,
            ["'http://127.0.0.1:80/a?b=1'", "''", "'a b'", "'it'\\''s'", "--rate=1k:2k"]
        );
    }
}
