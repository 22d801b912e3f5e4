"""The pool of jobs: one row being done on behalf of a thread, or one token of a plan walking its rows."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.state import (
    JOB_END,
    JOB_FREE_N,
    JOB_NEXT,
    JOB_OWNER,
    JOB_PLAN,
    JOB_ROW,
    JOB_TOKEN,
)


@jit
def new_job(s, row, end, owner, plan):
    """A job for rows [row, end); the caller has made sure of room."""
    n = s.scalar[JOB_FREE_N] - 1
    s.scalar[JOB_FREE_N] = n
    job = s.job_free[n]
    s.job[job, JOB_ROW], s.job[job, JOB_END], s.job[job, JOB_OWNER], s.job[job, JOB_PLAN] = row, end, owner, plan
    s.job[job, JOB_TOKEN] = codes.NONE
    s.job[job, JOB_NEXT] = codes.NONE
    return job


@jit
def free_job(s, job):
    """Return a job's slot."""
    n = s.scalar[JOB_FREE_N]
    s.job_free[n] = job
    s.scalar[JOB_FREE_N] = n + 1
