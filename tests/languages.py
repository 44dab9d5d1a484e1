"""Numbers of a text, in digits and in words, so that two languages can be compared."""

import re

UNITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ENGLISH = {word: number for number, word in enumerate(UNITS)} | {
    "sixteen": 16,
    "thirty": 30,
    "sixty": 60,
    "twenty-four": 24,
    "third": 3,
    "fourth": 4,
    "ninth": 9,
    "eleventh": 11,
}
HAN = {digit: number for number, digit in enumerate("零一二三四五六七八九")} | {"两": 2}
LEAST = 3
"""Below it, words of number are used too freely: one does this, both do that."""


def numbers(text: str, language: str) -> set[float]:
    """The numbers from three on that stand in a text, however they are written; no placeholders, no elements."""
    text = re.sub(r"\{[^}]*\}|<[^>]*>|百分", " ", text)
    found = {
        float(number.replace(",", ""))
        for number in re.findall(r"\d[\d,]*(?:\.\d+)*(?<!,)", text)
        if number.count(".") < 2
    }
    if language == "en":
        found |= {ENGLISH[word] for word in re.findall(r"twenty-four|[a-z]+", text.lower()) if word in ENGLISH}
    else:
        found |= {number for word in re.findall(f"[{''.join(HAN)}十百]+", text) for number in _han(word)}
    return {number for number in found if number >= LEAST}


WIDE = "[\u3400-\u9fff，。；：？！（）、“”]"


def typed_spaces(text: str) -> list[str]:
    """Where a Chinese text has a space beside a Han character or a full-width mark; marks of words are seen through."""
    text = re.sub(r"</?[a-z][^>]*>", "", text)
    return re.findall(rf"{WIDE} [\w`{{\[(]|[\w`}}\])] {WIDE}", text)


def _han(word: str) -> list[int]:
    """The number of a word such as `二十四`; of `两三`, which means two or three, both."""
    if not set(word) & {"十", "百"}:
        return [HAN[digit] for digit in word]
    total = unit = 0
    for digit in word:
        if digit in HAN:
            unit = HAN[digit]
        else:
            total, unit = total + (unit or 1) * (10 if digit == "十" else 100), 0
    return [total + unit]
