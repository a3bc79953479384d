"""What theory predicts: one folder per paper; none imports another."""
