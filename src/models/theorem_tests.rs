//! The paper's two theorems, with the losses as they are trained.

use burn::tensor::{Device, Tensor, TensorData};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::{Autoencoder, Batch, BuildContext, Codec, ModelSettings, Pcae, PcaeSpec, Weights};
use crate::data::SampleForm;
use crate::device::{open_for_training, test_device};
use crate::numerics::{Points, PrincipalAxes, Seed};

fn table(values: &[f64], width: usize, device: &Device) -> Tensor<2> {
    let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    let rows = values.len() / width;
    Tensor::from_data(TensorData::new(values, [rows, width]), device)
}

/// Makes rows orthonormal, first to last (Gram-Schmidt).
fn orthonormal(rows: &mut [f64], width: usize) {
    for row in 0..rows.len() / width {
        for earlier in 0..row {
            let along: f64 =
                (0..width).map(|i| rows[row * width + i] * rows[earlier * width + i]).sum();
            for i in 0..width {
                rows[row * width + i] -= along * rows[earlier * width + i];
            }
        }
        let length: f64 = rows[row * width..(row + 1) * width].iter().map(|x| x * x).sum();
        for value in &mut rows[row * width..(row + 1) * width] {
            *value /= length.sqrt();
        }
    }
}

/// Projects a gradient to the tangent space of the square matrices with orthonormal rows.
fn projected(gradient: &[f64], rows: &[f64]) -> Vec<f64> {
    let width = rows.len().isqrt();
    let product = |a: usize, b: usize| -> f64 {
        (0..width).map(|i| gradient[a * width + i] * rows[b * width + i]).sum()
    };
    let mut projected = gradient.to_vec();
    for a in 0..width {
        for b in 0..width {
            let both = f64::midpoint(product(a, b), product(b, a));
            for i in 0..width {
                projected[a * width + i] -= both * rows[b * width + i];
            }
        }
    }
    projected
}

/// A PCAE whose encoder is one linear layer, with the given rows and no bias.
fn linear(width: usize, latent: usize, objective: &str, device: &Device) -> Pcae {
    let text = format!(
        "(latent: {latent}, network: Mlp(widths: []), beta: 1, objective: {objective}, gamma: Fixed)"
    );
    let spec: PcaeSpec = ron::from_str(&text).unwrap();
    let form = SampleForm::Vector { width };
    spec.build(&BuildContext { form, seed: Seed(4), distance_unit: 1.0, device }).unwrap()
}

/// Theorem 1: under an orthogonality constraint the weighted variance is least where the encoder's
/// rows are the principal axes, in their order.
#[test]
fn the_weighted_variance_of_an_orthogonal_encoder_finds_the_principal_axes_in_order() {
    const WIDTH: usize = 4;
    const COUNT: usize = 200;
    let device = open_for_training(test_device()).unwrap();
    let mut rng = Seed(1).stream("theorem 1");
    let mut axes: Vec<f64> = (0..WIDTH * WIDTH).map(|_| rng.random::<f64>() - 0.5).collect();
    orthonormal(&mut axes, WIDTH);
    let mut values = Vec::new();
    for _ in 0..COUNT {
        let along: Vec<f64> = [3.0, 2.0, 1.0, 0.5]
            .iter()
            .map(|deviation| deviation * Distribution::<f64>::sample(&StandardNormal, &mut rng))
            .collect();
        values.extend(
            (0..WIDTH).map(|i| (0..WIDTH).map(|k| along[k] * axes[k * WIDTH + i]).sum::<f64>()),
        );
    }
    let inputs = table(&values, WIDTH, &device);
    let points = Points::from_rows(WIDTH, values.iter().map(|&value| value as f32).collect());
    let expected = PrincipalAxes::of_points(&points, WIDTH).unwrap();

    let batch = Batch { rows: (0..COUNT).collect(), inputs, squared_distances: None, noise: None };
    let mut model = linear(WIDTH, WIDTH, "VarianceOnly", &device);
    let name = "encoder.to_latent.weight";
    let mut rows: Vec<f64> = (0..WIDTH * WIDTH).map(|_| rng.random::<f64>() - 0.5).collect();
    for _ in 0..400 {
        orthonormal(&mut rows, WIDTH);
        let mut weights = Weights::of(&model);
        weights.0.get_mut(name).unwrap().values = rows.iter().map(|&value| value as f32).collect();
        model = weights.load_into(model).unwrap();
        // Of the variance alone: the reconstruction is not part of the theorem.
        let losses = model.losses(&batch);
        let variance = losses.terms.iter().find(|(name, _)| *name == "variance").unwrap();
        let gradients = super::Gradients::of(&model, variance.1.backward());
        let gradient: Vec<f64> = gradients.0[name].to_data().iter::<f64>().collect();
        let gradient = projected(&gradient, &rows);
        for (value, gradient) in rows.iter_mut().zip(gradient) {
            *value -= 0.02 * gradient;
        }
    }
    orthonormal(&mut rows, WIDTH);
    for (row, axis) in rows.chunks(WIDTH).zip(expected.axes().chunks(WIDTH)) {
        let cosine: f64 = row.iter().zip(axis).map(|(a, &b)| a * f64::from(b)).sum();
        assert!(cosine.abs() > 0.999, "{row:?} against {axis:?}");
    }
}

