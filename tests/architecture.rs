//! The shape of the code itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pcae::data::DatasetSpec;
use pcae::dimension::EstimatorSpec;
use pcae::engine::pipeline::diagnostic::Diagnostic;
use pcae::engine::pipeline::search_paths::FileProbe;
use pcae::engine::pipeline::source::{ScaleChoice, Source};
use pcae::engine::plan::Plan;
use pcae::models::ModelSpec;
use pcae::report::FigureSpec;
use pcae::stages::{AnyStage, MetricSpec};
use schemars::JsonSchema;

use crate::sandbox::files;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn sources(folder: &str) -> Vec<(String, String)> {
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    };
    files(&root().join(folder))
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(read)
        .collect()
}

/// Every module of the library, and which others it may name; itself is understood. A file belongs to
/// the innermost module that it lies in.
const DEPENDENCIES: &[(&str, &[&str])] = &[
    ("engine", &[]),
    ("numerics", &[]),
    ("statistics", &[]),
    ("device", &["kernels"]),
    ("geometry", &["numerics"]),
    ("dimension", &["geometry", "numerics"]),
    ("report", &["data", "geometry", "numerics", "statistics"]),
    ("data/download", &[]),
    ("data/formats", &["data", "numerics"]),
    ("data/sets", &["data", "data/download", "data/formats", "numerics"]),
    ("data", &["data/download", "numerics"]),
    ("kernels", &["data", "numerics"]),
    ("models", &["data", "device", "geometry", "kernels", "numerics"]),
    ("training", &["data", "device", "geometry", "kernels", "models", "numerics"]),
    ("evaluation/fid", &["numerics"]),
    ("evaluation/fid/inception", &["data", "device", "models", "numerics"]),
    ("evaluation/interpolation", &["numerics"]),
    ("evaluation/latent", &["geometry", "numerics"]),
    ("evaluation/probe", &["data", "device", "geometry", "models", "numerics", "training"]),
    ("evaluation", &[]),
    (
        "stages",
        &[
            "data",
            "data/download",
            "data/formats",
            "device",
            "dimension",
            "engine",
            "evaluation/fid",
            "evaluation/fid/inception",
            "evaluation/interpolation",
            "evaluation/latent",
            "evaluation/probe",
            "geometry",
            "models",
            "numerics",
            "report",
            "training",
        ],
    ),
    ("cli", &["data", "device", "engine", "numerics", "report", "stages", "statistics"]),
];

/// Returns the innermost module that holds a file or an item, given its path below `src`.
fn module(path: &str) -> Option<&'static str> {
    let holds = |module: &&str| path.strip_prefix(module).is_some_and(|rest| rest.starts_with('/'));
    DEPENDENCIES.iter().map(|(module, _)| *module).filter(holds).max_by_key(|module| module.len())
}

/// Returns the paths that a text names in this crate, with slashes: `numerics/rng/permutation/`.
fn named_paths(text: &str) -> impl Iterator<Item = String> {
    text.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        format!("{}/", rest[..end.unwrap_or(rest.len())].replace("::", "/"))
    })
}

#[test]
fn dependencies_point_one_way() {
    for (name, text) in sources("src") {
        assert!(!text.contains("use crate::{"), "{name} imports in one lump");
        let Some(own) = module(&name["src/".len()..]) else {
            continue;
        };
        let (_, may_name) = DEPENDENCIES.iter().find(|(module, _)| *module == own).unwrap();
        for other in named_paths(&text).filter_map(|path| module(&path)) {
            assert!(other == own || may_name.contains(&other), "{name} names `{other}`");
        }
    }
}

#[test]
fn every_folder_of_the_library_declares_its_dependencies() {
    for (name, _) in sources("src") {
        let path = &name["src/".len()..];
        assert!(
            !path.contains('/') || module(path).is_some(),
            "{name} lies in no module of the table"
        );
    }
}

/// The modules of the engine; each may name only those above it.
const ENGINE_MODULES: [&str; 13] = [
    "system", "digest", "stage", "pipeline", "site", "plan", "key", "cache", "remote", "bundle",
    "job", "executor", "run",
];

/// Returns the words that follow each occurrence of a prefix, such as a module's path.
fn words_after<'t>(text: &'t str, prefix: &'t str) -> impl Iterator<Item = &'t str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(prefix).skip(1).map(move |rest| rest.split(|c| !is_word(c)).next().unwrap())
}

