//! One measured result: the labels that say what was measured, and the named values.
//!
//! A record is what a measuring stage leaves behind and what every table and figure starts
//! from. On disk its values are a plain JSON object, `{"dimension": 4, "variances": [2.5, 1]}`,
//! which any script can read; the labels come from the axes and are not repeated there.
//! Invariant: every number inside a [`Record`] is finite.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Named values of one record, in name order.
pub type Values = BTreeMap<String, RecordValue>;

/// Axis names and this record's label on each.
pub type Labels = BTreeMap<String, String>;

/// Below this magnitude every whole `f64` is exact, so it is written without a decimal point.
const EXACT_WHOLE_NUMBERS: f64 = 9_007_199_254_740_992.0;

/// Says why a set of values is not a record.
#[derive(Debug, Error)]
pub enum RecordError {
    /// A value that stands alone is a NaN or an infinity.
    #[error("value `{field}` is {value}, expected a finite number")]
    NotFinite {
        /// Name of the value.
        field: String,
        /// The refused number.
        value: f64,
    },
    /// One element of a list is a NaN or an infinity.
    #[error("element {index} of value `{field}` is {value}, expected a finite number")]
    ElementNotFinite {
        /// Name of the value.
        field: String,
        /// Zero-based position in the list.
        index: usize,
        /// The refused number.
        value: f64,
    },
    /// The text is not a JSON object of numbers, lists of numbers and texts.
    #[error("the values are not a JSON object of numbers, lists of numbers and strings")]
    Json(#[from] serde_json::Error),
}

/// One value of a record.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordValue {
    /// A single number.
    Number(f64),
    /// An ordered list of numbers, such as one variance per coordinate.
    List(Vec<f64>),
    /// A remark that no table averages.
    Text(String),
}

impl RecordValue {
    /// Returns the kind of this value in words, for messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::List(_) => "a list",
            Self::Text(_) => "a string",
        }
    }

    fn check(&self, field: &str) -> Result<(), RecordError> {
        match self {
            Self::Number(value) if !value.is_finite() => {
                Err(RecordError::NotFinite { field: field.to_owned(), value: *value })
            }
            Self::List(values) => match values.iter().position(|value| !value.is_finite()) {
                Some(index) => Err(RecordError::ElementNotFinite {
                    field: field.to_owned(),
                    index,
                    value: values[index],
                }),
                None => Ok(()),
            },
            Self::Number(_) | Self::Text(_) => Ok(()),
        }
    }
}

/// A JSON number: refuses what JSON cannot hold, and writes `4` rather than `4.0`.
struct PlainNumber(f64);

impl Serialize for PlainNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0;
        if !value.is_finite() {
            return Err(S::Error::custom(format!("expected a finite number, found {value}")));
        }
        if value.fract() == 0.0 && value.abs() < EXACT_WHOLE_NUMBERS {
            serializer.serialize_i64(value as i64)
        } else {
            serializer.serialize_f64(value)
        }
    }
}

impl Serialize for RecordValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(value) => PlainNumber(*value).serialize(serializer),
            Self::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(&PlainNumber(*value))?;
                }
                list.end()
            }
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for RecordValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainValueVisitor)
    }
}

struct PlainValueVisitor;

impl<'de> Visitor<'de> for PlainValueVisitor {
    type Value = RecordValue;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number, a list of numbers or a string")
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<RecordValue, E> {
        if value.is_finite() {
            Ok(RecordValue::Number(value))
        } else {
            Err(E::custom(format!("expected a finite number, found {value}")))
        }
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<RecordValue, E> {
        Ok(RecordValue::Number(value as f64))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<RecordValue, E> {
        Ok(RecordValue::Number(value as f64))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<RecordValue, E> {
        Ok(RecordValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RecordValue, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element::<f64>()? {
            if !value.is_finite() {
                return Err(A::Error::custom(format!("expected a finite number, found {value}")));
            }
            values.push(value);
        }
        Ok(RecordValue::List(values))
    }
}

/// Writes values as one line of plain JSON, refusing what is not finite.
pub fn values_to_json(values: &Values) -> Result<String, RecordError> {
    for (field, value) in values {
        value.check(field)?;
    }
    Ok(serde_json::to_string(values)? + "\n")
}

/// Reads values back from their JSON text.
pub fn values_from_json(json: &str) -> Result<Values, RecordError> {
    Ok(serde_json::from_str(json)?)
}

/// One measured result with the labels it was measured under.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    labels: Labels,
    values: Values,
}

impl Record {
    /// Returns the record, or names the first value that is not finite.
    pub fn new(labels: Labels, values: Values) -> Result<Self, RecordError> {
        for (field, value) in &values {
            value.check(field)?;
        }
        Ok(Self { labels, values })
    }

    /// Returns the label on each axis.
    pub const fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns how many coordinates the record is of, if it lists a variance of each: of the
    /// coordinates themselves, or of their principal axes.
    pub fn coordinates(&self) -> Option<usize> {
        ["variances", "axis_variances"].iter().find_map(|name| match self.values.get(*name) {
            Some(RecordValue::List(variances)) => Some(variances.len()),
            _ => None,
        })
    }

    /// Returns the named values.
    pub const fn values(&self) -> &Values {
        &self.values
    }
}

#[cfg(test)]
pub(in crate::report) mod tests {
    use super::*;

    /// Builds a record from label and number pairs.
    pub(in crate::report) fn record(labels: &[(&str, &str)], numbers: &[(&str, f64)]) -> Record {
        let labels = labels.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let values =
            numbers.iter().map(|(a, b)| ((*a).to_owned(), RecordValue::Number(*b))).collect();
        Record::new(labels, values).unwrap()
    }

    fn values(pairs: &[(&str, RecordValue)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn values_on_disk_are_plain_json_that_reads_back_equal() {
        let original = values(&[
            ("dimension", RecordValue::Number(4.0)),
            ("loss", RecordValue::Number(0.1)),
            ("note", RecordValue::Text("a \"quoted\" remark".to_owned())),
            ("variances", RecordValue::List(vec![2.5, 1.0])),
        ]);
        let json = values_to_json(&original).unwrap();
        assert_eq!(
            json,
            "{\"dimension\":4,\"loss\":0.1,\"note\":\"a \\\"quoted\\\" remark\",\"variances\":[2.5,1]}\n"
        );
        assert_eq!(values_from_json(&json).unwrap(), original);
    }

    #[test]
    fn a_record_refuses_nan_and_infinity_and_says_where() {
        let nan = values(&[("loss", RecordValue::Number(f64::NAN))]);
        let error = Record::new(Labels::new(), nan.clone()).unwrap_err();
        assert_eq!(error.to_string(), "value `loss` is NaN, expected a finite number");
        assert!(values_to_json(&nan).is_err());

        let infinite = values(&[("v", RecordValue::List(vec![1.0, f64::INFINITY]))]);
        let error = Record::new(Labels::new(), infinite).unwrap_err();
        assert_eq!(error.to_string(), "element 1 of value `v` is inf, expected a finite number");
    }

    #[test]
    fn json_of_another_shape_is_refused() {
        for json in ["[1, 2]", r#"{"a": null}"#, r#"{"a": {"b": 1}}"#, r#"{"a": ["x"]}"#] {
            assert!(values_from_json(json).is_err(), "{json}");
        }
    }
}
