//! Models for PyTorch: which files are written, and for what. What PyTorch makes of them is checked by
//! tests/pytorch/check.py.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::{RECORDS, Sandbox};

const PIPELINE: &str = r#"Pipeline(
    name: "p",
    stages: {
        "images": Dataset(
            source: Dsprites(Render(size: 8, supersampling: 4, factors: Continuous(samples: 60, seed: 0))),
            split: Train,
        ),
        "codes": Encode(model: "train", data: "images"),
        "train": Train(
            model: Vae(latent: 3, network: Conv(channels: [4, 6], batch_norm: true), beta: 0.5),
            data: "images", length: Steps(4), batch_size: 16, optimizer: Adam(rate: 1e-2), seed: 0,
        ),
    },
)"#;

/// Returns the header of a safetensors file.
fn header(sandbox: &Sandbox, file: &str) -> serde_json::Map<String, Value> {
    let bytes = fs::read(sandbox.path().join(file)).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    header.as_object().unwrap().clone()
}

#[test]
fn a_trained_model_becomes_a_module_that_anyone_can_read() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.run().ok();
    let written = sandbox.call(&["export", "train", "there", "--pytorch"]).ok().stdout;
    assert_eq!(written, "there/model.py\nthere/weights.safetensors\n");
    insta::with_settings!({
        snapshot_path => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pytorch"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
        filters => vec![("[0-9a-f]{64}", "[KEY]")],
    }, {
        insta::assert_snapshot!("model", sandbox.read("there/model.py"));
    });
    let names: BTreeSet<String> =
        header(&sandbox, "there/weights.safetensors").into_iter().map(|(name, _)| name).collect();
    for name in ["encoder.layers.0.weight", "encoder.layers.1.running_var", "decoder.layers.0.bias"]
    {
        assert!(names.contains(name), "{names:?}");
    }
    sandbox.call(&["export", "train", "own"]).ok();
    let own = header(&sandbox, "own/weights.safetensors");
    assert_eq!(names.len(), own.len(), "the stage's own file has the same arrays by other names");
}

#[test]
fn a_module_is_documented_as_json_and_is_no_copy() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.run().ok();
    let written = sandbox.call(&["export", "train", "there", "--pytorch", "--json"]).ok().events();
    let expected = [
        json!({"file": "there/model.py", "from": null}),
        json!({"file": "there/weights.safetensors", "from": null}),
    ];
    assert_eq!(written, expected);
}

#[test]
fn a_stage_without_a_model_says_what_it_has_and_who_has_one() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.run().ok();
    let refused = sandbox.call(&["export", "codes", "there", "--pytorch"]).fails_with(2);
    assert!(
        refused.stderr.contains("`codes` has no model, but points: points.npy\n"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("choose a stage that has a model, such as `train`"),
        "{}",
        refused.stderr
    );
    assert!(!sandbox.path().join("there").exists());

    let records = Sandbox::new(RECORDS);
    records.run().ok();
    let refused = records.call(&["export", "score-0", "there", "--pytorch"]).fails_with(2);
    assert!(
        refused.stderr.contains("`score-0` has no model, but record: record.json\n"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("`Train`"), "{}", refused.stderr);
}

#[test]
fn a_module_follows_no_link() {
    let sandbox = Sandbox::new(PIPELINE);
    sandbox.run().ok();
    sandbox.write("victim", "precious");
    fs::create_dir(sandbox.path().join("target")).unwrap();
    for name in ["model.py", "weights.safetensors"] {
        symlink(sandbox.path().join("victim"), sandbox.path().join("target").join(name)).unwrap();
    }
    sandbox.call(&["export", "train", "target", "--pytorch"]).ok();
    assert_eq!(sandbox.read("victim"), "precious");
    assert!(sandbox.read("target/model.py").contains("class Encoder(nn.Module):"));
    assert!(fs::symlink_metadata(sandbox.path().join("target/model.py")).unwrap().is_file());
}
