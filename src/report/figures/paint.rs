//! Paints a scene as SVG or PNG with plotters' backends.
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
    Color, FontFamily, FontTransform, IntoFont, RGBAColor, RGBColor, ShapeStyle, TextStyle,
};

use crate::report::figures::FigureError;
use crate::report::figures::scene::{Align, Ink, Mark, Picture, Scene, Text, Turn};
use crate::report::figures::typeface::{FAMILY, Typeface};

/// Pixels drawn per unit of the scene.
const FINE: usize = 4;
/// Pixels of the finished PNG per unit of the scene.
const SHARP: usize = 2;
/// plotters' SVG puts a top-anchored text's baseline this many ems lower.
const SVG_BASELINE_DROP: f64 = 0.76;
/// plotters' SVG divides every font size by this.
const SVG_SIZE_RATIO: f64 = 1.24;

/// Renders a scene as an SVG document.
pub(super) fn svg(scene: &Scene) -> Result<String, FigureError> {
    let (width, height) = pixels(scene, FINE);
    let mut text = String::new();
    let mut backend = SVGBackend::with_string(&mut text, (width, height));
    paint(scene, &mut backend, &SvgBrush)?;
    backend.present().map_err(FigureError::draw)?;
    drop(backend);
    // Keep the fine view box, but show the drawing at its nominal size.
    let fine = format!("width=\"{width}\" height=\"{height}\"");
    let nominal = format!("width=\"{}\" height=\"{}\"", scene.width, scene.height);
    let pictures: Result<String, _> = scene
        .marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::Picture(picture) => Some(svg_picture(picture)),
            _ => None,
        })
        .collect();
    let text = text.replacen(&fine, &nominal, 1);
    Ok(text.replacen("</svg>", &format!("{}</svg>", pictures?), 1))
}

/// Renders a scene as an RGB image file; the path must end in `.png`.
pub(super) fn write_png(scene: &Scene, path: &Path) -> Result<(), FigureError> {
    let (pixels, size) = image(scene)?;
    let mut file = BitMapBackend::new(path, size);
    file.blit_bitmap((0, 0), size, &pixels).map_err(FigureError::draw)?;
    file.present().map_err(FigureError::draw)
}

/// Renders a scene as RGB bytes, with the size in pixels.
pub(super) fn image(scene: &Scene) -> Result<(Vec<u8>, (u32, u32)), FigureError> {
    let typeface = Typeface::embedded().ok_or(FigureError::Font)?;
    let (width, height) = pixels(scene, FINE);
    let mut fine = vec![255; width as usize * height as usize * 3];
    let mut backend = BitMapBackend::with_buffer(&mut fine, (width, height));
    paint(scene, &mut backend, &BitmapBrush { typeface: &typeface })?;
    drop(backend);
    Ok((averaged(&fine, width as usize, FINE / SHARP), pixels(scene, SHARP)))
}

fn pixels(scene: &Scene, scale: usize) -> (u32, u32) {
    let side = |length: f64| length.ceil() as u32 * scale as u32;
    (side(scene.width), side(scene.height))
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

fn color(ink: Ink) -> RGBAColor {
    let (red, green, blue) = ink.rgb;
    RGBColor(red, green, blue).mix(ink.alpha)
}

/// What each file format has its own way for.
trait Brush<B: DrawingBackend> {
    fn text(&self, backend: &mut B, text: &Text) -> Result<(), FigureError>;

    fn picture(&self, backend: &mut B, picture: &Picture) -> Result<(), FigureError>;

    fn curve(
        &self,
        backend: &mut B,
        points: &[Fine],
        width: i32,
        ink: Ink,
    ) -> Result<(), FigureError>;

    fn band(&self, backend: &mut B, edges: [&[Fine]; 2], ink: Ink) -> Result<(), FigureError>;
}

struct SvgBrush;

impl Brush<SVGBackend<'_>> for SvgBrush {
    fn text(&self, backend: &mut SVGBackend<'_>, text: &Text) -> Result<(), FigureError> {
        svg_text(backend, text)
    }

    /// plotters would write it pixel by pixel: it is added at the end instead.
    fn picture(&self, _: &mut SVGBackend<'_>, _: &Picture) -> Result<(), FigureError> {
        Ok(())
    }

    fn curve(
        &self,
        backend: &mut SVGBackend<'_>,
        points: &[Fine],
        width: i32,
        ink: Ink,
    ) -> Result<(), FigureError> {
        stroke(backend, points, width, ink)
    }

    fn band(
        &self,
        backend: &mut SVGBackend<'_>,
        [upper, lower]: [&[Fine]; 2],
        ink: Ink,
    ) -> Result<(), FigureError> {
        let outline = upper.iter().chain(lower.iter().rev()).copied();
        backend.fill_polygon(outline, &color(ink)).map_err(FigureError::draw)
    }
}

