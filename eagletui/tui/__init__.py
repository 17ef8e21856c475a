"""Screens and widgets. Alone in knowing Textual and plotext."""
