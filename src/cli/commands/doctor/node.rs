//! What a node of the cluster is like, found out by a job of a minute before a run depends on it.

use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Check, CheckResult, checks_here, text};
use crate::cli::args::Common;
use crate::cli::cluster;
use crate::cli::error::CommandError;
use crate::cli::output::terminal;
use crate::engine::digest::ContentDigest;
use crate::engine::executor::slurm::{
    Controller, Demand, JobState, SlurmCommands, SubmitError, last_words, placed,
};
use crate::engine::site::{Resources, variables};
use crate::engine::system::{clock, host};

/// How long the job may take once it runs, and how long it may wait for its turn.
const TIME: Duration = Duration::from_mins(1);
const LONGEST_WAIT: Duration = Duration::from_mins(30);

const REPORT: &str = "report.json";
const TOKEN: &str = "token";
const LOCK: &str = "lock";

/// What a node tells.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NodeReport {
    host: String,
    /// The digest of the program that ran there.
    program: String,
    features: Vec<String>,
    /// Its clock, in seconds since 1970.
    time: u64,
    checks: Vec<Check>,
}

/// Runs the checks on a node of the site, by a job; prints why it waits meanwhile.
pub(super) fn checks(common: &Common) -> Result<Vec<Check>, CommandError> {
    let site = &common.site;
    let name = format!("pcae-run-doctor-{}-{}", host::name(), std::process::id());
    let log = cluster::log_path(common, &name);
    let folder = log.with_extension("");
    fs::create_dir_all(&folder).map_err(CommandError::failed)?;
    fs::write(folder.join(TOKEN), &name).map_err(CommandError::failed)?;
    let lock = File::create(folder.join(LOCK)).map_err(CommandError::failed)?;
    lock.lock().map_err(CommandError::failed)?;
    let program = cluster::program(site)?;
    let mut command = vec![program.to_string_lossy().into_owned(), "--cache".to_owned()];
    command.push(cluster::absolute_cache(common).to_string_lossy().into_owned());
    command.extend(["doctor".to_owned(), "--report".to_owned()]);
    command.push(folder.to_string_lossy().into_owned());
    if let Some(scratch) = &site.scratch {
        command.extend(["--scratch".to_owned(), scratch.clone()]);
    }
    let resources =
        Resources { time: TIME, ..site.resources(cluster::DOCTOR, cluster::DOCTOR, false) };
    let (resources, partition) = placed(site, &resources)?;
    let demand = Demand { site, resources: &resources, partition, excluded: &[] };
    let here = Path::new("/");
    let request = demand.runner(&name, here, &command, &log);
    let mut slurm = SlurmCommands::default();
    let began = Instant::now();
    let checks = match slurm.submit(&request) {
        Err(
            SubmitError::Later(message)
            | SubmitError::Unknown(message)
            | SubmitError::Refused(message),
        ) => vec![Check::of("submission", Err(message))],
        Ok(job) => {
            let mut checks = vec![Check::of("submission", Ok(format!("Slurm job {job}")))];
            match wait(common, &mut slurm, &name, &folder.join(REPORT), &log) {
                Ok(report) => {
                    let seconds = terminal::duration(began.elapsed().as_secs_f64());
                    let detail = format!("{} after {seconds}", report.host);
                    checks.push(Check::of("node", Ok(detail)));
                    checks.extend(compared(&report, &program));
                    checks.extend(report.checks);
                }
                Err(message) => checks.push(Check::of("node", Err(message))),
            }
            checks
        }
    };
    let _ = fs::remove_dir_all(&folder);
    Ok(checks)
}

/// Waits for what a node tells.
fn wait(
    common: &Common,
    slurm: &mut SlurmCommands,
    name: &str,
    report: &Path,
    log: &Path,
) -> Result<NodeReport, String> {
    let began = Instant::now();
    let (mut told, mut gone) = (String::new(), None::<Instant>);
    loop {
        if let Some(found) =
            fs::read(report).ok().and_then(|text| serde_json::from_slice(&text).ok())
        {
            return Ok(found);
        }
        if let Ok(queue) = slurm.queue() {
            let task = queue.into_iter().find(|task| task.name == name);
            if let Some(task) = task.filter(|task| !matches!(task.state, JobState::Ended(_))) {
                if task.state == JobState::Pending && told != task.reason {
                    terminal::note(&format!("Slurm job {} waits: {}", task.id.0, task.reason));
                    told = task.reason;
                }
            } else if gone.get_or_insert_with(Instant::now).elapsed() > common.site.grace {
                let words = last_words(log);
                return Err(format!("the job ended and left no report here: {words}"));
            }
        }
        if began.elapsed() > LONGEST_WAIT {
            return Err(format!(
                "the job did not start within {} min",
                LONGEST_WAIT.as_secs() / 60
            ));
        }
        thread::sleep(common.site.poll.min(Duration::from_secs(2)));
    }
}

