"""The pool of jobs: one row being done on behalf of a thread, or one token of a plan walking its rows."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.state import JOB_FREE_N


@jit
def new_job(s, row, end, owner, plan):
    """A job for rows [row, end); the caller has made sure of room."""
    n = s.scalar[JOB_FREE_N] - 1
    s.scalar[JOB_FREE_N] = n
    job = s.job_free[n]
    s.job_row[job], s.job_end[job], s.job_owner[job], s.job_plan[job] = row, end, owner, plan
    s.job_token[job] = codes.NONE
    s.job_next[job] = codes.NONE
    return job


@jit
def free_job(s, job):
    """Return a job's slot."""
    n = s.scalar[JOB_FREE_N]
    s.job_free[n] = job
    s.scalar[JOB_FREE_N] = n + 1
