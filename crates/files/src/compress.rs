//! Compression on a helper thread.
//!
//! Owns the levels. Never decides whether it is worthwhile (`disk` does) and never runs on a
//! scheduler.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use wire::http::encoding::Coding;

/// The usual middle level of gzip. The result is cached, so it pays off more often than it costs.
const GZIP_LEVEL: u32 = 6;

/// From 1 to 22; up to this level a text of a few megabytes takes well under 100 ms, and the window stays under the 8
/// MiB of RFC 9659.
const ZSTD_LEVEL: i32 = 7;

/// The codings that can be produced on the fly.
pub(crate) const ON_THE_FLY: [Coding; 2] = [Coding::Zstd, Coding::Gzip];

/// Compresses; `None` if the coding is not supported or saves nothing.
pub(crate) fn compress(bytes: &[u8], coding: Coding) -> Option<Vec<u8>> {
    let compressed = match coding {
        Coding::Gzip => gzip(bytes)?,
        Coding::Zstd => zstd::bulk::compress(bytes, ZSTD_LEVEL).ok()?,
        Coding::Identity | Coding::Brotli => return None,
    };
    (compressed.len() < bytes.len()).then_some(compressed)
}

/// Without name and time, so that equal content gives equal bytes.
fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL));
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn compressed_data_decompresses_to_input() {
        let text = b"all work and no play ".repeat(500);
        let packed = compress(&text, Coding::Gzip).unwrap();
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, text);
        let packed = compress(&text, Coding::Zstd).unwrap();
        assert_eq!(zstd::bulk::decompress(&packed, text.len()).unwrap(), text);
    }

    #[test]
    fn incompressible_data_is_left_uncompressed() {
        assert_eq!(compress(b"x", Coding::Gzip), None);
        assert_eq!(compress(b"", Coding::Zstd), None);
        assert_eq!(compress(&[b'a'; 4096], Coding::Brotli), None);
        assert_eq!(compress(&[b'a'; 4096], Coding::Identity), None);
    }
}
