//! What one batch teaches: the losses, and the gradients of the total by the names of weights.
//!
//! Gradients are kept by name rather than in burn's container because several backward passes may
//! add up to one step (HAE decodes one prefix at a time to bound its memory).

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor};

use super::Losses;

/// The losses of one batch and where to go from there.
pub struct Lesson {
    /// The total first, then the named parts.
    pub terms: Vec<(&'static str, Tensor<1>)>,
    /// The codes of the batch, for the record: `[batch, latent]`.
    pub codes: Tensor<2>,
    /// The gradients of the total.
    pub slopes: Slopes,
}

impl Lesson {
    /// Goes backward from the total to all weights of a module.
    pub fn of<M: Module>(module: &M, losses: Losses) -> Self {
        let gradients = losses.total.backward();
        let total = ("total", losses.total.inner());
        let parts = losses.terms.into_iter().map(|(name, term)| (name, term.inner()));
        Self {
            terms: [total].into_iter().chain(parts).collect(),
            codes: losses.codes.inner(),
            slopes: Slopes::of(module, gradients),
        }
    }
}

/// Gradients by the names of weights, flattened.
#[derive(Clone, Debug, Default)]
pub struct Slopes(pub BTreeMap<String, Tensor<1>>);

impl Slopes {
    /// Takes the gradients of a module's weights; weights that took no part have none.
    pub fn of<M: Module>(module: &M, gradients: Gradients) -> Self {
        let mut reader = Reader { path: Vec::new(), gradients, found: Self::default() };
        module.visit(&mut reader);
        reader.found
    }

    /// Returns the gradients under the names that their weights have in a larger module.
    #[must_use]
    pub fn below(self, field: &str) -> Self {
        let renamed = self.0.into_iter().map(|(name, slope)| (format!("{field}.{name}"), slope));
        Self(renamed.collect())
    }

    /// Adds the gradients of another backward pass.
    pub fn add(&mut self, other: Self) {
        for (name, slope) in other.0 {
            let sum = match self.0.remove(&name) {
                Some(old) => old + slope,
                None => slope,
            };
            self.0.insert(name, sum);
        }
    }
}

struct Reader {
    path: Vec<String>,
    gradients: Gradients,
    found: Slopes,
}

impl ModuleVisitor for Reader {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.into());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = param.val().grad_remove(&mut self.gradients) {
            let count = gradient.dims().iter().product::<usize>();
            self.found.0.insert(self.path.join("."), gradient.reshape([count]));
        }
    }
}
