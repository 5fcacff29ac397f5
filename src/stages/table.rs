//! The stage kind [`Table`].

use std::collections::BTreeSet;

use super::records::labeled_records;
use super::report_checker::{ReportChecker, Reported};
use crate::engine::stage::context::{RunContext, StageError};
use crate::engine::stage::{Each, Input, Inputs, Kind, Problem, Producer, Stage};
use crate::report::{
    Best, Collapsed, Given, Layout, Run, TableSpec, ValueSpec, Values, labels_without, tabulate,
};

/// Settings of a table stage.
pub type Table = TableSpec<Vec<Each<Values>>>;

impl Stage for Table {
    fn kind(&self) -> Kind {
        Kind { name: "Table", version: 4 }
    }

    fn inputs(&self) -> Vec<Input> {
        let families = self.records.iter().enumerate();
        families.map(|(at, family)| family.input(&format!("records[{at}]"))).collect()
    }

    fn output(&self, _inputs: &Inputs<'_, str>) -> String {
        "table".to_owned()
    }

    fn is_report(&self) -> bool {
        true
    }

    fn problems(&self, inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let made = inputs.families("records").concat();
        let labels: BTreeSet<&str> =
            made.iter().flat_map(|made| made.labels.values()).map(String::as_str).collect();
        let mut table = self.clone();
        table.retain_present(|label| labels.contains(label));
        table.problems_of_present(inputs)
    }

    fn run(&self, context: &mut RunContext) -> Result<(), StageError> {
        let records = labeled_records(context, &self.records)?;
        let mut spec = self.clone();
        spec.retain_present(|label| {
            records.iter().any(|record| record.labels().values().any(|own| own == label))
        });
        let mut table = tabulate(&spec, &records)?;
        // Not the keys of the stages: other ones may leave the same records without this running
        // again, while the digest of a content belongs to it.
        for family in &self.records {
            let runs = context.digests_of(family)?.into_iter();
            table.runs.extend(runs.map(|(labels, digest)| Run { labels, digest: digest.short() }));
        }
        let (rows, columns) = (table.rows.len(), table.columns.len());
        context.log(&format!("{} records in {rows} rows and {columns} columns", records.len()));
        let empty = table.rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.n == 0).count();
        if empty > 0 {
            context.log(&format!("{empty} of {} cells have no record", rows * columns));
        }
        context.store(&table)
    }
}

