//! `Figure`: records or images as a picture.
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
//! )
//! ```

use serde::{Deserialize, Serialize};

use super::artifacts::AnyImages;
use super::records::{Review, labeled_records};
use crate::data::{Annotations, DataError, Images};
use crate::engine::context::{RunContext, StageError};
use crate::engine::stage::{Each, Input, Kind, Problem, Producer, Stage, StageRef};
use crate::report::{
    ContactSheet, ContactSheetSpec, Figure as Drawn, FigureSpec, Tile, TileSize, Values,
};

/// Settings of a figure stage.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Families of records; those with equal labels are joined.
    #[serde(default, skip_serializing)]
    pub records: Vec<Each<Values>>,
    /// Images, for pictures that show images.
    #[serde(default, skip_serializing)]
    pub images: Option<StageRef<AnyImages>>,
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
        records.chain(self.images.iter().map(|images| images.input("images"))).collect()
    }

    fn output(&self, _inputs: &[Vec<String>]) -> String {
        "figure".to_owned()
    }

    fn is_report(&self) -> bool {
        true
    }

    fn problems(&self, inputs: &[Vec<Producer>]) -> Vec<Problem> {
        let problem = |field, message: &str, help: &str| {
            vec![Problem { field, message: message.to_owned(), help: Some(help.to_owned()) }]
        };
        match &self.picture {
            FigureSpec::ContactSheet(_) if self.images.is_none() => problem(
                "picture",
                "a contact sheet shows images, and none are given",
                "add `images: \"a stage that makes images\"`",
            ),
            FigureSpec::ContactSheet(_) if !self.records.is_empty() => {
                problem("records", "a contact sheet shows images, no records", "delete this line")
            }
            FigureSpec::ContactSheet(_) => Vec::new(),
            FigureSpec::VarianceSpectrum(_) if self.images.is_some() => {
                problem("images", "a spectrum shows records, no images", "delete this line")
            }
            FigureSpec::VarianceSpectrum(spec) => {
                let mut review = Review::of(inputs);
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

fn sheet(spec: &ContactSheetSpec, images: &Images) -> Result<ContactSheet, DataError> {
    let shape = images.shape();
    let size = TileSize { channels: shape.channels, height: shape.height, width: shape.width };
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
    use crate::stages::records::tests::{sweep, told};

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
}
