//! Mistakes in a figure's settings that can be seen before anything runs.

use super::Figure;
use super::review::{
    bars, code_scatter, coordinate_course, curves, labeled, spectrum, variance_curves,
};
use crate::engine::stage::{Problem, Producer};
use crate::report::FigureSpec;
use crate::stages::records::Reported;

/// Returns the mistakes of a figure.
pub(super) fn of(figure: &Figure, inputs: &[Vec<Producer>]) -> Vec<Problem> {
    let wrong: Vec<Problem> = superfluous(figure).into_iter().chain(missing(figure)).collect();
    if !wrong.is_empty() {
        return wrong;
    }
    // Of the inputs that a picture takes, `images` come before families and all others after.
    let families = inputs.get(usize::from(figure.images.is_some())..).unwrap_or_default();
    match &figure.picture {
        FigureSpec::Bars(spec) => bars(spec, inputs),
        FigureSpec::CodeScatter(spec) => {
            code_scatter(spec, &inputs[..figure.codes.len().min(inputs.len())])
        }
        FigureSpec::ContactSheet(_) => Vec::new(),
        FigureSpec::CoordinateCourse(spec) => coordinate_course(spec, inputs),
        FigureSpec::DistanceScatter(spec) => {
            let codes = &inputs[..figure.codes.len().min(inputs.len())];
            labeled(Reported::Codes, &spec.titles, codes)
        }
        FigureSpec::Interpolation(spec) => labeled(Reported::Paths, &spec.titles, families),
        FigureSpec::LearningCurves(spec) => curves(spec, inputs),
        FigureSpec::Reconstructions(spec) | FigureSpec::Traversals(spec) => {
            labeled(Reported::Paths, &spec.titles, families)
        }
        FigureSpec::VarianceCurves(spec) => variance_curves(spec, inputs),
        FigureSpec::VarianceSpectrum(spec) => spectrum(spec, inputs),
    }
}

