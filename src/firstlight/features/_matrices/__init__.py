"""Feature matrices of a layer (NFM, FACT, AGOP, eNFA), their powers and their alignments."""
