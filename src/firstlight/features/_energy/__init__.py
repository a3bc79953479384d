"""Li₂'s energy of a hidden unit: its maxima, ascents, census, ridge solutions and irrep content."""
