"""Sessions kept as the events they were made of: written without a secret, read until they end.

`blocks` is the file, `codec` an event in it, `hiding` what is covered before, `writer` and
`recorder` make one, `reader` reads one.
"""
