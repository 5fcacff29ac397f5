//! How time grows with size, both sides on logarithmic axes: `--plot FILE.png`.

use std::path::Path;

use epaint_default_fonts::UBUNTU_LIGHT;
use plotters::prelude::{
    BindKeyPoints, BitMapBackend, ChartBuilder, Circle, Color, IntoDrawingArea, IntoLogRange,
    LineSeries, PathElement, RGBColor, SeriesLabelPosition, WHITE,
};
use plotters::style::{FontStyle, register_font};

use crate::item::Measured;
use crate::rounds::Row;
use crate::table::median;

const SIZE: (u32, u32) = (1200, 800);
/// Blue and vermilion of Okabe and Ito (2008).
const COLORS: [RGBColor; 2] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0)];

/// Draws the series of items that are the same work in several sizes.
pub(crate) fn draw(rows: &[Row], path: &Path) -> Result<(), String> {
    let sized: Vec<(usize, &Row)> =
        rows.iter().filter_map(|row| Some((row.size?.1, row))).collect();
    let line = |side: fn(&Row) -> &[Measured]| -> Vec<(f64, f64)> {
        let point = |&(size, row): &(usize, &Row)| {
            Some((size as f64, median(side(row), |done| done.seconds)?))
        };
        sized.iter().filter_map(point).collect()
    };
    let program = sized.iter().find_map(|(_, row)| Some(row.peers.first()?.program.clone()));
    let lines = [
        ("pcae-run".to_owned(), line(|row| &row.ours)),
        (program.unwrap_or_default(), line(|row| &row.peers)),
    ];
    let points = || lines.iter().flat_map(|(_, line)| line);
    if points().count() < 2 {
        return Err("a plot needs items of several sizes, such as geodesic".to_owned());
    }
    let range = |pick: fn(&(f64, f64)) -> f64| {
        let low = points().map(pick).fold(f64::INFINITY, f64::min);
        let high = points().map(pick).fold(0.0, f64::max);
        (low / 1.3..high * 1.3).log_scale()
    };
    let sizes = sized.iter().map(|(size, _)| *size as f64).collect();
    let across = range(|point| point.0).with_key_points(sizes);
    register_font("sans-serif", FontStyle::Normal, UBUNTU_LIGHT)
        .map_err(|_| "the font can't be read".to_owned())?;
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let area = BitMapBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE).map_err(|error| told(&error))?;
    let mut chart = ChartBuilder::on(&area)
        .margin(30)
        .x_label_area_size(80)
        .y_label_area_size(110)
        .build_cartesian_2d(across, range(|point| point.1))
        .map_err(|error| told(&error))?;
    chart
        .configure_mesh()
        .x_desc("points")
        .y_desc("seconds")
        .x_label_formatter(&|size| format!("{size:.0}"))
        .label_style(("sans-serif", 28))
        .draw()
        .map_err(|error| told(&error))?;
    for ((name, line), color) in lines.into_iter().zip(COLORS) {
        let dots = line.clone().into_iter().map(|point| Circle::new(point, 8, color.filled()));
        chart.draw_series(dots).map_err(|error| told(&error))?;
        chart
            .draw_series(LineSeries::new(line, color.stroke_width(4)))
            .map_err(|error| told(&error))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 30, y)], color.stroke_width(4)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .margin(20)
        .legend_area_size(50)
        .background_style(WHITE)
        .border_style(RGBColor(200, 200, 200))
        .label_font(("sans-serif", 28))
        .draw()
        .map_err(|error| told(&error))?;
    area.present().map_err(|error| told(&error))
}
