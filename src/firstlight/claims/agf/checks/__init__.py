"""The checks behind the claims of AGF, one module per topic."""
