//! Sites as files, hosts and choices make them.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::find::Here;
use super::{EXAMPLE, ExecutorKind, Origin, Partition, Site, SiteError};
use crate::engine::pipeline::diagnostic::{Style, draw};

/// A folder with a site file.
struct Case {
    folder: tempfile::TempDir,
}

impl Case {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("sites.ron"), text).unwrap();
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("sites.ron")
    }

    /// Finds the site as the user's own file on a host.
    fn on(&self, host: &str, choice: Option<&str>) -> Result<Option<Site>, SiteError> {
        let choice = choice.map(str::to_owned);
        let here = Here { hosts: vec![host.to_owned()], choice, file: Some(self.path()) };
        Site::find(None, &here)
    }

    fn site(&self) -> Site {
        let here = Here { hosts: vec!["here".to_owned()], choice: None, file: None };
        Site::find(Some(&self.path()), &here).unwrap().unwrap()
    }

    /// Returns the mistakes as they are drawn.
    fn mistakes(&self) -> String {
        let here = Here { hosts: vec!["here".to_owned()], choice: None, file: None };
        match Site::find(Some(&self.path()), &here) {
            Err(SiteError::Invalid { source_file, mistakes }) => {
                draw(&source_file, &mistakes, Style::Plain)
            }
            other => panic!("{other:?}"),
        }
    }
}

const TWO: &str = r#"(sites: {
    "lab": (hosts: ["login*.lab"], executor: Slurm),
    "desk": (hosts: ["desk"]),
})"#;

#[test]
fn the_example_is_a_site_file_and_shows_every_default() {
    // Environment variables of the example need not be set here.
    let case = Case::new(&EXAMPLE.replace("$USER", "me"));
    let site = case.site();
    assert_eq!((site.name.as_str(), site.executor), ("lab", ExecutorKind::Slurm));
    let default = Site::default();
    assert_eq!((site.queue, site.poll, site.grace), (default.queue, default.poll, default.grace));
    assert_eq!((site.lease, site.warn_before), (default.lease, default.warn_before));
    assert_eq!((site.pack, site.attempts), (default.pack, default.attempts));
    let lines: Vec<&str> = EXAMPLE.lines().collect();
    for value in default.values() {
        let field = value.name.split(['[', '.']).next().unwrap();
        let is_shown = |line: &&str| {
            line.trim_start().trim_start_matches("// ").starts_with(&format!("{field}:"))
        };
        assert!(lines.iter().any(is_shown), "{field} is not in the example");
    }
}

#[test]
fn a_site_is_chosen_by_its_name_or_by_the_host() {
    let case = Case::new(TWO);
    let name =
        |host: &str, choice: Option<&str>| case.on(host, choice).unwrap().map(|site| site.name);
    assert_eq!(name("login2.lab", None).as_deref(), Some("lab"));
    assert_eq!(name("desk", None).as_deref(), Some("desk"));
    assert_eq!(name("elsewhere", None), None);
    assert_eq!(name("elsewhere", Some("lab")).as_deref(), Some("lab"));
    assert!(
        matches!(case.on("desk", Some("labb")), Err(SiteError::Unknown { nearest: Some(name), .. }) if name == "lab")
    );
    let both =
        Case::new(&TWO.replace("\"desk\")", "\"login2*\")").replace("[\"desk\"]", "[\"login2*\"]"));
    assert!(matches!(both.on("login2.lab", None), Err(SiteError::Ambiguous { .. })));
    let here = Here { hosts: vec!["elsewhere".to_owned()], choice: None, file: None };
    let given = Site::find(Some(&case.path()), &here);
    assert!(matches!(given, Err(SiteError::Undecided { .. })));
}

