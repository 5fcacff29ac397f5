//! The rules of a conclusion: what each looks for, what it says, and what to do about it.
//!
//! A rule is one function and one line of [`RULES`]; a rule that finds nothing says nothing.

use super::evidence::{Evidence, Interval, ModelFreeEstimate, ModelResult};
use super::range::{Basis, DimensionRange, central, median, most_points, supported};
use super::wording::{Verb, count_range, interval_text, list, number, thousands};

/// A model is worse than the baseline from this many times its error on.
const WORSE: f64 = 1.1;
/// An error of less than this share of the variance is no loss worth a word, whatever the baseline's.
const NEGLIGIBLE: f64 = 0.02;
/// A code has collapsed if the error is at least this share of the variance.
const NOTHING_LEARNED: f64 = 0.95;
/// A code with less variance than this has collapsed, if no error says otherwise.
const NO_VARIANCE: f64 = 1e-4;
/// Counts may differ by one from seed to seed, or by this share of their mean.
const STEADY: f64 = 0.2;
/// Estimates without intervals differ if the largest is this many times the least.
const FAR_APART: f64 = 1.3;

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// The rule.
    pub(super) rule: &'static str,
    /// What was found, as a sentence.
    pub(super) text: String,
    /// What to do about it, as a sentence.
    pub(super) advice: Option<String>,
}

/// Applies every rule.
pub(super) fn findings(evidence: &Evidence, range: Option<&DimensionRange>) -> Vec<Finding> {
    let case = Case { evidence, range };
    let found = RULES.iter().filter_map(|(rule, find)| {
        find(&case).map(|(text, advice)| Finding { rule, text, advice })
    });
    found.collect()
}

/// A rule: its name, and what it says with what to do about it.
pub(super) type Rule = (&'static str, fn(&Case<'_>) -> Option<(String, Option<String>)>);

/// Every rule, in the order in which a conclusion tells what they find.
pub(super) const RULES: [Rule; 10] = [
    ("estimates-disagree", estimates_disagree),
    ("estimate-outside", estimate_outside),
    ("few-points", few_points),
    ("counts-agree", counts_agree),
    ("counts-differ", counts_differ),
    ("linear-count", linear_count),
    ("at-limit", at_limit),
    ("worse-than-baseline", worse_than_baseline),
    ("unstable", unstable),
    ("collapsed", collapsed),
];

/// What the rules look at.
pub(super) struct Case<'a> {
    evidence: &'a Evidence,
    range: Option<&'a DimensionRange>,
}

impl Case<'_> {
    fn baseline(&self) -> Option<&ModelResult> {
        self.evidence.models.iter().find(|model| model.is_baseline)
    }

    fn others(&self) -> impl Iterator<Item = &ModelResult> {
        self.evidence.models.iter().filter(|model| !model.is_baseline)
    }

    /// Returns the share of the samples' variance that a model does not reconstruct. The codes of a
    /// PCA hold all the variance that it does not lose.
    fn lost_share(&self, model: &ModelResult) -> Option<f64> {
        let baseline = self.baseline()?;
        let all = mean(&baseline.variances)? + mean(&baseline.errors)?;
        (all > 0.0).then_some(mean(&model.errors)? / all)
    }

    fn has_collapsed(&self, model: &ModelResult) -> bool {
        match self.lost_share(model) {
            Some(lost) => lost >= NOTHING_LEARNED,
            None => mean(&model.variances).is_some_and(|variance| variance < NO_VARIANCE),
        }
    }

    fn is_worse(&self, model: &ModelResult) -> bool {
        let errors = (mean(&model.errors), self.baseline().and_then(|pca| mean(&pca.errors)));
        let (Some(own), Some(linear)) = errors else {
            return false;
        };
        let matters = self.lost_share(model).is_none_or(|lost| lost > NEGLIGIBLE);
        own > WORSE * linear && matters
    }

    /// Returns the models whose counts nothing speaks against.
    fn sound(&self) -> impl Iterator<Item = &ModelResult> {
        self.others().filter(|model| {
            !model.counts.is_empty()
                && !is_at_limit(model)
                && !is_unstable(model)
                && !self.is_worse(model)
                && !self.has_collapsed(model)
        })
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the least and the largest of some counts.
fn extremes(counts: &[f64]) -> (f64, f64) {
    let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
    (least, counts.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

fn is_at_limit(model: &ModelResult) -> bool {
    let limit = model.coordinates.map(|coordinates| coordinates as f64);
    limit.is_some_and(|limit| model.counts.iter().any(|count| *count >= limit))
}

fn is_unstable(model: &ModelResult) -> bool {
    let (least, most) = extremes(&model.counts);
    let allowed = mean(&model.counts).map_or(1.0, |mean| (STEADY * mean).max(1.0));
    model.counts.len() > 1 && most - least > allowed
}

fn titles<'a>(models: &[&'a ModelResult]) -> Vec<&'a str> {
    models.iter().map(|model| model.title.as_str()).collect()
}

