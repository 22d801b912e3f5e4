"""Why a visit to a station came back."""

SERVED_ALL, GATHERED, FULL = 0, 1, 2
