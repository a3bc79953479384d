"""The checks behind the claims of CoGO, one module per topic."""
