use crate::sandbox::{SUMS, Sandbox, program};

#[test]
fn a_plan_says_what_a_run_does() {
    let sandbox = Sandbox::new(SUMS);
    sandbox.run().ok();
    sandbox.edit(r#""two": "2""#, r#""two": "3""#);
    let plan = sandbox.call(&["plan", "pipeline.ron"]).ok();
    insta::assert_snapshot!(plan.stdout, @r#"
    5 stages: 2 cached, 1 run, 2 follow their inputs
      run    number-two  args[3] "2" -> "3"
      after  square-two  after number-two
      after  total  after square-two
    "#);
}
