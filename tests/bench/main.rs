//! How fast, and in how much memory, beside other programs: `cargo bench`.
//!
//! Every item is done by us and by its peer by turns, each time in a process of its own, and the
//! medians are shown as a Markdown table. Peers are the scripts in `peers/`, run by the Python that
//! `PCAE_PEER_PYTHON` names; without it ours are timed alone. `--regression` needs no Python: it
//! holds each item against plain loops and fails when their ratio is below the item's floor.
//!
//! A new item is a file in `items/` and a line in `items/mod.rs`.

#![expect(clippy::print_stdout, reason = "a benchmark is there to print")]

mod growth_plot;
mod item;
mod items;
mod machine;
mod points;
mod regression;
mod rounds;
mod table;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::item::{Given, Item};
use crate::rounds::Bench;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measure speed and memory beside other programs
#[derive(Parser)]
struct Arguments {
    /// Measure only the items whose name has one of these parts
    parts: Vec<String>,
    /// Measure each side so many times and take the median
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Take the points from this folder, which has MNIST's `train-images-idx3-ubyte`
    ///
    /// Otherwise the folder that PCAE_BENCH_DATA names, else synthetic images.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Draw how time grows with size into this PNG file
    #[arg(long)]
    plot: Option<PathBuf>,
    /// Compare with plain loops instead, and fail if an item is less than its floor faster
    #[arg(long)]
    regression: bool,
    /// Do the work of one item, in this process
    #[arg(long, hide = true, requires = "points")]
    work: Option<String>,
    #[arg(long, hide = true)]
    points: Option<PathBuf>,
    #[arg(long, hide = true)]
    result: Option<PathBuf>,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(given: Arguments) -> Result<(), String> {
    if let (Some(name), Some(points)) = (given.work, given.points) {
        let place = Given { points, result: given.result };
        let item = items::all().into_iter().find(|item| item.name() == name);
        let done = item.ok_or_else(|| format!("there is no item `{name}`"))?.ours(&place)?;
        println!("{}", serde_json::to_string(&done).map_err(|error| error.to_string())?);
        return Ok(());
    }
    let chosen = choose(&given.parts)?;
    println!("{}", machine::description());
    if given.regression {
        return regression::check(&chosen, given.rounds);
    }
    let named = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let data = given.data.or_else(|| named("PCAE_BENCH_DATA").map(PathBuf::from));
    let bench = Bench::prepare(data.as_deref(), named("PCAE_PEER_PYTHON"), given.rounds)?;
    let rows: Vec<_> =
        chosen.iter().map(|item| bench.measure(item.as_ref())).collect::<Result<_, _>>()?;
    table::print(&rows);
    given.plot.map_or(Ok(()), |path| growth_plot::draw(&rows, &path))
}

fn choose(parts: &[String]) -> Result<Vec<Box<dyn Item>>, String> {
    let is_meant = |name: String| parts.is_empty() || parts.iter().any(|part| name.contains(part));
    let chosen: Vec<_> = items::all().into_iter().filter(|item| is_meant(item.name())).collect();
    if chosen.is_empty() {
        let names: Vec<_> = items::all().iter().map(|item| item.name()).collect();
        return Err(format!("no item is called like this; there are {}", names.join(", ")));
    }
    Ok(chosen)
}