/// Names models with their counts.
fn with_counts(models: &[&ModelResult]) -> String {
    let named: Vec<String> = models
        .iter()
        .map(|model| format!("{} ({})", model.title, count_range(&model.counts)))
        .collect();
    list(&named)
}

/// The estimators contradict each other.
fn estimates_disagree(case: &Case<'_>) -> Option<(String, Option<String>)> {
    let range = case.range?;
    let estimates = match range.basis {
        Basis::Estimates => central(&case.evidence.estimates),
        Basis::Majority | Basis::Union => case.evidence.estimates.iter().collect(),
    };
    let dimension = |estimate: &&ModelFreeEstimate| estimate.dimension;
    let least = estimates.iter().copied().min_by(|a, b| dimension(a).total_cmp(&dimension(b)))?;
    let most = estimates.iter().copied().max_by(|a, b| dimension(a).total_cmp(&dimension(b)))?;
    let apart =
        most.dimension > FAR_APART * least.dimension && most.dimension - least.dimension > 1.0;
    let disagree = match range.basis {
        Basis::Majority => false,
        Basis::Union => true,
        Basis::Estimates => apart,
    };
    let named = |one: &ModelFreeEstimate| format!("{} ({})", one.title, number(one.dimension));
    disagree.then(|| {
        let text = format!(
            "The estimators disagree, from {} to {}, so no single number should be quoted.",
            named(least),
            named(most)
        );
        let advice = "Find out why the estimators disagree: compare estimates at several scales \
                      (numbers of neighbors), and check the data for noise, outliers, clusters of \
                      different dimension and columns of different scale.";
        (text, Some(advice.to_owned()))
    })
}

/// Some intervals do not meet the range of the others.
fn estimate_outside(case: &Case<'_>) -> Option<(String, Option<String>)> {
    let range = case.range?;
    if range.basis == Basis::Estimates {
        return estimate_far_off(&case.evidence.estimates);
    }
    let outside = case.evidence.estimates.iter().filter_map(|estimate| {
        let interval = estimate.interval.filter(|interval| !interval.meets(&range.interval))?;
        Some(format!("{} ({})", estimate.title, interval_text(&interval)))
    });
    let outside: Vec<String> = outside.collect();
    let (interval, does) = match outside.len() {
        0 => return None,
        1 => ("interval", "does"),
        _ => ("intervals", "do"),
    };
    let text = format!("The {interval} of {} {does} not overlap with this range.", list(&outside));
    Some((text, None))
}

/// Some estimates of unknown bias are far from most others.
fn estimate_far_off(estimates: &[ModelFreeEstimate]) -> Option<(String, Option<String>)> {
    let central = central(estimates);
    let far = estimates.iter().filter(|one| !central.contains(one));
    let far: Vec<String> =
        far.map(|one| format!("{} ({})", one.title, number(one.dimension))).collect();
    let (estimate, is) = match far.len() {
        0 => return None,
        1 => ("estimate", "is"),
        _ => ("estimates", "are"),
    };
    let text = format!("The {estimate} of {} {is} far from the others and left out.", list(&far));
    Some((text, None))
}

