//! How the stages of a plan read their settings, in words: each sentence once, with its stages.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::plan::Plan;
use crate::engine::stage::{Labels, StageSet};
use crate::report::Note;
use crate::stages::{AnyStage, settings_in_words};

/// The labels of some stages, by axis.
type LabelSets<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Returns the sentences of all stages, sorted by kind.
pub(super) fn note(plan: &Plan<AnyStage>) -> Option<Note> {
    let mut families: BTreeMap<&str, LabelSets<'_>> = BTreeMap::new();
    let mut sentences: BTreeMap<(&str, String), BTreeMap<&str, LabelSets<'_>>> = BTreeMap::new();
    for planned in plan.stages() {
        let (template, kind) = (planned.template.as_str(), planned.stage.as_stage().kind().name);
        add(families.entry(template).or_default(), &planned.labels);
        for sentence in settings_in_words(&planned.stage, &plan.estimates_behind(planned)) {
            let stages = sentences.entry((kind, sentence)).or_default();
            add(stages.entry(template).or_default(), &planned.labels);
        }
    }
    let item = |((kind, sentence), stages): (&(&str, String), &BTreeMap<&str, LabelSets<'_>>)| {
        let parts = stages.iter().map(|(template, labels)| part(template, labels, &families));
        format!("{kind}: {sentence} ({})", parts.collect::<Vec<_>>().join("; "))
    };
    let items: Vec<String> = sentences.iter().map(item).collect();
    (!items.is_empty()).then(|| Note { title: "Settings in words".to_owned(), items })
}

fn add<'a>(sets: &mut LabelSets<'a>, labels: &'a Labels) {
    for (axis, label) in labels {
        sets.entry(axis).or_default().insert(label);
    }
}

/// Names the stages of a template, with the labels of the axes on which they are not all.
fn part(
    template: &str,
    labels: &LabelSets<'_>,
    families: &BTreeMap<&str, LabelSets<'_>>,
) -> String {
    let all = &families[template];
    let narrower = labels.iter().filter(|(axis, labels)| all[*axis] != **labels);
    let lists: Vec<String> = narrower
        .map(|(axis, labels)| {
            format!("{axis} {}", labels.iter().copied().collect::<Vec<_>>().join(", "))
        })
        .collect();
    if lists.is_empty() {
        template.to_owned()
    } else {
        format!("{template} with {}", lists.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pipeline::search_paths::FileProbe;
    use crate::engine::pipeline::source::Source;

    #[test]
    fn each_sentence_stands_once_with_the_stages_that_it_is_true_of() {
        let text = r#"Pipeline(name: "p", axes: {"seed": [0, 1], "model": {
            "plain": Ae(latent: 2, network: Conv(channels: [4])),
            "exact": Pca(latent: 2),
        }}, stages: {
            "images": Dataset(
                source: Dsprites(Render(size: 8, factors: Continuous(samples: 9, seed: 0))),
                split: Train,
            ),
            "train-{model}-{seed}": Train(
                model: Axis(model), data: "images", length: Epochs(1), batch_size: 4,
                optimizer: Adam(rate: 1e-3), seed: Axis(seed),
            ),
            "smooth-{model}-{seed}": Score(
                model: "train-{model}-{seed}", data: "images", metric: Smoothness(seed: 0),
            ),
        })"#;
        let plan = Plan::load(&Source::new("p.ron", text), &FileProbe::Search).unwrap();
        let note = note(&plan).unwrap();
        assert_eq!(
            note.items,
            [
                "Score: Smoothness is the population variance of 10 step lengths, averaged over \
                 1000 random pairs, times 100. (smooth-{model}-{seed})",
                "Train: A PCA is computed from all samples at once. \
                 (train-{model}-{seed} with model exact)",
                "Train: The optimizer is Adam with a learning rate of 0.001 (constant) and no \
                 weight decay, for 1 epoch in batches of 4. (train-{model}-{seed} with model plain)",
                "Train: The reconstruction loss is binary cross-entropy, summed over values. \
                 (train-{model}-{seed} with model plain)",
            ]
        );
    }
}
