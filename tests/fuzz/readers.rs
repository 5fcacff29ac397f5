//! The readers under test, and a way to give them bytes as files.

#![allow(dead_code, unused_imports, reason = "only part of each module is reached from here")]

use std::collections::BTreeMap;
use std::path::PathBuf;

pub mod data;
pub mod numerics;

use data::{DataError, Files, Samples};

/// Lays bytes out as files of these names.
pub fn laid_out(files: &[(&str, &[u8])]) -> Files {
    let folder = std::env::temp_dir().join(format!("pcae-run-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the files");
    let place = |(name, bytes): &(&str, &[u8])| {
        let path: PathBuf = folder.join(name);
        std::fs::write(&path, bytes).expect("a file");
        ((*name).to_owned(), path)
    };
    Files::new(files.iter().map(place).collect::<BTreeMap<_, _>>())
}

/// Reads all that a source offers; an error is fine, anything worse is not.
pub fn read_all(samples: Result<Samples, DataError>) {
    const MOST_BYTES: usize = 1 << 24;
    let Ok(Samples::Images(mut source)) = samples else {
        return;
    };
    let (size, count) = (source.shape().pixels(), source.catalog().count);
    let block = source.block().max(1).min(MOST_BYTES / size.max(1));
    let rows: Vec<usize> = (0..count.min(4 * block)).collect();
    for rows in rows.chunks(block.max(1)) {
        let mut pixels = vec![0; rows.len() * size];
        if source.read(rows, &mut pixels).is_err() {
            return;
        }
    }
}
