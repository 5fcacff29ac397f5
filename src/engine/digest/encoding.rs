//! The byte encoding under every key and artifact digest.
//!
//! Each element is written with a type tag and its length, maps in name order, lists in their own
//! order; so no two different values share an encoding (`[1, 2]` is not `[12]`, absent is not
//! empty). Hashing derives from a context string, which is bumped when the encoding changes.

use serde_json::Value;

/// Something that has an encoding.
pub trait Encode {
    /// Adds it.
    fn encode(&self, encoder: &mut Encoder);
}

/// An encoding that stands for its value.
#[derive(Clone, Debug)]
pub struct Encoded(Vec<u8>);

impl Encoded {
    /// Encodes a value.
    pub fn of(value: &impl Encode) -> Self {
        let mut encoder = Encoder::default();
        value.encode(&mut encoder);
        Self(encoder.bytes)
    }
}

impl Encode for Encoded {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.bytes.extend(&self.0);
    }
}

impl Encode for Value {
    fn encode(&self, encoder: &mut Encoder) {
        encoder.value(self);
    }
}

/// Takes typed, length-prefixed elements and makes a hash of them.
#[derive(Default)]
pub struct Encoder {
    /// Hashed all at once, which is much faster than bit by bit.
    bytes: Vec<u8>,
}

impl Encoder {
    /// Ends an encoding of one purpose.
    pub fn finish(self, context: &str) -> blake3::Hash {
        blake3::Hasher::new_derive_key(context).update(&self.bytes).finalize()
    }

    /// Adds a string.
    pub fn text(&mut self, text: &str) {
        self.tagged(b't', text.as_bytes());
    }

    /// Adds the number of elements that follow.
    pub fn count(&mut self, count: usize) {
        self.tagged(b'c', &(count as u64).to_le_bytes());
    }

    /// Adds any JSON value.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.tagged(b'n', &[]),
            Value::Bool(yes) => self.tagged(b'b', &[u8::from(*yes)]),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.list_of(items.len());
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(map) => self.map(map),
        }
    }

    /// Adds the head of a list; its elements follow.
    pub fn list_of(&mut self, elements: usize) {
        self.tagged(b'l', &(elements as u64).to_le_bytes());
    }

    /// Adds the head of a map; its names follow in order, each with its value.
    pub fn map_of(&mut self, fields: usize) {
        self.tagged(b'm', &(fields as u64).to_le_bytes());
    }

    fn map(&mut self, map: &serde_json::Map<String, Value>) {
        let mut fields: Vec<_> = map.iter().collect();
        // The map's own order depends on a cargo feature that a dependency may switch on.
        fields.sort_by(|a, b| a.0.cmp(b.0));
        self.map_of(fields.len());
        for (name, item) in fields {
            self.text(name);
            self.value(item);
        }
    }

    fn number(&mut self, number: &serde_json::Number) {
        if let Some(whole) = number.as_u64() {
            self.tagged(b'u', &whole.to_le_bytes());
        } else if let Some(whole) = number.as_i64() {
            self.tagged(b'i', &whole.to_le_bytes());
        } else {
            // Adding zero makes -0.0 and 0.0 one value.
            let float = number.as_f64().unwrap_or(f64::NAN) + 0.0;
            self.tagged(b'f', &float.to_bits().to_le_bytes());
        }
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend((bytes.len() as u64).to_le_bytes());
        self.bytes.extend(bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn hash(value: &Value) -> blake3::Hash {
        let mut encoder = Encoder::default();
        encoder.value(value);
        encoder.finish("test")
    }

    #[test]
    fn look_alikes_differ() {
        let values = [
            json!([1, 2]),
            json!([12]),
            json!(["1", "2"]),
            json!([[1], [2]]),
            json!([[1, 2]]),
            json!(null),
            json!(""),
            json!([]),
            json!({}),
            json!(false),
            json!(0),
            json!(0.0),
            json!({"a": null}),
            json!({"a": "b"}),
            json!(["a", "b"]),
            json!({"train": 1, "test": 2}),
            json!({"train": 2, "test": 1}),
        ];
        for (at, left) in values.iter().enumerate() {
            for right in &values[at + 1..] {
                assert_ne!(hash(left), hash(right), "{left} and {right}");
            }
        }
        assert_eq!(hash(&json!(0.0)), hash(&json!(-0.0)));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e300..1e300).prop_map(|float: f64| Value::from(float + 0.0)),
            "[a-z]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z]{0,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn different_values_have_different_hashes(left in any_value(), right in any_value()) {
            prop_assert_eq!(left == right, hash(&left) == hash(&right));
        }
    }
}
