"""What to know before a server is started: rules over a start plan, a release and a host."""
