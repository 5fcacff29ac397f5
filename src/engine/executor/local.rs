//! Runs each job as a child process of this program.
//!
//! A child is its own process group, so that Ctrl-C reaches only the runner, which then asks the
//! children to save their state. A child dies with its runner, whatever kills the runner. Its
//! output lines are [`ChildLine`]s; everything else it prints goes to the log.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{ChildLine, Executor, Order, Update, Urgency, triage};
use crate::engine::job::{Ending, peak_memory};
use crate::engine::plan::StageIndex;

/// How long a stage may take to save its state before it is killed.
const GRACE: Duration = Duration::from_secs(20);

struct Running {
    child: Child,
    ending: Option<Ending>,
    silent: bool,
    deadline: Option<Instant>,
    timeout: Option<Duration>,
    timed_out: bool,
    kill_at: Option<Instant>,
    peak: u64,
    waiting_log: PathBuf,
}

/// What a child's reader thread passes on.
enum Line {
    Said(StageIndex, ChildLine),
    Closed(StageIndex),
}

/// Starts child processes on this machine.
pub struct Local {
    program: PathBuf,
    arguments: Vec<String>,
    running: BTreeMap<StageIndex, Running>,
    finished: Vec<Update>,
    lines: Receiver<Line>,
    sender: Sender<Line>,
}

impl Local {
    /// Runs `program` with `arguments` before those of each job.
    pub fn new(program: PathBuf, arguments: Vec<String>) -> Self {
        let (sender, lines) = channel();
        let (running, finished) = (BTreeMap::new(), Vec::new());
        Self { program, arguments, running, finished, lines, sender }
    }

    fn start(&mut self, order: &Order) -> io::Result<Running> {
        order.job.write(&order.job_path)?;
        // A child that only waits for another runner's must not touch that one's log.
        let waiting_log = order.job_path.with_extension("log");
        let log = File::create(&waiting_log)?;
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .arg("--job")
            .arg(&order.job_path)
            .arg("--log")
            .args([&waiting_log, &order.log_path])
            .arg("--threads")
            .arg(order.threads.to_string())
            .arg("--die-with")
            .arg(std::process::id().to_string())
            .env("RAYON_NUM_THREADS", order.threads.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .spawn()?;
        if let Some(output) = child.stdout.take() {
            let (sender, stage) = (self.sender.clone(), order.stage);
            thread::spawn(move || read_lines(output, stage, &sender));
        }
        Ok(Running {
            child,
            ending: None,
            silent: false,
            deadline: order.timeout.map(|timeout| Instant::now() + timeout),
            timeout: order.timeout,
            timed_out: false,
            kill_at: None,
            peak: 0,
            waiting_log,
        })
    }

    /// Looks after clocks and memory, and notices children that ended without a word.
    fn watch(&mut self) {
        let now = Instant::now();
        let mut ended = Vec::new();
        for (&stage, running) in &mut self.running {
            let memory = peak_memory(&running.child.id().to_string());
            running.peak = running.peak.max(memory.unwrap_or(0));
            if running.deadline.is_some_and(|deadline| now >= deadline) {
                running.deadline = None;
                running.timed_out = true;
                signal(&running.child, Signal::TERM);
                running.kill_at = Some(now + GRACE);
            }
            if running.kill_at.is_some_and(|at| now >= at) {
                running.kill_at = None;
                signal(&running.child, Signal::KILL);
            }
            if running.silent
                && let Ok(Some(status)) = running.child.try_wait()
            {
                let ending = match (running.timed_out, running.timeout, running.ending.take()) {
                    (true, Some(timeout), Some(Ending::Stopped) | None) => triage::timeout(timeout),
                    (_, _, Some(ending)) => ending,
                    (_, _, None) => triage::death(status, running.peak),
                };
                ended.push((stage, ending));
            }
        }
        for (stage, ending) in ended {
            if let Some(running) = self.running.remove(&stage) {
                // Still there only if the child never got its key.
                let _ = std::fs::remove_file(running.waiting_log);
            }
            self.finished.push(Update::Ended(stage, ending));
        }
    }
}

impl Executor for Local {
    fn submit(&mut self, order: Order) {
        match self.start(&order) {
            Ok(running) => {
                self.running.insert(order.stage, running);
            }
            Err(cause) => {
                let message = format!("can't start the stage: {cause}");
                let ending = Ending::Failed { message, lasting: true };
                self.finished.push(Update::Ended(order.stage, ending));
            }
        }
    }

    fn next(&mut self, patience: Duration) -> Option<Update> {
        const STEP: Duration = Duration::from_millis(50);
        let until = Instant::now() + patience;
        loop {
            if let Some(update) = self.finished.pop() {
                return Some(update);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(STEP)) {
                Ok(Line::Said(stage, ChildLine::Progress(progress))) => {
                    return Some(Update::Progress(stage, progress));
                }
                Ok(Line::Said(stage, ChildLine::Ended(ending))) => {
                    if let Some(running) = self.running.get_mut(&stage) {
                        running.ending = Some(ending);
                    }
                }
                Ok(Line::Closed(stage)) => {
                    if let Some(running) = self.running.get_mut(&stage) {
                        running.silent = true;
                        // Its output is closed: the process is gone or about to be.
                        let _ = running.child.wait();
                    }
                    self.watch();
                }
                Err(RecvTimeoutError::Timeout) => self.watch(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            if self.finished.is_empty() && Instant::now() >= until {
                return None;
            }
        }
    }

    fn stop(&mut self, urgency: Urgency) {
        for running in self.running.values_mut() {
            match urgency {
                Urgency::Soon => {
                    signal(&running.child, Signal::TERM);
                    running.kill_at = Some(Instant::now() + GRACE);
                }
                Urgency::Now => signal(&running.child, Signal::KILL),
            }
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.stop(Urgency::Now);
        for running in self.running.values_mut() {
            let _ = running.child.wait();
        }
    }
}

fn read_lines(output: ChildStdout, stage: StageIndex, sender: &Sender<Line>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Ok(said) = serde_json::from_str(&line) {
            let _ = sender.send(Line::Said(stage, said));
        }
    }
    let _ = sender.send(Line::Closed(stage));
}

fn signal(child: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}
