//! `ro-crate-metadata.json`: the bundle as a Workflow Run Crate 0.5 on RO-Crate 1.1.

use std::fmt::Write;

use serde_json::{Value, json};

use super::BundleFacts;
use crate::report::page::units::timestamp;

const CONTEXT: &str = "https://w3id.org/ro/crate/1.1/context";
const CRATE: &str = "https://w3id.org/ro/crate/1.1";

/// The profiles that the bundle follows: address, name, version.
const PROFILES: [(&str, &str, &str); 3] = [
    ("https://w3id.org/ro/wfrun/process/0.5", "Process Run Crate", "0.5"),
    ("https://w3id.org/ro/wfrun/workflow/0.5", "Workflow Run Crate", "0.5"),
    (WORKFLOW_CRATE, "Workflow RO-Crate", "1.0"),
];
const WORKFLOW_CRATE: &str = "https://w3id.org/workflowhub/workflow-ro-crate/1.0";

/// What the pipeline's description as a workflow follows.
const WORKFLOW_TYPE: &str = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE";

const LANGUAGE: &str = "#pipeline-language";
const PROGRAM: &str = "#pcae-run";
const RUN: &str = "#run";
const LICENSE: &str = "LICENSES.md";

/// Returns the metadata of a bundle; `files` are the names and sizes of those that are described one by one.
pub fn metadata(facts: &BundleFacts, files: &[(String, u64)]) -> String {
    let id = |id: &str| json!({ "@id": id });
    let named = |prefix: &str| -> Vec<Value> {
        let names = files.iter().map(|(name, _)| name).filter(|name| name.starts_with(prefix));
        names.map(|name| id(&address(name))).collect()
    };
    let inputs: Vec<Value> =
        named("pipeline/").into_iter().filter(|file| file["@id"] != address(&facts.file)).collect();
    let description = format!(
        "Results of the pipeline {} with tables, figures and all that is needed to check them",
        facts.pipeline
    );
    let mut graph = vec![
        json!({
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": id("./"),
            "conformsTo": [id(CRATE), id(WORKFLOW_CRATE)],
        }),
        json!({
            "@id": "./",
            "@type": "Dataset",
            "name": facts.pipeline,
            "description": description,
            "datePublished": timestamp(facts.finished),
            "license": id(LICENSE),
            "conformsTo": PROFILES.map(|(profile, ..)| id(profile)),
            "mainEntity": id(&address(&facts.file)),
            "mentions": id(RUN),
            "hasPart": one_or_more(named("")),
        }),
        json!({
            "@id": address(&facts.file),
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": facts.file,
            "description": "The stages, their settings and what they read",
            "encodingFormat": "text/plain",
            "programmingLanguage": id(LANGUAGE),
            "conformsTo": id(WORKFLOW_TYPE),
            "version": facts.program,
            "license": id(LICENSE),
        }),
        json!({
            "@id": LANGUAGE,
            "@type": "ComputerLanguage",
            "name": "pcae-run pipelines",
            "alternateName": "RON",
            "identifier": id(SYNTAX),
            "url": id(SYNTAX),
            "version": facts.program,
        }),
        json!({
            "@id": PROGRAM,
            "@type": "SoftwareApplication",
            "name": "pcae-run",
            "softwareVersion": facts.program,
            "softwareRequirements": id("program/Cargo.lock"),
        }),
        run(facts, inputs, named("report/")),
    ];
    graph.extend(PROFILES.map(|(profile, name, version)| {
        json!({"@id": profile, "@type": "CreativeWork", "name": name, "version": version})
    }));
    let others = files.iter().filter(|(name, _)| *name != facts.file);
    graph.extend(others.map(|(name, bytes)| file(name, *bytes)));
    let mut text = serde_json::to_string_pretty(&json!({"@context": CONTEXT, "@graph": graph}))
        // Plain maps, strings and numbers can't fail.
        .unwrap_or_default();
    text.push('\n');
    text
}

/// Where the syntax of pipelines is described.
const SYNTAX: &str = "https://github.com/ron-rs/ron";

fn run(facts: &BundleFacts, inputs: Vec<Value>, outputs: Vec<Value>) -> Value {
    let mut environment = vec![format!("pcae-run {}", facts.program)];
    environment.extend(facts.machines.iter().cloned());
    let mut run = json!({
        "@id": RUN,
        "@type": "CreateAction",
        "name": format!("Run of the pipeline {}", facts.pipeline),
        "description": format!(
            "{} stages, {} seconds in all; {}",
            facts.stages, facts.seconds.round(), environment.join("; ")
        ),
        "instrument": {"@id": address(&facts.file)},
        "result": one_or_more(outputs),
        "endTime": timestamp(facts.finished),
        "actionStatus": "http://schema.org/CompletedActionStatus",
    });
    if !inputs.is_empty() {
        run["object"] = one_or_more(inputs);
    }
    run
}

fn file(name: &str, bytes: u64) -> Value {
    let mut file = json!({
        "@id": address(name),
        "@type": "File",
        "name": name,
        "contentSize": bytes.to_string(),
        "encodingFormat": format_of(name),
    });
    if let Some(about) = about(name) {
        file["description"] = about.into();
    }
    if name == "README.md" {
        file["about"] = json!({"@id": "./"});
    }
    if name == LICENSE {
        file["@type"] = json!(["File", "CreativeWork"]);
    }
    file
}

/// Returns a list, or what is in it if that is one thing alone.
fn one_or_more(mut values: Vec<Value>) -> Value {
    match values.pop() {
        Some(only) if values.is_empty() => only,
        last => {
            values.extend(last);
            Value::Array(values)
        }
    }
}

fn about(name: &str) -> Option<&'static str> {
    Some(match name {
        "README.md" => "What is here and how to replay it",
        "CLAIMS.md" => "Published numbers with ours, each with a verdict, a command and its time",
        LICENSE => "Licences of the program; terms of the data sets",
        "report/manifest.json" => {
            "The key of every stage, what it was made of, and the digest of its result"
        }
        "program/Cargo.lock" => "The exact dependencies of the program",
        _ => return None,
    })
}

fn format_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "md" => "text/markdown",
        "html" => "text/html",
        "json" => "application/json",
        "csv" => "text/csv",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "pdf" => "application/pdf",
        "tex" => "application/x-tex",
        "txt" | "ron" | "lock" => "text/plain",
        _ => "application/octet-stream",
    }
}

/// Returns the address of a file, in which only some characters stand for themselves.
fn address(name: &str) -> String {
    let mut address = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            address.push(byte.into());
        } else {
            // A string takes everything.
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_is_part_is_described_and_nothing_is_null() {
        let facts = BundleFacts {
            pipeline: "p".to_owned(),
            file: "pipeline/a b.ron".to_owned(),
            ..BundleFacts::default()
        };
        let files =
            ["README.md", "pipeline/a b.ron", "report/t.md"].map(|name| (name.to_owned(), 3));
        let text = metadata(&facts, &files);
        assert!(!text.contains("null"), "{text}");
        let metadata: Value = serde_json::from_str(&text).unwrap();
        let graph = metadata["@graph"].as_array().unwrap();
        let described = |id: &Value| graph.iter().any(|one| one["@id"] == *id);
        let parts = graph[1]["hasPart"].as_array().unwrap();
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|part| described(&part["@id"])), "{text}");
        assert!(described(&graph[1]["mainEntity"]["@id"]));
        assert_eq!(graph[1]["mainEntity"]["@id"], "pipeline/a%20b.ron");
    }
}
