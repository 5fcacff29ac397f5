use std::fmt::Write as _;
use std::fs;
use std::io::Write;

use crate::sandbox::Sandbox;

/// An npy file of 64-bit floats.
pub(crate) fn npy(shape: &str, values: &[f64]) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

/// Numbers between 0 and 1 that look random.
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|index| (index as f64 * 0.618_033_988_75 + 0.1).fract()).collect()
}

/// An empty folder to put data into.
fn folder() -> Sandbox {
    Sandbox::new("")
}

/// Writes the pipeline, plans it, and returns what was said and written.
fn written(sandbox: &Sandbox, data: &str, file: &str) -> (String, String) {
    let told = sandbox.call(&["init", data]).ok();
    assert_eq!(told.stdout.trim(), file);
    let plan = sandbox.call(&["plan", file]).ok().stdout;
    assert!(plan.contains("0 cached"), "{plan}");
    (told.stderr, sandbox.read(file))
}

#[test]
fn vectors_in_an_array_get_a_pipeline_that_can_be_planned() {
    let sandbox = folder();
    let bytes = npy("(60, 5)", &numbers(300));
    fs::write(sandbox.path().join("points.npy"), bytes).unwrap();
    let (told, text) = written(&sandbox, "points.npy", "points.ron");
    assert!(told.starts_with("NumPy array: 60 vectors of 5 values, range 0"), "{told}");
    assert!(told.contains("note: only 60 samples"), "{told}");
    assert!(text.contains("\"latent\": 5,"), "{text}");
    assert!(text.contains("Counts(train: 45, validation: 0, test: 15, seed: 0)"), "{text}");
    assert!(text.contains("Scale(By("), "values of one unit keep their proportions: {text}");
}

#[test]
fn images_in_an_array_are_padded_or_resized_for_convolutions() {
    let sandbox = folder();
    let images = npy("(50, 14, 13)", &numbers(50 * 14 * 13));
    fs::write(sandbox.path().join("small.npy"), images).unwrap();
    let (told, text) = written(&sandbox, "small.npy", "small.ron");
    assert!(told.starts_with("NumPy array: 50 gray images of 14 x 13 pixels"), "{told}");
    assert!(text.contains("Images(layout: Nhw, range: Unit)"), "{text}");
    assert!(text.contains("steps: [Pad(16)]") && text.contains("Conv(channels: "), "{text}");
    let images = npy("(50, 40, 4, 3)", &numbers(50 * 40 * 4 * 3));
    fs::write(sandbox.path().join("long.npy"), images).unwrap();
    let (told, text) = written(&sandbox, "long.npy", "long.ron");
    assert!(told.contains("50 color images of 40 x 4 pixels"), "{told}");
    assert!(text.contains("Resize(size: 32)") && text.contains("layout: Nhwc"), "{text}");
}

