//! Mistakes in a figure's settings that can be seen before anything runs.

use super::Figure;
use crate::engine::stage::{Inputs, Problem, Producer};
use crate::report::{FigureChecks, FigureFamily, FigureMistake};
use crate::stages::report_checker::{ReportChecker, Reported};

/// Returns the mistakes of a figure.
pub(super) fn of(figure: &Figure, inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
    let given = given(figure);
    let is_given = |field: &str| given.contains(&field);
    let lacking = figure.picture.wrong_inputs(&is_given).map(problem);
    let wrong: Vec<Problem> = superfluous(figure, &given).into_iter().chain(lacking).collect();
    match figure.picture.checks() {
        Some(checks) if wrong.is_empty() => check(&checks, inputs),
        _ => wrong,
    }
}

fn problem(mistake: FigureMistake) -> Problem {
    let FigureMistake { setting, message, help } = mistake;
    Problem { field: setting, message, help: Some(help) }
}

/// Returns the settings that name inputs.
fn given(figure: &Figure) -> Vec<&'static str> {
    let all = [
        ("records", !figure.records.is_empty()),
        ("images", figure.images.is_some()),
        ("models", !figure.models.is_empty()),
        ("paths", !figure.paths.is_empty()),
        ("codes", !figure.codes.is_empty()),
        ("samples", figure.samples.is_some()),
        ("distances", figure.distances.is_some()),
    ];
    all.into_iter().filter_map(|(field, is_given)| is_given.then_some(field)).collect()
}

/// Returns inputs that the picture does not show.
fn superfluous(figure: &Figure, given: &[&'static str]) -> Vec<Problem> {
    let (shows, shown) = figure.picture.shows();
    let refused = given.iter().filter(|field| !shown.contains(field));
    let problem = |&field: &&'static str| Problem {
        field,
        message: format!("{shows}, not {field}"),
        help: Some("delete this line".to_owned()),
    };
    refused.map(problem).collect()
}

