//! What a setting takes and what it is if left out, in words and as in a pipeline file.

use serde_json::Value;

use super::schema::{Bounds, Document, Field, Form, Variant, definition, without_none};

/// Whether one thing is meant or several.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    One,
    Many,
}

impl Document {
    /// Returns what a field takes, with whether it may be left out and what it is then.
    pub(super) fn field_words(&self, field: &Field<'_>) -> String {
        let words = self.words(field.schema, Number::One);
        match self.default_words(field) {
            Some(default) => format!("{words}, optional, {default} if left out"),
            None => words,
        }
    }

    /// Returns what a field is if it is left out; none if it can't be.
    fn default_words(&self, field: &Field<'_>) -> Option<String> {
        let default = field.schema.get("default").filter(|default| !default.is_null());
        match (default, self.form(field.schema)) {
            (Some(default), _) => Some(self.written(default, field.schema)),
            (None, _) if !field.is_optional => None,
            (None, _) if without_none(field.schema).1 => Some("none".to_owned()),
            (None, Form::List(_)) => Some("[]".to_owned()),
            (None, Form::Map(_)) => Some("{}".to_owned()),
            (None, _) => Some("none".to_owned()),
        }
    }

    /// Returns how a name of a choice is written, with what stands in its brackets.
    pub(super) fn signature(&self, variant: &Variant<'_>) -> String {
        let name = variant.name;
        let Some(content) = variant.content else {
            return name.to_owned();
        };
        match self.form(content) {
            Form::Settings(_) | Form::Choice(_) => format!("{name}(..)"),
            Form::Tuple(_) => format!("{name}{}", self.words(content, Number::One)),
            _ => format!("{name}({})", self.words(content, Number::One)),
        }
    }

    fn words(&self, schema: &Value, number: Number) -> String {
        let pick = |one: &str, many: &str| match number {
            Number::One => one.to_owned(),
            Number::Many => many.to_owned(),
        };
        match self.form(schema) {
            Form::Titled(title) => title.to_owned(),
            Form::Stage(kinds) => match number {
                Number::One => format!("a stage that produces {}", given(&kinds, number)),
                Number::Many => format!("stages that produce {}", given(&kinds, number)),
            },
            Form::Family(kinds) => {
                let given = given(&kinds, Number::Many);
                let family = pick("a family", "families");
                format!("{family} of stages that produce {given}, written Each(\"..\")")
            }
            Form::Truth => "true or false".to_owned(),
            Form::Whole(bounds) => {
                // Numbers below 0 are not whole numbers to begin with.
                let bounds = match bounds {
                    Bounds { least: Some(least), .. } if least <= 0.0 => {
                        Bounds { least: None, ..bounds }
                    }
                    Bounds { least: Some(least), .. } => {
                        Bounds { least: None, above: Some(least - 1.0), ..bounds }
                    }
                    _ => bounds,
                };
                pick("a whole number", "whole numbers") + &range(bounds)
            }
            Form::Number(bounds) => pick("a number", "numbers") + &range(bounds),
            Form::Character => pick("a character", "characters"),
            Form::Text => pick("a string", "strings"),
            Form::List(item) => {
                let items = self.item_words(item, Number::Many);
                format!("{} of {items}", pick("a list", "lists"))
            }
            Form::Map(content) => {
                let content = self.item_words(content, Number::One);
                format!("{} from strings to {content}", pick("a map", "maps"))
            }
            Form::Tuple(items) => {
                let items = items.iter().map(|item| self.item_words(item, Number::One));
                format!("({})", items.collect::<Vec<_>>().join(", "))
            }
            Form::Choice(_) => pick("one of the following", "any of the following"),
            Form::Settings(_) => {
                format!("{}(..)", definition(schema).unwrap_or_default())
            }
        }
    }

    fn item_words(&self, schema: &Value, number: Number) -> String {
        let words = self.words(schema, number);
        if without_none(schema).1 { format!("{words} or None") } else { words }
    }

    /// Returns a value as it is written in a pipeline file.
    fn written(&self, value: &Value, schema: &Value) -> String {
        match (self.form(schema), value) {
            (_, Value::Null) => "None".to_owned(),
            (Form::Character, Value::String(text)) => format!("'{text}'"),
            (Form::Choice(_), Value::String(name)) => name.clone(),
            (Form::Choice(variants), Value::Object(map)) => {
                let tagged = map.iter().next().and_then(|(name, value)| {
                    let variant = variants.iter().find(|variant| variant.name == name)?;
                    Some((name, value, variant.content?))
                });
                tagged.map_or_else(String::new, |(name, value, content)| {
                    let inner = self.written(value, content);
                    match self.form(content) {
                        Form::Settings(_) | Form::Tuple(_) => format!("{name}{inner}"),
                        _ => format!("{name}({inner})"),
                    }
                })
            }
            (Form::Settings(fields), Value::Object(map)) => {
                let written = fields.iter().filter_map(|field| {
                    let value = map.get(field.name).filter(|value| !value.is_null())?;
                    Some(format!("{}: {}", field.name, self.written(value, field.schema)))
                });
                format!("({})", written.collect::<Vec<_>>().join(", "))
            }
            (Form::Map(content), Value::Object(map)) => {
                let pair = |(key, value): (&String, &Value)| {
                    format!("{key:?}: {}", self.written(value, content))
                };
                format!("{{{}}}", map.iter().map(pair).collect::<Vec<_>>().join(", "))
            }
            (Form::List(item), Value::Array(items)) => {
                let items = items.iter().map(|value| self.written(value, item));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            (Form::Tuple(schemas), Value::Array(items)) => {
                let items = items.iter().zip(schemas);
                let items = items.map(|(value, schema)| self.written(value, schema));
                format!("({})", items.collect::<Vec<_>>().join(", "))
            }
            (_, value) => value.to_string(),
        }
    }
}

/// Returns the artifacts that a stage must give. `train-images` are left out where any `images`
/// are welcome.
fn given(kinds: &[&str], number: Number) -> String {
    let is_special =
        |kind: &str| kind.split_once('-').is_some_and(|(_, general)| kinds.contains(&general));
    let kinds = kinds.iter().filter(|kind| !is_special(kind)).map(|kind| match number {
        _ if kind.ends_with('s') => (*kind).to_owned(),
        Number::One => format!("a {kind}"),
        Number::Many => format!("{kind}s"),
    });
    match kinds.collect::<Vec<_>>().as_slice() {
        [] => "any files".to_owned(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

fn range(bounds: Bounds) -> String {
    match bounds {
        Bounds { least: Some(least), below: Some(below), .. } => {
            format!(" from {least} to below {below}")
        }
        Bounds { least: Some(least), most: Some(most), .. } => format!(" from {least} to {most}"),
        Bounds { least: Some(least), .. } => format!(" of at least {least}"),
        Bounds { above: Some(above), .. } => format!(" above {above}"),
        Bounds { most: Some(most), .. } => format!(" of at most {most}"),
        _ => String::new(),
    }
}
