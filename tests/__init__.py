"""Tests. A package, because a dependency of the benchmarks installs one of the same name, which would win."""
