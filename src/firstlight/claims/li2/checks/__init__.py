"""The checks behind the claims of Li₂, one module per topic."""
