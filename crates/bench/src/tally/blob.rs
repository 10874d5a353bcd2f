//! Distributions as HDR V2 blobs, which every other HDR tool reads.
//!
//! Owns both directions and what is refused. Never reads a file; never trusts the lengths a blob claims.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use serde::{Deserialize, Serialize};

use crate::limits::{BLOB_BYTES_MAXIMUM, LATENCY_MAXIMUM_NS};
use crate::tally::Latency;

/// The first bytes of a blob that is compressed.
const COOKIE_COMPRESSED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();

/// Cookie and length of what follows, of both forms.
const PREFIX_BYTES: usize = 8;

/// Everything before the counts of an uncompressed blob.
const HEADER_BYTES: usize = 40;

/// Why something is no blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// It is longer than [`BLOB_BYTES_MAXIMUM`], as it is or inflated.
    #[error("a histogram longer than any of ours")]
    TooLong,
    /// The text is not base64.
    #[error("a histogram that is not base64")]
    Encoding,
    /// It ends too early, or the compressed part cannot be inflated.
    #[error("a histogram that ends too early")]
    Cut,
    /// The bytes are none of the V2 format.
    #[error("a histogram that is not in the HDR V2 format")]
    Format,
}

/// A distribution as one generator sends it to another.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredLatency {
    hdr_v2: String,
    sum_ns: u64,
    clamped: u64,
}

impl From<Latency> for StoredLatency {
    fn from(latency: Latency) -> Self {
        let (sum_ns, clamped) = (latency.sum_ns(), latency.clamped());
        Self { hdr_v2: latency.to_text(), sum_ns, clamped }
    }
}

impl TryFrom<StoredLatency> for Latency {
    type Error = BlobError;

    fn try_from(stored: StoredLatency) -> Result<Self, BlobError> {
        Ok(Latency::from_text(&stored.hdr_v2)?.counted(stored.sum_ns, stored.clamped))
    }
}

impl Latency {
    /// The distribution in the HDR V2 format.
    pub fn to_blob(&self) -> Vec<u8> {
        let mut blob = Vec::new();
        V2Serializer::new()
            .serialize(self.histogram(), &mut blob)
            .expect("counts fit 63 bits, and a vector takes all bytes");
        blob
    }

    /// The distribution in the HDR V2 format, compressed.
    pub fn to_blob_compressed(&self) -> Vec<u8> {
        let mut blob = Vec::new();
        V2DeflateSerializer::new()
            .serialize(self.histogram(), &mut blob)
            .expect("counts fit 63 bits, and a vector takes all bytes");
        blob
    }

    /// The compressed blob in base64, as it stands in histogram logs and in reports.
    pub fn to_text(&self) -> String {
        STANDARD.encode(self.to_blob_compressed())
    }

    /// Reads what [`to_text`](Latency::to_text) or another HDR tool wrote.
    ///
    /// # Errors
    /// When the text is not base64, or see [`from_blob`](Latency::from_blob).
    pub fn from_text(text: &str) -> Result<Latency, BlobError> {
        if text.len() > BLOB_BYTES_MAXIMUM {
            return Err(BlobError::TooLong);
        }
        let blob = STANDARD.decode(text).map_err(|_| BlobError::Encoding)?;
        Latency::from_blob(&blob)
    }

    /// Reads a blob, compressed or not, with whatever range and precision it has. The mean of what comes out is known
    /// to the precision of the blob only.
    ///
    /// # Errors
    /// When it is too long, cut, or not in the format.
    pub fn from_blob(blob: &[u8]) -> Result<Latency, BlobError> {
        let read: Histogram<u64> = match blob.strip_prefix(&COOKIE_COMPRESSED) {
            Some(rest) => plain(&inflate(rest)?)?,
            None => plain(blob)?,
        };
        let mut latency = Latency::new();
        for value in read.iter_recorded() {
            let highest_ns = value.value_iterated_to();
            // The bucket that holds our maximum reaches a little beyond it.
            let middle_ns = match read.lowest_equivalent(highest_ns) {
                lowest_ns if lowest_ns <= LATENCY_MAXIMUM_NS => {
                    read.median_equivalent(highest_ns).min(LATENCY_MAXIMUM_NS)
                }
                beyond_ns => beyond_ns,
            };
            latency.record_many(middle_ns, value.count_at_value());
        }
        Ok(latency)
    }
}

/// The data behind the cookie of a compressed blob, inflated up to the bound.
fn inflate(rest: &[u8]) -> Result<Vec<u8>, BlobError> {
    let deflated = rest.get(PREFIX_BYTES - COOKIE_COMPRESSED.len()..).ok_or(BlobError::Cut)?;
    let mut inflated = Vec::new();
    let bound = BLOB_BYTES_MAXIMUM as u64 + 1;
    ZlibDecoder::new(deflated)
        .take(bound)
        .read_to_end(&mut inflated)
        .map_err(|_| BlobError::Cut)?;
    Ok(inflated)
}

/// Reads an uncompressed blob. The length it claims is held against the bytes there are, because the reader makes
/// room for it first.
fn plain(blob: &[u8]) -> Result<Histogram<u64>, BlobError> {
    if blob.len() > BLOB_BYTES_MAXIMUM {
        return Err(BlobError::TooLong);
    }
    let claimed = blob.get(4..PREFIX_BYTES).ok_or(BlobError::Cut)?;
    let claimed = claimed.iter().fold(0usize, |sum, byte| (sum << 8) | usize::from(*byte));
    if blob.len().saturating_sub(HEADER_BYTES) < claimed {
        return Err(BlobError::Cut);
    }
    let mut reader = blob;
    Deserializer::new().deserialize(&mut reader).map_err(|_| BlobError::Format)
}
