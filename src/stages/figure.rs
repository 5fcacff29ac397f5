//! `Figure`: records, images, interpolations or the trainings of models as a picture.
//!
//! ```ron
//! "variance-spectrum": Figure(
//!     records: [Each("dimension-{model}-{seed}")],
//!     picture: VarianceSpectrum(caption: "..", label: "Figure 1", series: "model", over: ["seed"]),
//! ),
//! "digits": Figure(
//!     images: "train-images",
//!     picture: ContactSheet(caption: "..", label: "Figure 2", columns: 10, count: 50,
//!                           pick: Spread, under: ["class"]),   // or First, Random(seed)
//! ),
//! "interpolation": Figure(
//!     paths: [Each("paths-{model}")],                          // of `Interpolate` stages
//!     images: "test-images",                                   // their `data`, for the real ends
//!     picture: Interpolation(caption: "..", label: "Figure 2", titles: {"pcae": "PCAE"}),
//! ),
//! "losses": Figure(
//!     models: [Each("train-{model}-{seed}")],
//!     picture: LearningCurves(caption: "..", label: "Figure 3", columns: ["total", "reconstruction"],
//!                             scale: Log, series: "model", over: ["seed"]),
//! )
//! ```

use serde::{Deserialize, Serialize};

use super::artifacts::{AnyImages, TrainingHistory};
use super::records::{Reported, Review, labeled_records};
use super::strips::strips;
use crate::data::{Annotations, DataError, Images};
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Each, Input, Kind, Problem, Producer, Stage, StageRef};
use crate::report::{
    ContactSheet, ContactSheetSpec, Course, Figure as Drawn, FigureSpec, LearningCurvesSpec, Tile,
    TileSize, Values,
};

/// Settings of a figure stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Families of records; those with equal labels are joined.
    #[serde(default, skip_serializing)]
    pub records: Vec<Each<Values>>,
    /// Images, for pictures that show images; with `paths`, those that the paths lie between.
    #[serde(default, skip_serializing)]
    pub images: Option<StageRef<AnyImages>>,
    /// Families of trained models, for pictures that show how they were trained.
    #[serde(default, skip_serializing)]
    pub models: Vec<Each<TrainingHistory>>,
    /// Families of interpolated images, for pictures that show paths.
    #[serde(default, skip_serializing)]
    pub paths: Vec<Each<AnyImages>>,
    /// What is drawn.
    pub picture: FigureSpec,
}

impl Stage for Figure {
    fn kind(&self) -> Kind {
        Kind { name: "Figure", version: 1 }
    }

    fn inputs(&self) -> Vec<Input> {
        let families = self.records.iter().enumerate();
        let records = families.map(|(at, family)| family.input(&format!("records[{at}]")));
        let images = self.images.iter().map(|images| images.input("images"));
        let families = self.models.iter().enumerate();
        let models = families.map(|(at, family)| family.input(&format!("models[{at}]")));
        let families = self.paths.iter().enumerate();
        let paths = families.map(|(at, family)| family.input(&format!("paths[{at}]")));
        records.chain(images).chain(models).chain(paths).collect()
    }

    fn output(&self, _inputs: &[Vec<String>]) -> String {
        "figure".to_owned()
    }

    fn is_report(&self) -> bool {
        true
    }

    fn problems(&self, inputs: &[Vec<Producer>]) -> Vec<Problem> {
        let superfluous = self.superfluous();
        if !superfluous.is_empty() {
            return superfluous;
        }
        match &self.picture {
            FigureSpec::ContactSheet(_) if self.images.is_none() => vec![Problem {
                field: "picture",
                message: "a contact sheet shows images, and none are given".to_owned(),
                help: Some("add `images: \"a stage that makes images\"`".to_owned()),
            }],
            FigureSpec::ContactSheet(_) => Vec::new(),
            FigureSpec::Interpolation(spec) => {
                let paths = inputs.get(usize::from(self.images.is_some())..).unwrap_or_default();
                let mut review = Review::of(Reported::Paths, paths);
                review.titles(&spec.titles);
                review.distinct();
                review.problems()
            }
            FigureSpec::LearningCurves(spec) => review_curves(spec, inputs),
            FigureSpec::VarianceSpectrum(spec) => {
                let mut review = Review::of(Reported::Records, inputs);
                review.titles(&spec.titles);
                review.values("field", &[&spec.field]);
                review
                    .axes(&[("series", std::slice::from_ref(&spec.series)), ("over", &spec.over)]);
                review.problems()
            }
        }
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let figure = match (&self.picture, &self.images) {
            (FigureSpec::ContactSheet(spec), Some(images)) => {
                Drawn::ContactSheet(sheet(spec, &context.load(images)?.0)?)
            }
            (FigureSpec::ContactSheet(_), None) => return Err("there are no images".into()),
            (FigureSpec::Interpolation(spec), ends) => {
                let ends = ends.as_ref().map(|images| context.load(images)).transpose()?;
                let mut families = Vec::new();
                for family in &self.paths {
                    families.extend(context.load_each(family)?);
                }
                let ends = ends.as_ref().map(|images| &images.0);
                Drawn::Interpolation(strips(spec, &families, ends)?)
            }
            (FigureSpec::LearningCurves(spec), _) => {
                let courses = labeled_courses(context, &self.models)?;
                let figure = spec.build(&courses)?;
                context.log(&format!("{} trainings", courses.len()));
                Drawn::LearningCurves(figure)
            }
            (FigureSpec::VarianceSpectrum(spec), _) => {
                let records = labeled_records(context, &self.records)?;
                let figure = spec.build(&records)?;
                context.log(&format!("{} records", records.len()));
                Drawn::VarianceSpectrum(figure)
            }
        };
        for panel in figure.summaries() {
            context.log(&panel);
        }
        context.store(&figure)
    }
}

