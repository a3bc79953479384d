"""Encoding of gaps, categories and dates as numbers, in front of the numeric estimators."""
