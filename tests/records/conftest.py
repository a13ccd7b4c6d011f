"""No deadlines for single examples: a busy machine is no defect."""

from hypothesis import settings

settings.register_profile("records", deadline=None)
settings.load_profile("records")
