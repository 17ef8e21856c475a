"""eagletui: watch and tune SGLang servers with speculative decoding over SSH."""

__version__ = "0.1.0"