#[test]
fn dependencies_within_the_engine_point_one_way() {
    for (at, module) in ENGINE_MODULES.iter().enumerate() {
        for (name, text) in sources(&format!("src/engine/{module}")) {
            for other in words_after(&text, "crate::engine::") {
                assert!(ENGINE_MODULES[..=at].contains(&other), "{name} names `engine::{other}`");
            }
        }
    }
    let modules = fs::read_dir(root().join("src/engine")).unwrap().map(|item| item.unwrap());
    let modules = modules.filter(|item| item.path().is_dir() && item.file_name() != "tests");
    assert_eq!(modules.count(), ENGINE_MODULES.len(), "every module has its place");
}

/// Returns the items of every `use` of a text that begins with a path: `b` and `c` of `a::{b, c::D}`.
fn imported<'t>(text: &'t str, path: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(path).skip(1).flat_map(|rest| {
        let list = match rest.strip_prefix('{') {
            Some(inside) => inside.split('}').next().unwrap(),
            None => rest.split(';').next().unwrap(),
        };
        list.split(',')
            .map(|item| item.trim().split("::").next().unwrap())
            .filter(|i| !i.is_empty())
    })
}

/// Files of one module of the engine form no cycle either. What they name of `mod.rs` is followed to
/// the file that it comes from; what `mod.rs` itself defines, they share.
#[test]
fn files_of_an_engine_module_form_no_cycle() {
    for module in ENGINE_MODULES {
        let files: BTreeMap<String, String> = sources(&format!("src/engine/{module}"))
            .into_iter()
            .map(|(path, text)| {
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap().to_owned();
                (Path::new(&path).file_stem().unwrap().to_str().unwrap().to_owned(), code)
            })
            .collect();
        let mut origins = BTreeMap::new();
        for file in files.keys() {
            for path in [format!("use {file}::"), format!("use self::{file}::")] {
                for item in imported(&files["mod"], &path) {
                    origins.insert(item.to_owned(), file.clone());
                }
            }
        }
        let mut names: BTreeMap<&String, BTreeSet<&str>> = BTreeMap::new();
        for (file, code) in files.iter().filter(|(file, _)| *file != "mod" && *file != "tests") {
            let named = imported(code, "use super::");
            let named = named.map(|item| origins.get(item).map_or(item, String::as_str));
            names.insert(file, named.filter(|name| name != file).collect());
        }
        while !names.is_empty() {
            let is_leaf = |siblings: &BTreeSet<&str>| {
                names.keys().all(|file| !siblings.contains(file.as_str()))
            };
            let leaf = names.iter().find(|(_, siblings)| is_leaf(siblings)).map(|(file, _)| *file);
            let leaf = leaf.unwrap_or_else(|| panic!("{module} has a cycle among {names:?}"));
            names.remove(leaf);
        }
    }
}

#[test]
fn files_have_a_purpose_and_nothing_unfinished() {
    for (name, text) in sources("src") {
        assert!(text.starts_with("//!"), "{name} does not say what it is for");
        for word in ["TODO", "FIXME", "XXX", "unimplemented!", "todo!"] {
            assert!(!text.contains(word), "{name} contains {word}");
        }
    }
}

/// A read in a training step would leave a GPU idle for longer than the step takes: all go through
/// `device/transfers.rs`, which counts them, and tests look at the counts.
#[test]
fn tensors_are_filled_and_read_where_it_is_counted() {
    let of_tests = ["reference.rs", "fixture.rs", "tests.rs"];
    for folder in ["src/models", "src/training", "src/evaluation", "src/stages"] {
        let sources = sources(folder).into_iter();
        for (name, text) in
            sources.filter(|(name, _)| of_tests.iter().all(|end| !name.ends_with(end)))
        {
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let lines = code.lines().filter(|line| !line.contains("Param::from_data("));
            for line in lines {
                let calls = ["from_data(", "from_floats(", "into_data(", "to_data(", "into_scalar"];
                assert!(!calls.iter().any(|call| line.contains(call)), "{name}: {line}");
            }
        }
    }
}

#[test]
fn every_file_is_a_declared_module() {
    for (name, _) in sources("src") {
        let path = root().join(&name);
        let path = if path.ends_with("mod.rs") { path.parent().unwrap() } else { &path };
        let (module, folder) = (path.file_stem().unwrap().display(), path.parent().unwrap());
        let parents = ["mod.rs", "lib.rs", "main.rs"].map(|file| folder.join(file));
        let mut texts = parents.into_iter().filter_map(|parent| fs::read_to_string(parent).ok());
        let is_declared = |text: String| {
            // In a line of its own, or by a macro that declares the module and something in it.
            text.contains(&format!("mod {module};")) || text.contains(&format!("    {module}::"))
        };
        let is_root = ["src/lib.rs", "src/main.rs"].contains(&name.as_str());
        assert!(is_root || texts.any(is_declared), "{name} is in no module");
    }
}