impl Table {
    fn problems_of_present(&self, inputs: &Inputs<'_, Producer>) -> Vec<Problem> {
        let mut places = ReportChecker::of(Reported::Records, inputs);
        if self.check_places(&mut places, inputs) {
            return places.problems();
        }
        let visible = self.visible_producers(inputs);
        let visible = visible.iter().map(|(role, family)| (*role, family.iter().collect()));
        let mut checker = ReportChecker::of(Reported::Records, &visible.collect());
        checker.titles(&self.titles);
        self.check_layout(&mut checker);
        self.check_values(&mut checker);
        let roles: [(&'static str, &[String]); 3] =
            [("rows", &self.rows), ("columns", &self.columns), ("over", &self.over)];
        if checker.axes(&roles) {
            self.check_cells(&mut checker);
        }
        checker.problems()
    }

    /// Returns the records as the values see them; families that none of them looks at are left out.
    fn visible_producers<'a>(
        &self,
        inputs: &Inputs<'a, Producer>,
    ) -> Vec<(&'a str, Vec<Producer>)> {
        let places: BTreeSet<_> = self.values.iter().map(|value| &value.at).collect();
        if places.iter().all(|place| place.is_empty()) {
            let owned = |family: &[&Producer]| family.iter().copied().cloned().collect();
            return inputs.by_role().map(|(role, family)| (role, owned(family))).collect();
        }
        let view = |made: &Producer, place| {
            let labels = labels_without(&made.labels, place)?;
            let named = |field: &String| ValueSpec::name_at(field, place);
            let values = made.values.as_ref().map(|known| known.iter().map(named).collect());
            Some(Producer { labels: labels.into(), values, ..made.clone() })
        };
        let views = |family: &[&Producer]| -> Vec<Producer> {
            family.iter().flat_map(|made| places.iter().filter_map(|at| view(made, at))).collect()
        };
        let families =
            inputs.by_role().map(|(role, family)| (role, family.is_empty(), views(family)));
        let families = families.filter(|(_, lost, views)| *lost || !views.is_empty());
        families.map(|(role, _, views)| (role, views)).collect()
    }

    fn check_layout(&self, checker: &mut ReportChecker<'_>) {
        if self.layout == Layout::ValuesInColumns && self.rows.is_empty() {
            let help = "name at least one axis of the records: `rows: [\"model\"]`";
            checker.add("rows", "a table needs rows".to_owned(), help);
        }
        if self.layout == Layout::ValuesInRows && self.columns.is_empty() {
            let help = "name at least one axis of the records: `columns: [\"model\"]`";
            checker.add("columns", "values in rows need columns".to_owned(), help);
        }
    }

    /// Checks that there are records where values ask for them; returns whether there are not.
    fn check_places(&self, checker: &mut ReportChecker<'_>, inputs: &Inputs<'_, Producer>) -> bool {
        let mut wrong = false;
        for (axis, label) in self.values.iter().flat_map(|value| &value.at) {
            let families = inputs.families("records");
            let made = families.iter().copied().flatten();
            let known: BTreeSet<&str> =
                made.filter_map(|made| made.labels.get(axis).map(String::as_str)).collect();
            if !families.iter().any(|family| family.is_empty()) && !known.contains(label.as_str()) {
                let known: Vec<&str> = known.into_iter().collect();
                let message = format!("no record has the label `{label}` on the axis `{axis}`");
                checker.unknown("values", message, label, &known);
                wrong = true;
            }
        }
        wrong
    }

    fn check_values(&self, checker: &mut ReportChecker<'_>) {
        if self.values.is_empty() {
            let help = "list at least one `Value(field: \"..\", title: \"..\")`";
            checker.add("values", "a table needs values".to_owned(), help);
        }
        let names: Vec<String> = self.values.iter().map(ValueSpec::name).collect();
        let fields: Vec<&str> = names.iter().map(String::as_str).collect();
        let telling = self.values.iter().filter(|value| value.at.is_empty());
        let telling = telling.filter_map(|value| value.collapsed.as_ref().map(Collapsed::field));
        checker.values("values", &fields.iter().copied().chain(telling).collect::<Vec<_>>());
        let mut seen = BTreeSet::new();
        for field in fields.into_iter().filter(|field| !seen.insert(*field)) {
            let message = format!("the value `{field}` is listed twice");
            checker.add("values", message, "list each value once");
        }
    }

    /// Checks what names cells, given axes that are right.
    fn check_cells(&self, checker: &mut ReportChecker<'_>) {
        let axes = [self.rows.clone(), self.columns.clone()].concat();
        let shown: Vec<&str> = axes.iter().map(String::as_str).collect();
        for axis in self.compare.iter().filter(|axis| !axes.contains(axis)) {
            let message =
                format!("cells can't be compared along `{axis}`, which the table doesn't show");
            checker.unknown("compare", message, axis, &shown);
        }
        self.check_truths(checker, &axes);
        self.check_unjudged(checker, &axes);
        self.check_given(checker);
        if self.values.iter().all(|value| value.published.is_empty()) {
            return;
        }
        let places = checker.places(&axes);
        let cells: Vec<&str> = places.iter().map(String::as_str).collect();
        for ValueSpec { field, published, .. } in &self.values {
            for key in published.keys().filter(|key| !places.contains(key)) {
                let message = format!("no cell matches the published `{field}` of `{key}`");
                checker.unknown("values", message, key, &cells);
            }
        }
    }

    /// Checks that truths are for labels that the table shows.
    fn check_truths(&self, checker: &mut ReportChecker<'_>, axes: &[String]) {
        let labels: Vec<String> =
            axes.iter().flat_map(|axis| checker.places(std::slice::from_ref(axis))).collect();
        let shown: Vec<&str> = labels.iter().map(String::as_str).collect();
        for ValueSpec { field, best, .. } in &self.values {
            let Best::ClosestTo(truths) = best else {
                continue;
            };
            for label in truths.keys().filter(|label| !labels.contains(label)) {
                let message = format!("no cell matches the true `{field}` of `{label}`");
                checker.unknown("values", message, label, &shown);
            }
        }
    }

    /// Checks that reasons for no verdict are for labels or values that the table shows.
    fn check_unjudged(&self, checker: &mut ReportChecker<'_>, axes: &[String]) {
        let labels = axes.iter().flat_map(|axis| checker.places(std::slice::from_ref(axis)));
        let shown: Vec<String> = labels.chain(self.values.iter().map(ValueSpec::name)).collect();
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        if let Some(label) = self.unknown_unjudged(&shown) {
            let message = format!("no cell has the label `{label}`");
            checker.unknown("unjudged", message, label, &shown);
        }
    }

    /// Checks that given texts are for rows that the table may have.
    fn check_given(&self, checker: &mut ReportChecker<'_>) {
        let names: Vec<String> = self.values.iter().map(ValueSpec::name).collect();
        let rows = checker.places(&self.rows);
        let rows = if rows.is_empty() { vec![String::new()] } else { rows };
        let keys: Vec<String> =
            rows.iter().flat_map(|row| Given::keys(row, self.layout, &names)).collect();
        let valid: Vec<&str> = keys.iter().map(String::as_str).collect();
        for Given { title, cells } in &self.given {
            for key in cells.keys().filter(|key| !keys.contains(key)) {
                let message = format!("no row matches the text `{title}` of `{key}`");
                checker.unknown("given", message, key, &valid);
            }
        }
    }
}

/// A stage and the key of its settings; when the key changes, every user computes again.
#[cfg(test)]
pub(super) const PINNED: (&str, &str) = (
    r#"Table(
    records: [Each("dimension-{seed}")], caption: "c", label: "l", rows: ["seed"],
    values: [Value(field: "dimension", title: "D", best: Closest(4.0), published: {"0": (4.0, 0.0)})],
)"#,
    "5358540d",
);

