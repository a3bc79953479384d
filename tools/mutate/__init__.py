"""Mutation run over the numerics: change the source in one place at a time and see whether a test fails.

mutmut and cosmic-ray mutate all of the source and run all of the tests; neither draws a sample, chooses tests by
coverage of the line, nor runs the doctests of a package that an import hook rewrites. This tool does no more than that.
"""
