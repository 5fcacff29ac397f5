//! Named weights: out of a module, into a module, and to and from safetensors bytes.
//!
//! Names are the paths of fields (`encoder.convolutions.0.weight`), see `ParameterPath`; shapes are
//! PyTorch's. Bytes depend on nothing but names, shapes and values, and any safetensors reader can
//! open them.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::Tensor;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use thiserror::Error;

use crate::device::{read, send};

/// Says why weights cannot be read or do not fit a model.
#[derive(Debug, Error)]
pub enum WeightsError {
    /// The bytes are not a safetensors file.
    #[error("the weights are not a readable safetensors file")]
    Format(#[from] safetensors::SafeTensorError),
    /// An array holds something other than 32-bit floats.
    #[error("array `{name}` holds {found:?}, expected F32")]
    ElementType {
        /// Name of the array.
        name: String,
        /// What it holds.
        found: Dtype,
    },
    /// The model has a weight that the file lacks.
    #[error("the model needs an array `{name}`, which is missing")]
    Missing {
        /// Name of the weight.
        name: String,
    },
    /// The file has an array that the model lacks.
    #[error("the model has no array `{name}`")]
    Unused {
        /// Name of the array.
        name: String,
    },
    /// An array has another shape than the model's weight.
    #[error("array `{name}` has shape {found:?}, expected {expected:?}")]
    Shape {
        /// Name of the array.
        name: String,
        /// Shape in the model.
        expected: Vec<usize>,
        /// Shape in the file.
        found: Vec<usize>,
    },
}

/// The field in which models hold the plain autoencoder that they are built on.
const BASE: &str = "ae";

/// The place of a parameter in a module, as visitors of modules keep track of it.
#[derive(Debug, Default)]
pub(crate) struct ParameterPath(Vec<String>);

impl ParameterPath {
    /// Goes into a field.
    pub(crate) fn enter(&mut self, field: &str) {
        self.0.push(field.to_owned());
    }

    /// Leaves the field that was entered last.
    pub(crate) fn exit(&mut self) {
        self.0.pop();
    }

    /// Returns the name of the parameter: the names of fields from the outermost to the innermost.
    /// The base of a model is left out, so that its weights are named like those of the model.
    pub(crate) fn name(&self) -> String {
        let fields = self.0.iter().map(String::as_str).filter(|field| *field != BASE);
        fields.collect::<Vec<_>>().join(".")
    }
}

/// One array of weights, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightArray {
    /// Length of each axis.
    pub shape: Vec<usize>,
    /// Values, last axis fastest.
    pub values: Vec<f32>,
}

impl WeightArray {
    /// Reads the values of a tensor.
    pub(super) fn of<const D: usize>(tensor: Tensor<D>) -> Self {
        Self { shape: tensor.dims().to_vec(), values: read(tensor) }
    }
}

/// All weights of a model, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights(pub BTreeMap<String, WeightArray>);

impl Weights {
    /// Reads the weights out of a module.
    pub fn of<M: Module>(module: &M) -> Self {
        let mut reader = Reader { path: ParameterPath::default(), found: Self::default() };
        module.visit(&mut reader);
        reader.found
    }

    /// Returns the module with these weights in place of its own.
    pub fn load_into<M: Module>(&self, module: M) -> Result<M, WeightsError> {
        let path = ParameterPath::default();
        let mut writer = Writer { path, left: self.0.clone(), problem: None };
        let module = module.map(&mut writer);
        if let Some(problem) = writer.problem {
            return Err(problem);
        }
        match writer.left.into_keys().next() {
            Some(name) => Err(WeightsError::Unused { name }),
            None => Ok(module),
        }
    }

    /// Returns the weights as the bytes of a safetensors file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, WeightsError> {
        let raw: Vec<(&String, &WeightArray, Vec<u8>)> = self
            .0
            .iter()
            .map(|(name, array)| {
                let bytes = array.values.iter().flat_map(|value| value.to_le_bytes()).collect();
                (name, array, bytes)
            })
            .collect();
        let mut views = Vec::with_capacity(raw.len());
        for (name, array, bytes) in &raw {
            views.push((name, TensorView::new(Dtype::F32, array.shape.clone(), bytes)?));
        }
        Ok(safetensors::serialize(views, None)?)
    }

    /// Reads the bytes of a safetensors file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WeightsError> {
        let file = SafeTensors::deserialize(bytes)?;
        let mut weights = Self::default();
        for (name, view) in file.iter() {
            if view.dtype() != Dtype::F32 {
                return Err(WeightsError::ElementType { name: name.into(), found: view.dtype() });
            }
            let (chunks, _) = view.data().as_chunks::<4>();
            let values = chunks.iter().map(|&chunk| f32::from_le_bytes(chunk)).collect();
            let shape = view.shape().to_vec();
            weights.0.insert(name.into(), WeightArray { shape, values });
        }
        Ok(weights)
    }
}

/// Collects the weights of a module.
struct Reader {
    path: ParameterPath,
    found: Weights,
}

impl ModuleVisitor for Reader {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.found.0.insert(self.path.name(), WeightArray::of(param.val()));
    }
}

/// Replaces the weights of a module.
struct Writer {
    path: ParameterPath,
    left: BTreeMap<String, WeightArray>,
    problem: Option<WeightsError>,
}

impl ModuleMapper for Writer {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.enter(name);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.path.name();
        let expected = param.dims().to_vec();
        let problem = match self.left.remove(&name) {
            Some(array) if array.shape == expected => {
                let (device, shape) = (param.device(), param.dims());
                return param.map(|old| {
                    send(array.values, shape, &device).set_require_grad(old.is_require_grad())
                });
            }
            Some(array) => WeightsError::Shape { name, expected, found: array.shape },
            None => WeightsError::Missing { name },
        };
        self.problem.get_or_insert(problem);
        param
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::reference::Case;

    fn weights() -> Weights {
        Weights::of(&Case::named("pcae").pcae())
    }

    fn problem(change: impl FnOnce(&mut BTreeMap<String, WeightArray>)) -> String {
        let mut weights = weights();
        change(&mut weights.0);
        weights.load_into(Case::named("pcae").pcae()).unwrap_err().to_string()
    }

    #[test]
    fn bytes_are_read_back_and_always_the_same() {
        let weights = weights();
        let bytes = weights.to_bytes().unwrap();
        assert_eq!(Weights::from_bytes(&bytes).unwrap(), weights);
        assert_eq!(weights.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn weights_that_do_not_fit_are_refused_by_name() {
        let name = "encoder.to_latent.bias";
        assert_eq!(
            problem(|arrays| drop(arrays.remove(name))),
            "the model needs an array `encoder.to_latent.bias`, which is missing"
        );
        assert_eq!(
            problem(|arrays| arrays.get_mut(name).unwrap().shape = vec![1, 3]),
            "array `encoder.to_latent.bias` has shape [1, 3], expected [3]"
        );
        let extra = WeightArray { shape: vec![0], values: Vec::new() };
        assert_eq!(
            problem(|arrays| drop(arrays.insert("z".into(), extra))),
            "the model has no array `z`"
        );
    }

    #[test]
    fn other_bytes_are_not_taken_for_weights() {
        assert!(matches!(Weights::from_bytes(b"hello"), Err(WeightsError::Format(_))));
    }
}
