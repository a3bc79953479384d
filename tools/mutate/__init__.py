"""Mutation test of the numerics: change the source in one place at a time and check that a test fails.

mutmut and cosmic-ray mutate all of the source and run all of the tests. Neither draws a sample, chooses tests by
line coverage, or runs the doctests of a package that an import hook rewrites. This tool does only these three things.
"""