#[cfg(test)]
mod tests {
    use ron::extensions::Extensions;

    use super::*;
    use crate::stages::test_inputs::{grid, problems_of};

    fn problems(layout: &str, values: &str) -> Vec<String> {
        let text = format!(
            r#"(records: [Each("x")], caption: "c", label: "l", {layout}, values: [{values}])"#
        );
        let options = ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME);
        let table: Table = options.from_str(&text).unwrap();
        problems_of(&table, &[grid(Some(&["dimension", "share"]))])
    }

    const ROWS: &str = r#"rows: ["model"], over: ["seed"]"#;
    const DIMENSION: &str = r#"Value(field: "dimension", title: "D")"#;

    #[test]
    fn a_table_without_mistakes_has_no_problems() {
        assert!(problems(ROWS, DIMENSION).is_empty());
        let published = r#"Value(field: "share", title: "S", published: {"pcae/0": (1, None)})"#;
        assert!(problems(r#"rows: ["model"], columns: ["seed"]"#, published).is_empty());
    }

    #[test]
    fn what_is_said_of_an_optional_label_that_is_absent_is_no_mistake() {
        let value = |label: &str| {
            format!(
                r#"Value(field: "share", title: "S", best: ClosestTo({{"{label}": 1.0}}),
                         published: {{"pcae": (1, None), "{label}": (2, None)}})"#
            )
        };
        let layout = format!(r#"{ROWS}, unjudged: {{"faces": StandIn}}, optional: ["faces"]"#);
        assert_eq!(problems(&layout, &value("faces")), [""; 0]);
        assert_eq!(problems(&layout, &value("face")).len(), 2, "not that label");
    }

    #[test]
    fn empty_lists_are_reported_before_anything_runs() {
        assert_eq!(
            problems(r#"rows: [], over: ["seed"]"#, DIMENSION),
            [
                "rows: a table needs rows (name at least one axis of the records: `rows: [\"model\"]`)"
            ]
        );
        assert_eq!(
            problems(ROWS, ""),
            [
                "values: a table needs values (list at least one `Value(field: \"..\", title: \"..\")`)"
            ]
        );
        assert_eq!(
            problems(ROWS, &format!("{DIMENSION}, {DIMENSION}")),
            ["values: the value `dimension` is listed twice (list each value once)"]
        );
    }

    #[test]
    fn cells_compete_only_along_axes_that_are_shown() {
        assert_eq!(
            problems(&format!(r#"{ROWS}, compare: ["seed"]"#), DIMENSION),
            ["compare: cells can't be compared along `seed`, which the table doesn't show \
              (valid here: `model`)"]
        );
    }

    #[test]
    fn a_published_number_must_belong_to_a_cell() {
        let value = |key: &str| {
            format!(r#"Value(field: "dimension", title: "D", published: {{"{key}": (4, 0)}})"#)
        };
        assert_eq!(
            problems(ROWS, &value("pcea")),
            ["values: no cell matches the published `dimension` of `pcea` \
              (did you mean `pcae`?)"]
        );
        assert_eq!(
            problems(r#"rows: ["model"], columns: ["seed"]"#, &value("x")),
            ["values: no cell matches the published `dimension` of `x` \
              (valid here: `hae/0`, `hae/1`, `pcae/0`, `pcae/1`)"]
        );
        assert_eq!(
            problems(r#"rows: ["modle"], over: ["seed"]"#, &value("x")).len(),
            1,
            "cells have no names while the rows have none"
        );
    }

    #[test]
    fn given_texts_and_truths_must_belong_to_something_that_is_shown() {
        let given =
            |key: &str| format!(r#"given: [Given(title: "Truth", cells: {{"{key}": "4"}})]"#);
        assert!(problems(&format!("{ROWS}, {}", given("pcae")), DIMENSION).is_empty());
        assert_eq!(
            problems(&format!("{ROWS}, {}", given("pcea")), DIMENSION),
            ["given: no row matches the text `Truth` of `pcea` (did you mean `pcae`?)"]
        );
        let rows = r#"rows: ["seed"], columns: ["model"], layout: ValuesInRows"#;
        assert!(problems(&format!("{rows}, {}", given("0/dimension")), DIMENSION).is_empty());
        assert_eq!(
            problems(ROWS, r#"Value(field: "share", title: "S", best: ClosestTo({"pcea": 1}))"#),
            ["values: no cell matches the true `share` of `pcea` (did you mean `pcae`?)"]
        );
    }

    #[test]
    fn reasons_for_no_verdict_must_belong_to_something_that_is_shown() {
        let table = |key: &str| format!(r#"{ROWS}, unjudged: {{"{key}": Tuned}}"#);
        assert!(problems(&table("*"), DIMENSION).is_empty());
        assert!(problems(&table("pcae/dimension"), DIMENSION).is_empty());
        assert_eq!(
            problems(&table("pcea"), DIMENSION),
            ["unjudged: no cell has the label `pcea` (did you mean `pcae`?)"]
        );
        let value = |field: &str| {
            format!(r#"Value(field: "dimension", title: "D", collapsed: Below("{field}", 0.1))"#)
        };
        assert!(problems(ROWS, &value("share")).is_empty());
        assert_eq!(
            problems(ROWS, &value("shrae")),
            ["values: no record has a value named `shrae` (did you mean `share`?)"]
        );
    }

    #[test]
    fn values_in_rows_need_columns_but_no_rows() {
        let layout = "over: [\"seed\"], layout: ValuesInRows";
        assert!(problems(&format!(r#"columns: ["model"], {layout}"#), DIMENSION).is_empty());
        assert_eq!(
            problems(&format!(r#"rows: ["model"], {layout}"#), DIMENSION),
            ["columns: values in rows need columns \
              (name at least one axis of the records: `columns: [\"model\"]`)"]
        );
    }

    #[test]
    fn a_value_can_take_an_axis_by_one_of_its_labels() {
        let at = |seed: &str, field: &str| {
            format!(r#"Value(field: "{field}", title: "D", at: {{"seed": "{seed}"}})"#)
        };
        let both = format!("{}, {}", at("0", "dimension"), at("1", "dimension"));
        assert!(problems(r#"rows: ["model"]"#, &both).is_empty());
        assert_eq!(
            problems(r#"rows: ["model"]"#, &at("7", "dimension")),
            ["values: no record has the label `7` on the axis `seed` (valid here: `0`, `1`)"]
        );
        assert_eq!(
            problems(r#"rows: ["model"]"#, &at("0", "dimensoin")),
            ["values: no record has a value named `dimensoin[seed=0]` \
              (did you mean `dimension[seed=0]`?)"]
        );
    }
}
