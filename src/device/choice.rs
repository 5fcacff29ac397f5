//! The devices that a user asks for: all of a kind, or some of them.

use std::fmt;
use std::str::FromStr;

use super::{DeviceError, DeviceKind, DeviceName, enumerate};

/// The devices that a user asks for: `cuda` for all that are there, `cuda:0,2` for some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceChoice {
    kind: DeviceKind,
    indices: Vec<usize>,
}

impl DeviceChoice {
    /// Returns what the devices compute with.
    pub const fn kind(&self) -> DeviceKind {
        self.kind
    }

    /// Returns whether this is the processor, which is one device.
    pub const fn is_processor(&self) -> bool {
        self.kind.is_processor()
    }

    /// Returns the numbers of the devices that were chosen; none if all are.
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// Returns the first of the devices, whether or not it is there.
    pub fn first(&self) -> DeviceName {
        DeviceName { kind: self.kind, index: self.indices.first().copied().unwrap_or(0) }
    }

    /// Returns the devices, after a look at which there are.
    pub fn devices(&self) -> Result<Vec<DeviceName>, DeviceError> {
        let kind = self.kind;
        let found = enumerate(kind)?;
        let missing = self.indices.iter().find(|index| **index >= found.len());
        match (missing, found.len()) {
            (_, 0) => {
                let reason = "none was found".to_owned();
                Err(DeviceError::Unavailable { name: kind.to_string(), reason })
            }
            (Some(index), count) => {
                let reason = match count {
                    1 => format!("only `{kind}:0` was found"),
                    _ => format!("only `{kind}:0` to `{kind}:{}` were found", count - 1),
                };
                Err(DeviceError::Unavailable { name: format!("{kind}:{index}"), reason })
            }
            (None, _) if self.indices.is_empty() => Ok(found),
            (None, _) => Ok(self.indices.iter().map(|&index| found[index]).collect()),
        }
    }
}

impl From<DeviceName> for DeviceChoice {
    fn from(DeviceName { kind, index }: DeviceName) -> Self {
        let indices = if kind.is_processor() { Vec::new() } else { vec![index] };
        Self { kind, indices }
    }
}

impl FromStr for DeviceChoice {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Unknown { name: text.to_owned() };
        let (name, numbers) = text.split_once(':').map_or((text, None), |(k, n)| (k, Some(n)));
        let kind = DeviceKind::ALL.into_iter().find(|kind| kind.name() == name);
        let kind = kind.ok_or_else(unknown)?;
        let numbers = numbers.map(|list| list.split(',').map(str::parse::<usize>).collect());
        let indices: Vec<usize> = numbers.unwrap_or(Ok(Vec::new())).map_err(|_| unknown())?;
        let is_twice = (1..indices.len()).any(|at| indices[..at].contains(&indices[at]));
        if is_twice || (kind.is_processor() && !indices.is_empty()) {
            return Err(unknown());
        }
        Ok(Self { kind, indices })
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.indices.iter().map(usize::to_string).collect();
        let colon = if numbers.is_empty() { "" } else { ":" };
        write!(formatter, "{}{colon}{}", self.kind, numbers.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_read_back_as_it_is_shown() {
        for text in ["flex", "cuda", "cuda:3", "wgpu:0,2,1"] {
            let choice: DeviceChoice = text.parse().unwrap();
            assert_eq!(choice.to_string(), text);
        }
        let choice: DeviceChoice = "wgpu:2,1".parse().unwrap();
        assert_eq!(choice.first().to_string(), "wgpu:2");
        assert_eq!(DeviceChoice::from(choice.first()).to_string(), "wgpu:2");
    }

    #[test]
    fn a_wrong_choice_lists_the_valid_ones() {
        for text in ["gpu", "cuda:", "cuda:0,", "cuda:1,1", "cuda:-1", "flex:0", "libtorch:1", ""] {
            let error = text.parse::<DeviceChoice>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "unknown device `{text}`: expected `flex`, `libtorch`, `libtorch-cuda`, `cuda` or \
                     `wgpu`; the last three with numbers to use only some of several (`cuda:0,2`)"
                )
            );
        }
    }

    #[test]
    fn the_processor_is_one_device() {
        let devices = DeviceChoice::default().devices().unwrap();
        assert_eq!(devices, [DeviceName::default()]);
    }

    #[cfg(feature = "wgpu")]
    #[test]
    fn all_devices_of_a_kind_are_found_and_others_are_not() {
        if crate::device::test_device().kind != DeviceKind::Wgpu {
            return;
        }
        let all = "wgpu".parse::<DeviceChoice>().unwrap().devices().unwrap();
        assert!(!all.is_empty());
        let some = format!("wgpu:{}", all.len() - 1).parse::<DeviceChoice>().unwrap();
        assert_eq!(some.devices().unwrap(), all[all.len() - 1..]);
        let error = "wgpu:0,1000".parse::<DeviceChoice>().unwrap().devices().unwrap_err();
        assert!(error.to_string().contains("device `wgpu:1000` is not available"), "{error}");
    }
}