struct BitmapBrush<'a> {
    typeface: &'a Typeface,
}

impl Brush<BitMapBackend<'_>> for BitmapBrush<'_> {
    fn text(&self, backend: &mut BitMapBackend<'_>, text: &Text) -> Result<(), FigureError> {
        bitmap_text(backend, text, self.typeface)
    }

    fn picture(
        &self,
        backend: &mut BitMapBackend<'_>,
        picture: &Picture,
    ) -> Result<(), FigureError> {
        bitmap_picture(backend, picture)
    }

    /// plotters would let sharp corners stick out: pieces are drawn one by one, with round ends.
    fn curve(
        &self,
        backend: &mut BitMapBackend<'_>,
        points: &[Fine],
        width: i32,
        ink: Ink,
    ) -> Result<(), FigureError> {
        let radius = (width / 2).max(1) as u32;
        for piece in points.windows(2) {
            stroke(backend, piece, width, ink)?;
        }
        for at in points {
            backend.draw_circle(*at, radius, &color(ink), true).map_err(FigureError::draw)?;
        }
        Ok(())
    }

    /// Each column of pixels is inked once, so that a translucent band has no seams.
    fn band(
        &self,
        backend: &mut BitMapBackend<'_>,
        [upper, lower]: [&[Fine]; 2],
        ink: Ink,
    ) -> Result<(), FigureError> {
        for (top, bottom) in upper.windows(2).zip(lower.windows(2)) {
            for x in top[0].0..top[1].0 {
                let (from, to) = ((x, between(top, x)), (x, between(bottom, x)));
                backend.draw_line(from, to, &color(ink)).map_err(FigureError::draw)?;
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
    ink: Ink,
) -> Result<(), FigureError>
where
    B::ErrorType: 'static,
{
    let stroke_width = width.max(1) as u32;
    let style = ShapeStyle { color: color(ink), filled: false, stroke_width };
    backend.draw_path(points.iter().copied(), &style).map_err(FigureError::draw)
}

fn paint<B: DrawingBackend>(
    scene: &Scene,
    backend: &mut B,
    brush: &impl Brush<B>,
) -> Result<(), FigureError>
where
    B::ErrorType: 'static,
{
    let page = fine_point((scene.width.ceil(), scene.height.ceil()));
    backend.draw_rect((0, 0), page, &RGBColor(255, 255, 255), true).map_err(FigureError::draw)?;
    let fine_points = |points: &[(f64, f64)]| -> Vec<Fine> {
        points.iter().map(|point| fine_point(*point)).collect()
    };
    for mark in &scene.marks {
        match mark {
            Mark::Rect { from, to, ink } => {
                backend
                    .draw_rect(fine_point(*from), fine_point(*to), &color(*ink), true)
                    .map_err(FigureError::draw)?;
            }
            Mark::Path { points, width, ink } => {
                stroke(backend, &fine_points(points), fine(*width), *ink)?;
            }
            Mark::Curve { points, width, ink } => {
                brush.curve(backend, &fine_points(points), fine(*width), *ink)?;
            }
            Mark::Band { upper, lower, ink } => {
                let (upper, lower) = (fine_points(upper), fine_points(lower));
                brush.band(backend, [&upper, &lower], *ink)?;
            }
            Mark::Dot { at, radius, ink } => {
                let radius = fine(*radius).max(1) as u32;
                backend
                    .draw_circle(fine_point(*at), radius, &color(*ink), true)
                    .map_err(FigureError::draw)?;
            }
            Mark::Text(text) => brush.text(backend, text)?,
            Mark::Picture(picture) => brush.picture(backend, picture)?,
        }
    }
    Ok(())
}

fn style(text: &Text, size: f64, align: HPos) -> TextStyle<'static> {
    let turn = match text.turn {
        Turn::Level => FontTransform::None,
        Turn::Upward => FontTransform::Rotate270,
    };
    let font = (FontFamily::Name(FAMILY), size).into_font().transform(turn);
    TextStyle {
        color: color(text.ink).to_backend_color(),
        pos: Pos::new(align, VPos::Top),
        ..TextStyle::from(font)
    }
}

/// Moves a point from the baseline to the top of a text that hangs `drop` above it.
fn hung(text: &Text, drop: f64) -> (f64, f64) {
    let (x, y) = text.at;
    match text.turn {
        Turn::Level => (x, y - drop),
        Turn::Upward => (x - drop, y),
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
fn svg_picture(picture: &Picture) -> Result<String, FigureError> {
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

fn bitmap_picture(backend: &mut BitMapBackend<'_>, picture: &Picture) -> Result<(), FigureError> {
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
    let mut pen = start;
    for c in text.content.chars() {
        let glyph = typeface.glyph(c);
        // plotters starts at the glyph's first inked column, so its bearing is added back.
        let along = pen.round() as i32 + (glyph.bearing * em).floor() as i32;
        let down = -half as i32;
        let at = match text.turn {
            Turn::Level => (top.0 + along, top.1 + down),
            Turn::Upward => (top.0 + down, top.1 - along),
        };
        backend.draw_text(c.encode_utf8(&mut [0; 4]), &style, at).map_err(FigureError::draw)?;
        pen += glyph.advance * em;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::scene::BLACK;

    fn scene() -> Scene {
        let mut scene = Scene { width: 60.0, height: 20.0, marks: Vec::new() };
        scene.rule((5.0, 55.0), 10.0, 1.0, BLACK);
        scene.text("a < b & c", (30.0, 8.0), 8.0, Align::Middle, BLACK);
        scene
    }

    #[test]
    fn the_png_is_twice_the_nominal_size_and_rules_are_crisp() {
        let (pixels, size) = image(&scene()).unwrap();
        assert_eq!(size, (120, 40));
        let at = |x: usize, y: usize| pixels[3 * (y * 120 + x)];
        // The rule covers y from 9.5 to 10.5: exactly the pixel rows 19 and 20.
        assert_eq!([at(60, 18), at(60, 19), at(60, 20), at(60, 21)], [255, 26, 26, 255]);
    }

    #[test]
    fn svg_text_is_escaped_and_the_drawing_keeps_its_nominal_size() {
        let text = svg(&scene()).unwrap();
        assert!(
            text.starts_with("<svg width=\"60\" height=\"20\" viewBox=\"0 0 240 80\""),
            "{text}"
        );
        assert!(text.contains("a &lt; b &amp; c"));
    }

    #[test]
    fn a_glyph_keeps_its_left_bearing() {
        let mut scene = Scene { width: 60.0, height: 60.0, marks: Vec::new() };
        scene.text("l", (10.0, 50.0), 40.0, Align::Start, BLACK);
        let (pixels, (width, _)) = image(&scene).unwrap();
        let inked = |pixel: &usize| pixels[3 * pixel] < 128;
        let columns = (0..pixels.len() / 3).filter(inked).map(|pixel| pixel % width as usize);
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
