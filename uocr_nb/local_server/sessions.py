"""How the models of other packages are opened: with our threads, and without waiting in busy loops."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["session_settings"]


@contextmanager
def session_settings(threads: int) -> Iterator[None]:
    """Give every onnxruntime session that is opened inside our settings.

    The layout model would take one thread for each core of the host. And threads that spin while they wait cost a
    quarter of the time where the cores are shared with a kernel and a browser (measured), so they sleep instead.
    """
    import onnxruntime  # noqa: PLC0415 - comes with the extra

    plain = onnxruntime.InferenceSession

    class Settled(plain):  # type: ignore[misc, valid-type]
        def __init__(self, model: Any, sess_options: Any = None, **options: Any) -> None:
            settings = sess_options or onnxruntime.SessionOptions()
            settings.intra_op_num_threads = threads
            settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
            super().__init__(model, sess_options=settings, **options)

    onnxruntime.InferenceSession = Settled
    try:
        yield
    finally:
        onnxruntime.InferenceSession = plain