/// Theorem 2: on a flat manifold, with weights below 2, the least of variance and isometry is an
/// isometry, and its variances are those of the principal axes, in their order.
#[test]
fn on_a_flat_manifold_the_least_loss_is_an_isometry_with_ordered_axes() {
    const COUNT: usize = 120;
    const WIDTH: usize = 5;
    const LATENT: usize = 4;
    let device = open_for_training(test_device()).unwrap();
    let mut rng = Seed(2).stream("theorem 2");
    // A rectangle, turned into five dimensions: distances along it are plain ones.
    let mut axes: Vec<f64> = (0..2 * WIDTH).map(|_| rng.random::<f64>() - 0.5).collect();
    orthonormal(&mut axes, WIDTH);
    let mut values = Vec::new();
    for _ in 0..COUNT {
        let (u, v) = (3.0 * rng.random::<f64>(), rng.random::<f64>());
        values.extend((0..WIDTH).map(|i| u * axes[i] + v * axes[WIDTH + i]));
    }
    let row = |index: usize| &values[index * WIDTH..(index + 1) * WIDTH];
    let mut squared = Vec::new();
    for from in 0..COUNT {
        for to in 0..COUNT {
            let square = |(a, b): (&f64, &f64)| (a - b).powi(2);
            squared.push(row(from).iter().zip(row(to)).map(square).sum::<f64>());
        }
    }
    let batch = Batch {
        rows: (0..COUNT).collect(),
        inputs: table(&values, WIDTH, &device),
        squared_distances: Some(table(&squared, COUNT, &device)),
        noise: None,
    };
    let mut model = linear(WIDTH, LATENT, "Full", &device);
    for step in 0..4000_u32 {
        let losses = model.losses(&batch);
        let parts = losses.terms.iter().skip(1).map(|(_, term)| term.clone());
        let both = parts.reduce(|a, b| a + b).unwrap();
        let gradients = super::Gradients::of(&model, both.backward());
        let rate = 0.02 * (1.0 - f64::from(step) / 4000.0);
        let mut weights = Weights::of(&model);
        for (name, gradient) in gradients.0 {
            let array = weights.0.get_mut(&name).unwrap();
            for (value, gradient) in array.values.iter_mut().zip(gradient.to_data().iter::<f64>()) {
                *value -= (rate * gradient) as f32;
            }
        }
        model = weights.load_into(model).unwrap();
    }
    let codes = model.encode(batch.inputs.clone());
    let codes = Points::from_rows(LATENT, codes.into_data().iter::<f32>().collect());
    let points = Points::from_rows(WIDTH, values.iter().map(|&value| value as f32).collect());
    let spread = PrincipalAxes::of_points(&points, 2).unwrap();
    let (found, expected) = (codes.variances(), spread.eigenvalues());
    let total: f64 = expected.iter().sum();
    for place in 0..2 {
        let difference = (found[place] - expected[place]).abs();
        assert!(difference < 0.02 * total, "{found:?} against {expected:?}");
    }
    assert!(found[2] + found[3] < 0.001 * total, "{found:?}");
    let mut error = 0.0;
    for from in 0..COUNT {
        for to in 0..COUNT {
            let square = |(&a, &b): (&f32, &f32)| (f64::from(a) - f64::from(b)).powi(2);
            let apart: f64 = codes.row(from).iter().zip(codes.row(to)).map(square).sum();
            error += (apart - squared[from * COUNT + to]).abs();
        }
    }
    let mean: f64 = squared.iter().sum();
    assert!(error < 0.01 * mean, "squared distances are off by {}", error / mean);
}
