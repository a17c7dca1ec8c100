"""A loopback Hugging Face Hub: the real client talks to it, its Jobs are real processes of this machine.

In a test: ``from tests.hub.fixtures import hub`` in the room's conftest, then ``HfApi(endpoint=hub.endpoint,
token=hub.token)``. Faults are dataclasses of ``tests.hub.faults``, scripted by ``hub.add``::

    hub.add(faults.Answer(route="cancel", status=503, times=2))     # the third cancel is accepted
    hub.add(faults.Lost(route="run", how="status", status=500))     # the Job is created all the same
    hub.add(faults.Queue(), faults.Engine(fatal="CUDA error 802"))  # each for the next Job

What was asked stands in ``hub.records()``, ``hub.posts()``, ``hub.cancels(job_id, accepted=True)``. For tests that kill
the process they run in: ``RemoteHub.start()`` (or the fixture ``remote_hub``), the same words over another process.
By hand: ``python -m tests.hub``.
"""
