//! Weights of a network that others have trained, from a PyTorch or a safetensors file.

use std::fs;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors};

use super::{FeatureError, pytorch};
use crate::models::{WeightArray, Weights};

/// Reads the arrays of 32-bit floats in a file; `name` is what it is called in messages.
pub fn read_weights(name: &str, path: &Path) -> Result<Weights, FeatureError> {
    let file = name.to_owned();
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(cause) => return Err(FeatureError::File { file, cause }),
    };
    if pytorch::is_pytorch(&bytes) {
        return pytorch::read(&bytes).map_err(|cause| FeatureError::Pytorch { file, cause });
    }
    safetensors(&bytes).map_err(|cause| FeatureError::Safetensors { file, cause })
}

/// Reads the floats of a safetensors file; the counters of batch normalizations are left out.
fn safetensors(bytes: &[u8]) -> Result<Weights, safetensors::SafeTensorError> {
    let file = SafeTensors::deserialize(bytes)?;
    let mut weights = Weights::default();
    for (name, view) in file.iter().filter(|(_, view)| view.dtype() == Dtype::F32) {
        let (stored, _) = view.data().as_chunks::<4>();
        let values = stored.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        weights.0.insert(name.to_owned(), WeightArray { shape: view.shape().to_vec(), values });
    }
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_hold_the_same_arrays_and_others_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights");
        let pth = include_bytes!("../../../../tests/reference/pytorch/tiny.pth");
        fs::write(&path, pth).unwrap();
        let weights = read_weights("a.pth", &path).unwrap();
        fs::write(&path, weights.to_bytes().unwrap()).unwrap();
        assert_eq!(read_weights("a.safetensors", &path).unwrap(), weights);
        let told = |name| read_weights(name, &path).unwrap_err().to_string();
        fs::write(&path, b"hello").unwrap();
        let error = told("a.txt");
        assert!(error.starts_with("a.txt: this is neither a PyTorch file nor"), "{error}");
        fs::write(&path, &pth[..pth.len() / 2]).unwrap();
        assert!(told("a.pth").starts_with("a.pth: the archive is cut off or damaged"));
        fs::remove_file(&path).unwrap();
        assert!(told("a.pth").starts_with("a.pth: "));
    }
}