/// Returns the mistakes of stages that stand alone: what they refer to is elsewhere.
fn mistakes(name: &str, stages: &str) -> Vec<Diagnostic> {
    let axes = r#"{"model": {"pcae": 1}, "estimator": {"mle": 1}, "seed": [0]}"#;
    let pipeline = format!(r#"Pipeline(name: "p", axes: {axes}, stages: {{ {stages} }})"#);
    let found = Plan::<AnyStage>::load(&Source::new(name, pipeline), &FileProbe::Search).err();
    let elsewhere = |mistake: &Diagnostic| {
        mistake.message.starts_with("no stage is named")
            || mistake.message.starts_with("there is no file")
    };
    found.unwrap_or_default().into_iter().filter(|mistake| !elsewhere(mistake)).collect()
}

/// Returns the stage kinds, each with what is said of its settings.
fn described_kinds() -> Vec<(String, String)> {
    let schema = schemars::schema_for!(AnyStage).to_value();
    let kinds = schema["oneOf"].as_array().unwrap().iter();
    let described = kinds.map(|kind| {
        let (name, settings) = kind["properties"].as_object().unwrap().iter().next().unwrap();
        let definition = settings["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
        let description = &schema.pointer(definition).unwrap()["description"];
        (name.clone(), description.as_str().unwrap_or_default().to_owned())
    });
    described.collect()
}

#[test]
fn every_example_in_a_stage_is_valid() {
    for (kind, description) in described_kinds() {
        let examples = description.split("```ron\n").skip(1);
        let examples: Vec<_> = examples.filter_map(|rest| rest.split("```").next()).collect();
        let is_shown = examples.iter().any(|example| example.contains(&format!(": {kind}(")));
        assert!(is_shown, "`{kind}` has no example");
        for example in examples {
            let wrong = mistakes(&kind, example);
            assert!(wrong.is_empty(), "{kind}: {wrong:?}");
        }
    }
}

/// Returns the plans of a pipeline file, one for each of its scales.
fn plans(path: &Path) -> Vec<Plan<AnyStage>> {
    let load = |source: &Source| Plan::load(source, &FileProbe::Search).unwrap();
    let source = Source::read(path).unwrap();
    let plan: Plan<AnyStage> = load(&source);
    let at = |name: &String| {
        let scale = ScaleChoice { name: Some(name.clone()), ..ScaleChoice::default() };
        load(&source.clone().at_scale(scale))
    };
    let scales: Vec<_> = plan.scales().iter().map(at).collect();
    if scales.is_empty() { vec![plan] } else { scales }
}

#[test]
fn shipped_pipelines_have_no_mistakes_at_any_scale() {
    let is_pipeline = |path: &PathBuf| path.extension().is_some_and(|end| end == "ron");
    for path in files(&root().join("pipelines")).into_iter().filter(is_pipeline) {
        assert!(!plans(&path).is_empty());
    }
}

/// Returns the names by which pipelines choose among the variants of a setting.
fn variants<T: JsonSchema>() -> BTreeSet<String> {
    let schema = schemars::schema_for!(T).to_value();
    let names = schema["oneOf"].as_array().unwrap().iter().map(|variant| {
        let name = variant["properties"].as_object().and_then(|fields| fields.keys().next());
        name.map_or_else(|| variant["const"].as_str().unwrap().to_owned(), Clone::clone)
    });
    names.collect()
}

#[test]
fn every_model_measure_and_figure_can_be_copied_from_a_pipeline() {
    let mut words = BTreeSet::new();
    for name in ["tour.ron", "estimators.ron", "data.ron"] {
        for plan in plans(&root().join("pipelines").join(name)) {
            for stage in plan.stages() {
                // Titles and captions use the same words.
                let code = stage.text.split('"').step_by(2);
                let found = code.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()));
                words.extend(found.map(str::to_owned));
            }
        }
    }
    // Sets that are read from files of one's own, and programs of one's own, need these.
    let own = ["Array", "Command", "ImageFolder", "Table"].map(str::to_owned).into();
    let kinds = AnyStage::KINDS.iter().map(|kind| (*kind).to_owned()).collect();
    let all = [
        kinds,
        variants::<ModelSpec>(),
        variants::<DatasetSpec>(),
        variants::<EstimatorSpec>(),
        variants::<FigureSpec>(),
        variants::<MetricSpec>(),
    ];
    for names in all {
        assert!(names.len() > 4, "{names:?}");
        let missing: Vec<_> =
            names.difference(&own).filter(|name| !words.contains(*name)).collect();
        assert!(missing.is_empty(), "no pipeline to copy from has {missing:?}");
    }
}
