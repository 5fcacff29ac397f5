//! What a number of points can support: estimates that can't rest on them, and what to say of few.
//!
//! What: n points always lie in n - 1 dimensions, so an estimate above that is made of rounding, and
//! one of exactly n - 1 axes counts the points. Below [`FEW`] points every number is rough.
//! Reference: the variance of n normal numbers has a relative standard error of sqrt(2 / (n - 1)),
//! which is a half at n = 9 (Kenney and Keeping 1951, section 7.8).

use super::{EstimateError, Finding};
use crate::numerics::Points;

/// From so many points on, an estimate is given without a note.
const FEW: usize = 10;

/// The fewest points whose principal axes depend on where they lie, and why.
pub(super) const TWO_ARE_A_LINE: (usize, &str) = (3, "any 2 points lie on a line");

/// Refuses numbers that no points stand behind.
pub(super) fn check(found: &Finding, points: usize) -> Result<(), EstimateError> {
    let (dimension, spread) = match found {
        Finding::Count(count, _) => (count.dimension as f64, 0.0),
        Finding::Local(local) => (local.dimension, local.spread),
    };
    if !dimension.is_finite() || !spread.is_finite() {
        return Err(EstimateError::EquallyFar);
    }
    if dimension > points.saturating_sub(1) as f64 {
        return Err(EstimateError::Unsupported { dimension: format!("{dimension:.3}"), points });
    }
    Ok(())
}

