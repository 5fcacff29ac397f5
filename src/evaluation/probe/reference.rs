//! Networks, losses, gradients and steps against PyTorch, neighbors against scikit-learn; and what
//! each way of telling classes can and cannot do.
//!
//! The numbers are in tests/reference/classification.json.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use burn::tensor::{Device, Tensor, TensorData};
use rand::RngExt;
use serde::Deserialize;

use super::nearest::classes_of;
use super::spec::fully_connected;
use super::train_classifier::{ClassifierTraining, Scores, cross_entropy, one_hot};
use super::{ErrorRates, Labels, Network, ProbeData, ProbeSpec};
use crate::data::SampleForm;
use crate::device::{open_for_training, test_device};
use crate::models::{BuildContext, Gradients, NetworkSpec, WeightArray, Weights};
use crate::numerics::{Points, Seed};
use crate::training::{Adam, Flow};

/// Relative to the largest entry of an array.
const TOLERANCE: f32 = 1e-5;
/// What the reference took its steps with.
const OPTIMIZER: &str = "(rate: 0.01, weight_decay: 0.1)";

/// Returns settings of some epochs for small examples.
pub(super) fn training_settings(epochs: usize) -> ClassifierTraining {
    let optimizer = ron::from_str("(rate: 0.01)").unwrap();
    ClassifierTraining { epochs, batch_size: 8, optimizer, seed: Seed(0) }
}

#[derive(Deserialize)]
struct Array {
    shape: Vec<usize>,
    values: Vec<f32>,
}

#[derive(Deserialize)]
struct NetworkCase {
    name: String,
    form: SampleForm,
    inputs: Vec<f32>,
    labels: Vec<u16>,
    weights: BTreeMap<String, Array>,
    features: Vec<f32>,
    scores: Vec<f32>,
    loss: f32,
    gradients: BTreeMap<String, Array>,
    after_1: BTreeMap<String, Array>,
    after_3: BTreeMap<String, Array>,
}

#[derive(Deserialize)]
struct NeighborCase {
    neighbors: usize,
    width: usize,
    points: Vec<f32>,
    labels: Vec<u16>,
    queries: Vec<f32>,
    predicted: Vec<u16>,
}

#[derive(Deserialize)]
struct Reference {
    networks: Vec<NetworkCase>,
    neighbors: Vec<NeighborCase>,
}

fn reference() -> Reference {
    let text =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/classification.json"));
    serde_json::from_str(text).unwrap()
}

fn labels(values: Vec<u16>) -> Labels {
    let count = values.iter().max().map_or(0, |most| usize::from(*most) + 1);
    Labels { names: (0..count).map(|class| class.to_string()).collect(), values }
}

fn weights(arrays: &BTreeMap<String, Array>) -> Weights {
    let array = |(name, Array { shape, values }): (&String, &Array)| {
        (name.clone(), WeightArray { shape: shape.clone(), values: values.clone() })
    };
    Weights(arrays.iter().map(array).collect())
}

impl NetworkCase {
    fn network(&self, device: &Device) -> Network {
        let context = BuildContext { form: self.form, seed: Seed(0), distance_unit: 1.0, device };
        let width = |text: &str| ron::from_str::<NonZeroUsize>(text).unwrap();
        let network = match self.name.as_str() {
            "linear" => fully_connected(&[], 3, &context).unwrap(),
            "mlp" => fully_connected(&[width("4"), width("3")], 3, &context).unwrap(),
            _ => {
                let body: NetworkSpec = ron::from_str("Conv(channels: [2])").unwrap();
                Network::new(Some((&body, 4)), 3, &context).unwrap()
            }
        };
        weights(&self.weights).load_into(network).unwrap()
    }

    fn inputs(&self, device: &Device) -> Tensor<2> {
        let shape = [self.labels.len(), self.form.values()];
        Tensor::from_data(TensorData::new(self.inputs.clone(), shape), device)
    }

    fn loss(&self, network: &Network, device: &Device) -> Tensor<1> {
        let rows: Vec<usize> = (0..self.labels.len()).collect();
        let targets = one_hot(&rows, &labels(self.labels.clone()), device);
        cross_entropy(network.scores(self.inputs(device)), targets)
    }
}

fn assert_close(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    for (have, want) in found.iter().zip(expected) {
        assert!((have - want).abs() <= TOLERANCE * largest, "{what}: {have} instead of {want}");
    }
}

