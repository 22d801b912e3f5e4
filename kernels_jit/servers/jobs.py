"""The pool of jobs: one row being done on behalf of a thread, or one token of a plan walking its rows."""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import job_at, state_at
from kernels_jit.layout.records import JOB_SHIFT


@inner
def new_job(m, row, end, owner, plan):
    """Allocate a job for rows [row, end) and return its place. The caller has made sure of room."""
    state = state_at(m, 0)
    place = state.job_free
    if CHECKED:
        assert place != codes.NONE, "a job is allocated although the pool is empty"
    job = job_at(m, place)
    state.job_free = job.next
    state.job_free_n -= 1
    # The stamp is kept, so that events of earlier jobs in this place stay stale.
    job.row, job.end, job.owner, job.plan = row, end, owner, plan
    job.token = codes.NONE
    job.next = codes.NONE
    return place


@inner
def free_job(m, place):
    """Return a job to the pool."""
    state = state_at(m, 0)
    job_at(m, place).next = state.job_free
    state.job_free = place
    state.job_free_n += 1


@inner
def name_job(m, place):
    """What an event keeps of a job."""
    return job_at(m, place).stamp << JOB_SHIFT | place
