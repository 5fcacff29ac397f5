//! Codes as points, colored by what is known of their samples, and their distances.

use crate::data::{Annotations, DataError, SampleSet};
use crate::engine::context::StageError;
use crate::engine::stage::Labels;
use crate::geometry::Distances;
use crate::numerics::{Points, rng};
use crate::report::{
    CodePoint, CodeScatter, CodeScatterSpec, Coloring, DistanceScatter, DistanceScatterSpec,
    ScatterPanel,
};

/// Puts the codes of each model into a panel.
pub(super) fn code_scatter(
    spec: &CodeScatterSpec,
    families: &[(Labels, Points)],
    samples: Option<&SampleSet>,
) -> Result<CodeScatter, StageError> {
    let named = spec.color.as_ref().zip(samples);
    let (coloring, values) = match named {
        Some((name, samples)) => coloring(spec, name, samples.annotations())?,
        None => (Coloring::Plain, Vec::new()),
    };
    let (right, up) = (spec.coordinates.0.get() - 1, spec.coordinates.1.get() - 1);
    let mut panels = Vec::new();
    for (labels, codes) in families {
        let (asked, width) = (right.max(up) + 1, codes.width());
        if asked > width {
            let found = format!("coordinate {asked} is to be shown, but a code has {width}");
            return Err(found.into());
        }
        if named.is_some() && values.len() != codes.rows() {
            return Err("`samples` is not the `data` that was encoded".into());
        }
        let point = |row: usize| CodePoint {
            at: (codes.row(row)[right], codes.row(row)[up]),
            value: values.get(row).copied().unwrap_or_default(),
        };
        let points = spec.picked(codes.rows()).into_iter().map(point).collect();
        panels.push(ScatterPanel { title: spec.title(labels), points });
    }
    Ok(spec.build(coloring, panels))
}

/// Returns what colors mean, and the value of each sample.
fn coloring(
    spec: &CodeScatterSpec,
    name: &str,
    known: &Annotations,
) -> Result<(Coloring, Vec<f32>), DataError> {
    if let ("class", Some(classes)) = (name, &known.classes) {
        let values = classes.values.iter().map(|&class| f32::from(class)).collect();
        return Ok((Coloring::Classes(classes.names.clone()), values));
    }
    let Some(column) = known.factors.names.iter().position(|have| have == name) else {
        return Err(DataError::Unknown {
            what: if name == "class" { "classes for" } else { "factor" },
            name: name.to_owned(),
            present: known.factors.names.clone(),
        });
    };
    let values: Vec<f32> = known.factors.column(column).collect();
    let low = values.iter().copied().fold(f32::INFINITY, f32::min);
    let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    Ok((Coloring::Factor { title: spec.shown(name), low, high }, values))
}

