"""``%uocr_jobs``, and the word on what a dead kernel left running."""

from __future__ import annotations

import threading
from typing import Any

from IPython.display import display

from uocr_nb.magics.options import jobs_parser
from uocr_nb.magics.words import split
from uocr_nb.serving.hub import listing, sweep
from uocr_nb.views import messages

__all__ = ["jobs", "sweep_when_loaded"]


def jobs(line: str) -> None:
    """List our Jobs, or cancel those that are proven dead, or one by its id."""
    asked = jobs_parser().read(split(line))
    if asked.cancel is not None:
        told = [listing.cancel_job(job_id) for job_id in asked.cancel] if asked.cancel else listing.cancel_dead()
        shown = tuple(messages.Message("stopped", text) for text in told)
        display(messages.Messages(shown or (messages.info("Nothing was left behind by a dead kernel."),)))
        return
    rows = listing.jobs(namespace=asked.namespace)
    if not rows:
        display(messages.info("Nothing is running: no Job of ours, no engine of this machine."))
        return
    shown = tuple(messages.Message("warning" if row.dead else "info", row.line) for row in rows)
    dead = sum(row.dead for row in rows)
    hint = messages.info(f"{dead} left by a dead kernel.", "Next: `%uocr_jobs --cancel`") if dead else None
    display(messages.Messages((*shown, hint) if hint else shown))


def sweep_when_loaded(*, in_notebook: bool) -> None:
    """End in the background what a dead kernel left; say so in the cell that loaded the extension.

    Nothing is asked of anybody when the ledger holds no such Job.
    """
    if not sweep.open_jobs():
        return
    handle: Any = display({"text/plain": ""}, raw=True, display_id=True) if in_notebook else None
    lock = threading.Lock()
    told: list[str] = []

    def tell(text: str) -> None:
        with lock:
            told.append(text)
            # By its handle: a print from a thread would land in whichever cell is running.
            if handle is not None:
                handle.update(messages.Messages(tuple(messages.warning(one) for one in told)))
            else:
                print(text)

    sweep.sweep_later(tell)
