//! Slurm by its commands: sbatch, squeue, sacct and scancel.
//!
//! All answers are read by forms that have been there since Slurm 20.11; its JSON differs between
//! versions, and is wrong in some. A command that fails or takes too long is no answer: it says nothing
//! about jobs.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::controller::{Controller, NoAnswer, SubmitError, TaskId, TaskStatus};
use super::request::Request;
use super::state::JobState;

/// How long a command may take: longer than Slurm's own waits for a busy controller.
const LONGEST: Duration = Duration::from_mins(1);

/// Tasks in one call of scancel or sacct: more overload the controller.
const TASKS_AT_ONCE: usize = 100;

/// What sbatch says when it would take the job later.
const LATER: [&str; 10] = [
    "temporarily unable",
    "QOSMaxSubmitJob",
    "AssocMaxSubmitJob",
    "AssocGrpSubmitJobsLimit",
    "job submit limit",
    "Slurm controller not responding",
    "Unable to contact slurm controller",
    "Connection refused",
    "Resource temporarily unavailable",
    "Zero Bytes were transmitted",
];

/// What sbatch says when the answer was lost on its way.
const LOST: [&str; 2] = ["Socket timed out", "Transport endpoint"];

/// Slurm, as installed on this machine.
#[derive(Debug, Default)]
pub struct SlurmCommands {
    /// Whether sacct has ever answered: many sites do not keep accounts.
    has_accounting: Option<bool>,
    /// How often a command was called.
    calls: usize,
}

/// How a command ended.
struct Answer {
    status: ExitStatus,
    output: String,
    errors: String,
}

impl SlurmCommands {
    /// Returns how many commands have been called so far.
    pub const fn calls(&self) -> usize {
        self.calls
    }

    fn call(&mut self, program: &str, args: &[String], input: &str) -> Result<Answer, NoAnswer> {
        self.calls += 1;
        let failed = |cause: io::Error| match cause.kind() {
            io::ErrorKind::NotFound => {
                NoAnswer(format!("`{program}` is not installed on this machine"))
            }
            _ => NoAnswer(format!("{program}: {cause}")),
        };
        let mut command = Command::new(program);
        // A runner that is itself a job must not hand its own settings on.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let is_of_job = text.starts_with("SLURM_") || text.starts_with("SBATCH_");
            if is_of_job && text != "SLURM_CONF" {
                command.env_remove(&name);
            }
        }
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let output = child.stdout.take().map(reader);
        let errors = child.stderr.take().map(reader);
        if let Some(mut pipe) = child.stdin.take() {
            let _ = pipe.write_all(input.as_bytes());
        }
        let status = wait(&mut child, program)?;
        let text = |reader: Option<thread::JoinHandle<String>>| {
            reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
        };
        Ok(Answer { status, output: text(output), errors: text(errors) })
    }

    fn asked(&mut self, program: &str, args: &[String]) -> Result<String, NoAnswer> {
        let answer = self.call(program, args, "")?;
        if answer.status.success() {
            return Ok(answer.output);
        }
        Err(NoAnswer(format!("{program}: {}", first_line(&answer.errors))))
    }
}

impl Controller for SlurmCommands {
    fn submit(&mut self, request: &Request) -> Result<String, SubmitError> {
        let mut args = vec!["--parsable".to_owned()];
        args.extend(request.options.iter().cloned());
        // By standard input: an argument could be too long.
        let answer = self.call("sbatch", &args, &request.script);
        let answer = answer.map_err(|NoAnswer(message)| SubmitError::Unknown(message))?;
        if answer.status.success() {
            // Sites print greetings; the number stands on a line of its own.
            let number = answer.output.lines().rev().find_map(job_number);
            return number.ok_or_else(|| SubmitError::Unknown("sbatch told no number".to_owned()));
        }
        let message = first_line(&answer.errors);
        let says = |words: &[&str]| words.iter().any(|word| answer.errors.contains(word));
        Err(if says(&LOST) {
            SubmitError::Unknown(message)
        } else if says(&LATER) {
            SubmitError::Later(message)
        } else {
            SubmitError::Refused(message)
        })
    }

    fn queue(&mut self) -> Result<Vec<TaskStatus>, NoAnswer> {
        const FIELDS: &str =
            "JobArrayID:|,Name:|,State:|,Reason:|,NodeList:|,StartTime:|,EndTime:|";
        let args = ["-h", "--me", "-t", "all", "-r", "-O", FIELDS].map(str::to_owned);
        Ok(self.asked("squeue", &args)?.lines().filter_map(queued).collect())
    }