/// The points are too few for estimates of this size.
fn few_points(case: &Case<'_>) -> Option<(String, Option<String>)> {
    let points = most_points(&case.evidence.estimates)?;
    let middle = median(&case.evidence.estimates)?;
    let dimension = middle.ceil();
    (middle > supported(points)).then(|| {
        let text = format!(
            "{} points are few for this dimension: as a rule of thumb, estimates are reliable up to \
             2 log10(n) = {} and tend to be too low above that.",
            thousands(points),
            number(supported(points))
        );
        // Beyond any data set there is no use in a number.
        let needed = 10f64.powf(dimension / 2.0);
        let advice = if needed < 1e7 {
            let needed = thousands((needed / 1000.0).ceil() as usize * 1000);
            format!("Use more samples if there are any: about {needed} for a dimension of {dimension}.")
        } else {
            "Take the range as a lower bound: no realistic number of samples suffices for this \
             dimension."
                .to_owned()
        };
        (text, Some(advice))
    })
}

/// Says on which side of the range the counts of a model are.
fn side(range: &Interval, model: &ModelResult) -> std::cmp::Ordering {
    let count = mean(&model.counts).unwrap_or_default();
    if count.round() < range.low.floor() {
        std::cmp::Ordering::Less
    } else if range.high.is_some_and(|high| count.round() > high.ceil()) {
        std::cmp::Ordering::Greater
    } else {
        std::cmp::Ordering::Equal
    }
}

/// Models that passed all checks count what the estimators found.
fn counts_agree(case: &Case<'_>) -> Option<(String, Option<String>)> {
    let range = case.range?.interval;
    let agreeing: Vec<&ModelResult> =
        case.sound().filter(|model| side(&range, model).is_eq()).collect();
    let (named, agree) = (with_counts(&agreeing), Verb::of(agreeing.len()).form("agree"));
    let counts = if agreeing.len() == 1 { "count" } else { "counts" };
    (!agreeing.is_empty())
        .then(|| (format!("The {counts} of {named} {agree} with this range."), None))
}

/// Models that passed all checks count something else.
fn counts_differ(case: &Case<'_>) -> Option<(String, Option<String>)> {
    let range = case.range?.interval;
    let on = |wanted: std::cmp::Ordering| -> Vec<&ModelResult> {
        case.sound().filter(|model| side(&range, model) == wanted).collect()
    };
    let (below, above) = (on(std::cmp::Ordering::Less), on(std::cmp::Ordering::Greater));
    let mut parts = Vec::new();
    if !above.is_empty() {
        parts.push(format!(
            "{} {} more, which is no contradiction: a code may use more coordinates than the data \
             have dimensions",
            with_counts(&above),
            Verb::of(above.len()).form("count")
        ));
    }
    if !below.is_empty() {
        parts.push(format!(
            "{} {} fewer, so {} lost some of the dimensions",
            with_counts(&below),
            Verb::of(below.len()).form("count"),
            if below.len() == 1 { "its code may have" } else { "their codes may have" }
        ));
    }
    (!parts.is_empty()).then(|| (format!("{}.", parts.join("; ")), None))
}

/// Returns whether a model counts more than the least whole number from a bound on.
fn exceeds(model: &ModelResult, bound: f64) -> bool {
    mean(&model.counts).is_some_and(|count| count.round() > bound.ceil())
}

/// What a linear subspace needs.
fn linear_count(case: &Case<'_>) -> Option<(String, Option<String>)> {
    let range = case.range?.interval;
    let baseline = case.baseline().filter(|model| !model.counts.is_empty())?;
    let (title, count) = (&baseline.title, count_range(&baseline.counts));
    match side(&range, baseline) {
        std::cmp::Ordering::Greater => {
            let most = if is_at_limit(baseline) { "at least " } else { "" };
            let text = format!(
                "{title} needs {most}{count} axes for the same share of the variance, so the data \
                 are curved."
            );
            Some((text, None))
        }
        // A range that begins lower leaves room for a curved shape.
        std::cmp::Ordering::Equal if !is_at_limit(baseline) && !exceeds(baseline, range.low) => {
            let text = format!(
                "{title} needs no more axes than that ({count}), so the data lie close to a linear \
                 subspace."
            );
            Some((text, None))
        }
        _ => None,
    }
}

