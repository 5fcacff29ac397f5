//! The words of the pipeline language, which belong to no stage kind: what a file consists of, and what
//! is put in before its stages are read.

use serde_json::{Value, json};

/// A word of the language.
pub(super) struct Word {
    /// The word as it is written.
    pub(super) name: &'static str,
    /// Where it is written.
    pub(super) place: &'static str,
    /// What it means: one paragraph, then more, with examples.
    pub(super) about: &'static str,
    /// Fields with what they take and what they mean.
    pub(super) fields: &'static [(&'static str, &'static str, &'static str)],
}

impl Word {
    /// Returns what a tool reads about it.
    pub(super) fn json(&self) -> Value {
        let field = |(name, takes, about): &(&str, &str, &str)| {
            ((*name).to_owned(), json!({ "takes": takes, "description": about }))
        };
        let fields: serde_json::Map<_, _> = self.fields.iter().map(field).collect();
        let mut about = json!({ "title": self.name, "description": self.about });
        if !fields.is_empty() {
            about["properties"] = fields.into();
        }
        about
    }
}

/// All words, in the order in which one meets them.
pub(super) const WORDS: &[Word] = &[
    Word {
        name: "Pipeline",
        place: "a whole file",
        about: r#"A pipeline: its stages, and what they have in common.

```ron
Pipeline(
    name: "ellipses",
    axes: { "seed": [0, 1, 2] },
    stages: {
        "images": Dataset(source: Dsprites(Render(size: 16, factors: Continuous(samples: 500, seed: 0)))),
        "codes-{seed}": Command(args: ["python3", "encode.py", "{seed}"], outputs: ["codes.npy"]),
    },
)
```

Comments start with `//`. Fields come in any order; their order, names of stages and comments are not part of
any key."#,
        fields: &[
            ("name", "a string", "The folder in `reports/`."),
            (
                "stages",
                "a map from names to stages",
                "The stages. One named `train-{seed}` is one for each label of the axis `seed`; `pcae-run \
                 explain` lists the kinds.",
            ),
            (
                "axes",
                "a map from names to lists or maps, optional, {} if left out",
                "Ordered sets of labeled values: see `Axis`.",
            ),
            (
                "shared",
                "a map from names to values, optional, {} if left out",
                "Values that are written once: see `Shared`.",
            ),
            (
                "scales",
                "a map from names to fields in parentheses, optional, {} if left out",
                "Several sizes of the same experiment: see `AtScale`.",
            ),
            (
                "scale",
                "a name or ByDevice(..), optional, none if left out",
                "The scale that is taken without `--scale`; with several scales and neither, the run is \
                 refused.",
            ),
            (
                "limits",
                "a map from stage names or globs to Limits(..), optional, {} if left out",
                "How long stages may run and how often they are retried: see `Limits`.",
            ),
            (
                "data",
                "a string, optional, none if left out",
                "A folder, relative to the file, in which files are searched that are not beside it; \
                 `--data DIR` takes its place.",
            ),
            (
                "notes",
                "a map from titles to text files, optional, {} if left out",
                "Files whose lines go into the report.",
            ),
        ],
    },
    Word {
        name: "Axis",
        place: "in place of any value in a stage, a shared value or an axis value",
        about: r#"The value that an axis has in this stage; `{name}` in a string is its label.

```ron
axes: {
    "seed": [0, 1],                                        // plain values are their own labels
    "set": { "small": (latent: 4, beta: 1.0), "large": (latent: 24, beta: 0.5) },
},
stages: {
    "train-{set}-{seed}": Train(
        model: Pcae(latent: Axis(set, latent), beta: Axis(set, beta), ..), seed: Axis(seed), ..
    ),
}
```

A stage is expanded over exactly the axes in its name, and can use no others. `Axis(set, latent)` is a field of
the value, `{set.latent}` its text in a string. Names of axes have no quotes here. Stages run with the last
axis as the outermost loop: those with the first seed come first. An axis can be a part of another one: see
`Of` and `First`."#,
        fields: &[],
    },
    Word {
        name: "Each",
        place: "in place of an input that takes a family of stages",
        about: r#"All stages of a family, with their labels.

```ron
"table": Table(records: [Each("dimension-{model}-{seed}")], rows: ["model"], over: ["seed"], ..)
```

Axes in the name of the stage that reads it have their label, all others run over all labels. Stages that are
`Absent` are left out."#,
        fields: &[],
    },
    Word {
        name: "Shared",
        place: "in place of any value in a stage, an axis value or another shared value",
        about: r#"A value that is written once under `shared`, and put in wherever it is named.

```ron
shared: { "ellipses": Dsprites(Render(size: 16, factors: Continuous(samples: 500, seed: 0))) },
stages: { "train-images": Dataset(source: Shared(ellipses), split: Train) }
```

Names have no quotes here. A shared value may use `Axis(..)`; the stage then needs the axis in its name."#,
        fields: &[],
    },
    Word {
        name: "Of",
        place: "in place of the values of an axis",
        about: r#"Some values of an axis before it, chosen by their labels.

```ron
axes: { "set": { "dsprites": .., "mnist": .., "celeba": .. }, "known": Of("set", ["dsprites"]) }
```

Names and labels are in quotes here."#,
        fields: &[],
    },
    Word {
        name: "First",
        place: "in place of the values of an axis",
        about: r#"The first values of an axis before it.

```ron
axes: { "seed": [0, 1, 2, 3, 4], "few": First("seed", 3) }
```"#,
        fields: &[],
    },
    Word {
        name: "IfPresent",
        place: "in place of a shared value, an axis, an axis value, a field of a scale or a stage",
        about: r#"One value if a file or folder exists, and another if it does not.

```ron
shared: {
    "digits": IfPresent(path: "mnist", then: Mnist(), otherwise: Array(content: Images(layout: Hw))),
}
```

`pcae-run fetch` downloads published sets that are looked for."#,
        fields: &[
            ("path", "a string", "The file or folder, beside the pipeline file or in `--data`."),
            ("then", "a value", "What stands here if it exists."),
            ("otherwise", "a value", "What stands here if it does not; may be `Absent`."),
        ],
    },
    Word {
        name: "AtScale",
        place: "in place of any value, axis or stage",
        about: r#"A field of the scale that was chosen.

```ron
scales: {                                       // the same fields in all of them
    "small": (size: 16, seeds: [0], codes: Absent),
    "full": (size: 64, seeds: [0, 1, 2], codes: Encode(model: "train-0", data: "images")),
},
scale: ByDevice(processor: "small", gpu: "full"),
axes: { "seed": AtScale(seeds) },
stages: { "codes": AtScale(codes), .. }         // no such stage at the small scale
```

`--scale NAME` chooses a scale, and the report goes to `reports/NAME-OF-PIPELINE-SCALE/`. A scale enters keys by
its values alone, so stages that two scales have in common are computed once. `pcae-run plan --scale small
--against full` shows what differs. Names have no quotes here."#,
        fields: &[],
    },
    Word {
        name: "Absent",
        place: "in place of an axis value, a field of a scale or a stage",
        about: "Nothing: there is no such label, or no such stage.\n\n\
                A family (`Each`) leaves out stages that are absent, and tables may name such labels if they are \
                `optional`; any other reference to one is an error.",
        fields: &[],
    },
    Word {
        name: "ByDevice",
        place: "`scale` of Pipeline",
        about: r#"The scale that is taken without `--scale`, by what models run on.

```ron
scale: ByDevice(processor: "laptop", gpu: "paper")
```"#,
        fields: &[
            ("processor", "a string", "The scale on a processor: `--device flex` or `libtorch`."),
            ("gpu", "a string", "The scale on all other devices."),
        ],
    },
    Word {
        name: "Limits",
        place: "`limits` of Pipeline",
        about: r#"How long stages may run, and how often they are tried again.

```ron
limits: { "train-*": Limits(timeout: 7200, retries: 1), "*": Limits(timeout: 600) }
```

A stage takes the first entry whose name or glob it matches; its limits are not part of its key. The options
`--timeout` and `--retries` are for stages without limits of their own."#,
        fields: &[
            (
                "timeout",
                "a whole number, optional, none if left out",
                "Seconds after which a stage is asked to save its state and stop.",
            ),
            (
                "retries",
                "a whole number, optional, `--retries` (0) if left out",
                "How often a stage that failed is started again.",
            ),
        ],
    },
];
