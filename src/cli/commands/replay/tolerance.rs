//! How far numbers are apart in two files that should be equal.
//!
//! Processors of different classes add and multiply in different orders. What they compute is compared number
//! by number: in records and other JSON, in arrays (`.npy`) and weights (`.safetensors`) of floats.

use serde_json::Value;

/// Numbers that differ by no more than this share of the larger one, or of 1, count as the same.
pub(super) const TOLERANCE: f64 = 1e-3;

/// Returns the largest distance between two numbers at the same place, relative to the larger one if that is
/// above 1; nothing if the files differ in anything else, or hold no numbers that can be compared.
pub(super) fn distance(name: &str, stored: &[u8], made: &[u8]) -> Option<f64> {
    match name.rsplit_once('.')?.1 {
        "json" => {
            let parse = |bytes| serde_json::from_slice::<Value>(bytes).ok();
            of_values(&parse(stored)?, &parse(made)?)
        }
        "npy" => {
            let (start, size) = npy_values(stored)?;
            of_floats(stored, made, start, size)
        }
        "safetensors" => {
            let (start, size) = tensor_values(stored)?;
            of_floats(stored, made, start, size)
        }
        _ => None,
    }
}

fn between(a: f64, b: f64) -> f64 {
    // NaN stays NaN.
    if a.to_bits() == b.to_bits() {
        return 0.0;
    }
    let distance = (a - b).abs() / a.abs().max(b.abs()).max(1.0);
    if distance.is_nan() { f64::INFINITY } else { distance }
}

fn of_values(a: &Value, b: &Value) -> Option<f64> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(between(a.as_f64()?, b.as_f64()?)),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let all = a.iter().zip(b).map(|(a, b)| of_values(a, b));
            all.collect::<Option<Vec<_>>>().map(largest)
        }
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            let all = a.values().zip(b.values()).map(|(a, b)| of_values(a, b));
            all.collect::<Option<Vec<_>>>().map(largest)
        }
        _ => (a == b).then_some(0.0),
    }
}

fn largest(all: Vec<f64>) -> f64 {
    all.into_iter().fold(0.0, f64::max)
}

/// Compares floats of four or eight bytes, lowest first, behind equal headers.
fn of_floats(a: &[u8], b: &[u8], start: usize, size: usize) -> Option<f64> {
    if a.len() != b.len()
        || a.get(..start)? != b.get(..start)?
        || !(a.len() - start).is_multiple_of(size)
    {
        return None;
    }
    let float = |bytes: &[u8]| match *bytes {
        [a, b, c, d] => f64::from(f32::from_le_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => f64::NAN,
    };
    let pairs = a[start..].chunks_exact(size).zip(b[start..].chunks_exact(size));
    Some(pairs.map(|(a, b)| between(float(a), float(b))).fold(0.0, f64::max))
}

/// Returns where the values of an array begin and how large each is, if they are floats.
fn npy_values(bytes: &[u8]) -> Option<(usize, usize)> {
    const START: usize = 10;
    let length = bytes.strip_prefix(b"\x93NUMPY\x01\x00")?.first_chunk()?;
    let start = START + usize::from(u16::from_le_bytes(*length));
    let header = str::from_utf8(bytes.get(START..start)?).ok()?;
    let sizes = [("'<f4'", 4), ("'<f8'", 8)];
    let (_, size) = sizes.into_iter().find(|(kind, _)| header.contains(kind))?;
    Some((start, size))
}

/// Returns where the values of weights begin and how large each is, if all are floats of one size.
fn tensor_values(bytes: &[u8]) -> Option<(usize, usize)> {
    const START: usize = 8;
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    let start = START.checked_add(length)?;
    let header: Value = serde_json::from_slice(bytes.get(START..start)?).ok()?;
    let tensors = header.as_object()?.iter().filter(|(name, _)| *name != "__metadata__");
    let is_float = |(_, tensor): (&String, &Value)| tensor["dtype"] == "F32";
    tensors.into_iter().all(is_float).then_some((start, size_of::<f32>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_compared_number_by_number_and_all_else_must_be_equal() {
        let between = |a: &str, b: &str| distance("r.json", a.as_bytes(), b.as_bytes());
        assert_eq!(between(r#"{"a": [1, "x"]}"#, r#"{"a": [1.5, "x"]}"#), Some(0.5 / 1.5));
        assert_eq!(between(r#"{"a": 1e-9}"#, r#"{"a": 3e-9}"#).map(|d| d < TOLERANCE), Some(true));
        assert_eq!(between(r#"{"a": 1}"#, r#"{"b": 1}"#), None);
        assert_eq!(between(r#"{"a": "x"}"#, r#"{"a": "y"}"#), None);
        assert_eq!(between(r#"{"a": [1]}"#, r#"{"a": [1, 1]}"#), None);
        assert_eq!(distance("r.txt", b"1", b"2"), None);
    }

    #[test]
    fn arrays_and_weights_of_floats_are_compared_behind_equal_headers() {
        let npy = |kind: &str, values: &[u8]| {
            let header = format!("{{'descr': '{kind}', }}");
            let length = (header.len() as u16).to_le_bytes();
            [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), values].concat()
        };
        let floats = |a: f32| npy("<f4", &a.to_le_bytes());
        assert_eq!(distance("a.npy", &floats(4.0), &floats(5.0)), Some(0.2));
        assert_eq!(distance("a.npy", &floats(f32::NAN), &floats(5.0)), Some(f64::INFINITY));
        assert_eq!(distance("a.npy", &floats(f32::NAN), &floats(f32::NAN)), Some(0.0));
        assert_eq!(distance("a.npy", &npy("|u1", &[1]), &npy("|u1", &[2])), None);
        assert_eq!(distance("a.npy", &floats(1.0), &npy("<f8", &1_f64.to_le_bytes())), None);
        let weights = |kind: &str, value: f32| {
            let header = format!(r#"{{"w": {{"dtype": "{kind}", "shape": [1]}}}}"#);
            let length = (header.len() as u64).to_le_bytes();
            [&length[..], header.as_bytes(), &value.to_le_bytes()].concat()
        };
        assert_eq!(
            distance("w.safetensors", &weights("F32", 1.0), &weights("F32", 2.0)),
            Some(0.5)
        );
        assert_eq!(distance("w.safetensors", &weights("I32", 1.0), &weights("I32", 2.0)), None);
        let cut = [9, 0, 0, 0, 0, 0, 0, 0xff];
        assert_eq!(distance("w.safetensors", &cut, &cut), None);
    }
}
