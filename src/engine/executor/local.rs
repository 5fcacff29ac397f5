//! Runs each job as a child process of this program.
//!
//! A child is its own process group, so that Ctrl-C reaches only the runner, which then asks the
//! children to save their state. A child dies with its runner, whatever kills the runner. Its
//! output lines are [`JobEvent`]s; everything else it prints goes to the log.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{Executor, Submission, Urgency, exit_status};
use crate::engine::job::{JobEvent, JobOutcome};
use crate::engine::plan::StageIndex;
use crate::engine::system::host;
use crate::engine::system::process::{kill_orphans, peak_memory, signal_group};

/// How long a stage may take to save its state before it is killed.
const GRACE: Duration = Duration::from_secs(20);

/// How often clocks and memory are looked after.
const WATCH_INTERVAL: Duration = Duration::from_millis(50);

struct Running {
    child: Child,
    outcome: Option<JobOutcome>,
    /// Its output is closed.
    silent: bool,
    timeout: Option<Duration>,
    /// Set when the key is claimed: waiting for another process is not the stage's time.
    deadline: Option<Instant>,
    timed_out: bool,
    /// The runner asked it to end.
    asked: bool,
    kill_at: Option<Instant>,
    peak: u64,
    waiting_log: PathBuf,
}

impl Running {
    fn ask(&mut self, urgency: Urgency) {
        self.asked = true;
        match urgency {
            Urgency::Soon => {
                signal_group(&self.child, Signal::TERM);
                self.kill_at = Some(Instant::now() + GRACE);
            }
            Urgency::Now => signal_group(&self.child, Signal::KILL),
        }
    }

    /// Returns whether its process died of a signal, so that it could not end what it had started.
    fn was_killed(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some_and(|s| s.signal().is_some()))
    }

    /// Returns how the job ended, if its process is gone.
    fn outcome(&mut self) -> Option<JobOutcome> {
        if !self.silent {
            return None;
        }
        let status = self.child.try_wait().ok()??;
        Some(match (self.outcome.take(), self.timeout) {
            (Some(JobOutcome::Stopped) | None, Some(timeout)) if self.timed_out => {
                exit_status::timeout(timeout)
            }
            (Some(outcome), _) => outcome,
            (None, _) if self.asked => JobOutcome::Stopped,
            (None, _) => exit_status::death(status, self.peak),
        })
    }
}

/// What a child's reader thread passes on: an event, or that its output is closed.
type Line = (StageIndex, Option<JobEvent>);

/// Starts child processes on this machine.
pub struct Local {
    program: PathBuf,
    arguments: Vec<String>,
    running: BTreeMap<StageIndex, Running>,
    finished: VecDeque<(StageIndex, JobOutcome)>,
    lines: Receiver<Line>,
    sender: Sender<Line>,
    watched: Instant,
    /// Children of this process that are no jobs.
    others: BTreeSet<u32>,
    has_started: bool,
}

impl Local {
    /// Runs `program` with `arguments` before those of each job. What stages leave running when they
    /// are killed becomes this process's own, and is killed; `others` of its children are left alone.
    pub fn new(program: PathBuf, arguments: Vec<String>, others: BTreeSet<u32>) -> Self {
        let (sender, lines) = channel();
        let (running, finished, watched) = (BTreeMap::new(), VecDeque::new(), Instant::now());
        let has_started = false;
        Self { program, arguments, running, finished, lines, sender, watched, others, has_started }
    }

    fn start(&mut self, submission: &Submission) -> io::Result<Running> {
        submission.job.write(&submission.job_path)?;
        // A child that only waits for another runner's must not touch that one's log.
        let waiting_log = submission.job_path.with_extension("log");
        let log = File::create(&waiting_log)?;
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .arg("--job")
            .arg(&submission.job_path)
            .arg("--log")
            .args([&waiting_log, &submission.log_path])
            .arg("--threads")
            .arg(submission.threads.to_string())
            .arg("--die-with")
            .arg(std::process::id().to_string())
            .envs(host::worker_variables(submission.threads))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .spawn()?;
        if let Some(output) = child.stdout.take() {
            let (sender, stage) = (self.sender.clone(), submission.stage);
            thread::spawn(move || read_lines(output, stage, &sender));
        }
        Ok(Running {
            child,
            outcome: None,
            silent: false,
            timeout: submission.timeout,
            deadline: None,
            timed_out: false,
            asked: false,
            kill_at: None,
            peak: 0,
            waiting_log,
        })
    }

