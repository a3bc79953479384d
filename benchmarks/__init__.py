"""The benchmarks behind every number in the README, each compared with the alternative that a user would run."""
