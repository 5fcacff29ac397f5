//! Renders a drawing as SVG or PNG with plotters' backends.
//!
//! plotters counts in whole pixels, so both are drawn four times as large: the SVG is scaled
//! back by its view box, the PNG is averaged down to twice the nominal size, which also places
//! glyphs and edges to a fraction of a pixel. No timestamps: equal scenes give equal bytes.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color as _, FontFamily, FontTransform, IntoFont, RGBAColor, RGBColor, ShapeStyle, TextStyle,
};

use crate::report::figures::FigureError;
use crate::report::figures::drawing::typeface::{FAMILY, Typeface};
use crate::report::figures::drawing::{Align, Bitmap, Color, Direction, Drawing, Mark, Text};
use crate::report::markup_text::printable;

/// Pixels drawn per unit of the drawing.
const FINE: usize = 4;
/// Pixels of the finished PNG per unit of the drawing.
const SHARP: usize = 2;
/// plotters' SVG puts a top-anchored text's baseline this many ems lower.
const SVG_BASELINE_DROP: f64 = 0.76;
/// plotters' SVG divides every font size by this.
const SVG_SIZE_RATIO: f64 = 1.24;

/// Renders a drawing as an SVG document.
pub(crate) fn svg(drawing: &Drawing) -> Result<String, FigureError> {
    let (width, height) = pixels(drawing, FINE);
    let mut text = String::new();
    let mut backend = SVGBackend::with_string(&mut text, (width, height));
    render(drawing, &mut backend, &Svg)?;
    backend.present().map_err(FigureError::draw)?;
    drop(backend);
    // Keep the fine view box, but show the drawing at its nominal size.
    let fine = format!("width=\"{width}\" height=\"{height}\"");
    let nominal = format!("width=\"{}\" height=\"{}\"", drawing.width, drawing.height);
    let pictures: Result<String, _> = drawing
        .marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::Bitmap(picture) => Some(svg_picture(picture)),
            _ => None,
        })
        .collect();
    let text = text.replacen(&fine, &nominal, 1);
    Ok(printable(text.replacen("</svg>", &format!("{}</svg>", pictures?), 1)))
}

/// Renders a drawing as an RGB image file; the path must end in `.png`.
pub(crate) fn write_png(drawing: &Drawing, path: &Path) -> Result<(), FigureError> {
    let (pixels, size) = image(drawing)?;
    let mut file = BitMapBackend::new(path, size);
    file.blit_bitmap((0, 0), size, &pixels).map_err(FigureError::draw)?;
    file.present().map_err(FigureError::draw)
}

/// Renders a drawing as RGB bytes, with the size in pixels.
pub(crate) fn image(drawing: &Drawing) -> Result<(Vec<u8>, (u32, u32)), FigureError> {
    let typeface = Typeface::embedded().ok_or(FigureError::Font)?;
    let (width, height) = pixels(drawing, FINE);
    let mut fine = vec![255; width as usize * height as usize * 3];
    let mut backend = BitMapBackend::with_buffer(&mut fine, (width, height));
    render(drawing, &mut backend, &Png { typeface: &typeface })?;
    drop(backend);
    Ok((averaged(&fine, width as usize, FINE / SHARP), pixels(drawing, SHARP)))
}

fn pixels(drawing: &Drawing, scale: usize) -> (u32, u32) {
    let side = |length: f64| length.ceil() as u32 * scale as u32;
    (side(drawing.width), side(drawing.height))
}

/// Averages square blocks of `block` by `block` RGB pixels.
fn averaged(fine: &[u8], width: usize, block: usize) -> Vec<u8> {
    let rows = fine.len() / (3 * width);
    let mut coarse = Vec::with_capacity(fine.len() / (block * block));
    for top in (0..rows).step_by(block) {
        for left in (0..width).step_by(block) {
            for channel in 0..3 {
                let at = |y: usize, x: usize| usize::from(fine[3 * (y * width + x) + channel]);
                let rows = top..top + block;
                let sum: usize =
                    rows.map(|y| (left..left + block).map(|x| at(y, x)).sum::<usize>()).sum();
                coarse.push(((sum + block * block / 2) / (block * block)) as u8);
            }
        }
    }
    coarse
}

fn fine(length: f64) -> i32 {
    (length * FINE as f64).round() as i32
}

