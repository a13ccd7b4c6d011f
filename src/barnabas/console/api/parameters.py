"""Parameters that several calls have."""

from barnabas.console.endpoint import Parameter

TOPIC = Parameter("topic", "string", "Name of the topic.", required=True)
PARTITION = Parameter("partition", "integer", "Number of the partition.", minimum=0)
SEARCH = Parameter("search", "string", "Words that the name contains.", "")
PAGE = Parameter("page", "integer", "Page, from 1 on.", 1, minimum=1)
PAGE_SIZE = Parameter("size", "integer", "Rows of a page.", 50, minimum=1, maximum=500)
DESCENDING = Parameter("descending", "boolean", "Largest first.", False)
CONFIRM = Parameter(
    "confirm", "string", "The name once more, typed by the one who asks.", required=True
)


def sort_parameter(keys: tuple[str, ...]) -> Parameter:
    return Parameter("sort", "string", "Column to sort by.", keys[0], choices=keys)
