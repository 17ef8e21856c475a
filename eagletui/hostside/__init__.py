"""Small files that run inside the remote Python. They import nothing of ours."""
