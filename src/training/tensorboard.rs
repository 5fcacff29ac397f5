//! Training curves as TensorBoard reads them: an event file with one scalar for each column of the
//! record, at the step that is the epoch.
//!
//! An event file is a sequence of records, each with its length and the masked CRC-32C of both; a record
//! is a protocol buffer of type `Event`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::History;

/// How the names of event files begin, and how ours end: those of other programs are left alone.
const PREFIX: &str = "events.out.tfevents.";
const SUFFIX: &str = ".pcae-run";

/// An event file that grows with a training.
#[derive(Debug)]
pub struct EventFile {
    file: File,
    /// How many rows of the record are in it.
    rows: usize,
}

impl EventFile {
    /// Starts the event file of a folder, in place of an earlier one. `owner` names the training; times
    /// are in seconds since 1970.
    pub fn create(folder: &Path, owner: &str, now: f64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        for old in own_files(folder)? {
            fs::remove_file(old)?;
        }
        let mut file = File::create(folder.join(format!("{PREFIX}{now:.0}.{owner}{SUFFIX}")))?;
        file.write_all(&framed(&version(now)))?;
        Ok(Self { file, rows: 0 })
    }

    /// Adds the rows of a record that are not in the file yet; `time` says when the row of an index was
    /// completed.
    pub fn update(&mut self, history: &History, time: impl Fn(usize) -> f64) -> io::Result<()> {
        let rows = history.rows.iter().enumerate().skip(self.rows);
        let events = rows.map(|(index, row)| framed(&epoch(&history.columns, row, time(index))));
        self.file.write_all(&events.collect::<Vec<_>>().concat())?;
        self.rows = history.rows.len();
        Ok(())
    }

    /// Returns whether a folder has all rows of a record of this owner.
    pub fn is_complete(folder: &Path, owner: &str, history: &History) -> bool {
        let files = own_files(folder).unwrap_or_default();
        let [file] = &files[..] else {
            return false;
        };
        let is_own = file.to_string_lossy().ends_with(&format!(".{owner}{SUFFIX}"));
        let rows = history.rows.iter().map(|row| framed(&epoch(&history.columns, row, 0.0)).len());
        let length = framed(&version(0.0)).len() + rows.sum::<usize>();
        is_own && fs::metadata(file).is_ok_and(|found| found.len() == length as u64)
    }
}

fn own_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|item| item.map(|item| item.path()));
    let is_own = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(PREFIX) && name.ends_with(SUFFIX)
    };
    paths.filter(|path| path.as_ref().map_or(true, is_own)).collect()
}

// Fields of `Event`, `Summary` and `Summary.Value`, as (number << 3 | wire type).
const WALL_TIME: u8 = 1 << 3 | 1;
const STEP: u8 = 2 << 3;
const FILE_VERSION: u8 = 3 << 3 | 2;
const SUMMARY: u8 = 5 << 3 | 2;
const VALUE: u8 = 1 << 3 | 2;
const TAG: u8 = 1 << 3 | 2;
const SIMPLE_VALUE: u8 = 2 << 3 | 5;

/// The event that begins a file.
fn version(time: f64) -> Vec<u8> {
    let mut event = wall_time(time);
    push_bytes(&mut event, FILE_VERSION, b"brain.Event:2");
    event
}

/// The event of one row.
fn epoch(columns: &[String], row: &[f64], time: f64) -> Vec<u8> {
    let mut step = 0;
    let mut summary = Vec::new();
    for (name, &number) in columns.iter().zip(row) {
        if name == "epoch" {
            step = number as u64;
        } else if number.is_finite() {
            let mut value = Vec::new();
            push_bytes(&mut value, TAG, tag(name).as_bytes());
            value.push(SIMPLE_VALUE);
            value.extend((number as f32).to_le_bytes());
            push_bytes(&mut summary, VALUE, &value);
        }
    }
    let mut event = wall_time(time);
    event.push(STEP);
    push_varint(&mut event, step);
    push_bytes(&mut event, SUMMARY, &summary);
    event
}

/// Groups the curves of coordinates: `variance_3` is `variance/3`.
fn tag(column: &str) -> String {
    match column.rsplit_once('_') {
        Some((name, number)) if number.parse::<u32>().is_ok() => format!("{name}/{number}"),
        _ => column.to_owned(),
    }
}

fn wall_time(time: f64) -> Vec<u8> {
    let mut event = vec![WALL_TIME];
    event.extend(time.to_le_bytes());
    event
}

fn push_bytes(to: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    to.push(field);
    push_varint(to, bytes.len() as u64);
    to.extend(bytes);
}

fn push_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Returns a record as it stands in a file.
fn framed(event: &[u8]) -> Vec<u8> {
    let length = (event.len() as u64).to_le_bytes();
    let mut record = length.to_vec();
    record.extend(masked_crc(&length).to_le_bytes());
    record.extend(event);
    record.extend(masked_crc(event).to_le_bytes());
    record
}

fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32 by Castagnoli, bit by bit: a row is a few kilobytes, once an epoch.
fn crc32c(bytes: &[u8]) -> u32 {
    const REVERSED_POLYNOMIAL: u32 = 0x82f6_3b78;
    let mut crc = !0_u32;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            let is_odd = crc & 1 == 1;
            crc = (crc >> 1) ^ if is_odd { REVERSED_POLYNOMIAL } else { 0 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(epochs: usize) -> History {
        let columns = ["epoch", "steps", "total", "variance_1"].map(str::to_owned).into();
        let row = |epoch: usize| vec![epoch as f64, 12.0, 1.0 / epoch as f64, f64::NAN];
        History { columns, rows: (1..=epochs).map(row).collect() }
    }

    #[test]
    fn the_sum_is_that_of_the_standard() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn curves_of_coordinates_form_groups() {
        assert_eq!(tag("variance_12"), "variance/12");
        assert_eq!(tag("total"), "total");
        assert_eq!(tag("kl_loss"), "kl_loss");
    }

    #[test]
    fn a_training_that_starts_again_replaces_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train-0");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("events.out.tfevents.50.host"), "of another program").unwrap();
        let mut first = EventFile::create(&path, "one", 100.0).unwrap();
        first.update(&history(2), |_| 101.0).unwrap();
        first.update(&history(5), |_| 102.0).unwrap();
        assert!(EventFile::is_complete(&path, "one", &history(5)));
        assert!(!EventFile::is_complete(&path, "one", &history(6)));
        assert!(!EventFile::is_complete(&path, "two", &history(5)));
        let mut second = EventFile::create(&path, "two", 200.0).unwrap();
        second.update(&history(5), |_| 201.0).unwrap();
        let mut names: Vec<_> =
            fs::read_dir(&path).unwrap().map(|item| item.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["events.out.tfevents.200.two.pcae-run", "events.out.tfevents.50.host"]);
        assert!(EventFile::is_complete(&path, "two", &history(5)));
    }
}
