//! Measured values: `record.json`, a flat object that any program can write too.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::engine::stage::artifact::{
    Artifact, ArtifactError, ArtifactKind, ArtifactReader, ArtifactWriter,
};
use crate::report::{Values, values_from_json, values_to_json};

impl Artifact for Values {
    // A conclusion has a record, too.
    const KINDS: &'static [ArtifactKind] = &["record", "conclusion"];

    fn write(&self, writer: &mut ArtifactWriter) -> Result<(), ArtifactError> {
        let text =
            values_to_json(self).map_err(|error| ArtifactError::malformed("record.json", error))?;
        writer.write("record.json", text.as_bytes())
    }

    fn read(reader: &ArtifactReader) -> Result<Self, ArtifactError> {
        let text = String::from_utf8_lossy(&reader.read("record.json")?).into_owned();
        values_from_json(&text).map_err(|error| {
            let reason = wrong_field(&text).unwrap_or_else(|| error.to_string());
            ArtifactError::malformed("record.json", reason)
        })
    }
}

/// Says which field of a record is none, if only a field is wrong.
fn wrong_field(text: &str) -> Option<String> {
    const EXPECTED: &str = "expected a finite number, a list of finite numbers or a string";
    if let Ok(fields) = serde_json::from_str::<BTreeMap<String, Value>>(text) {
        let is_right = |value: &Value| match value {
            Value::Number(_) | Value::String(_) => true,
            Value::Array(items) => items.iter().all(Value::is_number),
            Value::Null | Value::Bool(_) | Value::Object(_) => false,
        };
        let (name, value) = fields.iter().find(|(_, value)| !is_right(value))?;
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Object(_) => "an object",
            _ => "a list of something else",
        };
        return Some(format!("the field `{name}` is {found}, {EXPECTED}"));
    }
    let (name, found) = not_a_number(text)?;
    Some(format!("the field `{name}` has the value {found}, {EXPECTED}"))
}

/// Returns the first value that JSON has no number for, as Python writes it, and the field it is in.
fn not_a_number(text: &str) -> Option<(String, &'static str)> {
    const WORDS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];
    let mut field = String::new();
    let mut rest = text;
    loop {
        let at = rest.find(|c: char| c == '"' || c.is_ascii_alphabetic() || c == '-')?;
        rest = &rest[at..];
        if let Some(word) = WORDS.into_iter().find(|word| rest.starts_with(word)) {
            // Outside of all fields it is no JSON at all, which is another mistake.
            return (!field.is_empty()).then_some((field, word));
        }
        let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match strings.next() {
            Some(Ok(value)) => {
                let (string, after) = (value, &rest[strings.byte_offset()..]);
                if let (Value::String(name), true) = (string, after.trim_start().starts_with(':')) {
                    field = name;
                }
                rest = after;
            }
            _ => rest = rest.get(1..)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_no_number_is_told_with_its_field() {
        let told = |text: &str| wrong_field(text).unwrap_or_default();
        let nan = told(r#"{"a": 1, "NaN": "NaN", "loss": NaN}"#);
        assert!(nan.starts_with("the field `loss` has the value NaN, expected a finite"), "{nan}");
        let deep = told(r#"{"a": [1, 2], "variances": [-0.5, -Infinity]}"#);
        assert!(deep.starts_with("the field `variances` has the value -Infinity"), "{deep}");
        assert!(told(r#"{"a": null}"#).starts_with("the field `a` is null"));
        assert!(told(r#"{"a": {"b": 1}}"#).starts_with("the field `a` is an object"));
        assert_eq!(told("{loss: NaN}"), "");
        assert_eq!(told("[1"), "");
        assert_eq!(told(""), "");
    }
}
