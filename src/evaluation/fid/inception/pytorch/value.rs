//! What a pickle of arrays is made of: numbers, texts, lists, tables, storages and views of them.

use std::rc::Rc;

/// The type of the numbers in a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// 32-bit floats.
    Float,
    /// Floats of so many bytes.
    OtherFloat(usize),
    /// Whole numbers or truth values of so many bytes.
    Whole(usize),
}

impl Element {
    /// Returns the element type of a storage class, such as `FloatStorage`.
    pub(super) fn of_class(name: &str) -> Option<Self> {
        Some(match name.strip_suffix("Storage")? {
            "Float" => Self::Float,
            "Double" => Self::OtherFloat(8),
            "Half" | "BFloat16" => Self::OtherFloat(2),
            "Long" => Self::Whole(8),
            "Int" => Self::Whole(4),
            "Short" => Self::Whole(2),
            "Char" | "Byte" | "Bool" => Self::Whole(1),
            _ => return None,
        })
    }

    /// Returns the bytes of one number.
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Float => 4,
            Self::OtherFloat(bytes) | Self::Whole(bytes) => bytes,
        }
    }

    /// Returns the type in words.
    pub(super) fn name(self) -> String {
        match self {
            Self::Float => "32-bit floats".to_owned(),
            Self::OtherFloat(bytes) => format!("{}-bit floats", 8 * bytes),
            Self::Whole(bytes) => format!("{}-bit whole numbers", 8 * bytes),
        }
    }
}

/// Numbers that lie elsewhere in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Storage {
    /// Its name in the file.
    pub(super) key: String,
    pub(super) element: Element,
    /// Number of numbers.
    pub(super) length: usize,
}

/// A view of a storage.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) storage: Storage,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

/// What a name of Python stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Known {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    StorageOf(Element),
}

/// Values inside of others, with the depth of the nesting below.
#[derive(Clone, Debug)]
pub(super) struct Nested<T> {
    pub(super) entries: Vec<T>,
    pub(super) depth: usize,
}

// Derived, it would ask for a default of `T` too.
impl<T> Default for Nested<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), depth: 0 }
    }
}

/// A value on the machine's stack.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// `None`, and truth values, which no array needs.
    Nothing,
    Whole(i128),
    Text(Rc<str>),
    Known(Known),
    Sequence(Rc<Nested<Value>>),
    Table(Rc<Nested<(Value, Value)>>),
    Storage(Rc<Storage>),
    Tensor(Rc<Tensor>),
}

impl Value {
    /// Returns what the value is, in words.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Whole(_) => "a number",
            Self::Text(_) => "a string",
            Self::Known(_) => "a class",
            Self::Sequence(_) => "a list",
            Self::Table(_) => "a table",
            Self::Storage(_) => "a storage",
            Self::Tensor(_) => "a single array",
        }
    }

    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Sequence(values) => values.depth,
            Self::Table(values) => values.depth,
            _ => 0,
        }
    }

    pub(super) fn as_size(&self) -> Option<usize> {
        if let Self::Whole(number) = self { usize::try_from(*number).ok() } else { None }
    }

    fn as_sizes(&self) -> Option<Vec<usize>> {
        let Self::Sequence(values) = self else { return None };
        values.entries.iter().map(Self::as_size).collect()
    }
}

/// Returns a view of a storage, if its description is sound.
pub(super) fn tensor(
    storage: &Rc<Storage>,
    offset: &Value,
    shape: &Value,
    strides: &Value,
) -> Option<Value> {
    let (shape, strides) = (shape.as_sizes()?, strides.as_sizes()?);
    let offset = offset.as_size()?;
    let storage = Storage::clone(storage);
    (shape.len() == strides.len())
        .then(|| Value::Tensor(Rc::new(Tensor { storage, offset, shape, strides })))
}