/// Counts that could not have been larger.
fn at_limit(case: &Case<'_>) -> Option<(String, Option<String>)> {
    let limited: Vec<&ModelResult> = case.others().filter(|model| is_at_limit(model)).collect();
    let limit = limited.iter().filter_map(|model| model.coordinates).max()?;
    let names = list(&titles(&limited));
    let counts = Verb::of(limited.len()).form("count");
    if case.evidence.width.is_some_and(|width| limit >= width) {
        let text = format!("{names} {counts} all {limit} values of a sample.");
        return Some((text, None));
    }
    let text = format!(
        "{names} {counts} all {limit} coordinates of {}, so the true number may be larger.",
        if limited.len() == 1 { "the code" } else { "their codes" }
    );
    Some((text, Some(format!("Raise `latent`, for instance to {}.", 2 * limit))))
}

/// Models that a linear one beats.
fn worse_than_baseline(case: &Case<'_>) -> Option<(String, Option<String>)> {
    let baseline = &case.baseline()?.title;
    let worse: Vec<&ModelResult> =
        case.others().filter(|model| case.is_worse(model) && !case.has_collapsed(model)).collect();
    let names = list(&titles(&worse));
    if worse.is_empty() {
        return None;
    }
    let verb = Verb::of(worse.len()).form("reconstruct");
    let their = if worse.len() == 1 { "its" } else { "their" };
    let text = format!(
        "{names} {verb} worse than {baseline} with as many coordinates, so {their} counts mean little: \
         training was too short, or another loss term weighs too much."
    );
    Some((
        text,
        Some(format!("Train {names} longer (`length`), or lower `beta` where there is one.")),
    ))
}

/// Counts that depend on the seed.
fn unstable(case: &Case<'_>) -> Option<(String, Option<String>)> {
    let unstable: Vec<&ModelResult> = case.others().filter(|model| is_unstable(model)).collect();
    if unstable.is_empty() {
        return None;
    }
    let text = format!("The counts of {} vary from seed to seed.", with_counts(&unstable));
    let names = list(&titles(&unstable));
    Some((text, Some(format!("Use more seeds and train longer before you rely on {names}."))))
}

