//! Data from outside: files, folders and downloads, through the real program.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::sandbox::Sandbox;

/// Four vectors with a factor and a class.
const CSV: &str = "x,y,age,kind\n0,1,7,cat\n1,3,8,dog\n2,5,9,cat\n3,7,10,dog\n";

fn about(sandbox: &Sandbox, stage: &str) -> serde_json::Value {
    let folder = format!("out-{stage}");
    sandbox.call(&["export", stage, &folder]).ok();
    serde_json::from_str(&sandbox.read(&format!("{folder}/about.json"))).unwrap()
}

/// Returns the shape that an npy file declares.
fn shape(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let header = String::from_utf8_lossy(&bytes[..128.min(bytes.len())]).into_owned();
    let (_, rest) = header.split_once("'shape': (").unwrap();
    rest.split(')').next().unwrap().trim_end_matches(", ").to_owned()
}

/// Writes a binary gray picture of 4 x 4 pixels, each `value`.
fn picture(folder: &Path, name: &str, value: u8) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut bytes = b"P5 4 4 255\n".to_vec();
    bytes.extend([value; 16]);
    fs::write(path, bytes).unwrap();
}

#[test]
fn vectors_of_a_table_are_chosen_split_and_scaled() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", stages: {
        "all": Dataset(source: Table(columns: ["x", "y"], factors: ["age"], class: "kind"), path: "data.csv"),
        "train": Preprocess(data: "all", split: Train, division: Counts(train: 3, validation: 0, test: 1, seed: 0)),
        "cats": Preprocess(data: "all", select: {"class": Names(["cat"])}, steps: [Scale(UnitRange)], like: "all"),
    })"#,
    );
    sandbox.write("data.csv", CSV);
    sandbox.run().ok();
    assert_eq!(about(&sandbox, "cats")["classes"], serde_json::json!(["cat", "dog"]));
    assert_eq!(shape(&sandbox.path().join("out-cats/points.npy")), "2, 2");
    let kinds: Vec<_> =
        sandbox.results().values().map(|artifact| artifact["kind"].clone()).collect();
    for kind in ["vectors", "train-vectors"] {
        assert!(kinds.iter().any(|have| have == kind), "{kind} is not in {kinds:?}");
    }
    let again = sandbox.run().ok();
    assert!(again.executed().is_empty());
    sandbox.write("data.csv", &CSV.replace("3,7,10", "3,8,10"));
    let edited = sandbox.run().ok().executed();
    assert!(edited.contains(&"all".to_owned()), "an edited file is read again: {edited:?}");
}

#[test]
fn training_and_test_data_cannot_be_mixed_up_however_they_were_made() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", stages: {
        "all": Dataset(source: Dsprites(Render(size: 16, factors: Continuous(samples: 9, seed: 0)))),
        "test": Preprocess(data: "all", split: Test, steps: [First(5)]),
        "padded": Preprocess(data: "test", steps: [Pad(20)]),
        "distances": Geodesic(data: "padded", neighbors: 2),
        "twice": Preprocess(data: "test", split: Train),
        "flat": Preprocess(data: "test", steps: [Flatten, Crop(3)]),
        "scaled": Preprocess(data: "test", steps: [Flatten, Scale(Standard)]),
        "scaled-at-once": Preprocess(data: "all", split: Test, steps: [Flatten, Scale(UnitRange)]),
        "scaled-by-all": Preprocess(data: "test", steps: [Flatten, Scale(Standard)], like: "all"),
        "scaled-first": Preprocess(data: "all", steps: [Flatten, Scale(Standard), First(3)]),
        "count": Estimate(points: "all", estimator: Variance(threshold: 0.99)),
        "shares": Preprocess(data: "all", split: Train, division: Shares(train: 0.8, validation: 0.3, test: 0.1, seed: 0)),
    })"#,
    );
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    for told in [
        "`padded` produces `test-images`, but input `data` needs `train-images` or `train-vectors`",
        "`test` is already the test split",
        "`Crop`, `Pad`, `Resize` and `Flatten` are for images, and these are vectors",
        "a scale measured on held-out data differs from that of the training data",
        "`steps` of stage `scaled-at-once`",
        "held-out data can't determine the scale",
        "samples are chosen before a scale is measured",
        "`Variance` counts coordinates in order, but only codes are ordered",
        "these fractions add up to 1.200, more than 1",
    ] {
        assert!(refused.stderr.contains(told), "{told} is not in\n{}", refused.stderr);
    }
}

