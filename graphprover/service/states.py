"""The states of a job: queued -> running -> done or failed; cancelled from the first two; and the length of lists."""

QUEUED, RUNNING, DONE, FAILED, CANCELLED = "queued", "running", "done", "failed", "cancelled"

OPEN = (QUEUED, RUNNING)
ENDED = (DONE, FAILED, CANCELLED)
STATES = (*OPEN, *ENDED)

MOST_LISTED = 1000  # jobs of one answer
