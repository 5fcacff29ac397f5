//! Numbers that carry their range in their type.
//!
//! A pipeline file that says `threshold: 1.3` fails while it is read, at that token, so no
//! stage ever checks a range by hand. Each type is a plain number when serialized, hence keys
//! and reports show exactly what the user wrote.
//! Not here: counts, for which std's `NonZeroUsize` and friends already exist.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Tells which range a number was expected to lie in, and what was found instead.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("expected {expected}, found {found}")]
pub struct RangeError {
    /// The accepted range in words, such as `a fraction between 0 and 1`.
    pub expected: &'static str,
    /// The refused number.
    pub found: f64,
}

/// Declares one validated `f64`: the range test, its wording, the same as a schema, and the serde
/// round trip.
macro_rules! ranged_number {
    ($(#[$doc:meta])* $name:ident, $expected:literal, $schema:tt, $accepts:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// Returns the number if it lies in the range, else says what was expected.
            pub fn new(value: f64) -> Result<Self, RangeError> {
                let accepts: fn(f64) -> bool = $accepts;
                if accepts(value) {
                    // Adding zero turns -0.0 into 0.0, so equal settings serialize equally.
                    Ok(Self(value + 0.0))
                } else {
                    Err(RangeError { expected: $expected, found: value })
                }
            }

            /// Returns the plain number.
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }

        impl TryFrom<f64> for $name {
            type Error = RangeError;

            fn try_from(value: f64) -> Result<Self, RangeError> {
                Self::new(value)
            }
        }

        impl From<$name> for f64 {
            fn from(value: $name) -> f64 {
                value.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_f64(self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = f64::deserialize(deserializer)?;
                Self::new(value).map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

ranged_number!(
    /// A finite number that is not a NaN or an infinity.
    Finite,
    "a finite number",
    { "type": "number" },
    f64::is_finite
);

ranged_number!(
    /// A finite number above zero.
    PositiveF64,
    "a finite number above 0",
    { "type": "number", "exclusiveMinimum": 0 },
    |value| value.is_finite() && value > 0.0
);

ranged_number!(
    /// A finite number that is zero or above.
    NonNegativeF64,
    "a finite number of at least 0",
    { "type": "number", "minimum": 0 },
    |value| value.is_finite() && value >= 0.0
);

ranged_number!(
    /// A share of a whole: between 0 and 1, both included.
    Fraction,
    "a fraction between 0 and 1",
    { "type": "number", "minimum": 0, "maximum": 1 },
    |value| (0.0..=1.0).contains(&value)
);

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "numbers must come back unchanged")]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_accepts_both_ends_and_refuses_what_lies_outside() {
        assert_eq!(Fraction::new(0.0).unwrap().get(), 0.0);
        assert_eq!(Fraction::new(1.0).unwrap().get(), 1.0);
        assert!(Fraction::new(1.000_1).is_err());
        assert!(Fraction::new(-0.1).is_err());
        assert!(Fraction::new(f64::NAN).is_err());
    }

    #[test]
    fn a_positive_number_refuses_zero_and_infinity() {
        assert!(PositiveF64::new(0.0).is_err());
        assert!(PositiveF64::new(f64::INFINITY).is_err());
        assert_eq!(PositiveF64::new(3e-3).unwrap().get(), 3e-3);
    }

    #[test]
    fn negative_zero_becomes_zero_so_that_equal_settings_are_written_equally() {
        let zero = NonNegativeF64::new(-0.0).unwrap();
        assert_eq!(serde_json::to_string(&zero).unwrap(), "0.0");
    }

    #[test]
    fn reading_a_number_outside_its_range_names_both_the_range_and_the_number() {
        let error = ron::from_str::<Fraction>("1.3").unwrap_err();
        assert_eq!(error.code.to_string(), "expected a fraction between 0 and 1, found 1.3");
        let error = ron::from_str::<PositiveF64>("-2").unwrap_err();
        assert_eq!(error.code.to_string(), "expected a finite number above 0, found -2");
    }

    #[test]
    fn an_integer_literal_is_read_as_a_number() {
        assert_eq!(ron::from_str::<PositiveF64>("16").unwrap().get(), 16.0);
    }
}
