//! Layouts that the tables of a paper have, as declarations.

use crate::report::records::record::Record;
use crate::report::records::record::tests::record;
use crate::report::tables::table::Table;
use crate::report::tables::tabulate::tabulate;
use crate::report::tables::tabulate::tests::spec;
use crate::report::{csv, latex, terminal};

fn table(declaration: &str, records: &[Record]) -> Table {
    let text = format!(r#"(caption: "c", label: "Table 1", {declaration})"#);
    tabulate(&spec(&text), records).unwrap()
}

#[test]
fn known_truths_stand_beside_the_row_labels_and_decide_what_is_best() {
    let run = |set, model, dimension| {
        record(&[("set", set), ("model", model)], &[("dimension", dimension)])
    };
    let records = [
        run("dsprites", "pcae", 4.0),
        run("dsprites", "hae", 5.0),
        run("3dshapes", "pcae", 4.0),
        run("3dshapes", "hae", 5.0),
    ];
    let table = table(
        r#"rows: ["set"], columns: ["model"],
           given: [Given(title: "Ground truth", cells: {"dsprites": "4", "3dshapes": "5"})],
           values: [Value(field: "dimension", title: "Dimension", digits: 0,
                          best: ClosestTo({"dsprites": 4.0, "3dshapes": 5.0}))],
           notes: ["The shape is fixed."], titles: {"set": "Dataset", "pcae": "Ours"}"#,
        &records,
    );
    insta::assert_snapshot!(terminal::render(&table), @"
    Table 1. c
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
                              model
    Dataset    Ground truth   Ours    hae
    ──────────────────────────────────────
    dsprites   4                 4*     5
    3dshapes   5                 4      5*
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    The shape is fixed.
    * best: its runs are nearest to the truth, on average
    ");
    let lines: Vec<String> = csv::render(&table).lines().map(str::to_owned).collect();
    assert!(lines[0].starts_with("set,model,Ground truth,value,"), "{}", lines[0]);
    assert!(lines[1].starts_with("dsprites,pcae,4,dimension,4,,0,1,4,"), "{}", lines[1]);
}

#[test]
fn values_can_stand_one_below_the_other() {
    let run = |set, model, seed, share| {
        let labels = [("set", set), ("model", model), ("seed", seed)];
        record(&labels, &[("dimension", share), ("dimension_99.9", share + 3.0)])
    };
    let records = [
        run("mnist", "pcae", "0", 11.0),
        run("mnist", "pcae", "1", 12.0),
        run("mnist", "hae", "0", 8.0),
        run("celeba", "pcae", "0", 16.0),
        run("celeba", "pcae", "1", 17.0),
    ];
    let table = table(
        r#"rows: ["set"], columns: ["model"], over: ["seed"], layout: ValuesInRows,
           given: [Given(title: "Latent", cells: {"mnist": "24", "celeba": "64"})],
           values: [Value(field: "dimension", title: "99 %", digits: 1, published: {"mnist/pcae": (11, 0)}),
                    Value(field: "dimension_99.9", title: "99.9 %", digits: 1)],
           titles: {"set": "Dataset", "value": "τ"}"#,
        &records,
    );
    insta::assert_snapshot!(terminal::render(&table), @"
    Table 1. c
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
                                     model
    Dataset   τ             Latent          pcae             hae
    ────────────────────────────────────────────────────────────
    mnist     99 %          24        11.5 ± 0.5     8.0 (n = 1)
              (published)            (11.0 ± 0.0)
              99.9 %                  14.5 ± 0.5    11.0 (n = 1)

    celeba    99 %          64        16.5 ± 0.5               –
              99.9 %                  19.5 ± 0.5               –
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    Mean ± population standard deviation (divisor n) over seed, n = 2 unless the cell tells another;
    published numbers as printed. A dash (–) stands where there is no result.
    ");
    insta::assert_snapshot!(latex::render(&table), @r"
    \begin{table}[htbp]
      \centering
      \caption{c}
      \label{tab:table-1}
      \begin{tabular}{lllrr}
        \toprule
        Dataset & $\tau$ & Latent & pcae & hae \\
        \midrule
        mnist & 99 \% & 24 & 11.5 $\pm$ 0.5 & 8.0 {\scriptsize ($n=1$)} \\
         & (published) &  & (11.0 $\pm$ 0.0\rlap{)} &  \\
         & 99.9 \% &  & 14.5 $\pm$ 0.5 & 11.0 {\scriptsize ($n=1$)} \\
        \addlinespace
        celeba & 99 \% & 64 & 16.5 $\pm$ 0.5 & -- \\
         & 99.9 \% &  & 19.5 $\pm$ 0.5 & -- \\
        \bottomrule
      \end{tabular}
      \par\smallskip{\footnotesize Mean $\pm$ population standard deviation (divisor n) over seed, n = 2 unless the cell tells another; published numbers as printed. A dash (--) stands where there is no result.\par}
    \end{table}
    ");
}

#[test]
fn one_line_per_value_needs_no_row_axis() {
    let run = |model, dim, seconds| {
        record(&[("model", model), ("dim", dim)], &[("seconds", seconds), ("hours", seconds / 4.0)])
    };
    let records = [
        run("pcae", "8", 9.0),
        run("pcae", "64", 9.2),
        run("hae", "8", 30.0),
        run("hae", "64", 204.0),
    ];
    let table = table(
        r#"columns: ["model"], layout: ValuesInRows, values: [
            Value(field: "seconds", title: "dim = 8 (s/epoch)", digits: 1, best: Lowest, at: {"dim": "8"}),
            Value(field: "seconds", title: "dim = 64 (s/epoch)", digits: 1, best: Lowest, at: {"dim": "64"}),
            Value(field: "hours", title: "Total (hrs)", at: {"dim": "64"})]"#,
        &records,
    );
    insta::assert_snapshot!(terminal::render(&table), @"
    Table 1. c
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
                           model
                           pcae      hae
    ────────────────────────────────────
    dim = 8 (s/epoch) ↓     9.0*    30.0
    dim = 64 (s/epoch) ↓    9.2*   204.0
    Total (hrs)            2.30    51.00
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    * best
    ");
}

#[test]
fn combinations_that_exist_nowhere_have_no_row() {
    let run =
        |set, dim, fid| record(&[("set", set), ("dim", dim), ("model", "pcae")], &[("fid", fid)]);
    let records = [run("mnist", "8", 57.0), run("mnist", "12", 49.0), run("celeba", "16", 59.0)];
    let table = table(
        r#"rows: ["set", "dim"], columns: ["model"],
           values: [Value(field: "fid", title: "FID", best: Lowest, published: {"celeba/12/pcae": (55, 1)})]"#,
        &records,
    );
    insta::assert_snapshot!(terminal::render(&table), @"
    Table 1. c
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
                           model
    set      dim                    pcae
    ─────────────────────────────────────
    mnist    8                     57.00*
             12                    49.00*

    celeba   12                        –
             (published)   (55.00 ± 1.00)
             16                    59.00*
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    FID: lower is better. A dash (–) stands where there is no result.
    * best
    ");
}

#[test]
fn combinations_that_exist_nowhere_have_no_column_and_no_line() {
    let run = |loss, set, values: &[(&str, f64)]| record(&[("loss", loss), ("set", set)], values);
    let records = [
        run("iso", "dsprites", &[("dimension", 4.0)]),
        run("iso", "mnist", &[("dimension", 11.0), ("dimension_99.9", 14.0)]),
        run("log", "mnist", &[("dimension", 9.0), ("dimension_99.9", 20.0)]),
    ];
    let values = r#"values: [Value(field: "dimension", title: "99 %", digits: 0),
                             Value(field: "dimension_99.9", title: "99.9 %", digits: 0)]"#;
    let wide = table(&format!(r#"rows: ["loss"], columns: ["set"], {values}"#), &records);
    insta::assert_snapshot!(terminal::render(&wide), @"
    Table 1. c
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
           set
    loss   dsprites / 99 %   mnist / 99 %   mnist / 99.9 %
    ──────────────────────────────────────────────────────
    iso                  4             11               14
    log                  –              9               20
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    A dash (–) stands where there is no result.
    ");
    let tall = table(
        &format!(r#"rows: ["set"], columns: ["loss"], layout: ValuesInRows, {values}"#),
        &records,
    );
    insta::assert_snapshot!(terminal::render(&tall), @"
    Table 1. c
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
                        loss
    set                 iso   log
    ─────────────────────────────
    dsprites   99 %       4     –

    mnist      99 %      11     9
               99.9 %    14    20
    ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
    A dash (–) stands where there is no result.
    ");
}
