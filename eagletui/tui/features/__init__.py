"""What the app does beside watching, a module a feature: its messages and its actions."""
