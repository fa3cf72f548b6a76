"""Tests of the block guest, and the small blocks that they check."""