#[test]
fn a_table_keeps_its_columns_of_numbers_and_tells_the_rest() {
    let sandbox = folder();
    let mut table = "id;wide;narrow;gap;species;note\n".to_owned();
    for (row, value) in numbers(80).iter().enumerate() {
        let species = ["cat", "dog"][row % 2];
        let gap = if row == 7 { "" } else { "1.5" };
        let square = 1000.0 * value * value;
        writeln!(table, "{row};{square};{value};{gap};{species};text {row}").unwrap();
    }
    sandbox.write("pets.csv", &table);
    let (told, text) = written(&sandbox, "pets.csv", "pets.ron");
    assert!(told.starts_with("CSV table: 80 vectors of 2 values, 2 classes, range "), "{told}");
    for line in [
        "2 columns taken: `wide`, `narrow`\n",
        "class: `species`\n",
        "left out: `note` (text)\n",
        "left out: `gap` (constant)\n",
        "left out: `id` (numbers the rows)\n",
    ] {
        assert!(told.contains(line), "{line} in {told}");
    }
    let source = r#"Table(columns: ["wide", "narrow"], class: "species", separator: ';')"#;
    assert!(text.contains(source), "{text}");
    assert!(text.contains(r#"steps: [Scale(Standard)], like: "train-raw""#), "{text}");
}

#[test]
fn classes_with_enough_samples_get_a_dimension_each() {
    let sandbox = folder();
    let table = |rows: usize| {
        let mut table = "a,b,c,class\n".to_owned();
        for (row, x) in numbers(rows).iter().enumerate() {
            let kind = ["old cat", "dog"][row % 2];
            writeln!(table, "{x},{},{},{kind}", x * x, (7.0 * x).fract()).unwrap();
        }
        table
    };
    sandbox.write("pets.csv", &table(200));
    let (_, text) = written(&sandbox, "pets.csv", "pets.ron");
    assert!(text.contains(r#""old-cat": "old cat""#), "{text}");
    assert!(text.contains(r#"select: {"class": Names([Axis(class)])}"#), "{text}");
    assert!(text.contains(r#"records: [Each("class-dimension-{class}")]"#), "{text}");
    // Too few of each class, yet every estimate has its interval and its scales.
    sandbox.write("few.csv", &table(80));
    let (_, text) = written(&sandbox, "few.csv", "few.ron");
    assert!(!text.contains("class-dimension"), "{text}");
    assert!(text.contains(r#"field: "interval_low""#), "{text}");
    assert!(text.contains("DimensionByScale("), "{text}");
}

#[test]
fn a_parquet_table_that_is_too_short_says_so() {
    let sandbox = folder();
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/arrays/table.parquet");
    let told = sandbox.call(&["init", table]).fails_with(2).stderr;
    assert!(told.contains("estimating a dimension needs at least 40"), "{told}");
}

#[test]
fn pictures_are_gray_if_all_are_and_folders_are_classes() {
    let sandbox = folder();
    for (index, value) in numbers(60).iter().enumerate() {
        let pets = sandbox.path().join("my pets").join(["cats", "dogs"][index % 2]);
        fs::create_dir_all(&pets).unwrap();
        let mut picture = b"P5 10 12 255 ".to_vec();
        picture.extend((0..120).map(|pixel| (value * 255.0) as u8 ^ pixel));
        fs::write(pets.join(format!("{index}.pgm")), picture).unwrap();
    }
    let (told, text) = written(&sandbox, "my pets", "my-pets.ron");
    let expected = "folder of images: 60 gray images of 12 x 10 pixels, 2 classes, range ";
    assert!(told.starts_with(expected), "{told}");
    assert!(text.contains(r#""path": "my pets""#), "{text}");
    assert!(text.contains("ImageFolder(channels: Gray)"), "{text}");
    // From elsewhere the data are found from the pipeline's folder.
    fs::create_dir(sandbox.path().join("deep")).unwrap();
    sandbox.call(&["init", "my pets", "--out", "deep/pets.ron"]).ok();
    assert!(sandbox.read("deep/pets.ron").contains(r#""path": "../my pets""#));
    sandbox.call(&["plan", "deep/pets.ron"]).ok();
}

#[test]
fn a_pipeline_that_is_there_is_not_overwritten() {
    let sandbox = folder();
    fs::write(sandbox.path().join("points.npy"), npy("(60, 5)", &numbers(300))).unwrap();
    sandbox.write("points.ron", "precious");
    let told = sandbox.call(&["init", "points.npy"]).fails_with(2).stderr;
    let expected = "error: `points.ron` already exists\n\
                    help: choose another name with `--out FILE`\n";
    assert_eq!(told, expected);
    assert_eq!(sandbox.read("points.ron"), "precious");
    sandbox.call(&["init", "points.npy", "--out", "other.ron"]).ok();
    assert!(sandbox.read("other.ron").contains("Pipeline("));
}

#[test]
fn data_that_cannot_be_used_are_told_with_the_place_and_what_can_be() {
    let sandbox = folder();
    let refusal = |name: &str, bytes: &[u8]| {
        let mut file = fs::File::create(sandbox.path().join(name)).unwrap();
        file.write_all(bytes).unwrap();
        let told = sandbox.call(&["init", name]).fails_with(2).stderr;
        assert!(!sandbox.path().join("bad.ron").exists());
        told
    };
    let supported = "help: supported: .npy and .npz";
    let told = refusal("bad.npy", b"nonsense");
    assert!(told.contains("bad.npy: byte 0: expected the magic bytes") && told.contains(supported));
    let mut values = numbers(300);
    values[11] = f64::NAN;
    let told = refusal("bad.npy", &npy("(60, 5)", &values));
    assert!(told.contains("row 2, column 1 (counted from 0): expected a finite number"), "{told}");
    let told = refusal("bad.npy", &npy("(60, 5)", &[0.5; 300]));
    assert!(told.contains("all 60 inspected samples are equal"), "{told}");
    let told = refusal("bad.npy", &npy("(300,)", &numbers(300)));
    assert!(
        told.contains("expected an array with at least 2 dimensions, found `bad` (300)"),
        "{told}"
    );
    let told = refusal("bad.npy", &npy("(60, 5)", &numbers(300)).repeat(2));
    assert!(told.contains("needs 2400 bytes of data"), "{told}");
    let told = refusal("bad.csv", b"name,place\nx,y\n");
    let expected = "expected columns of numbers, found `name`, `place` (text)";
    assert!(told.contains(expected), "{told}");
    let told = refusal("bad.csv", b"");
    assert!(told.contains("bad.csv") && told.contains(supported), "{told}");
    let told = refusal("bad.doc", b"x");
    assert!(told.contains(".doc files are not supported") && told.contains(supported));
    let told = sandbox.call(&["init", "nowhere.npy"]).fails_with(2).stderr;
    assert!(told.contains("there is no file or folder `") && told.contains("nowhere.npy"));
    fs::create_dir(sandbox.path().join("bad")).unwrap();
    let told = sandbox.call(&["init", "bad"]).fails_with(2).stderr;
    assert!(told.contains("the folder is empty"), "{told}");
}
