"""What measures speed, memory and the coverage of intervals; not tests."""