fn values(tensor: Tensor<2>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

#[test]
fn scores_features_losses_and_gradients_agree_with_pytorch() {
    let device = open_for_training(test_device()).unwrap();
    for case in reference().networks {
        let network = case.network(&device);
        let name = &case.name;
        assert_close(name, &values(network.features(case.inputs(&device))), &case.features);
        assert_close(name, &values(network.scores(case.inputs(&device))), &case.scores);
        let loss = case.loss(&network, &device);
        let gradients = Gradients::of(&network, loss.backward());
        assert_close(name, &[loss.into_scalar()], &[case.loss]);
        assert_eq!(gradients.0.len(), case.gradients.len(), "{name}");
        for (weight, gradient) in gradients.0 {
            let found: Vec<f32> = gradient.into_data().iter::<f32>().collect();
            assert_close(&format!("{name} {weight}"), &found, &case.gradients[&weight].values);
        }
    }
}

#[test]
fn steps_of_adam_with_weight_decay_agree_with_pytorch() {
    let device = open_for_training(test_device()).unwrap();
    for case in reference().networks {
        let mut network = case.network(&device);
        let mut adam = Adam::new(&ron::from_str(OPTIMIZER).unwrap());
        for step in 1..=3 {
            let gradients = Gradients::of(&network, case.loss(&network, &device).backward());
            network = adam.step(network, gradients, 1.0);
            let expected = match step {
                1 => &case.after_1,
                3 => &case.after_3,
                _ => continue,
            };
            for (weight, array) in Weights::of(&network).0 {
                let what = format!("{} {weight} after {step}", case.name);
                assert_close(&what, &array.values, &expected[&weight].values);
            }
        }
    }
}

#[test]
fn the_votes_of_neighbors_are_those_of_scikit_learn() {
    for case in reference().neighbors {
        let points = Points::from_rows(case.width, case.points);
        let queries = Points::from_rows(case.width, case.queries);
        let found = classes_of(&queries, &points, &labels(case.labels), case.neighbors).unwrap();
        assert_eq!(found, case.predicted, "{} neighbors", case.neighbors);
    }
}

/// Draws points in a square; `class` tells the class of each.
fn square(count: usize, stream: &str, class: fn(f32, f32) -> bool) -> (Points, Labels) {
    let mut rng = Seed(1).stream(stream);
    let (mut values, mut classes) = (Vec::new(), Vec::new());
    while classes.len() < count {
        let [x, y] = [0, 1].map(|_| 2.0 * rng.random::<f32>() - 1.0);
        // Nothing near the borders between the classes.
        if x.abs().min(y.abs()).min((x - y).abs()) > 0.1 {
            values.extend([x, y]);
            classes.push(u16::from(class(x, y)));
        }
    }
    (Points::from_rows(2, values), labels(classes))
}

fn data(class: fn(f32, f32) -> bool) -> ProbeData {
    let (train, train_labels) = square(300, "train", class);
    let (test, test_labels) = square(200, "test", class);
    ProbeData { train, train_labels, test, test_labels }
}

fn rates(settings: &str, data: &ProbeData) -> ErrorRates {
    let options = crate::models::reference::options();
    let spec: ProbeSpec = options.from_str(settings).unwrap();
    let found = spec.evaluate(data, Seed(0), test_device(), &mut |_, _| Flow::Continue);
    found.unwrap().unwrap()
}

const LINEAR: &str = "Linear(epochs: 60, rate: 0.05, batch_size: 32)";

#[test]
fn a_line_parts_classes_that_can_be_parted_and_no_others() {
    let found = rates(LINEAR, &data(|x, y| x > y));
    assert_eq!(found, ErrorRates { train: 0.0, test: 0.0 });
    let crossed = rates(LINEAR, &data(|x, y| (x > 0.0) == (y > 0.0)));
    assert!(crossed.test > 25.0, "{crossed:?}");
}

#[test]
fn a_network_and_neighbors_part_classes_that_no_line_does() {
    let crossed = data(|x, y| (x > 0.0) == (y > 0.0));
    let network = rates("Mlp(widths: [16, 16], epochs: 60, rate: 0.01, batch_size: 32)", &crossed);
    assert!(network.test <= 1.0, "{network:?}");
    let neighbors = rates("Nearest(neighbors: 5)", &crossed);
    assert!(neighbors.test <= 2.0 && neighbors.train <= 2.0, "{neighbors:?}");
}

#[test]
fn the_scale_of_a_coordinate_matters_only_as_long_as_it_is_kept() {
    let mut stretched = data(|x, y| x > y);
    for points in [&mut stretched.train, &mut stretched.test] {
        points.values_mut().iter_mut().step_by(2).for_each(|x| *x *= 1000.0);
    }
    let found = rates("Nearest(neighbors: 1)", &stretched);
    stretched.standardize();
    let variances = stretched.train.variances();
    assert!(variances.iter().all(|variance| (variance - 1.0).abs() < 1e-5), "{variances:?}");
    let standard = rates("Nearest(neighbors: 1)", &stretched);
    assert!(standard.test + 5.0 < found.test, "{standard:?} {found:?}");
}

#[test]
fn the_number_of_threads_and_a_second_run_change_nothing() {
    let crossed = data(|x, y| (x > 0.0) == (y > 0.0));
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut losses = Vec::new();
            let options = crate::models::reference::options();
            let spec: ProbeSpec = options.from_str("Mlp(epochs: 3)").unwrap();
            let mut note = |_, loss: f64| {
                losses.push(loss.to_bits());
                Flow::Continue
            };
            let rates = spec.evaluate(&crossed, Seed(0), test_device(), &mut note).unwrap();
            (rates, losses)
        })
    };
    assert_eq!(with_threads(1), with_threads(3));
}

#[test]
fn the_papers_settings_are_the_defaults() {
    let options = crate::models::reference::options();
    let [short, long] = [
        "Mlp()",
        "Mlp(widths: [128, 128], epochs: 100, rate: 1e-3, weight_decay: 1e-5, batch_size: 256)",
    ]
    .map(|text| options.from_str::<ProbeSpec>(text).unwrap());
    assert_eq!(short, long);
}
