"""References, data and comparisons that several test files share."""