/// Codes that say nothing of the samples.
fn collapsed(case: &Case<'_>) -> Option<(String, Option<String>)> {
    let collapsed: Vec<&ModelResult> =
        case.others().filter(|model| case.has_collapsed(model)).collect();
    let names = list(&titles(&collapsed));
    let (code, has) = match collapsed.len() {
        0 => return None,
        1 => ("The code of", "has"),
        _ => ("The codes of", "have"),
    };
    let text = format!(
        "{code} {names} {has} collapsed (reconstructions are no better than the mean of all \
         samples), so what is counted there is noise."
    );
    let advice = format!(
        "Train {names} longer, or lower the weight of the other loss terms (`beta`) where there is \
         one."
    );
    Some((text, Some(advice)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(title: &str, low: f64, high: f64, points: usize) -> ModelFreeEstimate {
        ModelFreeEstimate {
            title: title.to_owned(),
            dimension: f64::midpoint(low, high),
            spread: 0.1,
            interval: Some(Interval { low, high: Some(high) }),
            points: Some(points),
        }
    }

    /// A model that loses 5 of 100 parts of the variance.
    fn model(title: &str, counts: &[f64]) -> ModelResult {
        ModelResult {
            title: title.to_owned(),
            counts: counts.to_vec(),
            coordinates: Some(16),
            variances: vec![50.0; counts.len()],
            errors: vec![5.0; counts.len()],
            is_baseline: false,
        }
    }

    /// A PCA that loses 10 of 100 parts of the variance.
    fn pca(count: f64) -> ModelResult {
        ModelResult {
            variances: vec![90.0],
            errors: vec![10.0],
            is_baseline: true,
            ..model("PCA", &[count])
        }
    }

    /// Estimators that agree on 4, a PCA that needs 9 axes, and a model.
    fn with(model: ModelResult) -> Evidence {
        let estimates = vec![estimate("MLE", 3.6, 4.4, 3000), estimate("TwoNN", 3.5, 4.5, 3000)];
        Evidence { estimates, models: vec![model, pca(9.0)], width: Some(64) }
    }

    fn fired(evidence: &Evidence) -> Vec<Finding> {
        findings(evidence, DimensionRange::of(evidence).as_ref())
    }

    fn text(evidence: &Evidence, rule: &str) -> Option<String> {
        fired(evidence).into_iter().find(|finding| finding.rule == rule).map(|found| found.text)
    }

    #[test]
    fn on_sound_results_no_rule_asks_for_anything() {
        let found = fired(&with(model("PCAE", &[4.0, 4.0, 5.0])));
        let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, ["counts-agree", "linear-count"]);
        assert!(found.iter().all(|finding| finding.advice.is_none()), "{found:?}");
        assert_eq!(found[0].text, "The count of PCAE (4 to 5) agrees with this range.");
        assert_eq!(
            found[1].text,
            "PCA needs 9 axes for the same share of the variance, so the data are curved."
        );
    }

    #[test]
    fn estimators_that_contradict_each_other_are_told_apart_from_one_that_is_alone() {
        let mut evidence = with(model("PCAE", &[4.0]));
        evidence.estimates.push(estimate("local PCA", 8.0, 9.0, 3000));
        assert_eq!(
            text(&evidence, "estimate-outside").unwrap(),
            "The interval of local PCA (8 to 9) does not overlap with this range."
        );
        assert_eq!(text(&evidence, "estimates-disagree"), None);
        evidence.estimates.remove(0);
        assert!(
            text(&evidence, "estimates-disagree").unwrap().contains("from TwoNN (4) to local PCA")
        );
        assert_eq!(text(&evidence, "estimate-outside"), None);
    }

    #[test]
    fn without_intervals_estimates_disagree_if_they_are_far_apart() {
        let disagree = |low: f64, high: f64| {
            let mut evidence = with(model("PCAE", &[4.0]));
            for (estimate, dimension) in evidence.estimates.iter_mut().zip([low, high]) {
                (estimate.interval, estimate.dimension) = (None, dimension);
            }
            text(&evidence, "estimates-disagree").is_some()
        };
        assert!(disagree(4.0, 6.0));
        assert!(!disagree(4.0, 4.8), "a fifth is no contradiction");
        assert!(!disagree(1.0, 1.9), "less than one is none either");
    }

    #[test]
    fn without_intervals_an_estimate_far_from_most_others_is_named() {
        let mut evidence = with(model("PCAE", &[4.0]));
        evidence.estimates.push(estimate("local PCA", 8.0, 10.0, 3000));
        for estimate in &mut evidence.estimates {
            estimate.interval = None;
        }
        assert_eq!(
            text(&evidence, "estimate-outside").unwrap(),
            "The estimate of local PCA (9) is far from the others and left out."
        );
        assert_eq!(text(&evidence, "estimates-disagree"), None);
        evidence.estimates.pop();
        assert_eq!(text(&evidence, "estimate-outside"), None);
    }

    #[test]
    fn points_are_few_only_for_large_dimensions() {
        let mut evidence = with(model("PCAE", &[4.0]));
        assert_eq!(text(&evidence, "few-points"), None);
        for estimate in &mut evidence.estimates {
            estimate.points = Some(80);
        }
        assert_eq!(
            text(&evidence, "few-points").unwrap(),
            "80 points are few for this dimension: as a rule of thumb, estimates are reliable up to \
             2 log10(n) = 3.8 and tend to be too low above that."
        );
        let mut large = with(model("PCAE", &[4.0]));
        large.estimates = vec![estimate("MLE", 8.0, 12.0, 3000)];
        let advice = fired(&large).into_iter().find(|one| one.rule == "few-points").unwrap().advice;
        let expected = "Use more samples if there are any: about 100,000 for a dimension of 10.";
        assert_eq!(advice.as_deref(), Some(expected));
    }

    #[test]
    fn counts_are_compared_with_the_range_on_both_sides() {
        let above = text(&with(model("HAE", &[7.0])), "counts-differ").unwrap();
        assert!(above.starts_with("HAE (7) counts more, which is no contradiction"), "{above}");
        let below = text(&with(model("ARD-VAE", &[2.0])), "counts-differ").unwrap();
        assert!(below.starts_with("ARD-VAE (2) counts fewer, so its code may"), "{below}");
        assert_eq!(text(&with(model("PCAE", &[4.0])), "counts-differ"), None);
        // A count that another rule speaks against is no argument.
        let mut unsound = with(model("HAE", &[4.0]));
        unsound.models[0].errors = vec![20.0];
        assert_eq!(text(&unsound, "counts-agree"), None);
    }

    #[test]
    fn data_are_curved_if_a_linear_subspace_needs_more_axes() {
        let mut evidence = with(model("PCAE", &[4.0]));
        evidence.models[1] = pca(4.0);
        let linear = text(&evidence, "linear-count").unwrap();
        assert!(linear.contains("(4), so the data lie close to a linear subspace"), "{linear}");
        evidence.models[1] = pca(16.0);
        let limited = text(&evidence, "linear-count").unwrap();
        assert!(limited.contains("at least 16 axes"), "{limited}");
        evidence.models[1] = pca(2.0);
        assert_eq!(text(&evidence, "linear-count"), None);
        evidence.models[1] = pca(4.0);
        evidence.estimates = vec![estimate("MLE", 1.5, 4.5, 3000)];
        assert_eq!(text(&evidence, "linear-count"), None, "2 or 3 curved dimensions would do");
    }

    #[test]
    fn a_count_at_the_limit_asks_for_a_longer_code_unless_samples_have_no_more_values() {
        let mut evidence = with(model("IRMAE", &[15.0, 16.0]));
        let found = fired(&evidence).into_iter().find(|one| one.rule == "at-limit").unwrap();
        assert_eq!(
            found.text,
            "IRMAE counts all 16 coordinates of the code, so the true number may be larger."
        );
        assert_eq!(found.advice.as_deref(), Some("Raise `latent`, for instance to 32."));
        evidence.width = Some(16);
        let found = fired(&evidence).into_iter().find(|one| one.rule == "at-limit").unwrap();
        assert_eq!(found.text, "IRMAE counts all 16 values of a sample.");
        assert_eq!(found.advice, None);
        assert_eq!(text(&with(model("IRMAE", &[15.0, 15.0])), "at-limit"), None);
    }

    #[test]
    fn a_model_that_loses_more_than_a_pca_is_named_unless_neither_loses_much() {
        let mut evidence = with(model("HAE", &[4.0]));
        evidence.models[0].errors = vec![12.0];
        let found = text(&evidence, "worse-than-baseline").unwrap();
        assert!(found.starts_with("HAE reconstructs worse than PCA with as many"), "{found}");
        evidence.models[0].errors = vec![10.5];
        assert_eq!(text(&evidence, "worse-than-baseline"), None, "within 10 %");
        // With as many coordinates as values a PCA loses nothing at all.
        (evidence.models[1].errors, evidence.models[0].errors) = (vec![1e-9], vec![1.0]);
        assert_eq!(text(&evidence, "worse-than-baseline"), None, "1 % of the variance");
    }

    #[test]
    fn counts_may_differ_by_one_from_seed_to_seed_but_not_by_three() {
        let found = text(&with(model("PCAE", &[4.0, 7.0, 5.0])), "unstable").unwrap();
        assert_eq!(found, "The counts of PCAE (4 to 7) vary from seed to seed.");
        assert_eq!(text(&with(model("PCAE", &[4.0, 5.0, 5.0])), "unstable"), None);
        assert_eq!(text(&with(model("PCAE", &[12.0, 14.0])), "unstable"), None, "a fifth of 13");
        assert_eq!(text(&with(model("PCAE", &[4.0])), "unstable"), None, "a single run");
    }

    #[test]
    fn a_code_has_collapsed_if_it_reconstructs_nothing_however_small_its_variance() {
        let mut evidence = with(model("PCAE", &[9.0]));
        evidence.models[0].errors = vec![99.0];
        let found = text(&evidence, "collapsed").unwrap();
        assert!(found.starts_with("The code of PCAE has collapsed"), "{found}");
        assert_eq!(text(&evidence, "worse-than-baseline"), None, "said once");
        (evidence.models[0].errors, evidence.models[0].variances) = (vec![5.0], vec![1e-9]);
        assert_eq!(text(&evidence, "collapsed"), None, "a decoder can scale any code");
        evidence.models[0].errors.clear();
        assert!(text(&evidence, "collapsed").is_some(), "no error says otherwise");
    }
}
