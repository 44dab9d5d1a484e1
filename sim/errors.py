"""The one exception that bad input raises, everywhere."""


class ConfigError(ValueError):
    """Input that cannot be accepted, told in one line.

    Args:
        field: path of the field in the document, such as `requests[2].prompt_tokens`; empty when the document as a
            whole is meant.
        problem: what is wrong with it and what is allowed, without the field's name.
    """

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{field}: {problem}" if field else problem)
