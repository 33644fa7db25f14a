"""What visitors sent, as a person can trust it."""

import unicodedata

INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")


def visible(text: str) -> str:
    """Return the text with control and direction characters written out, so that no line can pose as another."""
    if text.isprintable():
        return text
    return "".join(f"\\u{ord(char):04x}" if unicodedata.category(char) in INVISIBLE else char for char in text)
