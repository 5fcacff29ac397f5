//! The LaTeX report: it compiles whatever the texts in it are.

use std::fs;
use std::process::Command;

use pcae::report::document::{
    Document, DocumentFigure, DocumentKey, DocumentVerdict, appendix, report,
};
use pcae::report::{Record, RecordValue, Table, TableSpec, latex, latex_macros, tabulate};
use ron::extensions::Extensions;
use tempfile::TempDir;

/// Everything that LaTeX, its fonts or its encodings could stumble over.
const HOSTILE: &str = "50 % & a_b #1 {x} \\input{y} $z$ ~^ <|> [opt] --flag \"q\" `c` 'd' \
                       é ß Ł τ ± ≤ → 中文 🎉 \u{0} \u{301} \\end{document} % end";

/// A gray PNG of 1600 by 300 pixels, in hexadecimal.
const PICTURE: &str = "\
    89504e470d0a1a0a0000000d49484452000006400000012c0100000000b3e642a5000001044944415478daed\
    cf010100000802204ffaff8a3f0a1e901e111111111111111111111111111111111111111111111111111111\
    1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111\
    1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111\
    1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111\
    1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111\
    1111111111111111111111111111111111111111111111111111111111917f9101c2e7d664c91849eb000000\
    0049454e44ae426082\
    ";

fn picture() -> Vec<u8> {
    let digits: Vec<u32> = PICTURE.chars().map(|digit| digit.to_digit(16).unwrap()).collect();
    digits.chunks(2).map(|pair| u8::try_from(16 * pair[0] + pair[1]).unwrap()).collect()
}

fn record(labels: &[(&str, &str)], values: &[(&str, f64)]) -> Record {
    let owned = |(axis, label): &(&str, &str)| ((*axis).to_owned(), (*label).to_owned());
    let number = |(name, value): &(&str, f64)| ((*name).to_owned(), RecordValue::Number(*value));
    Record::new(labels.iter().map(owned).collect(), values.iter().map(number).collect()).unwrap()
}

fn table(text: &str, records: &[Record]) -> Table {
    let options = ron::Options::default()
        .with_default_extension(Extensions::UNWRAP_VARIANT_NEWTYPES | Extensions::IMPLICIT_SOME);
    let spec: TableSpec<()> = options.from_str(&text.replacen('(', "(records: (), ", 1)).unwrap();
    tabulate(&spec, records).unwrap()
}

/// The layouts of a paper's tables, one far too wide, one with hostile text everywhere.
fn tables() -> Vec<(String, Table)> {
    let models = ["pcae", "hae", "pca-ae", "ard-vae", "irmae"];
    let mut records = Vec::new();
    for (set, base) in [("dsprites", 4.0), ("mnist", 11.0)] {
        for (shift, model) in models.iter().enumerate() {
            for (seed, noise) in [("0", 0.0), ("1", 0.5), ("2", 0.1)] {
                let dimension = base + shift as f64 + noise;
                let labels = [("set", set), ("model", model), ("seed", seed)];
                if (set, *model, seed) == ("mnist", "hae", "2") {
                    continue;
                }
                let mut values = vec![("dimension", dimension)];
                if set == "mnist" {
                    values.push(("wide", dimension + 3.0));
                }
                records.push(record(&labels, &values));
            }
        }
    }
    let dimension = table(
        r#"(caption: "Intrinsic dimensions, τ = 99 %", label: "Table 1", rows: ["set"],
            columns: ["model"], over: ["seed"],
            given: [Given(title: "Ground truth", cells: {"dsprites": "4", "mnist": "?"})],
            values: [Value(field: "dimension", title: "Dimension", best: ClosestTo({"dsprites": 4.0}),
                           published: {"dsprites/hae": (7.40, 0.49)})],
            unjudged: {"dsprites/pcae": Tuned, "dsprites/hae": StandIn, "mnist/pcae": Collapsed,
                       "mnist/hae": AtItsLimit, "*": NotComparable},
            titles: {"set": "Dataset", "pcae": "Ours", "mnist": "MNIST"},
            notes: ["The shape is fixed."])"#,
        &records,
    );
    let thresholds = table(
        r#"(caption: "Two thresholds", label: "Table 2", rows: ["set"], columns: ["model"],
            over: ["seed"], layout: ValuesInRows,
            values: [Value(field: "dimension", title: "99 %", best: Lowest),
                     Value(field: "wide", title: "99.9 %")],
            titles: {"set": "Dataset", "value": "τ"})"#,
        &records,
    );
    let wide = table(
        r#"(caption: "Far too wide for a page", label: "Table 8", rows: ["seed"],
            columns: ["set", "model"],
            values: [Value(field: "dimension", title: "τ = 99 %", best: Highest),
                     Value(field: "wide", title: "τ = 99.9 %", best: Lowest)])"#,
        &records,
    );
    let hostile = [
        record(&[("m", HOSTILE), ("n", "[x]")], &[("x", 1.0)]),
        record(&[("m", "*"), ("n", "b")], &[("x", -2.0)]),
    ];
    let mut odd = table(
        r#"(caption: "", label: "", rows: ["m"], columns: ["n"], values: [Value(field: "x", title: "X")])"#,
        &hostile,
    );
    for text in [&mut odd.caption, &mut odd.row_axes[0].title, &mut odd.columns[0].labels[0].title]
    {
        HOSTILE.clone_into(text);
    }
    odd.notes.push(HOSTILE.to_owned());
    [("dimension", dimension), ("thresholds", thresholds), ("wide", wide), ("odd_one", odd)]
        .map(|(stage, table)| (stage.to_owned(), table))
        .into()
}

