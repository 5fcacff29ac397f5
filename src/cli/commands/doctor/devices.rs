//! Which devices there are for models, how fast they are, and what a pipeline would take on them.

use std::path::Path;

use serde_json::json;

use crate::cli::args::{Common, DoctorArgs};
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::cli::preflight::prediction::{Parallelism, Prediction};
use crate::cli::preflight::rates::{Rates, quantile};
use crate::cli::workspace::Workspace;
use crate::device::{self, DeviceChoice, DeviceKind, DeviceName};
use crate::engine::plan::StageIndex;
use crate::engine::system::host;
use crate::stages::{TrainingRate, paper_rates};

/// Shows every kind of device; measures those that are there, if asked.
pub(super) fn show(common: &Common, args: &DoctorArgs) -> Result<(), CommandError> {
    if let Some(file) = &args.file {
        // A mistake in it should not be told after minutes.
        Workspace::open_silently(common, Some(file))?;
    }
    for kind in DeviceKind::ALL {
        match device::enumerate(kind) {
            Err(error) => {
                say(common, &kind.to_string(), &absent(kind, &error), &json!({"found": false}));
            }
            Ok(found) if found.is_empty() => {
                say(common, &kind.to_string(), "none on this machine", &json!({"found": false}));
            }
            Ok(found) => {
                for &name in &found {
                    show_device(common, args, name, found.len())?;
                }
            }
        }
    }
    if !args.measure {
        terminal::note("`--measure` trains the paper's networks on each device for some seconds");
    }
    Ok(())
}

fn absent(kind: DeviceKind, error: &device::DeviceError) -> String {
    match kind.missing_feature() {
        Some(feature) => format!("not in this build: build with `--features {feature}`"),
        None => error.to_string(),
    }
}

/// Prints what is known of a device.
fn show_device(
    common: &Common,
    args: &DoctorArgs,
    name: DeviceName,
    count: usize,
) -> Result<(), CommandError> {
    let title = name.to_string();
    if !args.measure {
        say(common, &title, "found", &json!({"found": true}));
        return Ok(());
    }
    if let Err(error) = device::probe(name) {
        say(
            common,
            &title,
            &error.to_string(),
            &json!({"found": true, "error": error.to_string()}),
        );
        return Ok(());
    }
    let model = if name.is_processor() { Some(host::processor()) } else { device::model(name) };
    let rates = paper_rates(name, host::cores());
    let memory = device::reserved_memory(name);
    let mut parts: Vec<String> = model.iter().cloned().collect();
    parts.extend(
        rates
            .iter()
            .map(|(network, rate)| format!("{network} {} samples/s", rounded(rate.samples))),
    );
    parts.extend(memory.map(|bytes| format!("{} of its memory reserved", terminal::size(bytes))));
    let time = match (&args.file, typical(&rates)) {
        (Some(file), Some(rate)) => Some(predicted(common, file, name, count, rate)?),
        _ => None,
    };
    parts.extend(time.iter().cloned());
    let samples: serde_json::Map<_, _> =
        rates.iter().map(|(network, rate)| ((*network).to_owned(), json!(rate.samples))).collect();
    let facts = json!({
        "found": true, "model": model, "samples_per_second": samples, "bytes": memory, "time": time,
    });
    say(common, &title, &parts.join("; "), &facts);
    Ok(())
}

/// Returns how long a pipeline would take on all devices of a kind, at the scale that it has for GPUs.
fn predicted(
    common: &Common,
    file: &Path,
    name: DeviceName,
    count: usize,
    rate: f64,
) -> Result<String, CommandError> {
    let common = Common { device: DeviceChoice::from(name), ..common.clone() };
    let workspace = Workspace::open_silently(&common, Some(file))?;
    let full = workspace.full_scale(&common)?;
    let plan = full.as_ref().unwrap_or(&workspace.plan);
    let jobs = common.jobs.unwrap_or_else(host::cores);
    // A processor was measured with all its cores in one training.
    let jobs = if name.is_processor() { 1 } else { jobs.max(count) };
    let parallelism = Parallelism { jobs, device_jobs: jobs.min(count) };
    let mut rates = Rates::new(&workspace, name, host::cores()).measured(rate);
    let all: Vec<StageIndex> = (0..plan.stages().len()).collect();
    let time = Prediction::of(plan, &workspace.cache, &all, parallelism, &mut rates)?.time();
    let scale = plan.scale().map(|scale| format!(" at scale {scale}")).unwrap_or_default();
    let on = match count {
        1 => String::new(),
        _ => format!(" on {count} such devices"),
    };
    Ok(format!("{}{scale}{on}: {time}", file.display()))
}

/// Returns the middle one of the measured rates.
fn typical(rates: &[(&str, TrainingRate)]) -> Option<f64> {
    let mut sorted: Vec<f64> = rates.iter().map(|(_, rate)| rate.operations).collect();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| quantile(&sorted, 0.5))
}

/// Writes a rate with about three digits.
fn rounded(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

fn say(common: &Common, device: &str, text: &str, facts: &serde_json::Value) {
    if common.json {
        terminal::json(&json!({"device": device, "detail": text, "facts": facts}));
    } else {
        terminal::line(&format!("     {device:<19} {text}"));
    }
}
