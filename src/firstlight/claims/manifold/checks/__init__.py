"""The checks behind the claims of the geometry of grokking, one module per topic."""
