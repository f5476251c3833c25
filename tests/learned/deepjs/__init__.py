"""Tests of transom.learned.deepjs."""
