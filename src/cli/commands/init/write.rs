//! The text of a pipeline, from what the data are and the settings that suit them.

use super::classes::ClassPart;
use super::columns::Columns;
use super::inspect::Inspection;
use super::settings::Settings;
use crate::cli::output::terminal;
use crate::data::{
    ArrayContent, ArrayFile, ColorMode, DatasetSpec, ImageFolder, Missing, PixelRange, SampleForm,
    TableFile,
};

/// Returns the text of a pipeline for data at a path, relative to the pipeline's folder.
pub(super) fn pipeline(
    name: &str,
    place: &str,
    inspection: &Inspection,
    settings: &Settings,
) -> String {
    let Settings { network, latent, train, test, batch, length, slow_length, .. } = settings;
    let Settings { graph, near, local, prior, .. } = settings;
    let what = what(inspection);
    let (source, data) = (source(&inspection.source), data_stages(settings));
    let columns = inspection.columns.as_ref().map(columns_comment).unwrap_or_default();
    let (path, classes) = (quoted(place), ClassPart::of(inspection, settings));
    format!(
        r#"// The intrinsic dimension of {name}: {what}.
//
// Written by `pcae-run init`. Edit it freely: only what depends on a change is computed again. What
// to change first, all of it in `shared` and `axes`:
// - beta: the weight of distances and order relative to reconstruction, at any scale of the data.
//   If it is too small, dimensions remain that are not needed; if it is too large, some are lost and
//   reconstructions are poor (table `errors`). PCAE is also shown with a tenth of it: trust a count
//   on which both agree.
// - threshold: the share of the variance that must be explained. Use 0.95 or 0.9 for noisy data.
// - latent: must exceed the dimension. If a count comes near it, double it.
// - seed: more seeds show how much a count varies; more steps (`length`) reduce that.
// What a setting means: `pcae-run explain Pcae`, `pcae-run explain Train` and so on.
Pipeline(
    name: "{name}",
    axes: {{
        "seed": [0, 1, 2],
        "learner": {{
            "pcae": Pcae(
                latent: Shared(latent), network: Shared(network), beta: Shared(beta),
                gamma: Dynamic(threshold: 0.98, every: Steps({update})),
            ),
            "pcae-light": Pcae(
                latent: Shared(latent), network: Shared(network), beta: Shared(light_beta),
                gamma: Dynamic(threshold: 0.98, every: Steps({update})),
            ),
            "ard-vae": ArdVae(
                latent: Shared(latent), network: Shared(network), beta: 1.0, prior_samples: {prior},
            ),
            "irmae": Irmae(latent: Shared(latent), network: Shared(network)),
            "pca": Pca(latent: Shared(latent)),
        }},
        "model": ["pcae", "pcae-light", "hae", "pca-ae", "ard-vae", "irmae", "pca"],
        // Coordinates in the model's own order, or principal axes of its codes: the first is for
        // models that order their coordinates, the second is fair to all.
        "count": {{
            "coordinates": Variance(threshold: Shared(threshold)),
            "axes": Spectrum(threshold: Shared(threshold)),
        }},
        "estimator": {{
            "mle": Mle(neighbors: {near}, form: MacKayGhahramani),
            "two-nn": TwoNn(discard: 0.1),
            "local-pca": LocalPca(neighbors: {local}, rule: FukunagaOlsen()),
            "correlation": CorrelationDimension(near: {half}, far: {near}),
            "moments": Mom(neighbors: {near}),
        }},{class_axis}
    }},
    shared: {{
        "beta": {beta:?},
        "light_beta": {light_beta:?},
        "threshold": 0.99,
        "latent": {latent},
        "length": Steps({length}),
        // HAE decodes, and PCA-AE trains, once per coordinate: they get fewer steps.
        "slow_length": Steps({slow_length}),
        "network": {network},
        "path": {path},
{columns}        "data": {source},
        "division": Counts(train: {train}, validation: 0, test: {test}, seed: 0),
    }},
    stages: {{
{data}
        // Geodesic distances: along the data, not straight through the space between.
        "distances": Geodesic(data: "train-data", neighbors: {graph}),

        "train-{{learner}}-{{seed}}": Train(
            model: Axis(learner), data: "train-data", distances: "distances",
            length: Shared(length), batch_size: {batch}, optimizer: Adam(rate: 3e-3),
            schedule: FlatThenCosine(flat: 0.5), seed: Axis(seed),
        ),
        "train-hae-{{seed}}": Train(
            model: Hae(latent: Shared(latent), network: Shared(network)), data: "train-data",
            length: Shared(slow_length), batch_size: {batch}, optimizer: Adam(rate: 3e-3),
            schedule: FlatThenCosine(flat: 0.5), seed: Axis(seed),
        ),
        "train-pca-ae-{{seed}}": Train(
            model: PcaAe(latent: Shared(latent), network: Shared(network), trunk: Shared),
            data: "train-data", length: Shared(slow_length), batch_size: {batch},
            optimizer: Adam(rate: 3e-3), schedule: FlatThenCosine(flat: 0.5), seed: Axis(seed),
        ),
        "codes-{{model}}-{{seed}}": Encode(model: "train-{{model}}-{{seed}}", data: "test-data"),
        "dimension-{{model}}-{{count}}-{{seed}}": Estimate(
            points: "codes-{{model}}-{{seed}}", estimator: Axis(count),
        ),
        "variances-{{model}}-{{seed}}": Estimate(
            points: "codes-{{model}}-{{seed}}", estimator: Variance(threshold: Shared(threshold)),
        ),
        "error-{{model}}-{{seed}}": Score(
            model: "train-{{model}}-{{seed}}", data: "test-data", metric: SquaredError,
        ),

        // Estimates from the distances to neighbors alone, without a model, each with an interval that
        // includes bias (`pcae-run explain Estimate`).
        "neighbors": Neighbors(data: "train-data", count: {local}),
        "dimension-{{estimator}}": Estimate(
            points: "train-data", neighbors: "neighbors", estimator: Axis(estimator),
        ),
        // The dimension at small and at large distances.
        "dimension-by-scale": Estimate(
            points: "train-data", neighbors: "neighbors", estimator: Gride(neighbors: {local}),
            interval: None,
        ),
{class_stages}
{reports}"#,
        beta = settings.beta,
        light_beta = settings.beta / 10.0,
        update = (length / 10).max(1),
        half = (near / 2).max(1),
        reports = REPORTS
            .replace("MODEL_TITLES", MODEL_TITLES)
            .replace("SAMPLE_VALUES", &inspection.form.values().to_string()),
        class_axis = classes.axis,
        class_stages = classes.stages,
    )
}

/// Says in a few words what the data are.
fn what(inspection: &Inspection) -> String {
    match inspection.form {
        SampleForm::Image(shape) => {
            format!("{} images of {} x {} pixels", inspection.count, shape.height, shape.width)
        }
        SampleForm::Vector { width } => {
            format!("{} vectors of {}", inspection.count, terminal::count(width, "value"))
        }
    }
}

/// The stages that report, and the end of the pipeline.
const REPORTS: &str = r#"        // What all of it amounts to; the report opens with it.
        "conclusion": Conclusion(
            estimates: [Each("dimension-{estimator}")],
            counts: [Each("dimension-{model}-axes-{seed}")],
            errors: [Each("error-{model}-{seed}")],
            baseline: "pca", over: ["seed"], width: SAMPLE_VALUES,
            titles: {
                MODEL_TITLES
                "mle": "MLE", "two-nn": "TwoNN", "local-pca": "local PCA",
            },
        ),
        "dimension": Table(
            records: [Each("dimension-{model}-{count}-{seed}")],
            caption: "Dimension of the codes of test samples: the fewest coordinates or axes whose share of the variance reaches the threshold.",
            label: "Models",
            rows: ["model"], columns: ["count"], over: ["seed"],
            values: [Value(field: "dimension", title: "", digits: 1)],
            titles: {
                MODEL_TITLES
                "count": "Counted", "coordinates": "ordered coordinates", "axes": "principal axes",
            },
        ),
        "errors": Table(
            records: [Each("error-{model}-{seed}")],
            caption: "Reconstruction: squared error of test samples. A dimension means little if the error is large.",
            label: "Errors",
            rows: ["model"], over: ["seed"],
            values: [Value(field: "squared_error", title: "Squared error", best: Lowest)],
            titles: {
                MODEL_TITLES
            },
        ),
        "model-free": Table(
            records: [Each("dimension-{estimator}")],
            caption: "Dimension from the distances to neighbors, without a model. The 90 % interval includes the bias of the estimator on manifolds of known dimension with as many points. Spread: standard error over samples.",
            label: "Estimators",
            rows: ["estimator"],
            values: [
                Value(field: "dimension", title: "Dimension", digits: 1),
                Value(field: "interval_low", title: "90 % interval from", digits: 0),
                Value(field: "interval_high", title: "to", digits: 0),
                Value(field: "dimension_corrected", title: "Without bias", digits: 1),
                Value(field: "spread", title: "Spread", digits: 2),
            ],
            titles: {
                "estimator": "Estimator", "mle": "MLE", "two-nn": "TwoNN", "local-pca": "local PCA",
                "correlation": "correlation", "moments": "moments",
            },
        ),
        "scales": Figure(
            records: [Each("dimension-by-scale")],
            picture: DimensionByScale(
                caption: "Dimension against scale, without a model. A level line is a dimension of the data; one that falls speaks of noise at small distances, one that rises of curvature or of parts close together.",
                label: "Scales",
            ),
        ),
        "spectrum": Figure(
            records: [Each("variances-{model}-{seed}")],
            picture: VarianceSpectrum(
                caption: "Variance of each coordinate of the codes. ARD-VAE and IRMAE do not order their coordinates: they are sorted by variance.",
                label: "Spectrum",
                series: "model", over: ["seed"], threshold: Shared(threshold),
                unordered: ["ard-vae", "irmae"],
                titles: {
                    MODEL_TITLES
                },
            ),
        ),
    },
)
"#;

/// Display names of the models.
const MODEL_TITLES: &str = concat!(
    r#""model": "Model", "pcae": "PCAE", "pcae-light": "PCAE, beta / 10", "hae": "HAE","#,
    r#" "pca-ae": "PCA-AE", "ard-vae": "ARD-VAE", "irmae": "IRMAE", "pca": "PCA","#
);

/// Returns the stages that make `train-data` and `test-data`.
fn data_stages(settings: &Settings) -> String {
    let read = |name: &str, split: &str, steps: &str| {
        format!(
            "        \"{name}\": Dataset(\n            source: Shared(data), path: Shared(path), \
             split: {split}, division: Shared(division),{steps}\n        ),"
        )
    };
    if settings.is_standardized {
        return [
            "        // Each coordinate gets mean 0 and standard deviation 1, measured on the training data.\n        \
             // To keep the file's units instead, delete `steps` and `like` below."
                .to_owned(),
            read("train-raw", "Train", ""),
            read("test-raw", "Test", ""),
            "        \"train-data\": Preprocess(data: \"train-raw\", steps: [Scale(Standard)]),"
                .to_owned(),
            "        \"test-data\": Preprocess(\n            data: \"test-raw\", steps: \
             [Scale(Standard)], like: \"train-raw\",\n        ),\n"
                .to_owned(),
        ]
        .join("\n");
    }
    let steps = match settings.steps[..] {
        [] => String::new(),
        _ => format!("\n            steps: [{}],", settings.steps.join(", ")),
    };
    [read("train-data", "Train", &steps), read("test-data", "Test", &steps), String::new()]
        .join("\n")
}

/// Returns a source as a pipeline names it, without settings that have their default.
fn source(spec: &DatasetSpec) -> String {
    let named =
        |name: &str, value: Option<&str>| value.map(|value| format!("{name}: {}", quoted(value)));
    match spec {
        DatasetSpec::Array(ArrayFile { content, array, labels }) => {
            let content = match content {
                ArrayContent::Vectors => "Vectors".to_owned(),
                ArrayContent::Images { layout, range: PixelRange::Bytes } => {
                    format!("Images(layout: {layout:?})")
                }
                ArrayContent::Images { layout, range } => {
                    format!("Images(layout: {layout:?}, range: {range:?})")
                }
            };
            let content = Some(format!("content: {content}"));
            call(
                "Array",
                [content, named("array", array.as_deref()), named("labels", labels.as_deref())],
            )
        }
        DatasetSpec::ImageFolder(ImageFolder { channels, size, skip_broken }) => call(
            "ImageFolder",
            [
                (*channels == ColorMode::Gray).then(|| "channels: Gray".to_owned()),
                size.map(|size| format!("size: {size}")),
                skip_broken.then(|| "skip_broken: true".to_owned()),
            ],
        ),
        DatasetSpec::Table(TableFile { columns, class, separator, decimal, missing, .. }) => {
            let listed = |columns: &Vec<String>| {
                let columns: Vec<_> = columns.iter().map(|name| quoted(name)).collect();
                format!("columns: [{}]", columns.join(", "))
            };
            let separator = (*separator != ',').then(|| format!("separator: {separator:?}"));
            let decimal = (*decimal != '.').then(|| format!("decimal: {decimal:?}"));
            let missing = (*missing != Missing::Drop).then(|| format!("missing: {missing:?}"));
            let (columns, class) = (columns.as_ref().map(listed), named("class", class.as_deref()));
            call("Table", [columns, class, separator, decimal, missing])
        }
        // The only other source that `inspect` finds.
        _ => "Mnist()".to_owned(),
    }
}

/// Returns lines on what became of a table's columns and rows.
fn columns_comment(columns: &Columns) -> String {
    let mut lines = Vec::new();
    let left_out = columns.left_out_in_words();
    if !left_out.is_empty() {
        let usable = "; to use one of numbers after all, add it to `columns`";
        let usable = if columns.has_usable() { usable } else { "" };
        lines.push(format!("Columns that are left out{usable}:"));
        lines.extend(left_out.into_iter().map(|column| format!("- {column}")));
    }
    lines.extend(columns.few_valued_in_words().map(|few| {
        format!("Few different whole numbers: {few}; if these are categories, delete them from `columns`.")
    }));
    lines.push(
        "Rows in which cells are missing are left out; `missing: Median` fills the cells in instead."
            .to_owned(),
    );
    lines.iter().flat_map(|line| ["        // ", line, "\n"]).collect()
}

fn call<const N: usize>(name: &str, fields: [Option<String>; N]) -> String {
    format!("{name}({})", fields.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// Returns a text as a pipeline writes it.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