    /// Ends what stages that died left running.
    fn kill_orphans(&self) {
        let jobs = self.running.values().map(|running| running.child.id());
        kill_orphans(&jobs.chain(self.others.iter().copied()).collect());
    }

    /// Looks after clocks and memory, and notices children that are gone.
    fn watch(&mut self) {
        let now = Instant::now();
        self.watched = now;
        let mut ended = Vec::new();
        for (&stage, running) in &mut self.running {
            let memory = peak_memory(&running.child.id().to_string());
            running.peak = running.peak.max(memory.unwrap_or(0));
            if running.deadline.is_some_and(|deadline| now >= deadline) {
                running.deadline = None;
                running.timed_out = true;
                running.ask(Urgency::Soon);
            }
            if running.kill_at.is_some_and(|at| now >= at) {
                running.kill_at = None;
                running.ask(Urgency::Now);
            }
            if let Some(outcome) = running.outcome() {
                ended.push((stage, outcome));
            }
        }
        let mut killed = false;
        for (stage, outcome) in ended {
            if let Some(mut running) = self.running.remove(&stage) {
                // Still there only if the child never got its key.
                let _ = fs::remove_file(&running.waiting_log);
                killed |= running.was_killed();
            }
            self.finished.push_back((stage, outcome));
        }
        if killed {
            self.kill_orphans();
        }
    }

    /// Takes note of a line; returns what of it is for the scheduler.
    fn receive(&mut self, (stage, event): Line) -> Option<(StageIndex, JobEvent)> {
        let running = self.running.get_mut(&stage);
        match (event, running) {
            (
                Some(
                    event @ (JobEvent::Waiting
                    | JobEvent::Queued { .. }
                    | JobEvent::Progress(_)
                    | JobEvent::Note(_)),
                ),
                _,
            ) => {
                return Some((stage, event));
            }
            (Some(JobEvent::Started), Some(running)) => {
                let limit = running.timeout;
                running.deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
            }
            (Some(JobEvent::Ended(outcome)), Some(running)) => running.outcome = Some(outcome),
            (None, running) => {
                if let Some(running) = running {
                    running.silent = true;
                    // Its output is closed: the process is gone or about to be.
                    let _ = running.child.wait();
                }
                self.watch();
            }
            (Some(_), None) => {}
        }
        None
    }
}

impl Executor for Local {
    fn submit(&mut self, submission: Submission) {
        match self.start(&submission) {
            Ok(running) => {
                self.has_started = true;
                self.running.insert(submission.stage, running);
            }
            Err(cause) => {
                let message = format!("can't start the stage: {cause}");
                let outcome = JobOutcome::Failed { message, permanent: true };
                self.finished.push_back((submission.stage, outcome));
            }
        }
    }

    fn next(&mut self, patience: Duration) -> Option<(StageIndex, JobEvent)> {
        let until = Instant::now() + patience;
        loop {
            if let Some((stage, outcome)) = self.finished.pop_front() {
                return Some((stage, JobEvent::Ended(outcome)));
            }
            // A stage that talks without pause must not keep the clocks from being looked at.
            if self.watched.elapsed() >= WATCH_INTERVAL {
                self.watch();
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(WATCH_INTERVAL)) {
                Ok(line) => {
                    if let Some(event) = self.receive(line) {
                        return Some(event);
                    }
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) if self.finished.is_empty() => return None,
                Err(_) => {}
            }
        }
    }

    fn stop(&mut self, urgency: Urgency) {
        for running in self.running.values_mut() {
            running.ask(urgency);
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.stop(Urgency::Now);
        for running in self.running.values_mut() {
            let _ = running.child.wait();
        }
        self.running.clear();
        if self.has_started {
            self.kill_orphans();
        }
    }
}

fn read_lines(output: ChildStdout, stage: StageIndex, sender: &Sender<Line>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Ok(event) = serde_json::from_str(&line) {
            let _ = sender.send((stage, Some(event)));
        }
    }
    let _ = sender.send((stage, None));
}