/// A point in drawn pixels.
type Fine = (i32, i32);

fn fine_point((x, y): (f64, f64)) -> Fine {
    (fine(x), fine(y))
}

fn rgba(color: Color) -> RGBAColor {
    let (red, green, blue) = color.rgb;
    RGBColor(red, green, blue).mix(color.alpha)
}

/// What each file format has its own way for.
trait Format<B: DrawingBackend> {
    fn text(&self, backend: &mut B, text: &Text) -> Result<(), FigureError>;

    fn picture(&self, backend: &mut B, picture: &Bitmap) -> Result<(), FigureError>;

    fn curve(
        &self,
        backend: &mut B,
        points: &[Fine],
        width: i32,
        color: Color,
    ) -> Result<(), FigureError>;

    fn band(&self, backend: &mut B, edges: [&[Fine]; 2], color: Color) -> Result<(), FigureError>;
}

struct Svg;

impl Format<SVGBackend<'_>> for Svg {
    fn text(&self, backend: &mut SVGBackend<'_>, text: &Text) -> Result<(), FigureError> {
        svg_text(backend, text)
    }

    /// plotters would write it pixel by pixel: it is added at the end instead.
    fn picture(&self, _: &mut SVGBackend<'_>, _: &Bitmap) -> Result<(), FigureError> {
        Ok(())
    }

    fn curve(
        &self,
        backend: &mut SVGBackend<'_>,
        points: &[Fine],
        width: i32,
        color: Color,
    ) -> Result<(), FigureError> {
        stroke(backend, points, width, color)
    }

    fn band(
        &self,
        backend: &mut SVGBackend<'_>,
        [upper, lower]: [&[Fine]; 2],
        color: Color,
    ) -> Result<(), FigureError> {
        let outline = upper.iter().chain(lower.iter().rev()).copied();
        backend.fill_polygon(outline, &rgba(color)).map_err(FigureError::draw)
    }
}

struct Png<'a> {
    typeface: &'a Typeface,
}

impl Format<BitMapBackend<'_>> for Png<'_> {
    fn text(&self, backend: &mut BitMapBackend<'_>, text: &Text) -> Result<(), FigureError> {
        bitmap_text(backend, text, self.typeface)
    }

    fn picture(
        &self,
        backend: &mut BitMapBackend<'_>,
        picture: &Bitmap,
    ) -> Result<(), FigureError> {
        bitmap_picture(backend, picture)
    }

    /// plotters would let sharp corners stick out: pieces are drawn one by one, with round ends.
    fn curve(
        &self,
        backend: &mut BitMapBackend<'_>,
        points: &[Fine],
        width: i32,
        color: Color,
    ) -> Result<(), FigureError> {
        let radius = (width / 2).max(1) as u32;
        for piece in points.windows(2) {
            stroke(backend, piece, width, color)?;
        }
        for at in points {
            backend.draw_circle(*at, radius, &rgba(color), true).map_err(FigureError::draw)?;
        }
        Ok(())
    }

    /// Each column of pixels is drawn once, so that a translucent band has no seams.
    fn band(
        &self,
        backend: &mut BitMapBackend<'_>,
        [upper, lower]: [&[Fine]; 2],
        color: Color,
    ) -> Result<(), FigureError> {
        for (top, bottom) in upper.windows(2).zip(lower.windows(2)) {
            for x in top[0].0..top[1].0 {
                let (from, to) = ((x, between(top, x)), (x, between(bottom, x)));
                backend.draw_line(from, to, &rgba(color)).map_err(FigureError::draw)?;
            }
        }
        Ok(())
    }
}

/// Returns the height of the straight line through two points at `x`.
fn between(ends: &[Fine], x: i32) -> i32 {
    let ((left, start), (right, end)) = (ends[0], ends[1]);
    let share = f64::from(x - left) / f64::from(right - left);
    (f64::from(start) + f64::from(end - start) * share).round() as i32
}

fn stroke<B: DrawingBackend>(
    backend: &mut B,
    points: &[Fine],
    width: i32,
    color: Color,
) -> Result<(), FigureError>
where
    B::ErrorType: 'static,
{
    let stroke_width = width.max(1) as u32;
    let style = ShapeStyle { color: rgba(color), filled: false, stroke_width };
    backend.draw_path(points.iter().copied(), &style).map_err(FigureError::draw)
}

