"""Over-refusal evaluation (OR-Bench) on Inspect AI."""