impl Figure {
    /// Returns inputs that the picture does not show.
    fn superfluous(&self) -> Vec<Problem> {
        let (shows, shown): (_, &[&str]) = match &self.picture {
            FigureSpec::ContactSheet(_) => ("a contact sheet shows images", &["images"]),
            FigureSpec::Interpolation(_) => {
                ("an interpolation shows paths and the images at their ends", &["paths", "images"])
            }
            FigureSpec::LearningCurves(_) => ("learning curves show models", &["models"]),
            FigureSpec::VarianceSpectrum(_) => ("a spectrum shows records", &["records"]),
        };
        let given = [
            ("records", !self.records.is_empty()),
            ("images", self.images.is_some()),
            ("models", !self.models.is_empty()),
            ("paths", !self.paths.is_empty()),
        ];
        let refused =
            given.into_iter().filter(|(field, is_given)| *is_given && !shown.contains(field));
        let problem = |(field, _)| Problem {
            field,
            message: format!("{shows}, no {field}"),
            help: Some("delete this line".to_owned()),
        };
        refused.map(problem).collect()
    }
}

fn review_curves(spec: &LearningCurvesSpec, inputs: &[Vec<Producer>]) -> Vec<Problem> {
    let mut review = Review::of(Reported::Models, inputs);
    // Columns have titles too; which columns there are is known only after training.
    let is_label = |(name, _): &(&String, &String)| !spec.columns.contains(name);
    let titles = spec.titles.iter().filter(is_label);
    review.titles(&titles.map(|(name, title)| (name.clone(), title.clone())).collect());
    if spec.columns.is_empty() {
        let help = "name at least one: `columns: [\"total\"]`";
        review.refuse("columns", "there are no columns to show".to_owned(), help);
    }
    for (at, column) in spec.columns.iter().enumerate() {
        if spec.columns[..at].contains(column) {
            let message = format!("the column `{column}` is listed twice");
            review.refuse("columns", message, "list each column once");
        }
    }
    review.distinct();
    review.axes(&[("series", std::slice::from_ref(&spec.series)), ("over", &spec.over)]);
    review.problems()
}

/// Loads what trainings recorded, with the labels of the stages that made them.
fn labeled_courses(
    context: &RunContext,
    families: &[Each<TrainingHistory>],
) -> Result<Vec<Course>, StageError> {
    let mut courses = Vec::new();
    for family in families {
        for (labels, TrainingHistory(history)) in context.load_each(family)? {
            courses.push(Course { labels, columns: history.columns, rows: history.rows });
        }
    }
    Ok(courses)
}

/// Returns the size of a picture of each image.
pub(super) fn tile_size(images: &Images) -> TileSize {
    let shape = images.shape();
    TileSize { channels: shape.channels, height: shape.height, width: shape.width }
}

fn sheet(spec: &ContactSheetSpec, images: &Images) -> Result<ContactSheet, DataError> {
    let size = tile_size(images);
    let tile = |index| {
        let text = text_under(images.annotations(), index, &spec.under)?;
        Ok(Tile { index, text, pixels: images.image(index).to_vec() })
    };
    let tiles = spec.picked(images.len()).into_iter().map(tile).collect::<Result<_, _>>()?;
    Ok(spec.build(size, tiles))
}

/// Returns what stands under a tile: the class, or factors to two decimals.
fn text_under(known: &Annotations, index: usize, names: &[String]) -> Result<String, DataError> {
    let one = |name: &String| {
        if let ("class", Some(classes)) = (name.as_str(), &known.classes) {
            return Ok(classes.names[usize::from(classes.values[index])].clone());
        }
        let column = known.factors.names.iter().position(|have| have == name);
        let value = column.map(|column| known.factors.row(index)[column]);
        value.map(|value| format!("{value:.2}")).ok_or_else(|| DataError::Unknown {
            what: if name == "class" { "classes for" } else { "factor" },
            name: name.clone(),
            present: known.factors.names.clone(),
        })
    };
    names.iter().map(one).collect::<Result<Vec<_>, _>>().map(|parts| parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
