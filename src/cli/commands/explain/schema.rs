//! A JSON Schema document, read as settings.
//!
//! Only as much of JSON Schema is understood as the derived schemas of our settings use. What a
//! derive writes for a Rust type is turned into what it is in a pipeline file.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::engine::stage::{FAMILY_GIVES, STAGE_GIVES};

/// The schema of a type together with everything that it refers to.
pub(super) struct Document(Value);

/// What a setting takes.
pub(super) enum Form<'a> {
    /// Something that its schema names in words.
    Titled(&'a str),
    /// A stage that gives one of these artifact kinds, or any if there are none.
    Stage(Vec<&'a str>),
    /// A family of such stages.
    Family(Vec<&'a str>),
    /// `true` or `false`.
    Truth,
    /// A whole number within bounds.
    Whole(Bounds),
    /// A number within bounds.
    Number(Bounds),
    /// A single character.
    Character,
    /// Any text.
    Text,
    /// A list of something.
    List(&'a Value),
    /// A map from text to something.
    Map(&'a Value),
    /// A fixed number of things in brackets.
    Tuple(&'a [Value]),
    /// One of several names, some with content.
    Choice(Vec<Variant<'a>>),
    /// Fields with names.
    Settings(Vec<Field<'a>>),
}

/// The ends of a range of numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    /// The least number.
    pub(super) least: Option<f64>,
    /// The number that all are above.
    pub(super) above: Option<f64>,
    /// The largest number.
    pub(super) most: Option<f64>,
    /// The number that all are below.
    pub(super) below: Option<f64>,
}

/// One of the names of a choice.
#[derive(Clone, Copy)]
pub(super) struct Variant<'a> {
    /// The name.
    pub(super) name: &'a str,
    /// What it means.
    pub(super) about: &'a str,
    /// What is written in brackets after it.
    pub(super) content: Option<&'a Value>,
    /// The schema of the name with its content.
    pub(super) schema: &'a Value,
}

/// A field of settings.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    /// The name.
    pub(super) name: &'a str,
    /// What it means.
    pub(super) about: &'a str,
    /// What it takes.
    pub(super) schema: &'a Value,
    /// Whether it may be left out.
    pub(super) is_optional: bool,
}

impl Document {
    /// Generates the schema of a type.
    pub(super) fn of<T: JsonSchema>(title: &str) -> Self {
        let mut schema = SchemaGenerator::default().into_root_schema_for::<T>();
        schema.insert("title".to_owned(), title.into());
        Self(schema.to_value())
    }

    /// Returns the whole document.
    pub(super) const fn root(&self) -> &Value {
        &self.0
    }

    /// Returns the schema that references lead to, or else the schema itself.
    pub(super) fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        self.target(schema).map_or_else(|| without_none(schema).0, |target| self.resolve(target))
    }

    /// Returns the description of a schema, or of the first that it refers to with one.
    pub(super) fn about<'a>(&'a self, schema: &'a Value) -> &'a str {
        match (about(schema), self.target(schema)) {
            ("", Some(target)) => self.about(target),
            (about, _) => about,
        }
    }

    fn target<'a>(&'a self, schema: &'a Value) -> Option<&'a Value> {
        definition(schema).and_then(|name| self.0.get("$defs")?.get(name))
    }

    /// Returns what a schema means in a pipeline file.
    pub(super) fn form<'a>(&'a self, schema: &'a Value) -> Form<'a> {
        let schema = self.resolve(schema);
        let names = |keyword: &str| Some(texts(schema.get(keyword)?));
        if let Some(kinds) = names(STAGE_GIVES) {
            return Form::Stage(kinds);
        }
        if let Some(kinds) = names(FAMILY_GIVES) {
            return Form::Family(kinds);
        }
        if let Some(variants) = schema.get("oneOf").and_then(Value::as_array) {
            return Form::Choice(variants.iter().filter_map(variant).collect());
        }
        if let Some(title) = schema.get("title").and_then(Value::as_str) {
            return Form::Titled(title);
        }
        match type_name(schema) {
            "boolean" => Form::Truth,
            "integer" => Form::Whole(bounds(schema)),
            "number" => Form::Number(bounds(schema)),
            "array" => match (schema.get("prefixItems"), schema.get("items")) {
                (Some(Value::Array(items)), _) => Form::Tuple(items),
                (_, Some(item)) => Form::List(item),
                _ => Form::Tuple(&[]),
            },
            "object" => match schema.get("additionalProperties") {
                Some(content @ Value::Object(_)) => Form::Map(content),
                _ => Form::Settings(fields(schema)),
            },
            _ if schema.get("maxLength").and_then(Value::as_u64) == Some(1) => Form::Character,
            _ => Form::Text,
        }
    }

    /// Returns the choice that a setting takes, be it once, in a list or in a map.
    pub(super) fn choice<'a>(&'a self, schema: &'a Value) -> Option<Vec<Variant<'a>>> {
        match self.form(schema) {
            Form::Choice(variants) => Some(variants),
            Form::List(inner) | Form::Map(inner) => self.choice(inner),
            Form::Tuple(items) => items.iter().find_map(|item| self.choice(item)),
            _ => None,
        }
    }

    /// Returns a document of its own for a part of this one: the part under a title, with all the
    /// definitions that it refers to.
    pub(super) fn part(&self, schema: &Value, title: &str, about: &str) -> Value {
        let mut part = match self.resolve(schema) {
            Value::Object(map) => map.clone(),
            _ => Map::new(),
        };
        let mut definitions = Map::new();
        self.add_definitions(&Value::Object(part.clone()), &mut definitions);
        if let Some(dialect) = self.0.get("$schema") {
            part.insert("$schema".to_owned(), dialect.clone());
        }
        part.insert("title".to_owned(), title.into());
        part.insert("description".to_owned(), about.into());
        if !definitions.is_empty() {
            part.insert("$defs".to_owned(), definitions.into());
        }
        part.into()
    }

    fn add_definitions(&self, schema: &Value, found: &mut Map<String, Value>) {
        match schema {
            Value::Object(map) => {
                if let Some(name) = definition(schema)
                    && !found.contains_key(name)
                {
                    let target = self.target(schema).unwrap_or(&Value::Null);
                    found.insert(name.to_owned(), target.clone());
                    self.add_definitions(target, found);
                }
                for inner in map.values() {
                    self.add_definitions(inner, found);
                }
            }
            Value::Array(items) => {
                for inner in items {
                    self.add_definitions(inner, found);
                }
            }
            _ => {}
        }
    }
}

/// Returns the name of the definition that a schema refers to.
pub(super) fn definition(schema: &Value) -> Option<&str> {
    without_none(schema).0.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// Returns the description of a schema itself.
fn about(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).unwrap_or_default()
}

/// Returns a schema without `None`, and whether that was allowed.
pub(super) fn without_none(schema: &Value) -> (&Value, bool) {
    let is_null = |schema: &&Value| type_name(schema) == "null";
    match (schema.get("anyOf").and_then(Value::as_array), schema.get("type")) {
        (Some(any), _) if any.iter().any(|schema| is_null(&schema)) => {
            (any.iter().find(|schema| !is_null(schema)).unwrap_or(schema), true)
        }
        (_, Some(Value::Array(types))) => (schema, types.iter().any(|name| name == "null")),
        _ => (schema, false),
    }
}

/// Returns the type of a schema, other than null if there is a choice.
fn type_name(schema: &Value) -> &str {
    let name = match schema.get("type") {
        Some(Value::Array(names)) => names.iter().find(|name| *name != "null"),
        name => name,
    };
    name.and_then(Value::as_str).unwrap_or_default()
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn bounds(schema: &Value) -> Bounds {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    Bounds {
        least: bound("minimum"),
        above: bound("exclusiveMinimum"),
        most: bound("maximum"),
        below: bound("exclusiveMaximum"),
    }
}

fn variant(schema: &Value) -> Option<Variant<'_>> {
    let about = about(schema);
    if let Some(name) = schema.get("const").and_then(Value::as_str) {
        return Some(Variant { name, about, content: None, schema });
    }
    let (name, content) = schema.get("properties")?.as_object()?.iter().next()?;
    Some(Variant { name, about, content: Some(content), schema })
}

/// Returns the fields of settings: first those that are required, in their own order, then the
/// others by name.
fn fields<'a>(schema: &'a Value) -> Vec<Field<'a>> {
    let required = schema.get("required").map(texts).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let field = |(name, schema): (&'a String, &'a Value), is_optional| Field {
        name,
        about: about(schema),
        schema,
        is_optional,
    };
    let first = required.iter().filter_map(|name| properties?.get_key_value(*name));
    let then = properties.into_iter().flatten();
    let then = then.filter(|(name, _)| !required.contains(&name.as_str()));
    first.map(|pair| field(pair, false)).chain(then.map(|pair| field(pair, true))).collect()
}
