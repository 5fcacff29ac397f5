//! The folder of a report: what the report itself writes there, and what lies beside it.

use std::path::Path;

/// The page.
pub const PAGE: &str = "index.html";
/// The keys and digests of everything that the page shows.
pub const MANIFEST: &str = "manifest.json";
/// The same as a document for LaTeX.
pub const DOCUMENT: &str = "report.tex";
/// Every number as a macro for LaTeX.
pub const NUMBERS: &str = "numbers.tex";

/// Every file that the report itself writes.
const OWN_FILES: [&str; 4] = [PAGE, MANIFEST, DOCUMENT, NUMBERS];

/// Formats that people and LaTeX read; what else an artifact holds stays in the cache.
pub const FORMATS: [&str; 6] = ["tex", "md", "csv", "png", "svg", "pdf"];

/// Returns how a file of a stage is called in the folder, if it belongs there.
pub fn name_in_folder(stage: &str, file: &str) -> Option<String> {
    let extension = Path::new(file).extension().and_then(|text| text.to_str())?;
    FORMATS.contains(&extension).then(|| format!("{stage}.{extension}"))
}

/// Returns the file of the report that a file of a stage would have the name of. Not all file systems
/// tell upper from lower case.
pub fn own_file(stage: &str) -> Option<&'static str> {
    let is_same = |own: &&&str| {
        FORMATS.iter().any(|format| own.eq_ignore_ascii_case(&format!("{stage}.{format}")))
    };
    OWN_FILES.iter().find(is_same).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_can_not_have_the_name_of_a_file_of_the_report() {
        assert_eq!(own_file("report"), Some("report.tex"));
        assert_eq!(own_file("Numbers"), Some("numbers.tex"));
        for stage in ["index", "manifest", "report.tex", "reports", "table-1"] {
            assert_eq!(own_file(stage), None, "{stage}");
        }
    }
}
