//! The embedded typeface: registered with plotters, and measured glyph by glyph.
//!
//! Figures need no system font, so they look the same on every machine. plotters' pure-Rust
//! text drops each glyph's left bearing, which spaces letters unevenly; so advances and
//! bearings are read here from the font's own tables (`head`, `hhea`, `hmtx`, `cmap` format 4)
//! and the painter places every glyph itself.

use std::ops::Range;

use epaint_default_fonts::UBUNTU_LIGHT;
use plotters::style::{FontStyle, register_font};

/// Family list of the SVG text; the bitmap finds the embedded font under the same name.
pub(crate) const FAMILY: &str = "Ubuntu, Noto Sans, DejaVu Sans, Arial, sans-serif";

/// Horizontal measures of one glyph, in ems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Glyph {
    pub(crate) advance: f64,
    pub(crate) bearing: f64,
}

/// The embedded font's tables.
pub(crate) struct Typeface {
    font: &'static [u8],
    metrics: Range<usize>,
    characters: Range<usize>,
    metric_count: usize,
    units_per_em: f64,
    /// Ascent plus descent in ems: plotters measures fonts by it, everyone else by the em.
    pub(crate) line_height: f64,
}

impl Typeface {
    /// Registers the embedded font with plotters and finds its tables; none if it is damaged.
    pub(crate) fn embedded() -> Option<Self> {
        register_font(FAMILY, FontStyle::Normal, UBUNTU_LIGHT).ok()?;
        let font = UBUNTU_LIGHT;
        let head = table(font, *b"head")?.start;
        let horizontal = table(font, *b"hhea")?.start;
        let units_per_em = f64::from(unsigned(font, head + 18)?);
        let ascent = f64::from(signed(font, horizontal + 4)?);
        let descent = f64::from(signed(font, horizontal + 6)?);
        Some(Self {
            font,
            metrics: table(font, *b"hmtx")?,
            characters: character_map(font)?,
            metric_count: usize::from(unsigned(font, horizontal + 34)?),
            units_per_em,
            line_height: (ascent - descent) / units_per_em,
        })
    }

    /// Returns the measures of a character's glyph; an unknown one is as wide as the box shown.
    pub(crate) fn glyph(&self, c: char) -> Glyph {
        let index = self.glyph_index(c).unwrap_or_default();
        self.measures(index).unwrap_or(Glyph { advance: 0.5, bearing: 0.0 })
    }

    /// Returns the width of a text whose em is `size`.
    pub(crate) fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|c| self.glyph(c).advance).sum::<f64>() * size
    }

    /// Returns the text, shortened with an ellipsis if it is wider than the room it has.
    pub(crate) fn fitted(&self, text: &str, size: f64, room: f64) -> String {
        if self.width(text, size) <= room {
            return text.to_owned();
        }
        let mut kept = text.to_owned();
        while kept.pop().is_some() && self.width(&kept, size) + self.width("…", size) > room {}
        kept.trim_end().to_owned() + "…"
    }

    fn measures(&self, index: usize) -> Option<Glyph> {
        // Glyphs past the last full entry share its advance.
        let last = self.metric_count.checked_sub(1)?;
        let advance = unsigned(self.font, self.metrics.start + 4 * index.min(last))?;
        let bearing = if index <= last {
            self.metrics.start + 4 * index + 2
        } else {
            self.metrics.start + 4 * self.metric_count + 2 * (index - self.metric_count)
        };
        Some(Glyph {
            advance: f64::from(advance) / self.units_per_em,
            bearing: f64::from(signed(self.font, bearing)?) / self.units_per_em,
        })
    }

    fn glyph_index(&self, c: char) -> Option<usize> {
        let code = u16::try_from(u32::from(c)).ok()?;
        let start = self.characters.start;
        let doubled = usize::from(unsigned(self.font, start + 6)?);
        let word = |offset: usize| unsigned(self.font, start + offset);
        for segment in (0..doubled).step_by(2) {
            if word(14 + segment)? < code {
                continue;
            }
            let first = word(16 + doubled + segment)?;
            if first > code {
                return None;
            }
            let delta = word(16 + 2 * doubled + segment)?;
            let range_at = 16 + 3 * doubled + segment;
            let range = usize::from(word(range_at)?);
            let glyph = if range == 0 {
                code
            } else {
                word(range_at + range + 2 * usize::from(code - first))?
            };
            return (glyph != 0).then(|| usize::from(glyph.wrapping_add(delta)));
        }
        None
    }
}

fn unsigned(font: &[u8], at: usize) -> Option<u16> {
    let bytes = font.get(at..at + 2)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn signed(font: &[u8], at: usize) -> Option<i16> {
    unsigned(font, at).map(u16::cast_signed)
}

fn long(font: &[u8], at: usize) -> Option<usize> {
    let (high, low) = (unsigned(font, at)?, unsigned(font, at + 2)?);
    Some(usize::from(high) << 16 | usize::from(low))
}

/// Finds a table through the directory at the start of the font.
fn table(font: &[u8], tag: [u8; 4]) -> Option<Range<usize>> {
    let count = usize::from(unsigned(font, 4)?);
    let entry = (0..count).map(|i| 12 + 16 * i).find(|at| font.get(*at..at + 4) == Some(&tag))?;
    let start = long(font, entry + 8)?;
    Some(start..start + long(font, entry + 12)?)
}

/// Finds the Unicode character map, which for this font is of format 4.
fn character_map(font: &[u8]) -> Option<Range<usize>> {
    let maps = table(font, *b"cmap")?;
    let count = usize::from(unsigned(font, maps.start + 2)?);
    (0..count)
        .filter_map(|i| long(font, maps.start + 4 + 8 * i + 4))
        .map(|offset| maps.start + offset..maps.end)
        .find(|map| unsigned(font, map.start) == Some(4))
}

#[cfg(test)]
mod tests {
    use plotters::style::{FontFamily, IntoFont};

    use super::*;

    #[test]
    fn measured_widths_agree_with_plotters_own_layout() {
        let typeface = Typeface::embedded().unwrap();
        let text = "Share of variance (%) 0123456789 ± – τ";
        let em = 1000.0;
        let font = (FontFamily::Name(FAMILY), em * typeface.line_height).into_font();
        let ((_, _), (width, _)) = font.layout_box(text).unwrap();
        assert!((typeface.width(text, em) - f64::from(width)).abs() < 2.0);
    }

    #[test]
    fn a_text_too_wide_for_its_room_is_shortened_until_it_fits() {
        let typeface = Typeface::embedded().unwrap();
        assert_eq!(typeface.fitted("PCAE", 10.0, 100.0), "PCAE");
        let short = typeface.fitted("a very long title of a panel", 10.0, 60.0);
        assert!(short.starts_with("a very") && short.ends_with('…'), "{short}");
        assert!(typeface.width(&short, 10.0) <= 60.0);
    }

    #[test]
    fn digits_share_one_advance_and_unknown_characters_are_not_lost() {
        let typeface = Typeface::embedded().unwrap();
        let advances: Vec<f64> = "0123456789".chars().map(|c| typeface.glyph(c).advance).collect();
        assert!(advances.iter().all(|advance| (advance - advances[0]).abs() < 1e-12));
        assert!(typeface.glyph('漢').advance > 0.0);
        assert!(typeface.glyph('l').bearing > typeface.glyph('v').bearing);
    }
}