#[test]
fn images_and_vectors_have_a_spectrum_as_they_are() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", stages: {
        "all": Dataset(source: Dsprites(Render(size: 16, factors: Continuous(samples: 30, seed: 0))), split: Test),
        "flat": Preprocess(data: "all", steps: [Flatten]),
        "of-images": Estimate(points: "all", estimator: Spectrum(threshold: 0.9)),
        "of-vectors": Estimate(points: "flat", estimator: Spectrum(threshold: 0.9)),
    })"#,
    );
    sandbox.run().ok();
    let record = |stage: &str| {
        sandbox.call(&["export", stage, stage]).ok();
        sandbox.read(&format!("{stage}/record.json"))
    };
    assert_eq!(record("of-images"), record("of-vectors"));
    let values: serde_json::Value = serde_json::from_str(&record("of-images")).unwrap();
    let variances = values["variances"].as_array().unwrap();
    assert_eq!(variances.len(), 256);
    let positive = variances.iter().filter(|value| value.as_f64().unwrap() > 0.0).count();
    assert!(positive <= 29, "30 images span 29 directions, not {positive}");
    let dimension = values["dimension"].as_u64().unwrap();
    assert!((2..29).contains(&dimension), "{dimension}");
}

#[test]
fn estimates_from_few_points_carry_a_note_and_those_from_more_do_not() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", axes: {"samples": [5, 40]}, stages: {
        "points-{samples}": Dataset(source: Manifold(shape: SwissRoll, samples: Axis(samples), seed: 0)),
        "axes-{samples}": Estimate(points: "points-{samples}", estimator: Spectrum(threshold: 0.9)),
        "two-{samples}": Estimate(points: "points-{samples}", estimator: TwoNn()),
    })"#,
    );
    sandbox.run().ok();
    for (stage, note) in [
        ("axes-5", Some("estimated from only 5 points, so this is a rough number")),
        (
            "two-5",
            Some(
                "estimated from only 4 points, so this is a rough number; an interval needs at \
                 least 30 points, so it is open",
            ),
        ),
        ("axes-40", None),
        ("two-40", None),
    ] {
        sandbox.call(&["export", stage, stage]).ok();
        let text = sandbox.read(&format!("{stage}/record.json"));
        let values: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(values["note"].as_str(), note, "{stage}: {values}");
        let log = sandbox.call(&["log", stage]).ok().stdout;
        let warning = note.map(|note| format!("warning: {note}"));
        assert_eq!(warning.is_some(), log.contains("warning"), "{stage}: {log}");
        assert!(warning.is_none_or(|warning| log.contains(&warning)), "{stage}: {log}");
        let interval = ["interval_low", "interval_high"].map(|name| values[name].as_f64());
        let [low, high] = interval.map(|end| end.unwrap_or(2.0));
        assert!(low <= 2.0 && (2.0..=3.0).contains(&high), "{stage}: {values}");
        assert_eq!(interval[0].is_some(), stage.starts_with("two"), "{stage}: {values}");
    }
}

#[test]
fn one_sample_is_refused_where_a_data_set_is_made() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", stages: {
        "all": Dataset(source: Table(columns: ["x", "y"]), path: "data.csv"),
        "last": Preprocess(data: "all", steps: [First(1)]),
    })"#,
    );
    sandbox.write("data.csv", CSV);
    let failed = sandbox.call(&["pipeline.ron"]).fails_with(1);
    let told = "a data set needs at least 2 samples, but only 1 is left: select more of them";
    assert!(failed.stderr.contains("failed: last"), "{}", failed.stderr);
    assert!(failed.stderr.contains(told), "{}", failed.stderr);
    sandbox.write("data.csv", "x,y\n1,2\n");
    let failed = sandbox.call(&["pipeline.ron"]).fails_with(1);
    assert!(failed.stderr.contains("failed: all"), "{}", failed.stderr);
    assert!(failed.stderr.contains(told), "{}", failed.stderr);
}