/// Compares distances of random pairs, the same for each model.
pub(super) fn distance_scatter(
    spec: &DistanceScatterSpec,
    families: &[(Labels, Points)],
    distances: &Distances,
) -> Result<DistanceScatter, StageError> {
    let pairs = rng::random_pairs(distances.len(), spec.pairs.get(), spec.seed);
    let pairs = pairs.ok_or("pairs need at least two samples")?;
    // A distance that only the samples themselves could tell is not a number, and not shown.
    let geodesic = |one: usize, other: usize| {
        f64::from(distances.squared_between(&[one, other], &|_, _| f64::NAN)[1]).sqrt()
    };
    let known: Vec<(usize, usize, f64)> = pairs
        .into_iter()
        .map(|(one, other)| (one, other, geodesic(one, other)))
        .filter(|(_, _, distance)| distance.is_finite())
        .collect();
    let mut panels = Vec::new();
    for (labels, codes) in families {
        if codes.rows() != distances.len() {
            let (rows, points) = (codes.rows(), distances.len());
            let found = format!("{rows} codes, but distances between {points} samples");
            return Err(format!("{found}: encode the `data` of the distances").into());
        }
        let latent = |one: usize, other: usize| {
            let pairs = codes.row(one).iter().zip(codes.row(other));
            let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
            pairs.map(square).sum::<f64>().sqrt()
        };
        let pairs =
            known.iter().map(|&(one, other, distance)| (distance, latent(one, other))).collect();
        panels.push(spec.panel(spec.title(labels), pairs));
    }
    Ok(spec.build(panels))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Classes, Factors, Vectors};
    use crate::geometry::Rescale;

    fn families() -> Vec<(Labels, Points)> {
        let labels: Labels = [("model".to_owned(), "pcae".to_owned())].into();
        vec![(labels, Points::from_rows(2, vec![0.0, 0.0, 3.0, 4.0, 0.0, 1.0]))]
    }

    fn samples(count: usize) -> SampleSet {
        let factors = Factors {
            names: vec!["size".to_owned()],
            values: (0..count).map(|at| 10.0 + at as f32).collect(),
        };
        let names = vec!["a".to_owned(), "b".to_owned()];
        let classes = Some(Classes { names, values: vec![1; count] });
        let points = Points::from_rows(1, vec![0.0; count]);
        SampleSet::Vectors(Vectors::new(points, Annotations { factors, classes }).unwrap())
    }

    fn scatter(settings: &str, samples: Option<&SampleSet>) -> Result<CodeScatter, String> {
        let text = format!(r#"(caption: "c", label: "l", {settings})"#);
        let spec: CodeScatterSpec = ron::from_str(&text).unwrap();
        code_scatter(&spec, &families(), samples).map_err(|error| match error {
            StageError::Failed(error) => error.to_string(),
            StageError::Stopped => panic!("stopped"),
        })
    }

    #[test]
    fn codes_are_colored_by_a_factor_or_by_their_class() {
        let by_size = scatter(r#"color: Some("size"), coordinates: (2, 1)"#, Some(&samples(3)));
        let by_size = by_size.unwrap();
        let found = by_size.panels[0].points[1];
        assert_eq!((found.at, found.value), ((4.0, 3.0), 11.0));
        let expected = Coloring::Factor { title: "size".to_owned(), low: 10.0, high: 12.0 };
        assert_eq!(by_size.coloring, expected);
        let by_class = scatter(r#"color: Some("class")"#, Some(&samples(3))).unwrap();
        assert_eq!(by_class.coloring, Coloring::Classes(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(scatter("", None).unwrap().coloring, Coloring::Plain);
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        assert_eq!(
            scatter(r#"color: Some("size")"#, Some(&samples(4))).unwrap_err(),
            "`samples` is not the `data` that was encoded"
        );
        assert_eq!(
            scatter("coordinates: (1, 3)", None).unwrap_err(),
            "coordinate 3 is to be shown, but a code has 2"
        );
        let unknown = scatter(r#"color: Some("hue")"#, Some(&samples(3))).unwrap_err();
        assert!(unknown.contains("hue") && unknown.contains("size"), "{unknown}");
    }

    #[test]
    fn each_pair_has_its_distance_along_the_data_and_between_its_codes() {
        let table = vec![0.0, 5.0, 1.0, 5.0, 0.0, 2.0, 1.0, 2.0, 0.0];
        let distances = Distances::from_parts(3, table, 1.0, Rescale::None).unwrap();
        let spec: DistanceScatterSpec =
            ron::from_str(r#"(caption: "c", label: "l", pairs: 50)"#).unwrap();
        let found = distance_scatter(&spec, &families(), &distances).unwrap();
        let pairs = &found.panels[0].pairs;
        assert_eq!(pairs.len(), 50);
        let expected = [(5.0, 5.0), (1.0, 1.0), (2.0, 18.0_f64.sqrt())];
        let is_expected = |pair: &(f64, f64)| {
            expected.iter().any(|(x, y)| (x - pair.0).abs() < 1e-6 && (y - pair.1).abs() < 1e-6)
        };
        assert!(pairs.iter().all(is_expected), "{pairs:?}");
        let few = Distances::from_parts(2, vec![0.0, 1.0, 1.0, 0.0], 1.0, Rescale::None).unwrap();
        assert!(distance_scatter(&spec, &families(), &few).is_err());
    }
}