/// Compares a node with this machine.
fn compared(report: &NodeReport, program: &Path) -> Vec<Check> {
    const TOLERATED: u64 = 30;
    let is_same = digest(program).is_ok_and(|own| own == report.program);
    let program = if is_same {
        Ok("the same as here".to_owned())
    } else {
        Err("another one than here: results would be told apart by version only".to_owned())
    };
    let own = features();
    let differ = |one: &[String], other: &[String]| {
        let only = one.iter().filter(|name| !other.contains(name)).cloned();
        only.collect::<Vec<_>>().join(", ")
    };
    let processor = match (differ(&own, &report.features), differ(&report.features, &own)) {
        (here, there) if here.is_empty() && there.is_empty() => "features as here".to_owned(),
        (here, there) => format!(
            "other features than here (only here: {}; only there: {}): last digits may differ",
            or_none(&here),
            or_none(&there)
        ),
    };
    let skew = clock::now().abs_diff(report.time);
    let clock = match skew {
        0..=TOLERATED => Ok(format!("within {TOLERATED} s of this machine's")),
        _ => Err(format!("{skew} s from this machine's: times in logs and records will not agree")),
    };
    vec![
        Check::of("program", program),
        Check::of("processor", Ok(processor)),
        Check::of("clock", clock),
    ]
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

/// Runs the checks on this node and tells the machine that asked.
pub(super) fn report(
    common: &Common,
    folder: &Path,
    scratch: Option<&str>,
) -> Result<(), CommandError> {
    let mut checks = vec![
        Check::of("shared cache", sees_token(folder)),
        Check::of("locks", reaches(folder)),
        Check::of("scratch", has_scratch(scratch)),
    ];
    checks.extend(checks_here(common)?);
    let program = std::env::current_exe().map_err(CommandError::failed)?;
    let report = NodeReport {
        host: host::name(),
        program: digest(&program).map_err(CommandError::failed)?,
        features: features(),
        time: clock::now(),
        checks,
    };
    let (new, path) = (folder.join("report.tmp"), folder.join(REPORT));
    let text = serde_json::to_vec(&report).map_err(CommandError::failed)?;
    fs::write(&new, text).and_then(|()| fs::rename(&new, path)).map_err(CommandError::failed)
}

fn sees_token(folder: &Path) -> CheckResult {
    let token = fs::read_to_string(folder.join(TOKEN)).map_err(text)?;
    if folder.to_string_lossy().ends_with(&token) {
        Ok("what one machine writes the other reads".to_owned())
    } else {
        Err("the folder is there, and holds something else".to_owned())
    }
}

/// Says whether a lock of another machine is seen here.
fn reaches(folder: &Path) -> CheckResult {
    let file = File::open(folder.join(LOCK)).map_err(text)?;
    Ok(match file.try_lock_shared() {
        Err(_) => "reach other machines, and are not relied on".to_owned(),
        Ok(()) => "do not reach other machines: leases do".to_owned(),
    })
}

fn has_scratch(scratch: Option<&str>) -> CheckResult {
    let Some(scratch) = scratch else {
        return Ok("in the cache folder".to_owned());
    };
    let folder = variables::expand(scratch).map_err(text)?;
    let own = folder.join(format!("pcae-run-doctor-{}", std::process::id()));
    let tried = fs::create_dir_all(&own).and_then(|()| fs::write(own.join("x"), vec![0; 1 << 20]));
    let _ = fs::remove_dir_all(&own);
    tried.map_err(|cause| format!("{}: {cause}", folder.display()))?;
    super::free_space(&folder).map(|space| format!("{}: {space}", folder.display()))
}

fn digest(program: &Path) -> Result<String, String> {
    ContentDigest::of_path(program).map(|digest| digest.to_string()).map_err(text)
}

/// Returns the features of the processor on which the bits of results may depend.
fn features() -> Vec<String> {
    #[cfg(target_arch = "x86_64")]
    let known = [
        ("avx2", std::arch::is_x86_feature_detected!("avx2")),
        ("fma", std::arch::is_x86_feature_detected!("fma")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let known: [(&str, bool); 0] = [];
    known.iter().filter(|(_, there)| *there).map(|(name, _)| (*name).to_owned()).collect()
}
