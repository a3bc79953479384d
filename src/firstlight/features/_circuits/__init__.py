"""How a network computes the group product: irreps in its logits, and orbits of the group in its embedding."""
