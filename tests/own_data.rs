//! Ten data files as people have them: `init`, a run, and an answer or one clear refusal.

use std::fmt::Write as _;
use std::fs;

use crate::init::npy;
use crate::sandbox::Sandbox;

/// Numbers from 0 to 1 that look random, another sequence for each seed.
fn numbers(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    })
    .skip(10)
}

/// The six measurements of some samples, which depend on two numbers.
fn measured(rows: usize) -> Vec<[f64; 6]> {
    let mut drawn = numbers(1);
    let mut next = || drawn.next().unwrap();
    (0..rows)
        .map(|_| {
            let (x, y) = (next(), next());
            [10.0 * x, y, x * y, (3.0 * x).sin(), 400.0 + 50.0 * y * y, x - y]
        })
        .collect()
}

const NAMES: [&str; 6] = ["length", "width", "area", "wave", "mass", "skew"];

/// A CSV file of the measurements, with further columns before them.
fn csv(rows: usize, names: &[&str], cells: impl Fn(usize) -> Vec<String>) -> String {
    let mut text = [names, &NAMES].concat().join(",") + "\n";
    for (row, values) in measured(rows).iter().enumerate() {
        let values = values.iter().map(f64::to_string);
        let cells: Vec<String> = cells(row).into_iter().chain(values).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

/// A folder with one file in it.
fn with_file(name: &str, bytes: impl AsRef<[u8]>) -> Sandbox {
    let sandbox = Sandbox::new("");
    fs::write(sandbox.path().join(name), bytes).unwrap();
    sandbox
}

/// What `init` said and wrote, the dimensions that were then found without models, and the range of
/// the conclusion.
struct Answer {
    told: String,
    text: String,
    dimensions: Vec<f64>,
    range: [f64; 2],
}

/// Writes the pipeline and runs all of it, with one seed and a few steps of training.
fn answer(sandbox: &Sandbox, data: &str, more: &[&str]) -> Answer {
    let told = sandbox.call(&[&["init", data, "--out", "own.ron"], more].concat()).ok().stderr;
    let text = sandbox.read("own.ron");
    let lengths = [("2000", "20"), ("600", "20"), ("500", "4"), ("100", "4")];
    let short = lengths.iter().fold(text.clone(), |text, (long, short)| {
        text.replace(&format!("length\": Steps({long})"), &format!("length\": Steps({short})"))
    });
    sandbox.write("own.ron", &short.replace("\"seed\": [0, 1, 2]", "\"seed\": [0]"));
    let events = sandbox.call(&["own.ron", "--json"]).ok().events();
    let conclusion = events.iter().find(|event| event["event"] == "conclusion").unwrap();
    let low = conclusion["low"].as_f64().unwrap();
    let range = [low, conclusion["high"].as_f64().unwrap_or(f64::INFINITY)];
    sandbox.call(&["export", "model-free", "out"]).ok();
    let table = sandbox.read("out/table.csv");
    let dimension = |line: &str| {
        let mut cells = line.split(',').skip(1);
        (cells.next()? == "dimension").then(|| cells.next()?.parse().ok())?
    };
    let dimensions = table.lines().filter_map(dimension).collect();
    Answer { told, text, dimensions, range }
}

impl Answer {
    /// Asserts that something was said.
    fn says(&self, line: &str) -> &Self {
        assert!(self.told.contains(line), "`{line}` in:\n{}", self.told);
        self
    }

    /// Asserts that every estimator gave a number, most of them near the truth, which the range of
    /// the conclusion holds.
    fn is_near(&self, dimension: f64) -> &Self {
        let (found, [low, high]) = (&self.dimensions, self.range);
        assert!(low <= dimension && dimension <= high && high < 6.0, "{:?}", self.range);
        assert!(found.len() >= 5, "{found:?}");
        let near = found.iter().filter(|found| (*found - dimension).abs() < 0.7).count();
        assert!(2 * near > found.len(), "{found:?}");
        self
    }
}

#[test]
fn gaps_in_every_column_cost_rows_and_no_column() {
    let mut text = NAMES.join(",") + "\n";
    let mut chance = numbers(2);
    for values in measured(600) {
        let cell = |value: &f64| {
            if chance.next().unwrap() < 0.02 { String::new() } else { value.to_string() }
        };
        let cells: Vec<_> = values.iter().map(cell).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    let sandbox = with_file("gaps.csv", text);
    let found = answer(&sandbox, "gaps.csv", &[]);
    found.says("6 columns taken: `length`, `width`, `area`, `wave`, `mass`, `skew`\n");
    found.says(" of 600 rows are left out because cells are missing, most of them in `");
    found.says("--missing median").is_near(2.0);
    found.says("standardized: each column gets mean 0 and standard deviation 1");
    assert!(sandbox.call(&["log", "train-raw"]).ok().stdout.contains("of 600 rows are left out"));
    fs::remove_file(sandbox.path().join("own.ron")).unwrap();
    let filled = answer(&sandbox, "gaps.csv", &["--missing", "median", "--no-standardize"]);
    filled
        .says("CSV table: 600 vectors of 6 values")
        .says("missing cells are replaced by the median");
    assert!(filled.text.contains("missing: Median") && !filled.text.contains("Scale(Standard)"));
}

#[test]
fn ids_and_row_numbers_are_no_coordinates_unless_asked_for() {
    let text = csv(300, &["", "patient_id", "visit"], |row| {
        vec![row.to_string(), (1000 + row * 7 % 300).to_string(), (row * row).to_string()]
    });
    let sandbox = with_file("ids.csv", text);
    let found = answer(&sandbox, "ids.csv", &[]);
    found.says("CSV table: 300 vectors of 6 values").is_near(2.0);
    found
        .says("left out: (unnamed) (numbers the rows)")
        .says("left out: `patient_id` (an id by its name)");
    found.says("left out: `visit` (whole numbers in order, as ids and times are)");
    found.says("to use a column of numbers after all, add it to `columns` in own.ron");
    assert!(found.text.contains("// - `patient_id` (an id by its name)"), "{}", found.text);
    let more = found.text.replace("Table(columns: [", "Table(columns: [\"visit\", ");
    sandbox.write("more.ron", &more);
    sandbox.call(&["more.ron", "--until", "train-data"]).ok();
}

#[test]
fn dates_and_times_are_left_out_by_name() {
    let text = csv(300, &["when", "day", "stamp"], |row| {
        let (month, day) = (row % 12 + 1, row % 28 + 1);
        vec![
            format!("2024-{month:02}-{day:02}T08:00:00Z"),
            format!("{day:02}.{month:02}.2024"),
            format!("2024{month:02}{day:02}"),
        ]
    });
    let found = answer(&with_file("dates.csv", text), "dates.csv", &[]);
    found.says("left out: `when`, `day`, `stamp` (dates or times)").is_near(2.0);
    assert!(!found.told.contains("to use"), "dates are never numbers: {}", found.told);
}

#[test]
fn categories_times_booleans_and_decimals_of_parquet_are_left_out_by_name() {
    let sandbox = Sandbox::new("");
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/arrays/kinds.parquet");
    fs::copy(place, sandbox.path().join("kinds.parquet")).unwrap();
    let found = answer(&sandbox, "kinds.parquet", &[]);
    found.says("Parquet table: 57 vectors of 4 values, 2 classes");
    found.says("4 columns taken: `wide`, `narrow`, `gaps`, `code`\n").says("class: `size`\n");
    found.says("left out: `id` (numbers the rows)").says("left out: `zone` (categories)");
    found.says("left out: `when`, `zoned`, `day`, `clock` (dates or times)");
    found.says("left out: `good` (true or false)").says("left out: `price` (decimals, which");
    found.says("left out: `list`, `pair` (nested values)").says("left out: `nothing` (empty)");
    found.says("few different whole numbers: `code` (3); if these are categories, delete them ");
    assert!(found.text.contains("// Few different whole numbers: `code` (3)"), "{}", found.text);
    assert!(found.dimensions.len() >= 5, "{:?}", found.dimensions);
    let told = sandbox.call(&["init", "kinds.parquet", "--out", "other.ron", "--json"]).ok();
    let columns = &told.events()[0]["columns"];
    assert_eq!(columns["taken"], serde_json::json!(["wide", "narrow", "gaps", "code"]));
    assert_eq!(
        columns["left_out"][2],
        serde_json::json!({"name": "when", "reason": "dates or times", "numbers": false})
    );
}

#[test]
fn decimal_commas_are_read_and_named() {
    let text = csv(300, &[], |_| Vec::new()).replace(',', ";").replace('.', ",");
    let found = answer(&with_file("comma.csv", text), "comma.csv", &[]);
    found.says("CSV table: 300 vectors of 6 values").says("note: numbers have decimal commas");
    found.is_near(2.0);
    assert!(found.text.contains("separator: ';', decimal: ','"), "{}", found.text);
    // The same with commas between the cells can't be told apart.
    let text = csv(300, &[], |_| Vec::new()).replace('.', ",");
    let told = with_file("comma.csv", text).call(&["init", "comma.csv"]).fails_with(2).stderr;
    assert!(told.contains("Numbers with decimal commas need another separator"), "{told}");
}

#[test]
fn constant_columns_are_left_out_by_name() {
    let text = csv(300, &["unit", "device"], |_| vec!["1".to_owned(), "A".to_owned()]);
    let found = answer(&with_file("constant.csv", text), "constant.csv", &[]);
    found.says("left out: `unit` (constant)").says("left out: `device` (text)").is_near(2.0);
}

#[test]
fn duplicate_rows_are_counted() {
    let text = csv(300, &[], |_| Vec::new());
    let copies: String = text.lines().skip(1).take(40).flat_map(|line| [line, "\n"]).collect();
    let found = answer(&with_file("twice.csv", text + &copies), "twice.csv", &[]);
    found.says("note: 40 duplicates among 340 samples; estimators skip them").is_near(2.0);
}

/// Images of 12 x 12 pixels with values from 0 to 1: a spot at two coordinates.
fn spots(count: usize, shift: f64) -> Vec<f64> {
    let mut drawn = numbers(3);
    let mut values = Vec::new();
    for _ in 0..count {
        let (x, y) = (drawn.next().unwrap(), drawn.next().unwrap());
        for pixel in 0..144 {
            let (across, down) = (f64::from(pixel % 12) / 12.0, f64::from(pixel / 12) / 12.0);
            let away = (across - 0.4 - shift * x).powi(2) + (down - 0.4 - shift * y).powi(2);
            values.push((-away / 0.05).exp());
        }
    }
    values
}

#[test]
fn images_of_floats_are_rounded_only_where_that_is_said_and_changes_nothing() {
    let bytes = npy("(200, 12, 12)", &spots(200, 0.3));
    let found = answer(&with_file("spots.npy", bytes), "spots.npy", &[]);
    found.says("200 gray images of 12 x 12 pixels, range 0 to ");
    assert!(!found.told.contains("255\n"), "as in the file, not as bytes: {}", found.told);
    found.says("note: values are rounded to 256 levels from 0 to 1, which moves an image by ");
    found.is_near(2.0);
    // Spots that hardly move differ by less than a level.
    let bytes = npy("(200, 12, 12)", &spots(200, 0.003));
    let found = answer(&with_file("still.npy", bytes), "still.npy", &[]);
    found.says("200 vectors of 144 values").says("to keep them as they are").is_near(2.0);
    let levels: Vec<f64> = spots(200, 0.3).iter().map(|x| (x * 255.0).round() / 255.0).collect();
    let sandbox = with_file("levels.npy", npy("(200, 12, 12)", &levels));
    let told = sandbox.call(&["init", "levels.npy"]).ok().stderr;
    assert!(!told.contains("rounded") && told.contains("gray images"), "{told}");
    let negative: Vec<f64> = spots(200, 0.3).iter().map(|x| 8.0 * x - 3.0).collect();
    let found = answer(&with_file("z.npy", npy("(200, 12, 12)", &negative)), "z.npy", &[]);
    found.says("note: values from -3 to ").says("are not those of pixels").is_near(2.0);
    assert!(found.text.contains("Scale(By("), "pixels keep their proportions: {}", found.text);
}

#[test]
fn pictures_in_a_folder_of_one_class_have_no_classes() {
    let sandbox = Sandbox::new("");
    let folder = sandbox.path().join("photos/cats");
    fs::create_dir_all(&folder).unwrap();
    for (index, image) in spots(120, 0.3).chunks(144).enumerate() {
        let mut picture = b"P5 12 12 255 ".to_vec();
        picture.extend(image.iter().map(|value| (value * 255.0) as u8));
        fs::write(folder.join(format!("{index:03}.pgm")), picture).unwrap();
    }
    let found = answer(&sandbox, "photos", &[]);
    found.says("folder of images: 120 gray images of 12 x 12 pixels, range").is_near(2.0);
}

#[test]
fn two_hundred_rows_go_through_every_model() {
    let sandbox = with_file("small.csv", csv(200, &[], |_| Vec::new()));
    let found = answer(&sandbox, "small.csv", &[]);
    found.says("note: only 200 samples: estimates above about 5 will be too low").is_near(2.0);
    sandbox.call(&["export", "dimension", "models"]).ok();
    let table = sandbox.read("models/table.csv");
    for model in ["pcae,", "pcae-light,", "hae,", "pca-ae,", "ard-vae,", "irmae,", "pca,"] {
        assert!(table.contains(model), "{table}");
    }
}

#[test]
fn too_little_is_refused_once_with_what_lacks() {
    let refusal = |text: &str| {
        let sandbox = with_file("bad.csv", text);
        let told = sandbox.call(&["init", "bad.csv"]).fails_with(2).stderr;
        assert_eq!(told.matches("error:").count(), 1, "{told}");
        assert!(!sandbox.path().join("bad.ron").exists());
        told
    };
    // Every third cell is missing in a pattern that leaves hardly a row.
    let mut text = NAMES.join(",") + "\n";
    for (row, values) in measured(50).iter().enumerate() {
        let cell = |(column, value): (usize, &f64)| {
            if (row + column) % 12 == 0 { "NA".to_owned() } else { value.to_string() }
        };
        let cells: Vec<_> = values.iter().enumerate().map(cell).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    let told = refusal(&text);
    assert!(told.contains("estimating a dimension needs at least 40"), "{told}");
    assert!(
        told.contains("rows are left out because cells are missing, most of them in"),
        "{told}"
    );
    let rows: Vec<_> = (0..60).map(|row| format!("{row},{},a", (row * row) % 7)).collect();
    let told = refusal(&format!("id,x,kind\n{}\n", rows.join("\n")));
    assert!(told.contains("only column `x` (left out: `id` (numbers the rows)"), "{told}");
}
