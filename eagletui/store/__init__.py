"""What is kept on disk: learned launches now, runs and recordings later."""
