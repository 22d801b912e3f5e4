"""The pool of jobs: one row being done on behalf of a thread, or one token of a plan walking its rows."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.state import (
    JOB_END,
    JOB_FREE,
    JOB_FREE_N,
    JOB_NEXT,
    JOB_OWNER,
    JOB_PLAN,
    JOB_ROW,
    JOB_SHIFT,
    JOB_STAMP,
    JOB_TOKEN,
)


@inner
def new_job(m, row, end, owner, plan):
    """A job for rows [row, end); the caller has made sure of room."""
    job = m[JOB_FREE]
    m[JOB_FREE] = m[job + JOB_NEXT]
    m[JOB_FREE_N] -= 1
    m[job + JOB_ROW], m[job + JOB_END], m[job + JOB_OWNER], m[job + JOB_PLAN] = row, end, owner, plan
    m[job + JOB_TOKEN] = codes.NONE
    m[job + JOB_NEXT] = codes.NONE
    return job


@inner
def free_job(m, job):
    """Return a job's row to the pool."""
    m[job + JOB_NEXT] = m[JOB_FREE]
    m[JOB_FREE] = job
    m[JOB_FREE_N] += 1


@inner
def name_job(m, job):
    """What an event keeps of a job."""
    return m[job + JOB_STAMP] << JOB_SHIFT | job
