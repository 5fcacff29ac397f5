//! The folder of a report: what the report itself writes there, and what lies beside it.

use std::path::Path;

/// The page.
pub const PAGE: &str = "index.html";
/// The keys and digests of everything that the page shows.
pub const MANIFEST: &str = "manifest.json";
/// The same as a document for LaTeX.
pub const DOCUMENT: &str = "report.tex";
/// What the document has only on request: settings, and the key of every stage.
pub const APPENDIX: &str = "appendix.tex";
/// Every number as a macro for LaTeX.
pub const NUMBERS: &str = "numbers.tex";

/// Every file that the report itself writes.
const OWN_FILES: [&str; 5] = [PAGE, MANIFEST, DOCUMENT, APPENDIX, NUMBERS];

/// The numbers of a table with their runs, from which it is traced and compared without a cache.
pub const TABLE: &str = "table.json";

/// Formats that people, LaTeX and this program read; what else an artifact holds stays in the cache.
pub const FORMATS: [&str; 7] = ["tex", "md", "csv", "png", "svg", "pdf", "json"];

/// Returns how a file of a stage is called in the folder, if it belongs there.
pub fn name_in_folder(stage: &str, file: &str) -> Option<String> {
    let extension = Path::new(file).extension().and_then(|text| text.to_str())?;
    let is_shown = FORMATS.contains(&extension) && (extension != "json" || file == TABLE);
    is_shown.then(|| format!("{stage}.{extension}"))
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
    fn of_all_files_for_programs_only_tables_are_kept() {
        assert_eq!(name_in_folder("t", "table.json").as_deref(), Some("t.json"));
        assert_eq!(name_in_folder("t", "table.csv").as_deref(), Some("t.csv"));
        assert_eq!(name_in_folder("f", "figure.json"), None);
        assert_eq!(name_in_folder("c", "record.json"), None);
    }

    #[test]
    fn a_stage_can_not_have_the_name_of_a_file_of_the_report() {
        assert_eq!(own_file("report"), Some("report.tex"));
        assert_eq!(own_file("Numbers"), Some("numbers.tex"));
        assert_eq!(own_file("manifest"), Some("manifest.json"));
        for stage in ["index", "report.tex", "reports", "table-1"] {
            assert_eq!(own_file(stage), None, "{stage}");
        }
    }
}
