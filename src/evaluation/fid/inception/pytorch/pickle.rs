//! A pickle machine that can rebuild arrays and nothing else.
//!
//! What: the instructions of pickle protocol 2 that `torch.save` writes. Names are looked up in a
//! short list; calling a name makes one of our own values, never runs anything.
//! Reference: Python's `pickletools`; `torch._utils._rebuild_tensor_v2`.
//! Assumptions: what a table or list refers to by memory is what it was when it was remembered,
//! which is all that names of arrays need. Nesting is bounded, because values are dropped
//! recursively.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::PytorchError;
use super::value::{Element, Known, Nested, Storage, Value, tensor};

/// Deepest nesting of values; PyTorch's own files need less than ten.
const DEEPEST: usize = 32;

/// Reads one pickle after the other.
pub(super) struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memory: BTreeMap<u32, Value>,
    storages: BTreeMap<String, Storage>,
}

impl<'a> Machine<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            stack: Vec::new(),
            marks: Vec::new(),
            memory: BTreeMap::new(),
            storages: BTreeMap::new(),
        }
    }

    /// Returns where the next pickle would begin.
    pub(super) const fn position(&self) -> usize {
        self.at
    }

    /// Returns every storage that was named so far.
    pub(super) fn into_storages(self) -> BTreeMap<String, Storage> {
        self.storages
    }

    /// Returns the value of the next pickle.
    pub(super) fn load(&mut self) -> Result<Value, PytorchError> {
        self.stack.clear();
        self.marks.clear();
        self.memory.clear();
        loop {
            let instruction = self.byte()?;
            if instruction == b'.' {
                return self.pop();
            }
            self.step(instruction)?;
        }
    }

    fn step(&mut self, instruction: u8) -> Result<(), PytorchError> {
        match instruction {
            0x80 => match self.byte()? {
                2 => return Ok(()),
                other => return Err(self.wrong(format!("expected protocol 2, found {other}"))),
            },
            b'(' => self.marks.push(self.stack.len()),
            b'}' => self.stack.push(Value::Table(Rc::default())),
            b']' | b')' => self.stack.push(Value::Sequence(Rc::default())),
            b'N' | 0x88 | 0x89 => self.stack.push(Value::Nothing),
            b'K' => {
                let [number] = self.take()?;
                self.stack.push(Value::Whole(number.into()));
            }
            b'M' => {
                let number = u16::from_le_bytes(self.take()?);
                self.stack.push(Value::Whole(number.into()));
            }
            b'J' => {
                let number = i32::from_le_bytes(self.take()?);
                self.stack.push(Value::Whole(number.into()));
            }
            0x8a => self.long()?,
            b'U' => {
                let length = self.byte()?.into();
                self.text(length)?;
            }
            b'X' | b'T' => {
                let length = u32::from_le_bytes(self.take()?);
                self.text(length as usize)?;
            }
            b'c' => self.name()?,
            b'q' => {
                let place = self.byte()?.into();
                self.remember(place)?;
            }
            b'r' => {
                let place = u32::from_le_bytes(self.take()?);
                self.remember(place)?;
            }
            b'h' => {
                let place = self.byte()?.into();
                self.recall(place)?;
            }
            b'j' => {
                let place = u32::from_le_bytes(self.take()?);
                self.recall(place)?;
            }
            b't' => {
                let values = self.since_mark()?;
                self.push_sequence(values)?;
            }
            0x85..=0x87 => {
                let count = usize::from(instruction - 0x84);
                let start = self.stack.len().checked_sub(count);
                let start = start.ok_or_else(|| self.wrong("the stack is too short"))?;
                let values = self.stack.split_off(start);
                self.push_sequence(values)?;
            }
            b'a' => {
                let value = self.pop()?;
                self.append(vec![value])?;
            }
            b'e' => {
                let values = self.since_mark()?;
                self.append(values)?;
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.insert(vec![key, value])?;
            }
            b'u' => {
                let values = self.since_mark()?;
                self.insert(values)?;
            }
            // Attributes of an object; those of a table of arrays are of no use here.
            b'b' => drop(self.pop()?),
            b'R' => self.call()?,
            b'Q' => self.find_storage()?,
            other => {
                self.at -= 1;
                return Err(self.wrong(format!("unsupported pickle opcode {other:#04x}")));
            }
        }
        Ok(())
    }

    /// Turns a name into what it stands for here.
    fn name(&mut self) -> Result<(), PytorchError> {
        let (module, name) = (self.line()?, self.line()?);
        let known = match (module.as_str(), name.as_str()) {
            ("collections", "OrderedDict") => Some(Known::OrderedDict),
            ("torch._utils", "_rebuild_tensor_v2") => Some(Known::RebuildTensor),
            ("torch._utils", "_rebuild_parameter") => Some(Known::RebuildParameter),
            ("torch", class) => Element::of_class(class).map(Known::StorageOf),
            _ => None,
        };
        let refused = || PytorchError::Refused { name: format!("{module}.{name}") };
        self.stack.push(Value::Known(known.ok_or_else(refused)?));
        Ok(())
    }

    fn call(&mut self) -> Result<(), PytorchError> {
        let arguments = self.pop()?;
        let Value::Sequence(arguments) = arguments else {
            return Err(self.wrong(format!("expected arguments, found {}", arguments.kind())));
        };
        let arguments = &arguments.entries[..];
        let result = match (self.pop()?, arguments) {
            (Value::Known(Known::OrderedDict), []) => Some(Value::Table(Rc::default())),
            (Value::Known(Known::RebuildParameter), [Value::Tensor(tensor), ..]) => {
                Some(Value::Tensor(Rc::clone(tensor)))
            }
            (
                Value::Known(Known::RebuildTensor),
                [Value::Storage(storage), offset, shape, strides, ..],
            ) => tensor(storage, offset, shape, strides),
            _ => None,
        };
        let result = result.ok_or_else(|| self.wrong("these arguments make no array"))?;
        self.stack.push(result);
        Ok(())
    }

    /// Turns `("storage", class, key, device, length)` into a storage.
    fn find_storage(&mut self) -> Result<(), PytorchError> {
        let named = self.pop()?;
        let parts = if let Value::Sequence(parts) = &named { &parts.entries[..] } else { &[] };
        let [
            Value::Text(_),
            Value::Known(Known::StorageOf(element)),
            Value::Text(key),
            Value::Text(_),
            length,
            view @ ..,
        ] = parts
        else {
            return Err(self.wrong("a storage is not described as PyTorch does"));
        };
        let Some(length) = length.as_size().filter(|_| matches!(view, [] | [Value::Nothing]))
        else {
            return Err(self.wrong(format!("storage `{key}` is part of another, or has no size")));
        };
        let storage = Storage { key: key.to_string(), element: *element, length };
        self.storages.insert(key.to_string(), storage.clone());
        self.stack.push(Value::Storage(Rc::new(storage)));
        Ok(())
    }

    fn append(&mut self, values: Vec<Value>) -> Result<(), PytorchError> {
        let below = values.iter().map(Value::depth).max();
        let depth = self.nested(below)?;
        let Some(Value::Sequence(list)) = self.stack.last_mut() else {
            return Err(self.wrong("there is no list to append to"));
        };
        let list = Rc::make_mut(list);
        list.depth = list.depth.max(depth);
        list.entries.extend(values);
        Ok(())
    }

    fn insert(&mut self, values: Vec<Value>) -> Result<(), PytorchError> {
        let below = values.iter().map(Value::depth).max();
        let depth = self.nested(below)?;
        let Some(Value::Table(table)) = self.stack.last_mut() else {
            return Err(self.wrong("there is no table to insert into"));
        };
        let table = Rc::make_mut(table);
        table.depth = table.depth.max(depth);
        let mut values = values.into_iter();
        while let (Some(key), Some(value)) = (values.next(), values.next()) {
            table.entries.push((key, value));
        }
        Ok(())
    }

    fn push_sequence(&mut self, entries: Vec<Value>) -> Result<(), PytorchError> {
        let depth = self.nested(entries.iter().map(Value::depth).max())?;
        self.stack.push(Value::Sequence(Rc::new(Nested { entries, depth })));
        Ok(())
    }

    /// Returns the depth of what holds values of the given depth.
    fn nested(&self, below: Option<usize>) -> Result<usize, PytorchError> {
        match below.unwrap_or_default() + 1 {
            depth if depth <= DEEPEST => Ok(depth),
            _ => Err(self.wrong("values are nested too deeply")),
        }
    }

    fn remember(&mut self, place: u32) -> Result<(), PytorchError> {
        let value = self.stack.last().cloned();
        let value = value.ok_or_else(|| self.wrong("there is nothing to memoize"))?;
        self.memory.insert(place, value);
        Ok(())
    }

    fn recall(&mut self, place: u32) -> Result<(), PytorchError> {
        let value = self.memory.get(&place).cloned();
        let value = value.ok_or_else(|| self.wrong(format!("the memo has no entry {place}")))?;
        self.stack.push(value);
        Ok(())
    }

    fn since_mark(&mut self) -> Result<Vec<Value>, PytorchError> {
        match self.marks.pop() {
            Some(mark) if mark <= self.stack.len() => Ok(self.stack.split_off(mark)),
            _ => Err(self.wrong("there is no mark")),
        }
    }

    fn pop(&mut self) -> Result<Value, PytorchError> {
        self.stack.pop().ok_or_else(|| self.wrong("the stack is empty"))
    }

    /// Reads a whole number of up to 16 bytes.
    fn long(&mut self) -> Result<(), PytorchError> {
        let length = usize::from(self.byte()?);
        let bytes = self.slice(length)?;
        let negative = bytes.last().is_some_and(|last| *last >= 0x80);
        let mut number = [if negative { 0xff } else { 0 }; 16];
        match number.get_mut(..length) {
            Some(low) => low.copy_from_slice(bytes),
            None => return Err(self.wrong("a number is too large")),
        }
        self.stack.push(Value::Whole(i128::from_le_bytes(number)));
        Ok(())
    }

    fn text(&mut self, length: usize) -> Result<(), PytorchError> {
        let text = std::str::from_utf8(self.slice(length)?).map(Rc::from);
        let text = text.map_err(|_| self.wrong("a string is not UTF-8"))?;
        self.stack.push(Value::Text(text));
        Ok(())
    }

    fn line(&mut self) -> Result<String, PytorchError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| *byte == b'\n');
        let length = length.ok_or_else(|| self.wrong("a name does not end"))?;
        let line = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.at += length + 1;
        Ok(line)
    }

    fn byte(&mut self) -> Result<u8, PytorchError> {
        self.take().map(|[byte]| byte)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], PytorchError> {
        let bytes = self.slice(N)?;
        let mut taken = [0; N];
        taken.copy_from_slice(bytes);
        Ok(taken)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], PytorchError> {
        let bytes: &'a [u8] = self.bytes;
        let taken = bytes.get(self.at..).and_then(|rest| rest.get(..length));
        let taken = taken.ok_or_else(|| self.wrong("unexpected end of file"))?;
        self.at += length;
        Ok(taken)
    }

    fn wrong(&self, reason: impl Into<String>) -> PytorchError {
        PytorchError::Damaged { at: self.at, reason: reason.into() }
    }
}
