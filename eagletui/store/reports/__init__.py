"""A comparison as a person reads it: a terminal's table, CSV, Markdown, and one HTML file."""
