"""Let a CUDA build of torchvision be imported beside a torch without CUDA.

Its compiled half cannot load there, but `torchvision/_meta_registrations.py` insists on the
schemas of two operators; this declares them. Run by `setup` with the lab's own Python.
"""

import importlib.util
import pathlib

MARK = "# cpu-shim"
SHIM = f"""
{MARK}
if not _has_ops():
    _cpu_shim_lib = torch.library.Library("torchvision", "DEF")
    for _name in ("nms", "qnms"):
        _cpu_shim_lib.define(_name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


def main() -> None:
    """Append the shim to `torchvision/extension.py`, once."""
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        raise SystemExit("torchvision is not installed in the lab")
    extension = pathlib.Path(spec.origin).with_name("extension.py")
    source = extension.read_text()
    if MARK not in source:
        extension.write_text(source + SHIM)


if __name__ == "__main__":
    main()
