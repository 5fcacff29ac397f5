//! Which options of `sbatch` a site may add: those that the executor sets itself would fight with it.

use super::problem::Problem;

/// Options that the executor sets, with their short forms and what to write in a site file instead.
const OWN: &[(&str, Option<char>, &str)] = &[
    ("--account", Some('A'), "use the field `account`"),
    ("--array", Some('a'), NONE),
    ("--chdir", Some('D'), NONE),
    ("--comment", None, NONE),
    ("--cpus-per-task", Some('c'), "use `cpus` in `resources`"),
    ("--dependency", Some('d'), NONE),
    ("--error", Some('e'), "`pcae-run log` shows what a stage prints"),
    (
        "--exclude",
        Some('x'),
        "nodes that fail are excluded; keep jobs off others by `--constraint`",
    ),
    ("--export", None, "set variables in `setup`, such as `export NAME=value`"),
    ("--job-name", Some('J'), NONE),
    ("--mem", None, "use `memory` in `resources`"),
    ("--mem-per-cpu", None, "use `memory: PerCpu`, and `memory` in `resources`"),
    ("--mem-per-gpu", None, "use `memory` in `resources`"),
    ("--no-requeue", None, "a job that was preempted is sent again anyway"),
    ("--output", Some('o'), "`pcae-run log` shows what a stage prints"),
    ("--parsable", None, NONE),
    ("--partition", Some('p'), "use the field `partitions`"),
    ("--requeue", None, "a job that was preempted is sent again anyway"),
    ("--signal", None, "use the field `warn_before`"),
    ("--time", Some('t'), "use `time` in `resources`"),
    ("--wait", Some('W'), NONE),
    ("--wrap", None, "use the field `setup`"),
];

const NONE: &str = "delete it";

/// Checks one option as it is given to `sbatch`.
pub(super) fn check(option: &str) -> Result<(), Problem> {
    let refused = |message: String, help: &str| Err(Problem::new(message, help));
    let (word, value) = match option.split_once('=') {
        Some((word, value)) => (word, Some(value)),
        None => (option, None),
    };
    if let Some((own, _, instead)) = OWN.iter().find(|own| is_meant(own, option, word)) {
        return refused(format!("`{own}` is set by `pcae-run` itself"), instead);
    }
    if !option.starts_with('-') || option.trim_start_matches('-').is_empty() {
        let message = format!("`{option}` is not an option of `sbatch`");
        return refused(message, "write options in one piece each: `\"--constraint=avx2\"`");
    }
    if word.contains(char::is_whitespace) {
        let message = format!("`{option}` is not one option");
        return refused(message, "write the value after `=`: `\"--constraint=avx2\"`");
    }
    if value == Some("") {
        return refused(format!("`{option}` has no value"), "write it after the `=`");
    }
    Ok(())
}

/// Returns whether an option is one of the executor's own. Long ones may be shortened as long as they
/// can be told from others, and short ones have their value right behind them.
fn is_meant((long, short, _): &(&str, Option<char>, &str), option: &str, word: &str) -> bool {
    const SHORTEST: usize = "--xx".len();
    let word = word.split_whitespace().next().unwrap_or(word);
    if word.starts_with("--") {
        return word == *long || (word.len() >= SHORTEST && long.starts_with(word));
    }
    let mut letters = option.chars();
    letters.next() == Some('-') && short.is_some() && letters.next() == *short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_executor_sets_is_refused_in_every_form() {
        for option in [
            "--mem=4G",
            "--mem",
            "--mem 4G",
            "-t10",
            "-t 10",
            "--time=1:00:00",
            "-pshort",
            "--partition=short",
            "--part=short",
            "-J",
            "-J name",
            "-o/tmp/x",
            "-W",
            "--wait",
            "--requeue",
            "--no-requeue",
            "--exclude=n1",
            "-xn1",
            "--array=1-3",
            "-a1-3",
            "--export=ALL",
            "-D/tmp",
            "-d",
            "--signal=USR1",
            "--cpus-per-task=2",
            "-c2",
        ] {
            let refused = check(option).err().unwrap_or_else(|| panic!("{option} is allowed"));
            assert!(refused.message.contains("set by `pcae-run` itself"), "{option}");
        }
        assert!(check("--mem=4G").err().unwrap().help.contains("`memory` in `resources`"));
    }

    #[test]
    fn other_options_pass() {
        for option in [
            "--constraint=avx2",
            "-Cavx2",
            "--exclusive",
            "--qos=long",
            "--mail-user=a b",
            "-q long",
            "--wait-all-nodes=1",
            "--time-min=5",
            "--reservation=x",
            "--nice",
            "-v",
            "--licenses=a:1",
        ] {
            if option == "-q long" {
                assert!(check(option).is_err());
            } else {
                assert!(check(option).is_ok(), "{option}");
            }
        }
    }

    #[test]
    fn what_is_no_single_option_is_explained() {
        for (option, message) in [
            ("avx2", "`avx2` is not an option of `sbatch`"),
            ("", "`` is not an option of `sbatch`"),
            ("--", "`--` is not an option of `sbatch`"),
            ("--constraint avx2", "`--constraint avx2` is not one option"),
            ("--constraint=", "`--constraint=` has no value"),
        ] {
            assert_eq!(check(option).err().unwrap().message, message);
        }
    }
}