#[test]
fn sub_folders_are_classes_and_broken_pictures_are_named_or_left_out() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", stages: {
        "faces": Dataset(source: ImageFolder(channels: Gray, skip_broken: false), path: "faces"),
        "sheet": Figure(images: "faces", picture: ContactSheet(caption: "c", label: "l", under: ["class"])),
    })"#,
    );
    let folder = sandbox.path().join("faces");
    for at in 0..3 {
        picture(&folder, &format!("cats/{at}.pgm"), 10 * at);
        picture(&folder, &format!("dogs/{at}.pgm"), 200 + at);
    }
    sandbox.run().ok();
    assert_eq!(
        shape(&{
            about(&sandbox, "faces");
            sandbox.path().join("out-faces/images.npy")
        }),
        "6, 1, 4, 4"
    );
    assert!(sandbox.path().join("reports/own/sheet.png").exists());

    fs::write(folder.join("cats/1.pgm"), b"P5 4 4 255\nshort").unwrap();
    let failed = sandbox.run().fails_with(1);
    assert!(failed.stdout.contains("faces/cats/1.pgm"), "{}", failed.stdout);
    assert!(failed.stdout.contains("skip_broken"), "{}", failed.stdout);
    sandbox.edit("skip_broken: false", "skip_broken: true");
    sandbox.run().ok();
    let about = about(&sandbox, "faces");
    assert_eq!(about["skipped"], 1, "{about}");
    assert_eq!(about["skipped_files"].as_array().unwrap().len(), 1, "{about}");
}

#[test]
fn a_pinned_file_is_found_by_its_hash_packed_or_not_and_kept_for_other_pipelines() {
    const TEXT: &str = "x,y\n1,2\n3,4\n5,6\n";
    let pinned = r#"Pinned([(name: "points.csv", bytes: 16,
        sha256: "4da5157ca4c4b18c2e2c7a69ea8bf27ae8c9e8ef6aa4ec4c2b0b7b4e1b6ac2ed",
        mirrors: [])])"#;
    let sandbox = Sandbox::new(&format!(
        r#"Pipeline(name: "own", data: "data", stages: {{
        "files": Download(files: {pinned}),
        "points": Dataset(source: Table(), files: "files"),
    }})"#
    ));
    let hash = sha256(TEXT.as_bytes());
    sandbox.edit("4da5157ca4c4b18c2e2c7a69ea8bf27ae8c9e8ef6aa4ec4c2b0b7b4e1b6ac2ed", &hash);
    let missing = sandbox.call(&["pipeline.ron", "--offline"]).fails_with(1);
    assert!(missing.stderr.contains("not available offline"), "{}", missing.stderr);

    let data = sandbox.path().join("data");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("points.csv"), TEXT.replace('5', "9")).unwrap();
    let wrong = sandbox.run_with(&["--offline"]).fails_with(1);
    assert!(wrong.stdout.contains("sha256"), "{}", wrong.stdout);

    fs::remove_file(data.join("points.csv")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(TEXT.as_bytes()).unwrap();
    fs::write(data.join("points.csv.gz"), packed.finish().unwrap()).unwrap();
    sandbox.run_with(&["--offline"]).ok();

    // Another pipeline wants the same bytes, and the folder is gone.
    fs::remove_dir_all(&data).unwrap();
    let other = sandbox.read("pipeline.ron").replace("points.csv", "other.csv");
    sandbox.write("pipeline.ron", &other);
    let shared = sandbox.run_with(&["--offline"]).ok();
    assert_eq!(shared.executed(), ["files", "points"]);
    let log = sandbox.call(&["log", "files"]).ok().stdout;
    assert!(log.contains("already in the cache"), "{log}");
}

