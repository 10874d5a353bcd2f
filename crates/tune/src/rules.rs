//! Rules of the kernel that each packet or each system call walks: those of nftables, and those of the audit system.
//!
//! Owns the queries, and the text form of the answers, which are read as files. Loads no kernel module and changes
//! nothing.

use std::collections::BTreeMap;
use std::io;

use sys::netlink::{NetlinkFamily, attributes, list, text};

/// Chains of nftables, one per line: `ipv4 TABLE CHAIN input 200`: the hook, or `-`, and the number of rules. Absent if
/// the kernel cannot be asked.
pub(crate) const CHAINS: &str = "/velodrome/nftables-chains";

/// Rules of the audit system, one per line: `exit always`. Absent if the kernel cannot be asked.
pub(crate) const AUDIT_RULES: &str = "/velodrome/audit-rules";

/// The reason why those rules are not known.
pub(crate) const NO_AUDIT_RULES: &str = "/velodrome/audit-rules-why-not";

/// A chain of nftables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    /// `inet FILTER input`: its family, table and name.
    pub(crate) name: String,
    /// Where packets meet it; `-` if only another chain leads to it.
    pub(crate) hook: String,
    pub(crate) rules: u64,
}

impl Chain {
    /// Parses the lines of [`CHAINS`].
    pub(crate) fn read(text: &str) -> Vec<Self> {
        let line = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let [name @ .., hook, rules] = &*words else { return None };
            let rules = rules.parse().ok()?;
            Some(Self { name: name.join(" "), hook: (*hook).to_owned(), rules })
        };
        text.lines().filter_map(line).collect()
    }
}

/// The hooks of address families by number (`NF_INET_*`).
const HOOKS: [&str; 5] = ["prerouting", "input", "forward", "output", "postrouting"];

fn family_name(number: u8) -> &'static str {
    match number {
        1 => "inet",
        2 => "ipv4",
        3 => "arp",
        5 => "netdev",
        7 => "bridge",
        10 => "ipv6",
        _ => "other",
    }
}

/// The chains of nftables, with the number of their rules.
///
/// # Errors
/// The kernel's.
pub(crate) fn chains() -> io::Result<String> {
    const CHAIN: u16 = 10 << 8 | 4;
    const RULE: u16 = 10 << 8 | 7;
    // Each message begins with `struct nfgenmsg`.
    let family = |message: &[u8]| family_name(message.first().copied().unwrap_or(0));
    let named = |message: &[u8], at: u16| {
        let found = attributes(message.get(4..)?).find(|(kind, _)| *kind == at)?;
        Some(text(found.1))
    };
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for rule in list(NetlinkFamily::Netfilter, RULE, &[0; 4])? {
        // `NFTA_RULE_TABLE`, `NFTA_RULE_CHAIN`.
        if let (Some(table), Some(chain)) = (named(&rule, 1), named(&rule, 2)) {
            *counts.entry(format!("{} {table} {chain}", family(&rule))).or_default() += 1;
        }
    }
    let mut lines = String::new();
    for chain in list(NetlinkFamily::Netfilter, CHAIN, &[0; 4])? {
        // `NFTA_CHAIN_TABLE`, `NFTA_CHAIN_NAME`, `NFTA_CHAIN_HOOK` with `NFTA_HOOK_HOOKNUM`.
        let (Some(table), Some(name)) = (named(&chain, 1), named(&chain, 3)) else { continue };
        let all = attributes(chain.get(4..).unwrap_or_default());
        let hook = all.filter(|(kind, _)| *kind == 4).find_map(|(_, content)| {
            let (_, number) = attributes(content).find(|(kind, _)| *kind == 1)?;
            let number = u32::from_be_bytes(*number.first_chunk()?) as usize;
            Some(match family(&chain) {
                "netdev" => "ingress",
                _ => HOOKS.get(number).copied().unwrap_or("other"),
            })
        });
        let name = format!("{} {table} {name}", family(&chain));
        let count = counts.get(&name).copied().unwrap_or(0);
        lines.push_str(&format!("{name} {} {count}\n", hook.unwrap_or("-")));
    }
    Ok(lines)
}

/// The rules of the audit system (`AUDIT_LIST_RULES`): the list of each, and what it does.
///
/// # Errors
/// The reason in words.
pub(crate) fn audit_rules() -> Result<String, String> {
    let found = match list(NetlinkFamily::Audit, 1013, &[]) {
        Ok(found) => found,
        // The kernel was built without it.
        Err(error) if error.raw_os_error() == Some(93) => return Ok(String::new()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(
                "only root of the host may ask for its rules (CAP_AUDIT_CONTROL)".to_owned()
            );
        }
        Err(error) => return Err(format!("the kernel does not list its rules: {error}")),
    };
    // `struct audit_rule_data` begins with the list and the action.
    let line = |message: Vec<u8>| {
        let word =
            |at: usize| message.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        let list = match word(0)? & 0xf {
            0 => "user",
            1 => "task",
            4 => "exit",
            5 => "exclude",
            6 => "filesystem",
            7 => "io_uring",
            _ => "other",
        };
        Some(format!("{list} {}\n", if word(4)? == 0 { "never" } else { "always" }))
    };
    Ok(found.into_iter().filter_map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_read() {
        let text = "inet my filter in input 200\ninet my filter sub - 7\nbroken\n";
        let chain = |name: &str, hook: &str, rules| Chain {
            name: name.to_owned(),
            hook: hook.to_owned(),
            rules,
        };
        let expected =
            [chain("inet my filter in", "input", 200), chain("inet my filter sub", "-", 7)];
        assert_eq!(Chain::read(text), expected);
    }
}