fn render<B: DrawingBackend>(
    drawing: &Drawing,
    backend: &mut B,
    format: &impl Format<B>,
) -> Result<(), FigureError>
where
    B::ErrorType: 'static,
{
    let page = fine_point((drawing.width.ceil(), drawing.height.ceil()));
    backend.draw_rect((0, 0), page, &RGBColor(255, 255, 255), true).map_err(FigureError::draw)?;
    let fine_points = |points: &[(f64, f64)]| -> Vec<Fine> {
        points.iter().map(|point| fine_point(*point)).collect()
    };
    for mark in &drawing.marks {
        match mark {
            Mark::Rect { from, to, color } => {
                backend
                    .draw_rect(fine_point(*from), fine_point(*to), &rgba(*color), true)
                    .map_err(FigureError::draw)?;
            }
            Mark::Path { points, width, color } => {
                stroke(backend, &fine_points(points), fine(*width), *color)?;
            }
            Mark::Curve { points, width, color } => {
                format.curve(backend, &fine_points(points), fine(*width), *color)?;
            }
            Mark::Band { upper, lower, color } => {
                let (upper, lower) = (fine_points(upper), fine_points(lower));
                format.band(backend, [&upper, &lower], *color)?;
            }
            Mark::Dot { at, radius, color } => {
                let radius = fine(*radius).max(1) as u32;
                backend
                    .draw_circle(fine_point(*at), radius, &rgba(*color), true)
                    .map_err(FigureError::draw)?;
            }
            Mark::Text(text) => format.text(backend, text)?,
            Mark::Bitmap(picture) => format.picture(backend, picture)?,
        }
    }
    Ok(())
}

fn style(text: &Text, size: f64, align: HPos) -> TextStyle<'static> {
    let direction = match text.direction {
        Direction::Level => FontTransform::None,
        Direction::Upward => FontTransform::Rotate270,
    };
    let font = (FontFamily::Name(FAMILY), size).into_font().transform(direction);
    TextStyle {
        color: rgba(text.color).to_backend_color(),
        pos: Pos::new(align, VPos::Top),
        ..TextStyle::from(font)
    }
}

/// Moves a point from the baseline to the top of a text that hangs `drop` above it.
fn hung(text: &Text, drop: f64) -> (f64, f64) {
    let (x, y) = text.at;
    match text.direction {
        Direction::Level => (x, y - drop),
        Direction::Upward => (x - drop, y),
    }
}

fn svg_text(backend: &mut SVGBackend<'_>, text: &Text) -> Result<(), FigureError> {
    let align = match text.align {
        Align::Start => HPos::Left,
        Align::Middle => HPos::Center,
        Align::End => HPos::Right,
    };
    let size = text.size * FINE as f64 * SVG_SIZE_RATIO;
    let at = fine_point(hung(text, text.size * SVG_BASELINE_DROP));
    backend.draw_text(&text.content, &style(text, size, align), at).map_err(FigureError::draw)
}

/// Returns a picture as an element of its own, with the pixels as an embedded PNG.
fn svg_picture(picture: &Bitmap) -> Result<String, FigureError> {
    let rows = picture.rgb.len() / (3 * picture.columns.max(1));
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, picture.columns as u32, rows as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&picture.rgb))
        .map_err(FigureError::draw)?;
    let ((left, top), (right, bottom)) = (fine_point(picture.from), fine_point(picture.to));
    Ok(format!(
        "<image x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" \
         preserveAspectRatio=\"none\" style=\"image-rendering: pixelated\" \
         href=\"data:image/png;base64,{}\"/>\n",
        right - left,
        bottom - top,
        STANDARD.encode(file)
    ))
}

fn bitmap_picture(backend: &mut BitMapBackend<'_>, picture: &Bitmap) -> Result<(), FigureError> {
    let ((left, top), (right, bottom)) = (fine_point(picture.from), fine_point(picture.to));
    let (width, height) = ((right - left).max(0) as usize, (bottom - top).max(0) as usize);
    let rows = picture.rgb.len() / (3 * picture.columns.max(1));
    let mut enlarged = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for x in 0..width {
            let pixel = (y * rows / height) * picture.columns + x * picture.columns / width;
            enlarged.extend_from_slice(&picture.rgb[3 * pixel..3 * pixel + 3]);
        }
    }
    backend
        .blit_bitmap((left, top), (width as u32, height as u32), &enlarged)
        .map_err(FigureError::draw)
}

