"""The checks behind the claims between two papers, one module per topic."""
