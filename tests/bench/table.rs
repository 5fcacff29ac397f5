//! Medians of all measurements as a Markdown table, and how time grows with size.

use crate::item::Measured;
use crate::machine;
use crate::rounds::Row;

/// Prints what was measured.
pub(crate) fn print(rows: &[Row]) {
    println!("\n| | pcae-run | peer | ratio | memory | peer's memory | results differ by |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for row in rows {
        println!("{}", line(row));
    }
    println!(
        "\nMedians. Memory is the peak of the whole process, in brackets what the work added."
    );
    for growth in growths(rows) {
        println!("{growth}");
    }
    if rows.iter().any(|row| row.giga_operations.is_some()) {
        let peak = machine::peak_giga_operations();
        println!("\nPeak of all cores, measured: {peak:.0} GFLOP/s. Of that:");
        for line in rows.iter().filter_map(|row| use_of_peak(row, peak)) {
            println!("{line}");
        }
    }
}

/// Says how many operations a second both sides do.
fn use_of_peak(row: &Row, peak: f64) -> Option<String> {
    let operations = row.giga_operations?;
    let rate = |side: &[Measured]| {
        let rate = operations / median(side, |done| done.seconds)?;
        Some(format!("{rate:.0} GFLOP/s, {:.0} %", 100.0 * rate / peak))
    };
    let peer = rate(&row.peers).map_or(String::new(), |rate| format!("; peer {rate}"));
    Some(format!("{}: {}{peer}", row.title, rate(&row.ours)?))
}

fn line(row: &Row) -> String {
    let ours = median(&row.ours, |done| done.seconds);
    let theirs = median(&row.peers, |done| done.seconds);
    let spent = |seconds: Option<f64>| match (seconds, row.amount) {
        (None, _) => "-".to_owned(),
        (Some(seconds), None) => format!("{seconds:.2} s"),
        (Some(seconds), Some((amount, unit))) => format!("{:.0} {unit}/s", amount / seconds),
    };
    let program = row.peers.first().map_or("", |done| &done.program);
    let ratio = ours.zip(theirs).map_or("-".to_owned(), |(a, b)| format!("{:.1}x", b / a));
    let difference = row.peers.iter().find_map(|done| done.difference);
    let difference = difference.map_or("-".to_owned(), |largest| format!("{largest:.0e}"));
    format!(
        "| {} | {} | {program} {} | {ratio} | {} | {} | {difference} |",
        row.title,
        spent(ours),
        spent(theirs),
        memory(&row.ours),
        memory(&row.peers)
    )
}

fn memory(side: &[Measured]) -> String {
    let Some(peak) = median(side, |done| done.peak_mb) else {
        return "-".to_owned();
    };
    let added = median(side, |done| done.peak_mb - done.started_mb).unwrap_or_default();
    format!("{peak:.0} MB ({added:.0})")
}

/// Says for each series by which power of the size its times grow, from one size to the next.
fn growths(rows: &[Row]) -> Vec<String> {
    let mut growths = Vec::new();
    for pair in rows.windows(2) {
        let [Some((series, small)), Some((other, large))] = [pair[0].size, pair[1].size] else {
            continue;
        };
        if series != other {
            continue;
        }
        let power = |side: fn(&Row) -> &[Measured]| {
            let [before, after] = [&pair[0], &pair[1]].map(|row| median(side(row), |d| d.seconds));
            let sizes = large as f64 / small as f64;
            before.zip(after).map(|(before, after)| (after / before).ln() / sizes.ln())
        };
        let ours = power(|row| &row.ours).map_or(String::new(), |n| format!("ours as n^{n:.2}"));
        let peer = power(|row| &row.peers).map_or(String::new(), |n| format!(", peer's n^{n:.2}"));
        growths.push(format!("{series}, from {small} to {large}: {ours}{peer}"));
    }
    growths
}

/// Returns the median of a number of each measurement.
pub(crate) fn median(side: &[Measured], number: impl Fn(&Measured) -> f64) -> Option<f64> {
    let mut numbers: Vec<f64> = side.iter().map(number).collect();
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    let lower = *numbers.get(middle.checked_sub(1 - numbers.len() % 2)?)?;
    Some(f64::midpoint(lower, *numbers.get(middle)?))
}
