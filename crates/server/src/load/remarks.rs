//! The remarks on a configuration that is used nevertheless: the same ones of `check` and of a start.
//!
//! Owns which there are. Never says them.

use super::second_addresses::second_addresses;
use crate::site_data::SiteData;

/// Everything that an operator should know of a configuration and its files.
pub fn remarks(data: &SiteData) -> Vec<String> {
    let of_files = data.secret.warning.iter().chain(&data.trust.warning);
    let of_files = of_files.chain(&data.upstream_tls.warnings).chain(&data.channel_keys.warnings);
    let of_files = of_files.chain(&data.admin_keys.warning);
    let of_cluster = data.cluster.iter().flat_map(|cluster| &cluster.warnings);
    let mut remarks: Vec<String> = of_files.chain(of_cluster).cloned().collect();
    remarks.extend(second_addresses(data));
    remarks
}
