"""What Python takes for a number, or fails on, and no person means."""

NO_NUMBERS = (
    "1_0", "\uff11\uff10", "\u0661", "\u00b2", "9" * 5000, "-" + "9" * 5000, "", " ", "0x1",
)  # fmt: skip