fn document() -> Document {
    let figure = |file: &str, caption: &str| DocumentFigure {
        stage: "figure_1".to_owned(),
        file: file.to_owned(),
        caption: caption.to_owned(),
        label: "Figure 1".to_owned(),
    };
    let key = |index: usize| DocumentKey {
        stage: format!("train-model_{index}-with-a-rather-long-name/seed={index}-of-a-sweep"),
        kind: "TrainClassifier".to_owned(),
        key: "1a2b3c4d".to_owned(),
        seconds: (!index.is_multiple_of(3)).then_some(index as f64),
    };
    Document {
        title: HOSTILE.to_owned(),
        introduction: vec![HOSTILE.to_owned(), "A second paragraph.".to_owned()],
        conclusions: vec![(HOSTILE.to_owned(), vec!["[Raise] `latent`.".to_owned()])],
        tables: tables(),
        verdicts: vec![DocumentVerdict {
            place: HOSTILE.to_owned(),
            published: "4.00 ± 0.10".to_owned(),
            ours: "–".to_owned(),
            text: "matches in 5 of 5 runs".to_owned(),
        }],
        figures: vec![
            figure("picture_1.png", "Wider than the page"),
            figure("nowhere.png", HOSTILE),
            figure("odd %name.png", "A name that can't be opened"),
        ],
        notes: vec![
            ("Where the paper is silent".to_owned(), vec!["[batch] is 256.".to_owned()]),
            (HOSTILE.to_owned(), vec![HOSTILE.to_owned(), "x".repeat(300)]),
            ("Nothing".to_owned(), Vec::new()),
        ],
        settings: vec![
            ("pipeline.ron".to_owned(), format!("Pipeline(\n\tname: \"p\", // {HOSTILE}\n)")),
            (HOSTILE.to_owned(), format!("\\end{{verbatim}}\n{}", "word ".repeat(100))),
        ],
        hardware: vec![
            ("Processor".to_owned(), HOSTILE.to_owned()),
            ("[Memory]".to_owned(), "16 GB".to_owned()),
        ],
        keys: (0..90).map(key).collect(),
    }
}

/// Compiles a file, unless this machine has no LaTeX.
fn compile(folder: &TempDir, name: &str) {
    let run = Command::new("pdflatex")
        .args(["-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", name])
        .current_dir(folder.path())
        .output();
    let Ok(run) = run else {
        return;
    };
    let told = String::from_utf8_lossy(&run.stdout);
    let wrong: Vec<&str> = told.lines().skip_while(|line| !line.starts_with('!')).collect();
    assert!(run.status.success(), "{name}: {}", wrong.join("\n"));
    assert!(!told.contains("Overfull \\hbox"), "{name} runs off the page: {told}");
}

#[test]
fn a_report_compiles_whatever_its_texts_are() {
    let folder = TempDir::new().unwrap();
    let document = document();
    let text = report(&document).unwrap();
    assert!(text.is_ascii(), "no input encoding is needed");
    fs::write(folder.path().join("report.tex"), text).unwrap();
    fs::write(folder.path().join("picture_1.png"), picture()).unwrap();
    compile(&folder, "report.tex");
    // Settings and keys on request.
    let text = appendix(&document).unwrap();
    assert!(text.is_ascii(), "no input encoding is needed");
    fs::write(folder.path().join("appendix.tex"), text).unwrap();
    compile(&folder, r"\def\withappendix{}\input{report}");
}

#[test]
fn single_tables_and_numbers_compile_in_a_document_of_ones_own() {
    let folder = TempDir::new().unwrap();
    let tables = tables();
    fs::write(folder.path().join("numbers.tex"), latex_macros::render(&tables)).unwrap();
    let mut own = vec![
        r"\documentclass{article}\usepackage[margin=1cm]{geometry}\usepackage{booktabs}\input{numbers}\begin{document}".to_owned(),
        r"PCAE finds \TableOneDspritesPcae{} ($\TableOneDspritesPcaeMean$).".to_owned(),
    ];
    for (stage, table) in tables.iter().filter(|(stage, _)| stage != "wide" && stage != "odd_one") {
        fs::write(folder.path().join(format!("{stage}.tex")), latex::render(table)).unwrap();
        own.push(format!(r"\small\input{{{stage}}}"));
    }
    own.push(r"\end{document}".to_owned());
    fs::write(folder.path().join("own.tex"), own.join("\n")).unwrap();
    compile(&folder, "own.tex");
}