    fn accounting(&mut self, tasks: &[TaskId]) -> Result<Vec<TaskStatus>, NoAnswer> {
        if self.has_accounting == Some(false) {
            return Err(NoAnswer("this site keeps no accounts".to_owned()));
        }
        let mut found = Vec::new();
        for some in tasks.chunks(TASKS_AT_ONCE) {
            let ids: Vec<&str> = some.iter().map(|id| id.0.as_str()).collect();
            let fields = "JobID,JobName,State,Reason,NodeList,Start,End";
            let args = ["-X", "-n", "-P", "-o", fields, "-j", &ids.join(",")].map(str::to_owned);
            let answer = self.asked("sacct", &args);
            // Whether accounts are kept is told by the first answer; later on it may be away for hours.
            self.has_accounting = self.has_accounting.or(Some(answer.is_ok()));
            found.extend(answer?.lines().filter_map(queued));
        }
        Ok(found)
    }

    fn cancel(&mut self, tasks: &[TaskId]) -> Result<(), NoAnswer> {
        let mut cancelled = Ok(());
        for some in tasks.chunks(TASKS_AT_ONCE) {
            let args: Vec<String> = some.iter().map(|id| id.0.clone()).collect();
            let answer = self.asked("scancel", &args).map(drop);
            cancelled = cancelled.and(answer);
        }
        cancelled
    }
}

/// Reads a line of fields with `|` between them.
fn queued(line: &str) -> Option<TaskStatus> {
    let fields: Vec<&str> = line.split('|').map(str::trim).collect();
    let [id, name, state, reason, node, start, end, ..] = fields[..] else {
        return None;
    };
    let id = TaskId(id.to_owned());
    let state = JobState::parse(state);
    let known = |text: &str| !matches!(text, "" | "N/A" | "Unknown" | "None" | "(null)");
    let expected = if state == JobState::Pending { start } else { end };
    Some(TaskStatus {
        id,
        name: name.to_owned(),
        state,
        reason: Some(reason).filter(|text| known(text)).unwrap_or_default().to_owned(),
        node: Some(node).filter(|text| known(text)).unwrap_or_default().to_owned(),
        expected: Some(expected).filter(|text| known(text)).unwrap_or_default().to_owned(),
    })
}

/// Returns the number of a job on a line that holds nothing else but the name of its cluster.
fn job_number(line: &str) -> Option<String> {
    let number = line.trim().split(';').next()?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.to_owned())
}

fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("it failed without a word").to_owned()
}

fn reader(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child, program: &str) -> Result<ExitStatus, NoAnswer> {
    let until = Instant::now() + LONGEST;
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Err(cause) => return Err(NoAnswer(format!("{program}: {cause}"))),
            Ok(None) if Instant::now() >= until => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(NoAnswer(format!("{program} took more than {} s", LONGEST.as_secs())));
            }
            Ok(None) => thread::sleep(pause),
        }
        pause = (2 * pause).min(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::End;
    use super::*;

    #[test]
    fn a_line_of_squeue_tells_state_reason_and_node() {
        let line = "17_3|pcae-a1-0|RUNNING|None|n1|2026-01-01T10:00:00|2026-01-01T11:00:00|";
        let found = queued(line).unwrap();
        assert_eq!(found.id, TaskId("17_3".to_owned()));
        assert_eq!((found.state, found.reason.as_str()), (JobState::Running, ""));
        assert_eq!((found.node.as_str(), found.expected.as_str()), ("n1", "2026-01-01T11:00:00"));
        let waits = queued("18|x|PENDING|Priority||N/A|N/A|").unwrap();
        assert_eq!((waits.reason.as_str(), waits.expected.as_str()), ("Priority", ""));
        let gone = queued("19|x|CANCELLED by 0|None|None assigned|Unknown|Unknown").unwrap();
        assert_eq!(gone.state, JobState::Ended(End::Cancelled));
        assert!(queued("Welcome to the cluster!").is_none());
    }

    #[test]
    fn the_number_of_a_job_is_found_among_greetings() {
        assert_eq!(job_number("4711").unwrap(), "4711");
        assert_eq!(job_number("4711;lab").unwrap(), "4711");
        assert_eq!(job_number("Welcome, you have 3 messages"), None);
        assert_eq!(job_number(""), None);
    }
}
