//! Links the program at a fixed address where that is possible: every stage is a process of its own,
//! and to move all addresses in a program of this size takes half of its start.

#![expect(clippy::disallowed_methods, reason = "nothing else tells a build script its target")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