fn check(checks: &FigureChecks<'_>, inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
    let reported = match checks.family {
        FigureFamily::Records => Reported::Records,
        FigureFamily::Models => Reported::Models,
        FigureFamily::Paths => Reported::Paths,
        FigureFamily::Codes => Reported::Codes,
    };
    let mut checker = ReportChecker::of(reported, inputs);
    let of_labels = checks.titles.iter().filter(|(name, _)| !checks.other_titles.contains(name));
    checker.titles(&of_labels.map(|(name, title)| (name.clone(), title.clone())).collect());
    for FigureMistake { setting, message, help } in &checks.mistakes {
        checker.add(setting, message.clone(), help.as_str());
    }
    if let Some((setting, value)) = checks.value {
        checker.values(setting, &[value]);
    }
    if checks.family != FigureFamily::Records {
        checker.distinct();
    }
    if !checks.roles.is_empty() {
        checker.axes(&checks.roles);
    }
    checker.problems()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::test_inputs::{grid, problems_of, producer};

    fn problems(settings: &str) -> Vec<String> {
        let picture = format!(r#"VarianceSpectrum((caption: "c", label: "l", {settings}))"#);
        let text = format!(r#"(records: [Each("x")], picture: {picture})"#);
        let figure: Figure = ron::from_str(&text).unwrap();
        problems_of(&figure, &[grid(Some(&["dimension", "variances"]))])
    }

    #[test]
    fn mistakes_are_reported_before_anything_runs() {
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
        problems_of(&figure, producers)
    }

    #[test]
    fn mistakes_in_learning_curves_are_reported_before_anything_runs() {
        let models = r#"models: [Each("x")]"#;
        let problems = |settings: &str| curve_problems(models, settings, &[grid(None)]);
        let axes = r#"series: "model", over: ["seed"]"#;
        assert!(problems(&format!(r#"{axes}, titles: {{"total": "T", "pcae": "P"}}"#)).is_empty());
        assert_eq!(
            problems(r#"series: "modle", over: ["seed"]"#),
            ["series: the models have no axis `modle` (did you mean `model`?)"]
        );
        assert_eq!(
            problems(r#"series: "model""#),
            ["models: the axis `seed` of these models is in neither `series` nor `over` \
              (add `seed` to one of them)"]
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
            curve_problems(r#"models: [Each("x"), Each("z")]"#, axes, &[grid(None), grid(None)]),
            ["models: two models have the labels model=pcae, seed=0 \
              (distinguish them by an axis, or show them in two reports)"]
        );
    }

    #[test]
    fn mistakes_in_interpolations_are_reported_before_anything_runs() {
        let problems = |fields: &str, settings: &str, producers: &[Vec<Producer>]| {
            let picture = format!(r#"Interpolation((caption: "c", label: "l", {settings}))"#);
            let figure: Figure = ron::from_str(&format!("({fields}, picture: {picture})")).unwrap();
            problems_of(&figure, producers)
        };
        let both = r#"paths: [Each("x")], images: Some("y")"#;
        let producers = [vec![producer(&[], None)], grid(None)];
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
            ["models: an interpolation shows paths and the images at their ends, not models \
              (delete this line)"]
        );
    }

    #[test]
    fn a_picture_takes_only_what_it_shows() {
        let axes = r#"series: "model", over: ["seed"]"#;
        assert_eq!(
            curve_problems(r#"models: [Each("x")], images: Some("y")"#, axes, &[]),
            ["images: learning curves show models, not images (delete this line)"]
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
            problems_of(&figure, &[grid(None)]),
            ["models: a spectrum shows records, not models (delete this line)"]
        );
    }

    /// Reads a figure with inputs and a picture, and tells its mistakes.
    fn mistakes(inputs: &str, picture: &str, producers: &[Vec<Producer>]) -> Vec<String> {
        let text = format!("({inputs}, picture: {picture})");
        let figure: Figure = crate::engine::pipeline::values::dialect().from_str(&text).unwrap();
        problems_of(&figure, producers)
    }

    #[test]
    fn mistakes_in_variance_curves_and_bars_are_reported_before_anything_runs() {
        let records = r#"records: [Each("x")]"#;
        let known = [grid(Some(&["seconds", "variances"]))];
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
            ["thresholds: there is no variance threshold \
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
            [
                "records: the axis `seed` of these records is in neither `bars`, `groups` nor `over` \
              (add `seed` to one of them)"
            ]
        );
    }

    #[test]
    fn a_course_is_of_all_coordinates_by_an_axis_of_the_models() {
        let course = |settings: &str| {
            let words = r#"caption: "c", label: "l""#;
            let picture = format!("CoordinateCourse({words}, {settings})");
            mistakes(r#"models: [Each("x")]"#, &picture, &[grid(None)])
        };
        assert!(course(r#"column: "gamma", panels: "model", over: ["seed"]"#).is_empty());
        assert_eq!(
            course(r#"column: "gamma_1", panels: "model", over: ["seed"]"#),
            ["column: `gamma_1` is a single coordinate \
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
        let one = vec![producer(&[], None)];
        let both = format!(r#"{codes}, samples: "y""#);
        assert!(scatter(&both, r#"color: "size""#, &[grid(None), one.clone()]).is_empty());
        assert!(scatter(codes, "", &[grid(None)]).is_empty());
        assert_eq!(
            scatter(codes, r#"color: "size""#, &[grid(None)]),
            ["picture: `color` needs the samples behind the codes, but none are given \
              (add `samples: \"the stage that was encoded\"`, or delete `color`)"]
        );
        assert_eq!(
            scatter(codes, "coordinates: (2, 2)", &[grid(None)]),
            ["coordinates: coordinate 2 is on both axes \
              (name two different ones: `coordinates: (1, 2)`)"]
        );
        let twins = r#"codes: [Each("x"), Each("z")], distances: "y""#;
        assert_eq!(
            mistakes(twins, &format!("DistanceScatter({words})"), &[grid(None), grid(None), one]),
            ["codes: two codes have the labels model=pcae, seed=0 \
              (distinguish them by an axis, or show them in two reports)"]
        );
        assert_eq!(
            mistakes(codes, &format!("DistanceScatter({words})"), &[grid(None)]),
            ["picture: a scatter plot of distances needs geodesic ones, but none are given \
              (add `distances: \"a Geodesic stage on the samples of the codes\"`)"]
        );
        let paths = r#"paths: [Each("x")]"#;
        assert!(mistakes(paths, &format!("Traversals({words})"), &[grid(None)]).is_empty());
        assert_eq!(
            mistakes(paths, &format!("Reconstructions({words})"), &[grid(None)]),
            ["picture: reconstructions are shown below real images, but none are given \
              (add `images: \"a stage that makes images\"`)"]
        );
        assert_eq!(
            mistakes(&format!("{paths}, {codes}"), &format!("Traversals({words})"), &[]),
            ["codes: traversals show paths, not codes (delete this line)"]
        );
    }
}
