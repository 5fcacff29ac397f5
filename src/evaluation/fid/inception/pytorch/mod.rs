//! Reads the named arrays of a file that PyTorch's `torch.save(model.state_dict(), ..)` wrote.
//!
//! Both layouts are read: the zip archive of PyTorch 1.6 and later, and the row of pickles before
//! it, in which the published Inception weights are kept. Nothing in a file is ever run: the pickle
//! machine knows how to rebuild arrays and refuses everything else (pickle.rs). Arrays of 32-bit
//! floats are kept, whole numbers (counters) are left out.
//! Checked against: tests/reference/pytorch (files that PyTorch saved).

mod archive;
mod pickle;
mod value;

use std::rc::Rc;

use thiserror::Error;

use self::value::{Element, Tensor, Value};
use crate::models::{WeightArray, Weights};

/// Says why a PyTorch file could not be read.
#[derive(Debug, Error)]
pub enum PytorchError {
    /// The zip archive cannot be opened.
    #[error("the archive is cut off or damaged: {0}")]
    Archive(#[from] zip::result::ZipError),
    /// The archive lacks a part, or has it in a way that PyTorch does not write.
    #[error("the archive's `{part}` {reason}")]
    Part {
        /// The part.
        part: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The description of the arrays cannot be followed.
    #[error("byte {at} of the description: {reason}")]
    Damaged {
        /// Where in its part of the file.
        at: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The file would have Python run something.
    #[error(
        "the file refers to `{name}`, which is not part of an array and is never run: save \
         `model.state_dict()` instead of the model"
    )]
    Refused {
        /// What it asks for.
        name: String,
    },
    /// The file holds something other than named arrays.
    #[error("expected a state dict, found {found}: save `model.state_dict()`")]
    NoTable {
        /// What it holds.
        found: &'static str,
    },
    /// An array does not lie inside of its storage, or is of another type.
    #[error("array `{name}` {reason}")]
    Array {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Returns whether bytes begin as a file of PyTorch does.
pub(super) fn is_pytorch(bytes: &[u8]) -> bool {
    archive::is_zip(bytes) || archive::is_row_of_pickles(bytes)
}

/// Reads the arrays of a file.
pub(super) fn read(bytes: &[u8]) -> Result<Weights, PytorchError> {
    let mut file = archive::open(bytes)?;
    let root = file.root();
    let Value::Table(table) = &root else {
        return Err(PytorchError::NoTable { found: root.kind() });
    };
    let mut weights = Weights::default();
    for (key, value) in &table.entries {
        let (Value::Text(name), Value::Tensor(tensor)) = (key, value) else { continue };
        match tensor.storage.element {
            Element::Float => {}
            Element::Whole(_) => continue,
            other @ Element::OtherFloat(_) => {
                let reason = format!("holds {}, expected 32-bit floats", other.name());
                return Err(PytorchError::Array { name: name.to_string(), reason });
            }
        }
        let values = values(name, tensor, &file.storage(&tensor.storage)?)?;
        let shape = tensor.shape.clone();
        weights.0.insert(name.to_string(), WeightArray { shape, values });
    }
    Ok(weights)
}

/// Returns the values of an array in row-major order.
fn values(name: &str, tensor: &Rc<Tensor>, storage: &[u8]) -> Result<Vec<f32>, PytorchError> {
    let wrong = |reason: String| PytorchError::Array { name: name.to_owned(), reason };
    let Tensor { offset, shape, strides, .. } = &**tensor;
    let length = storage.len() / 4;
    let count = shape.iter().try_fold(1_usize, |count, &side| count.checked_mul(side));
    let last = shape.iter().zip(strides).try_fold(*offset, |last, (&side, &stride)| {
        last.checked_add(side.saturating_sub(1).checked_mul(stride)?)
    });
    // As many values as the storage has at most: arrays that repeat values could be of any size.
    let (Some(count), Some(last)) = (count.filter(|count| *count <= length), last) else {
        return Err(wrong(format!("of shape {shape:?} is larger than its storage of {length}")));
    };
    if count == 0 {
        return Ok(Vec::new());
    }
    if last >= length {
        return Err(wrong(format!("reaches value {last} of a storage of {length}")));
    }
    let (stored, _) = storage.as_chunks::<4>();
    let mut places = vec![*offset];
    for (&side, &stride) in shape.iter().zip(strides) {
        let steps = |start: usize| (0..side).map(move |step| start + step * stride);
        places = places.into_iter().flat_map(steps).collect();
    }
    Ok(places.into_iter().map(|place| f32::from_le_bytes(stored[place])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same arrays in both layouts.
    const ZIP: &[u8] = include_bytes!("../../../../../tests/reference/pytorch/tiny.pth");
    const ROW: &[u8] = include_bytes!("../../../../../tests/reference/pytorch/tiny_legacy.pth");
    /// A whole model, whose class would have to be imported.
    const MODEL: &[u8] = include_bytes!("../../../../../tests/reference/pytorch/model.pth");
    /// Numbers of another type.
    const DOUBLE: &[u8] = include_bytes!("../../../../../tests/reference/pytorch/double.pth");

    fn told(bytes: &[u8]) -> String {
        read(bytes).unwrap_err().to_string()
    }

    #[test]
    fn both_layouts_give_the_arrays_that_pytorch_saved() {
        for bytes in [ZIP, ROW] {
            let weights = read(bytes).unwrap().0;
            let names: Vec<_> = weights.keys().map(String::as_str).collect();
            // `bn.num_batches_tracked` is a counter.
            assert_eq!(
                names,
                [
                    "bn.bias",
                    "bn.running_mean",
                    "bn.running_var",
                    "bn.weight",
                    "conv.weight",
                    "empty",
                    "scalar",
                    "tied",
                    "turned",
                ]
            );
            let array = |name: &str| (&weights[name].shape[..], &weights[name].values[..]);
            let numbers: Vec<f32> = (0..12_u8).map(|number| f32::from(number) / 4.0).collect();
            assert_eq!(array("conv.weight"), (&[3, 2, 1, 2][..], &numbers[..]));
            assert_eq!(array("tied"), array("conv.weight"));
            assert_eq!(array("bn.weight"), (&[3][..], &[1.0, 1.0, 1.0][..]));
            // A transposed part of a larger array: offset and strides count.
            assert_eq!(array("turned"), (&[2, 3][..], &[5.0, 9.0, 13.0, 6.0, 10.0, 14.0][..]));
            assert_eq!(array("scalar"), (&[][..], &[2.5][..]));
            assert_eq!(array("empty"), (&[0, 4][..], &[][..]));
        }
    }

    #[test]
    fn what_would_have_to_run_is_refused_by_name() {
        let error = told(MODEL);
        assert!(error.starts_with("the file refers to `torch.nn.modules."), "{error}");
        assert!(error.ends_with("save `model.state_dict()` instead of the model"), "{error}");
        let system = b"\x80\x02cos\nsystem\nq\x00X\x04\x00\x00\x00trueq\x01\x85q\x02Rq\x03.";
        let mut hostile = ROW[..archive::HEADER.len()].to_vec();
        hostile.extend(b"\x80\x02M\xe9\x03.\x80\x02}q\x00.");
        hostile.extend(system);
        assert_eq!(
            told(&hostile),
            "the file refers to `os.system`, which is not part of an array and is never run: save \
             `model.state_dict()` instead of the model"
        );
    }

    #[test]
    fn floats_of_another_size_are_told_by_name() {
        assert_eq!(told(DOUBLE), "array `weight` holds 64-bit floats, expected 32-bit floats");
    }

    #[test]
    fn a_cut_file_is_an_error_wherever_it_ends() {
        for bytes in [ZIP, ROW] {
            for end in 0..bytes.len() {
                // The zip layout may lose bytes of its comment at most: it has none.
                assert!(read(&bytes[..end]).is_err(), "cut after {end} of {}", bytes.len());
            }
        }
    }

    #[test]
    fn a_changed_byte_never_stops_the_program() {
        for bytes in [ZIP, ROW] {
            for at in 0..bytes.len() {
                for change in [0x01, 0x80, 0xff] {
                    let mut damaged = bytes.to_vec();
                    damaged[at] ^= change;
                    // Values may differ, an error may be told: both are fine.
                    let _ = read(&damaged);
                }
            }
        }
    }
}
