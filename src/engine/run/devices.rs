//! The compute devices of a run, and how many stages each of them has.

use super::options::RunOptions;

/// A compute device.
#[derive(Debug)]
struct Device {
    name: String,
    /// Stages that run on it.
    running: usize,
    has_failed: bool,
}

/// The compute devices of a run; one that failed gets no more stages.
#[derive(Debug)]
pub(super) struct Devices {
    devices: Vec<Device>,
    /// Stages side by side on each.
    most: usize,
}

impl Devices {
    pub(super) fn new(options: &RunOptions) -> Self {
        let device = |name: &String| Device { name: name.clone(), running: 0, has_failed: false };
        Self {
            devices: options.devices.iter().map(device).collect(),
            most: options.device_jobs.max(1),
        }
    }

    /// Returns how many more stages have room on the devices.
    pub(super) fn room(&self) -> usize {
        let room = |device: &Device| self.most.saturating_sub(device.running);
        self.usable().map(|(_, device)| room(device)).sum()
    }

    /// Returns how many stages the devices may have side by side.
    pub(super) fn most(&self) -> usize {
        self.usable().count() * self.most
    }

    /// Gives a stage the device that has the fewest; the first of several, none if all are full.
    pub(super) fn take(&mut self) -> Option<usize> {
        let (at, device) = self.usable().min_by_key(|(_, device)| device.running)?;
        if device.running >= self.most {
            return None;
        }
        self.devices[at].running += 1;
        Some(at)
    }

    /// Takes a device back from a stage that has ended.
    pub(super) fn give_back(&mut self, at: usize) {
        self.devices[at].running -= 1;
    }

    /// Leaves a device out from now on; returns whether it was used until now.
    pub(super) fn leave_out(&mut self, at: usize) -> bool {
        !std::mem::replace(&mut self.devices[at].has_failed, true)
    }

    pub(super) fn are_all_left_out(&self) -> bool {
        self.usable().next().is_none()
    }

    /// Returns the name of a device that was taken.
    pub(super) fn name(&self, at: usize) -> &str {
        &self.devices[at].name
    }

    /// Returns the name that stages see which need no device of their own.
    pub(super) fn first_name(&self) -> &str {
        self.devices.first().map_or("", |device| &device.name)
    }

    fn usable(&self) -> impl Iterator<Item = (usize, &Device)> {
        self.devices.iter().enumerate().filter(|(_, device)| !device.has_failed)
    }
}
