"""`ascend` machines: clusters of matrix and vector cores around a control processor that schedules tasks."""
