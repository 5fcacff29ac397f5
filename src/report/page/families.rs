//! Stages of one template, taken together: a thousand stages are a dozen families.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::content::{StageFacts, Status};

/// All stages of one template.
#[derive(Debug)]
pub(super) struct Family<'a> {
    /// The template, such as `train-{seed}`.
    pub name: &'a str,
    /// The kind of its stages.
    pub kind: &'a str,
    /// The places of its stages in the list of stages.
    pub members: Vec<usize>,
    /// How many of them stand where.
    pub statuses: BTreeMap<Status, usize>,
    /// Their wall times, summed.
    pub seconds: f64,
    /// The families that its stages read.
    pub inputs: BTreeSet<usize>,
    /// How many stages are in line before its last one.
    pub layer: usize,
}

/// Returns the families in the order of their first stages.
pub(super) fn families(stages: &[StageFacts]) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    let mut places = BTreeMap::new();
    let mut homes = Vec::with_capacity(stages.len());
    let mut depths: Vec<usize> = Vec::with_capacity(stages.len());
    for (index, stage) in stages.iter().enumerate() {
        let home = *places.entry(stage.template.as_str()).or_insert_with(|| {
            families.push(Family {
                name: &stage.template,
                kind: &stage.kind,
                members: Vec::new(),
                statuses: BTreeMap::new(),
                seconds: 0.0,
                inputs: BTreeSet::new(),
                layer: 0,
            });
            families.len() - 1
        });
        let depth = stage.inputs.iter().map(|&input| depths[input] + 1).max().unwrap_or(0);
        let family = &mut families[home];
        family.members.push(index);
        *family.statuses.entry(stage.status).or_default() += 1;
        family.seconds += stage.run.as_ref().map_or(0.0, |run| run.seconds);
        let inputs = stage.inputs.iter().map(|&input| homes[input]);
        family.inputs.extend(inputs.filter(|&input| input != home));
        family.layer = family.layer.max(depth);
        homes.push(home);
        depths.push(depth);
    }
    families
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::content::tests::stage;

    #[test]
    fn stages_of_one_template_are_one_family() {
        let mut stages = vec![
            stage("data", "data", &[]),
            stage("train-0", "train-{seed}", &[0]),
            stage("train-1", "train-{seed}", &[0]),
            stage("table", "table", &[1, 2]),
        ];
        stages[2].status = Status::Failed;
        let families = families(&stages);
        let names: Vec<_> = families.iter().map(|family| (family.name, family.layer)).collect();
        assert_eq!(names, [("data", 0), ("train-{seed}", 1), ("table", 2)]);
        assert_eq!(families[1].members, [1, 2]);
        assert_eq!(families[1].statuses[&Status::Failed], 1);
        assert!((families[1].seconds - 5.0).abs() < 1e-9);
        assert_eq!(families[2].inputs, BTreeSet::from([1]));
    }
}