#[test]
fn later_rules_win_field_by_field_and_say_where_they_stand() {
    let case = Case::new(
        r#"(sites: {"lab": (resources: [
    (cpus: 2, memory: "4GB", time: "1h"),
    (kind: "Train", gpus: 1, time: "24h"),
    (stages: "train-big*", memory: "32GB"),
])})"#,
    );
    let site = case.site();
    let big = site.resources("Train", "train-big-1", true);
    assert_eq!((big.cpus, big.memory, big.gpus), (2, 32_000_000_000, 1));
    assert_eq!(big.time, Duration::from_hours(24));
    assert_eq!(big.most_memory, 8 * big.memory);
    assert_eq!(site.resources("Train", "train-big-1", false).gpus, 0, "not for the processor");
    let line = |origin: Origin| match origin {
        Origin::File { line, .. } => line,
        _ => 0,
    };
    let origins = site.resource_origins("Train", "train-big-1");
    assert_eq!([line(origins.cpus), line(origins.time), line(origins.memory)], [2, 3, 4]);
    assert_eq!(line(site.resource_origins("Estimate", "e").gpus), 0);
}

#[test]
fn the_first_partition_with_room_is_taken() {
    let case = Case::new(
        r#"(sites: {"lab": (partitions: [
    (name: "short", time: "1h", memory: "8GB"),
    (name: "long", time: "48h"),
    (name: "gpu", time: "24h", gpus: 2),
])})"#,
    );
    let site = case.site();
    let wanted = site.resources("Train", "t", true);
    let name = |wanted| site.partition(&wanted).map(|partition| partition.unwrap().name.clone());
    assert_eq!(name(wanted).unwrap(), "short");
    let long = super::Resources { time: Duration::from_hours(2), ..wanted };
    assert_eq!(name(long).unwrap(), "long");
    assert_eq!(name(super::Resources { gpus: 1, ..long }).unwrap(), "gpu");
    let error = name(super::Resources { gpus: 3, ..long }).unwrap_err().to_string();
    assert!(error.contains("no partition of the site `lab` has room for 1 processor"), "{error}");
    assert!(error.contains("3 GPUs"), "{error}");
    let open = Site { partitions: vec![Partition::default()], ..Site::default() };
    assert!(open.partition(&wanted).is_ok());
}

#[test]
fn mistakes_are_located_and_all_of_them_are_shown() {
    let case = Case::new(
        r#"(sites: {"lab": (
    executor: Slrum,
    poll: "15",
    resources: [(memory: "4G")],
    options: ["--mem=4G"],
    hosts: "login1",
)})"#,
    );
    let drawn = case.mistakes();
    for part in ["sites.ron:2", "sites.ron:3", "sites.ron:4", "sites.ron:5", "sites.ron:6"] {
        assert!(drawn.contains(part), "{part}:\n{drawn}");
    }
    for help in
        ["did you mean `Slurm`?", "write a number and a unit: `90s`", "write `GB`, or `GiB`"]
    {
        assert!(drawn.contains(help), "{help}:\n{drawn}");
    }
    let unknown = Case::new(r#"(sites: {"lab": (pol: "1s")})"#).mistakes();
    assert!(unknown.contains("pol") && unknown.contains("poll"), "{unknown}");
}

#[test]
fn unknown_kinds_are_found_where_they_stand() {
    let case = Case::new(r#"(sites: {"lab": (resources: [(kind: "Trian", cpus: 1)])})"#);
    match case.site().check_kinds(&["Train", "Estimate"]) {
        Err(SiteError::Invalid { source_file, mistakes }) => {
            let drawn = draw(&source_file, &mistakes, Style::Plain);
            assert!(drawn.contains("`Trian` is not a known stage kind"), "{drawn}");
            assert!(drawn.contains("did you mean `Train`"), "{drawn}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_value_tells_where_it_comes_from() {
    let case = Case::new("(sites: {\"lab\": (\n    queue: 7,\n)})");
    let values = case.site().values();
    let of = |name: &str| values.iter().find(|value| value.name == name).unwrap();
    assert_eq!((of("queue").text.as_str(), &of("poll").origin), ("7", &Origin::Default));
    let Origin::File { path, line } = &of("queue").origin else {
        panic!("{:?}", of("queue"));
    };
    assert_eq!((path, *line), (&case.path(), 2));
}