fn bitmap_text(
    backend: &mut BitMapBackend<'_>,
    text: &Text,
    typeface: &Typeface,
) -> Result<(), FigureError> {
    // plotters sets the baseline half a size below the top; an even size makes that exact.
    let em = text.size * FINE as f64;
    let half = (em * typeface.line_height / 2.0).round();
    let style = style(text, 2.0 * half, HPos::Left);
    let top = fine_point(text.at);
    let start = match text.align {
        Align::Start => 0.0,
        Align::Middle => -typeface.width(&text.content, em) / 2.0,
        Align::End => -typeface.width(&text.content, em),
    };
    let mut along_line = start;
    for c in text.content.chars() {
        let glyph = typeface.glyph(c);
        // plotters starts at the glyph's first drawn column, so its bearing is added back.
        let along = along_line.round() as i32 + (glyph.bearing * em).floor() as i32;
        let down = -half as i32;
        let at = match text.direction {
            Direction::Level => (top.0 + along, top.1 + down),
            Direction::Upward => (top.0 + down, top.1 - along),
        };
        backend.draw_text(c.encode_utf8(&mut [0; 4]), &style, at).map_err(FigureError::draw)?;
        along_line += glyph.advance * em;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::drawing::BLACK;

    fn drawing() -> Drawing {
        let mut drawing = Drawing { width: 60.0, height: 20.0, marks: Vec::new() };
        drawing.horizontal_rule((5.0, 55.0), 10.0, 1.0, BLACK);
        drawing.text("a < b & c", (30.0, 8.0), 8.0, Align::Middle, BLACK);
        drawing
    }

    #[test]
    fn the_png_is_twice_the_nominal_size_and_rules_are_crisp() {
        let (pixels, size) = image(&drawing()).unwrap();
        assert_eq!(size, (120, 40));
        let at = |x: usize, y: usize| pixels[3 * (y * 120 + x)];
        // The rule covers y from 9.5 to 10.5: exactly the pixel rows 19 and 20.
        assert_eq!([at(60, 18), at(60, 19), at(60, 20), at(60, 21)], [255, 26, 26, 255]);
    }

    #[test]
    fn svg_text_is_escaped_and_the_drawing_keeps_its_nominal_size() {
        let text = svg(&drawing()).unwrap();
        assert!(
            text.starts_with("<svg width=\"60\" height=\"20\" viewBox=\"0 0 240 80\""),
            "{text}"
        );
        assert!(text.contains("a &lt; b &amp; c"));
    }

    #[test]
    fn a_control_character_in_a_label_does_not_break_the_svg() {
        let mut drawing = drawing();
        drawing.text("a\u{1b}[1mb\u{0}", (30.0, 8.0), 8.0, Align::Middle, BLACK);
        let text = svg(&drawing).unwrap();
        assert!(text.contains("a␛[1mb␀"), "{text}");
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        image(&drawing).unwrap();
    }

    #[test]
    fn a_glyph_keeps_its_left_bearing() {
        let mut drawing = Drawing { width: 60.0, height: 60.0, marks: Vec::new() };
        drawing.text("l", (10.0, 50.0), 40.0, Align::Start, BLACK);
        let (pixels, (width, _)) = image(&drawing).unwrap();
        let is_drawn = |pixel: &usize| pixels[3 * pixel] < 128;
        let columns = (0..pixels.len() / 3).filter(is_drawn).map(|pixel| pixel % width as usize);
        let bearing = Typeface::embedded().unwrap().glyph('l').bearing * 40.0;
        let expected = (10.0 + bearing) * SHARP as f64;
        assert!((columns.min().unwrap() as f64 - expected).abs() <= 1.0);
        assert!(bearing * SHARP as f64 > 3.0, "the shift is larger than the tolerance");
    }

    #[test]
    fn averaging_rounds_to_the_nearest_value() {
        let fine = [0, 0, 0, 255, 255, 255, 0, 0, 0, 255, 255, 255];
        assert_eq!(averaged(&fine, 2, 2), [128, 128, 128]);
    }
}
