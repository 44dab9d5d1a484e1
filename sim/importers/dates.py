"""Days between dates, without the standard library's module for dates, which also has a clock."""

_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)


def day_number(year: int, month: int, day: int) -> int | None:
    """The days from 1 January of year 1 to a date, with that day; `None` if there is no such date."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (year >= 1 and 1 <= month <= 12):
        return None
    length = _BEFORE_MONTH[month] - _BEFORE_MONTH[month - 1] + (leap and month == 2)
    if not 1 <= day <= length:
        return None
    before = year - 1
    return (
        before * 365
        + before // 4
        - before // 100
        + before // 400
        + _BEFORE_MONTH[month - 1]
        + (leap and month > 2)
        + day
    )
