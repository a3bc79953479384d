"""The checks behind the claims of FACT, one module per topic."""
