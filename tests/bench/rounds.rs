//! Both sides by turns, each time in a process of its own.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use pcae::engine::system::host;
use tempfile::TempDir;

use crate::item::{Item, Measured};
use crate::points;

/// Where and how items are measured.
pub(crate) struct Bench {
    folder: TempDir,
    python: Option<OsString>,
    rounds: u32,
}

/// All measurements of an item, one for each round.
pub(crate) struct Row {
    pub(crate) title: String,
    pub(crate) amount: Option<(f64, &'static str)>,
    pub(crate) giga_operations: Option<f64>,
    pub(crate) size: Option<(&'static str, usize)>,
    pub(crate) ours: Vec<Measured>,
    pub(crate) peers: Vec<Measured>,
}

impl Bench {
    /// Writes the points and looks for the peers' Python.
    pub(crate) fn prepare(
        data: Option<&Path>,
        python: Option<OsString>,
        rounds: u32,
    ) -> Result<Self, String> {
        let folder = TempDir::with_prefix("pcae-bench-").map_err(|error| error.to_string())?;
        println!("points: {}", points::write(data, &folder.path().join("points"))?);
        match &python {
            Some(python) => println!("peers run by {}", python.display()),
            None => println!("no peers: name a Python that has their packages by PCAE_PEER_PYTHON"),
        }
        println!("rounds: {rounds}\n");
        Ok(Self { folder, python, rounds })
    }

    /// Measures an item.
    pub(crate) fn measure(&self, item: &dyn Item) -> Result<Row, String> {
        let (mut ours, mut peers) = (Vec::new(), Vec::new());
        let peer = self.python.as_ref().zip(item.peer());
        for round in 0..self.rounds {
            // Results are compared once.
            let is_compared = round == 0 && peer.is_some();
            ours.push(self.ours(item, is_compared)?);
            if let Some((python, peer)) = &peer {
                let mut command = Command::new(python);
                let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/peers");
                command.arg(scripts.join(peer.script)).arg(self.folder.path().join("points"));
                command.arg(if is_compared { self.result() } else { OsString::from("-") });
                command.args(&peer.arguments);
                peers.push(last_line(command)?);
            }
            let seconds = |side: &[Measured]| side.last().map(|done| done.seconds);
            println!(
                "{} {}: {:.2?} {:.2?}",
                item.name(),
                round + 1,
                seconds(&ours),
                seconds(&peers)
            );
        }
        let (title, amount, size) = (item.title(), item.amount(), item.size());
        let giga_operations = item.giga_operations();
        Ok(Row { title, amount, giga_operations, size, ours, peers })
    }

    fn ours(&self, item: &dyn Item, is_compared: bool) -> Result<Measured, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.envs(host::worker_variables(host::cores()));
        command.arg("--work").arg(item.name());
        command.arg("--points").arg(self.folder.path().join("points"));
        if is_compared {
            command.arg("--result").arg(self.result());
        }
        last_line(command)
    }

    fn result(&self) -> OsString {
        self.folder.path().join("result").into()
    }
}

/// Runs a command and reads the last line that it prints.
fn last_line(mut command: Command) -> Result<Measured, String> {
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let told = |what: String| format!("{command:?}: {what}");
    let printed = String::from_utf8_lossy(&output.stdout);
    let line = printed.lines().last().unwrap_or_default();
    if !output.status.success() {
        return Err(told(format!("{}: {line}", output.status)));
    }
    serde_json::from_str(line).map_err(|error| told(format!("{error} in {line}")))
}