/// Serves `bytes` on loopback: the first answer is cut in the middle, later ones honor `Range`.
/// Returns its address and a count of requests.
fn cutting_server(bytes: &'static [u8]) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/points.csv", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let range = head.iter().find_map(|line| {
                let line = line.to_lowercase();
                line.strip_prefix("range: bytes=")?.strip_suffix('-')?.parse::<usize>().ok()
            });
            let total = bytes.len();
            let (status, from) = match range {
                Some(from) => {
                    let last = total - 1;
                    (
                        format!(
                            "206 Partial Content\r\nContent-Range: bytes {from}-{last}/{total}"
                        ),
                        from,
                    )
                }
                None => ("200 OK".to_owned(), 0),
            };
            let first = count.fetch_add(1, Ordering::SeqCst) == 0;
            let to = if first { total / 2 } else { total };
            let length = total - from;
            let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
            let _ = stream.write_all(&bytes[from..to]);
        }
    });
    (address, requests)
}

#[test]
fn a_download_that_was_cut_goes_on_where_it_stopped() {
    const TEXT: &[u8] = b"x,y\n1,2\n3,4\n5,6\n";
    let (address, requests) = cutting_server(TEXT);
    let sandbox = Sandbox::new(&format!(
        r#"Pipeline(name: "own", stages: {{
        "files": Download(files: Pinned([(name: "points.csv", bytes: {}, sha256: "{}", mirrors: ["{address}"])])),
        "points": Dataset(source: Table(), files: "files"),
    }})"#,
        TEXT.len(),
        sha256(TEXT),
    ));
    sandbox.run().ok();
    assert_eq!(requests.load(Ordering::SeqCst), 2, "one answer was cut, the next brought the rest");
    assert!(sandbox.run().ok().executed().is_empty());
    sandbox.edit(&address, "http://127.0.0.1:1/elsewhere.csv");
    assert!(sandbox.run().ok().executed().is_empty(), "another mirror, the same file");
}

#[test]
fn what_was_fetched_stays_when_a_later_file_fails() {
    let sandbox = Sandbox::new(&format!(
        r#"Pipeline(name: "own", stages: {{
        "files": Download(files: Pinned([
            (name: "a", bytes: 5, sha256: "{}", mirrors: ["file:FOLDER/first"]),
            (name: "b", bytes: 6, sha256: "{}", mirrors: ["file:FOLDER/second"]),
        ])),
    }})"#,
        sha256(b"first"),
        sha256(b"second"),
    ));
    let folder = sandbox.path().display().to_string();
    sandbox.edit("FOLDER", &folder);
    sandbox.write("first", "first");
    let failed = sandbox.run_with(&["--keep-going"]).fails_with(1);
    assert!(failed.stdout.contains("`b` is not available"), "{}", failed.stdout);
    fs::remove_file(sandbox.path().join("first")).unwrap();
    sandbox.write("second", "second");
    sandbox.call(&["gc", "pipeline.ron", "--delete"]).ok();
    sandbox.run().ok();
    sandbox.call(&["export", "files", "out"]).ok();
    assert_eq!((sandbox.read("out/a"), sandbox.read("out/b")), ("first".into(), "second".into()));
}

#[test]
fn parts_of_a_set_never_overlap_whatever_is_selected_or_done_before() {
    let rows: Vec<_> = (0..60).map(|row| format!("{row},{}", ["x", "y"][row % 2])).collect();
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", stages: {
        "test": Dataset(source: Table(class: "kind"), path: "data.csv", split: Test),
        "train-x": Dataset(source: Table(class: "kind"), path: "data.csv", split: Train,
                           select: {"class": Names(["x"])}),
        "drawn": Dataset(source: Dsprites(Render(size: 8, supersampling: 4,
                                                 factors: Continuous(samples: 20, seed: 0)))),
        "drawn-test": Preprocess(data: "drawn", split: Test),
        "drawn-at-once": Dataset(source: Dsprites(Render(size: 8, supersampling: 4,
                                                         factors: Continuous(samples: 20, seed: 0))),
                                 split: Test),
    })"#,
    );
    sandbox.write("data.csv", &format!("value,kind\n{}\n", rows.join("\n")));
    sandbox.run().ok();
    let bytes = |stage: &str, file: &str| {
        sandbox.call(&["export", stage, stage]).ok();
        fs::read(sandbox.path().join(stage).join(file)).unwrap()
    };
    let values = |stage| {
        let bytes = bytes(stage, "points.npy");
        let start = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        let numbers = bytes[start..].chunks(4);
        numbers.map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect::<Vec<_>>()
    };
    let (test, train) = (values("test"), values("train-x"));
    assert_eq!(test.len(), 9);
    assert!(train.iter().all(|value| !test.contains(value)), "{train:?} meets {test:?}");
    let published = bytes("drawn-test", "images.npy");
    assert_eq!(published, bytes("drawn-at-once", "images.npy"), "published parts are kept");
}