/// Returns what a picture shows, and the inputs for it.
const fn shown(picture: &FigureSpec) -> (&'static str, &'static [&'static str]) {
    match picture {
        FigureSpec::Bars(_) => ("bars show records", &["records"]),
        FigureSpec::CodeScatter(_) => (
            "a scatter of codes shows codes and what is known of their samples",
            &["codes", "samples"],
        ),
        FigureSpec::ContactSheet(_) => ("a contact sheet shows images", &["images"]),
        FigureSpec::CoordinateCourse(_) => ("the course of coordinates shows models", &["models"]),
        FigureSpec::DistanceScatter(_) => {
            ("a scatter of distances shows codes and distances", &["codes", "distances"])
        }
        FigureSpec::Interpolation(_) => {
            ("an interpolation shows paths and the images at their ends", &["paths", "images"])
        }
        FigureSpec::LearningCurves(_) => ("learning curves show models", &["models"]),
        FigureSpec::Reconstructions(_) => {
            ("reconstructions show paths and the images they stand for", &["paths", "images"])
        }
        FigureSpec::Traversals(_) => ("traversals show paths", &["paths"]),
        FigureSpec::VarianceCurves(_) => ("variance curves show records", &["records"]),
        FigureSpec::VarianceSpectrum(_) => ("a spectrum shows records", &["records"]),
    }
}

/// Returns inputs that the picture does not show.
fn superfluous(figure: &Figure) -> Vec<Problem> {
    let (shows, shown) = shown(&figure.picture);
    let given = [
        ("records", !figure.records.is_empty()),
        ("images", figure.images.is_some()),
        ("models", !figure.models.is_empty()),
        ("paths", !figure.paths.is_empty()),
        ("codes", !figure.codes.is_empty()),
        ("samples", figure.samples.is_some()),
        ("distances", figure.distances.is_some()),
    ];
    let refused = given.into_iter().filter(|(field, is_given)| *is_given && !shown.contains(field));
    let problem = |(field, _)| Problem {
        field,
        message: format!("{shows}, no {field}"),
        help: Some("delete this line".to_owned()),
    };
    refused.map(problem).collect()
}

/// Returns a single input that the picture lacks; families are reviewed with their axes.
fn missing(figure: &Figure) -> Option<Problem> {
    let problem = |message: &str, help: &str| {
        let (message, help) = (message.to_owned(), Some(help.to_owned()));
        Some(Problem { field: "picture", message, help })
    };
    let images = "add `images: \"a stage that makes images\"`";
    match &figure.picture {
        FigureSpec::ContactSheet(_) if figure.images.is_none() => {
            problem("a contact sheet shows images, and none are given", images)
        }
        FigureSpec::Reconstructions(_) if figure.images.is_none() => {
            problem("reconstructions stand below real images, and none are given", images)
        }
        FigureSpec::DistanceScatter(_) if figure.distances.is_none() => problem(
            "a scatter of distances needs those along the data, and none are given",
            "add `distances: \"a Geodesic stage on the samples of the codes\"`",
        ),
        FigureSpec::CodeScatter(spec) if spec.color.is_some() && figure.samples.is_none() => {
            problem(
                "points are colored by what is known of samples, and none are given",
                "add `samples: \"the stage that was encoded\"`, or delete `color`",
            )
        }
        FigureSpec::CodeScatter(spec) if spec.color.is_none() && figure.samples.is_some() => {
            problem(
                "samples are given, but no factor of them to color points by",
                "add `color: \"the name of a factor, or class\"`, or delete `samples`",
            )
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::stage::Stage;
    use crate::stages::records::tests::{made, sweep, told};

    fn problems(settings: &str) -> Vec<String> {
        let picture = format!(r#"VarianceSpectrum((caption: "c", label: "l", {settings}))"#);
        let text = format!(r#"(records: [Each("x")], picture: {picture})"#);
        let figure: Figure = ron::from_str(&text).unwrap();
        told(&figure.problems(&[sweep(Some(&["dimension", "variances"]))]))
    }

    #[test]
    fn mistakes_are_told_before_anything_runs() {
        assert!(problems(r#"series: "model", over: ["seed"]"#).is_empty());
        assert_eq!(
            problems(r#"series: "model", over: ["seed"], field: "variance""#),
            ["field: no record has a value named `variance` (did you mean `variances`?)"]
        );
        assert_eq!(
            problems(r#"series: "models", over: ["seed"]"#),
            ["series: the records have no axis `models` (did you mean `model`?)"]
        );
        assert_eq!(
            problems(r#"series: "model", over: ["seed"], titles: {"pcea": "PCAE"}"#),
            ["titles: `pcea` is neither an axis nor a label of these records \
              (did you mean `pcae`?)"]
        );
    }

    fn curve_problems(inputs: &str, settings: &str, producers: &[Vec<Producer>]) -> Vec<String> {
        let picture = format!(r#"LearningCurves((caption: "c", label: "l", {settings}))"#);
        let figure: Figure = ron::from_str(&format!("({inputs}, picture: {picture})")).unwrap();
        told(&figure.problems(producers))
    }

    #[test]
    fn mistakes_in_learning_curves_are_told_before_anything_runs() {
        let models = r#"models: [Each("x")]"#;
        let problems = |settings: &str| curve_problems(models, settings, &[sweep(None)]);
        let axes = r#"series: "model", over: ["seed"]"#;
        assert!(problems(&format!(r#"{axes}, titles: {{"total": "T", "pcae": "P"}}"#)).is_empty());
        assert_eq!(
            problems(r#"series: "modle", over: ["seed"]"#),
            ["series: the models have no axis `modle` (did you mean `model`?)"]
        );
        assert_eq!(
            problems(r#"series: "model""#),
            ["models: the axis `seed` of these models has no role here \
              (name `seed` in one of: `series`, `over`)"]
        );
        assert_eq!(
            problems(&format!(r#"{axes}, titles: {{"pcea": "PCAE"}}"#)),
            ["titles: `pcea` is neither an axis nor a label of these models \
              (did you mean `pcae`?)"]
        );
        assert_eq!(
            problems(&format!("{axes}, columns: []")),
            ["columns: there are no columns to show (name at least one: `columns: [\"total\"]`)"]
        );
        assert_eq!(
            problems(&format!(r#"{axes}, columns: ["total", "total"]"#)),
            ["columns: the column `total` is listed twice (list each column once)"]
        );
        assert_eq!(
            curve_problems(models, axes, &[sweep(None), sweep(None)]),
            ["models: two models stand for model=pcae, seed=0 \
              (tell them apart by an axis, or show them in two reports)"]
        );
    }

    #[test]
    fn mistakes_in_interpolations_are_told_before_anything_runs() {
        let problems = |fields: &str, settings: &str, producers: &[Vec<Producer>]| {
            let picture = format!(r#"Interpolation((caption: "c", label: "l", {settings}))"#);
            let figure: Figure = ron::from_str(&format!("({fields}, picture: {picture})")).unwrap();
            told(&figure.problems(producers))
        };
        let both = r#"paths: [Each("x")], images: Some("y")"#;
        let producers = [vec![made(&[], None)], sweep(None)];
        assert!(problems(both, r#"titles: {"pcae": "PCAE"}"#, &producers).is_empty());
        assert_eq!(
            problems(both, r#"titles: {"pcea": "PCAE"}"#, &producers),
            ["titles: `pcea` is neither an axis nor a label of these paths \
              (did you mean `pcae`?)"]
        );
        assert_eq!(
            problems(r#"images: Some("y")"#, "", &producers[..1]),
            ["paths: there are no paths to report on \
              (name at least one family: `paths: [Each(\"..\")]`)"]
        );
        assert_eq!(
            problems(r#"paths: [Each("x")], models: [Each("y")]"#, "", &producers),
            ["models: an interpolation shows paths and the images at their ends, no models \
              (delete this line)"]
        );
    }

    #[test]
    fn a_picture_takes_only_what_it_shows() {
        let axes = r#"series: "model", over: ["seed"]"#;
        assert_eq!(
            curve_problems(r#"models: [Each("x")], images: Some("y")"#, axes, &[]),
            ["images: learning curves show models, no images (delete this line)"]
        );
        assert_eq!(
            curve_problems("models: []", axes, &[]),
            ["models: there are no models to report on \
              (name at least one family: `models: [Each(\"..\")]`)"]
        );
        let spectrum = format!(
            r#"(models: [Each("x")], picture: VarianceSpectrum((caption: "c", label: "l", {axes})))"#
        );
        let figure: Figure = ron::from_str(&spectrum).unwrap();
        assert_eq!(
            told(&figure.problems(&[sweep(None)])),
            ["models: a spectrum shows records, no models (delete this line)"]
        );
    }

    /// Reads a figure with inputs and a picture, and tells its mistakes.
    fn mistakes(inputs: &str, picture: &str, producers: &[Vec<Producer>]) -> Vec<String> {
        let text = format!("({inputs}, picture: {picture})");
        let figure: Figure = crate::engine::spec::dialect().from_str(&text).unwrap();
        told(&figure.problems(producers))
    }

    #[test]
    fn mistakes_in_variance_curves_and_bars_are_told_before_anything_runs() {
        let records = r#"records: [Each("x")]"#;
        let known = [sweep(Some(&["seconds", "variances"]))];
        let curves = |settings: &str| {
            let words = r#"caption: "c", label: "l""#;
            mistakes(records, &format!("VarianceCurves({words}, {settings})"), &known)
        };
        assert!(curves(r#"series: "model", panels: "seed""#).is_empty());
        assert_eq!(
            curves(r#"series: "model", panels: "sed""#),
            ["panels: the records have no axis `sed` (did you mean `seed`?)"]
        );
        assert_eq!(
            curves(r#"series: "model", over: ["seed"], thresholds: []"#),
            ["thresholds: there is no share that counts as enough \
              (name at least one: `thresholds: [0.99]`)"]
        );
        let bars = |settings: &str| {
            let words = r#"caption: "c", label: "l", title: "t", bars: "model""#;
            mistakes(records, &format!("Bars({words}, {settings})"), &known)
        };
        assert!(bars(r#"field: "seconds", groups: "seed""#).is_empty());
        assert_eq!(
            bars(r#"field: "second", over: ["seed"]"#),
            ["field: no record has a value named `second` (did you mean `seconds`?)"]
        );
        assert_eq!(
            bars(r#"field: "seconds""#),
            ["records: the axis `seed` of these records has no role here \
              (name `seed` in one of: `bars`, `groups`, `over`)"]
        );
    }

    #[test]
    fn a_course_is_of_all_coordinates_by_an_axis_of_the_models() {
        let course = |settings: &str| {
            let words = r#"caption: "c", label: "l""#;
            let picture = format!("CoordinateCourse({words}, {settings})");
            mistakes(r#"models: [Each("x")]"#, &picture, &[sweep(None)])
        };
        assert!(course(r#"column: "gamma", panels: "model", over: ["seed"]"#).is_empty());
        assert_eq!(
            course(r#"column: "gamma_1", panels: "model", over: ["seed"]"#),
            ["column: `gamma_1` is one coordinate alone \
              (write `column: \"gamma\"` for all of them)"]
        );
        assert_eq!(
            course(r#"column: "gamma", panels: "modle", over: ["seed"]"#),
            ["panels: the models have no axis `modle` (did you mean `model`?)"]
        );
    }

    #[test]
    fn pictures_of_codes_and_decoded_images_say_what_they_lack() {
        let words = r#"caption: "c", label: "l""#;
        let codes = r#"codes: [Each("x")]"#;
        let scatter = |inputs: &str, settings: &str, producers: &[Vec<Producer>]| {
            mistakes(inputs, &format!("CodeScatter({words}, {settings})"), producers)
        };
        let one = vec![made(&[], None)];
        let both = format!(r#"{codes}, samples: "y""#);
        assert!(scatter(&both, r#"color: "size""#, &[sweep(None), one.clone()]).is_empty());
        assert!(scatter(codes, "", &[sweep(None)]).is_empty());
        assert_eq!(
            scatter(codes, r#"color: "size""#, &[sweep(None)]),
            ["picture: points are colored by what is known of samples, and none are given \
              (add `samples: \"the stage that was encoded\"`, or delete `color`)"]
        );
        assert_eq!(
            scatter(codes, "coordinates: (2, 2)", &[sweep(None)]),
            ["coordinates: coordinate 2 is on both axes \
              (name two different ones: `coordinates: (1, 2)`)"]
        );
        let twins = r#"codes: [Each("x"), Each("z")], distances: "y""#;
        assert_eq!(
            mistakes(twins, &format!("DistanceScatter({words})"), &[sweep(None), sweep(None), one]),
            ["codes: two codes stand for model=pcae, seed=0 \
              (tell them apart by an axis, or show them in two reports)"]
        );
        assert_eq!(
            mistakes(codes, &format!("DistanceScatter({words})"), &[sweep(None)]),
            ["picture: a scatter of distances needs those along the data, and none are given \
              (add `distances: \"a Geodesic stage on the samples of the codes\"`)"]
        );
        let paths = r#"paths: [Each("x")]"#;
        assert!(mistakes(paths, &format!("Traversals({words})"), &[sweep(None)]).is_empty());
        assert_eq!(
            mistakes(paths, &format!("Reconstructions({words})"), &[sweep(None)]),
            ["picture: reconstructions stand below real images, and none are given \
              (add `images: \"a stage that makes images\"`)"]
        );
        assert_eq!(
            mistakes(&format!("{paths}, {codes}"), &format!("Traversals({words})"), &[]),
            ["codes: traversals show paths, no codes (delete this line)"]
        );
    }
}
