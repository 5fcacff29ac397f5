//! What one training step computes: the losses, and the gradients of the total by weight names.
//!
//! Gradients are kept by name rather than in burn's container because several backward passes may
//! add up to one step (HAE decodes one prefix at a time to bound its memory).

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{self, Tensor};

use super::{Losses, ParameterPath};

/// The losses of one batch, and the gradients of their total.
pub struct StepOutput {
    /// The total first, then the named parts.
    pub terms: Vec<(&'static str, Tensor<1>)>,
    /// The codes of the batch, for the record: `[batch, latent]`.
    pub codes: Tensor<2>,
    /// The gradients of the total.
    pub gradients: Gradients,
}

impl StepOutput {
    /// Goes backward from the total to all weights of a module.
    pub fn of<M: Module>(module: &M, losses: Losses) -> Self {
        let gradients = losses.total.backward();
        let total = ("total", losses.total.inner());
        let parts = losses.terms.into_iter().map(|(name, term)| (name, term.inner()));
        Self {
            terms: [total].into_iter().chain(parts).collect(),
            codes: losses.codes.inner(),
            gradients: Gradients::of(module, gradients),
        }
    }
}

/// Gradients by the names of weights, flattened.
#[derive(Clone, Debug, Default)]
pub struct Gradients(pub BTreeMap<String, Tensor<1>>);

impl Gradients {
    /// Takes the gradients of a module's weights; weights that took no part have none.
    pub fn of<M: Module>(module: &M, gradients: tensor::Gradients) -> Self {
        let path = ParameterPath::default();
        let mut reader = Reader { path, gradients, found: Self::default() };
        module.visit(&mut reader);
        reader.found
    }

    /// Returns the gradients under the names that their weights have in a larger module.
    #[must_use]
    pub fn below(self, field: &str) -> Self {
        let renamed =
            self.0.into_iter().map(|(name, gradient)| (format!("{field}.{name}"), gradient));
        Self(renamed.collect())
    }

    /// Adds the gradients of another backward pass.
    pub fn add(&mut self, other: Self) {
        for (name, gradient) in other.0 {
            let sum = match self.0.remove(&name) {
                Some(old) => old + gradient,
                None => gradient,
            };
            self.0.insert(name, sum);
        }
    }
}

struct Reader {
    path: ParameterPath,
    gradients: tensor::Gradients,
    found: Gradients,
}

impl ModuleVisitor for Reader {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = param.val().grad_remove(&mut self.gradients) {
            let count = gradient.dims().iter().product::<usize>();
            self.found.0.insert(self.path.name(), gradient.reshape([count]));
        }
    }
}