#[test]
fn settings_of_data_that_cannot_hold_are_told_before_anything_runs() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", stages: {
        "a": Dataset(source: Mnist()),
        "b": Dataset(source: Dsprites(Render(size: 8, factors: Lattice)), path: "pipeline.ron"),
        "c": Dataset(source: Table(), path: "pipeline.ron", steps: [Scale(Standard)]),
        "d": Dataset(source: Table(), path: "pipeline.ron", division: Published),
        "e": Download(files: Pinned([(name: "../x", bytes: 1, sha256: "00", mirrors: [])])),
        "f": Download(files: Pinned([(name: "x", bytes: 1, sha256: "ff", mirrors: [])])),
    })"#,
    );
    let refused = sandbox.call(&["pipeline.ron"]).fails_with(2);
    for told in [
        "this data set is read from files, but none are given",
        "this data set is generated and reads no files",
        "a measured scale would differ between the splits of a data set",
        "`division` says how splits are made, but no `split` is chosen",
        "expected a plain file name, found \"../x\"",
        "expected 64 hexadecimal digits",
    ] {
        assert!(refused.stderr.contains(told), "{told} is not in\n{}", refused.stderr);
    }
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    pcae::data::download::Sha256Digest::from_bytes(sha2::Sha256::digest(bytes).into()).to_string()
}

#[test]
fn fetch_brings_downloads_here_and_runs_nothing_else() {
    let sandbox = Sandbox::new(&format!(
        r#"Pipeline(name: "own", stages: {{
        "files": Download(files: Pinned([(
            name: "points.csv", bytes: 8, sha256: "{}", mirrors: ["file:FOLDER/points.csv"],
        )])),
        "points": Dataset(source: Table(), files: "files"),
    }})"#,
        sha256(b"x\n1\n2\n3\n"),
    ));
    let folder = sandbox.path().display().to_string();
    sandbox.edit("FOLDER", &folder);
    sandbox.write("points.csv", "x\n1\n2\n3\n");
    let told = sandbox.call(&["fetch", "pipeline.ron"]).ok().stdout;
    assert!(told.contains("1 download in the cache"), "{told}");
    fs::remove_file(sandbox.path().join("points.csv")).unwrap();
    assert_eq!(sandbox.run_with(&["--offline"]).ok().executed(), ["points"]);
    sandbox.write("pipeline.ron", r#"Pipeline(name: "p", stages: {"a": Dataset(
        source: Dsprites(Render(size: 8, factors: Continuous(samples: 9, seed: 0))), split: Train)})"#);
    let told = sandbox.call(&["fetch", "pipeline.ron"]).ok().stdout;
    assert_eq!(told, "there is nothing to fetch\n");
}

#[test]
fn fetch_looks_for_published_sets_that_a_pipeline_uses_if_they_are_there() {
    let sandbox = Sandbox::new(
        r#"Pipeline(name: "own", shared: {
            "folder": IfPresent(path: "mnist", then: "mnist", otherwise: "kept"),
        }, stages: {"digits": Dataset(source: Mnist(), path: Shared(folder), split: Train)})"#,
    );
    fs::create_dir(sandbox.path().join("kept")).unwrap();
    let told = sandbox.call(&["fetch", "pipeline.ron", "--offline"]).fails_with(1).stderr;
    assert!(told.contains("train-images-idx3-ubyte"), "{told}");
    fs::create_dir(sandbox.path().join("mnist")).unwrap();
    let told = sandbox.call(&["fetch", "pipeline.ron", "--offline"]).ok().stdout;
    assert_eq!(told, "there is nothing to fetch\n", "it is there");
}
