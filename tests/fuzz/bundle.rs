//! Any bytes as a bundle: as they are, and with the end that makes a zip of them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pcae::engine::bundle::Bundle;
use pcae::engine::remote::Trust;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("pcae-run-fuzz-{}.pcae", std::process::id()));
    std::fs::write(&path, bytes).expect("a file");
    let trust = Trust { unsigned: true, ..Trust::default() };
    let Ok(bundle) = Bundle::open(&path, &trust) else {
        return;
    };
    if bundle.verify().is_ok() {
        let _ = bundle.results();
    }
});
