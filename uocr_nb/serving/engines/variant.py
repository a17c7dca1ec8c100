"""One way of running an engine: image, model revision, hardware, and who has seen it work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variant:
    """A tested or documented combination of image, model revision and hardware.

    Attributes
    ----------
    name : str
        As a user types it after the colon; empty for an engine with one form only.
    image : str or None
        Container image; None where no container is used.
    revision : str or None
        Revision of the model in its repository; None where there is none to pin.
    flavor : str or None
        Hardware that it is started on by default, by the name of Hugging Face Jobs.
    port : int
        Port that it listens on inside its container or Job.
    setup : tuple of str
        Shell commands that must succeed before the engine is started, in a container that is thrown away afterwards.
    flags : tuple of str
        Flags of this variant alone.
    known : str
        What is known about it, and who has seen it.
    validated : bool
        Whether somebody has read pages with exactly this combination.
    refused_on : tuple of str
        Beginnings of the names of hardware on which it does not start.
    notes : tuple of str
        What a user should know before paying for it.
    """

    name: str = ""
    image: str | None = None
    revision: str | None = None
    flavor: str | None = None
    port: int = 8000
    setup: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    known: str = ""
    validated: bool = False
    refused_on: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def refuses(self, flavor: str | None) -> bool:
        """Tell whether it is known not to start on this hardware."""
        return flavor is not None and flavor.startswith(self.refused_on)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Where an engine counts its requests, in the text form of Prometheus.

    Attributes
    ----------
    path : str
        Path on the engine's own port. An older release may not have it (404).
    running, waiting : str
        Gauges: requests that are being answered, and those that wait.
    counters : tuple of str
        Counters that move with each request and never with a look at health or models.
    """

    path: str
    running: str
    waiting: str
    counters: tuple[str, ...]