/// Says what makes an estimate doubtful, if it is because of the number of points.
pub(super) fn note(found: &Finding, points: &Points, counts_axes: bool) -> Option<String> {
    let rows = points.rows();
    let (dimension, used) = match found {
        Finding::Count(count, _) => (count.dimension as f64, rows),
        Finding::Local(local) => (local.dimension, local.points_used),
    };
    let few = (used < FEW).then(|| {
        let points = if used == 1 { "point" } else { "points" };
        format!("estimated from only {used} {points}, so this is a rough number")
    });
    let most = rows.saturating_sub(1);
    let all = (counts_axes && most < points.width() && dimension >= most as f64).then(|| {
        format!("{rows} points have at most {most} principal axes, and all of them are counted")
    });
    let notes: Vec<String> = few.into_iter().chain(all).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::dimension::EstimatorSpec;
    use crate::numerics::Seed;

    const ESTIMATORS: [&str; 13] = [
        "Variance(threshold: 0.99)",
        "Spectrum(threshold: 0.99, also: [1.0])",
        "Mle(neighbors: 2, form: LevinaBickel)",
        "Mle(neighbors: 3, form: Unbiased)",
        "Mle(neighbors: 2, form: MacKayGhahramani)",
        "Mle(neighbors: 3)",
        "TwoNn()",
        "TwoNn(discard: 0, fit: Likelihood)",
        "Gride(neighbors: 2)",
        "LocalPca(rule: FukunagaOlsen())",
        "LocalPca(neighbors: 3, rule: ParticipationRatio)",
        "CorrelationDimension(near: 1, far: 2)",
        "Mom(neighbors: 2)",
    ];

    fn spec(text: &str) -> EstimatorSpec {
        let options = ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
            .with_default_extension(ron::extensions::Extensions::UNWRAP_VARIANT_NEWTYPES);
        options.from_str(text).unwrap()
    }

    /// Draws points of six coordinates.
    fn cloud(rows: usize) -> Points {
        let mut rng = Seed(1).stream("cloud");
        Points::from_rows(6, (0..6 * rows).map(|_| rng.random::<f32>()).collect())
    }

    fn estimate(text: &str, points: &Points) -> Result<(f64, Option<String>), String> {
        let spec = spec(text);
        assert_eq!(spec.problem(), None, "{text}");
        let found = spec.estimate(points, None).map_err(|error| error.to_string())?;
        let dimension = match &found {
            Finding::Count(count, _) => count.dimension as f64,
            Finding::Local(local) => local.dimension,
        };
        Ok((dimension, spec.note(points, &found)))
    }

    #[test]
    fn few_points_are_refused_or_noted_by_every_estimator() {
        for text in ESTIMATORS {
            assert!(estimate(text, &cloud(0)).is_err(), "{text}");
            assert!(estimate(text, &cloud(1)).is_err(), "{text}");
            for rows in [2, 3, 5, 9] {
                if let Ok((dimension, note)) = estimate(text, &cloud(rows)) {
                    assert!(dimension.is_finite() && dimension > 0.0, "{text}: {dimension}");
                    let note = note.unwrap_or_default();
                    assert!(note.starts_with("estimated from only "), "{text}, {rows}: {note}");
                }
            }
            let (dimension, note) = estimate(text, &cloud(200)).unwrap();
            assert!(dimension.is_finite() && note.is_none(), "{text}: {dimension}, {note:?}");
        }
    }

    #[test]
    fn points_that_coincide_or_are_no_numbers_are_refused_by_every_estimator() {
        for text in ESTIMATORS {
            for rows in [1, 2, 3, 5, 50] {
                let same = Points::from_rows(6, cloud(1).values().repeat(rows));
                let refused = estimate(text, &same).unwrap_err();
                let says_all = refused.contains(&format!("all {rows} points coincide"));
                assert!(!says_all || rows > 1, "{text}: {refused}");
                for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    let mut broken = cloud(rows);
                    *broken.values_mut().last_mut().unwrap() = value;
                    assert!(estimate(text, &broken).is_err(), "{text}: {rows} points, {value}");
                }
            }
        }
    }

    #[test]
    fn two_points_are_always_a_line_and_tell_nothing() {
        let told = |text| estimate(text, &cloud(2)).unwrap_err();
        let expected = "at least 3 points are needed, found 2: any 2 points lie on a line";
        assert_eq!(told("Spectrum(threshold: 0.99)"), expected);
        assert_eq!(told("LocalPca(rule: MaxGap)"), expected);
        assert_eq!(told("TwoNn()"), "2 neighbors need at least 3 points, found 2");
        assert_eq!(
            estimate("Variance(threshold: 0.9)", &cloud(1)).unwrap_err(),
            "at least 2 points are needed, found 1: 1 point has no variance"
        );
        assert_eq!(
            estimate("TwoNn()", &cloud(3)).unwrap_err(),
            "2 of 3 points remain after discarding, but at least 3 are needed: use more points, or \
             lower `discard`"
        );
    }

    #[test]
    fn a_count_of_all_axes_that_points_can_have_is_noted() {
        let (dimension, note) = estimate("Spectrum(threshold: 1)", &cloud(5)).unwrap();
        assert!((dimension - 4.0).abs() < f64::EPSILON);
        assert_eq!(
            note.unwrap(),
            "estimated from only 5 points, so this is a rough number; 5 points have at most 4 \
             principal axes, and all of them are counted"
        );
        let wide = Points::from_rows(30, cloud(60).values().to_vec());
        let (_, note) = estimate("Spectrum(threshold: 1)", &wide).unwrap();
        assert_eq!(
            note.unwrap(),
            "12 points have at most 11 principal axes, and all of them are counted"
        );
        assert_eq!(estimate("Spectrum(threshold: 0.5)", &wide).unwrap().1, None);
    }

    #[test]
    fn an_estimate_made_of_rounding_is_refused() {
        // The corners of a regular simplex, all equally far but for the last digits.
        let corner = |place: usize| {
            let mut corner = [0.1_f32; 5];
            corner[place] += 0.7 + 1e-7 * place as f32;
            corner
        };
        let simplex = Points::from_rows(5, (0..5).flat_map(corner).collect());
        let refused = estimate("TwoNn(discard: 0)", &simplex).unwrap_err();
        assert!(
            refused.ends_with(
                " dimensions can't rest on 5 points, which always lie in 4: use more points"
            ),
            "{refused}"
        );
    }

    #[test]
    fn neighbors_that_coincide_are_not_taken_for_points_that_all_do() {
        let two_places = Points::from_rows(2, [[0.0; 20], [1.0; 20]].concat());
        assert_eq!(
            estimate("LocalPca(neighbors: 5, rule: MaxGap)", &two_places).unwrap_err(),
            "the 5 neighbors of each of the 20 points coincide, so they have no principal axes: raise \
             `neighbors`"
        );
        let one_place = Points::from_rows(2, vec![1.0; 40]);
        assert_eq!(
            estimate("LocalPca(rule: MaxGap)", &one_place).unwrap_err(),
            "all 20 points coincide, so no coordinate has a share of the variance"
        );
    }
}
