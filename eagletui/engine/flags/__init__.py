"""SGLang's flags, per release, and how its command line is read."""
