//! Measured records: what one is, the roles of their axes, and grouped means over them.

pub(in crate::report) mod aggregate;
pub(in crate::report) mod axis_roles;
pub(in crate::report) mod joined_rows;
pub(in crate::report) mod record;
pub(in crate::report) mod repeats;
