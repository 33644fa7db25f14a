"""Numbers as a card or a bar has room for."""

from django.utils.formats import number_format
from django.utils.translation import get_language
from django.utils.translation import gettext as _

# Chinese counts in ten thousands: 千 and 百万 would be a translation, not a number.
UNITS = ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "K"))
CHINESE_UNITS = ((100_000_000, "亿"), (10_000, "万"))
WRITTEN_OUT_BELOW = 10_000


def whole(count: float) -> str:
    """Return ``182,340``."""
    return number_format(round(count), 0, force_grouping=True)


def short(count: float) -> str:
    """Return ``9,210``, ``182K``, ``1.2M``; in Chinese ``18.2万``."""
    if count < WRITTEN_OUT_BELOW:
        return whole(count)
    units = CHINESE_UNITS if (get_language() or "").startswith("zh") else UNITS
    size, unit = next((each for each in units if count >= each[0]), units[-1])
    value = count / size
    digits = 1 if value < 99.95 else 0
    text = number_format(round(value, digits), digits)
    return f"{text.removesuffix('.0')}{unit}"


def percent(part: float, of: float) -> str:
    """Return ``66.7 %``, and ``0 %`` of nothing. A small part that is there is not said to be none."""
    share = 100 * part / of if of else 0.0
    if 0 < share < 0.05:
        return _("< %(percent)s %%") % {"percent": number_format(0.1, 1)}
    tenths = round(share, 1)
    return _("%(percent)s %%") % {"percent": number_format(tenths, 0 if tenths.is_integer() else 1)}


def change(growth: float | None) -> str:
    """Return ``+4 %`` for 0.04; empty for None."""
    if growth is None:
        return ""
    by = round(100 * growth)
    sign = "+" if by > 0 else "−" if by < 0 else "±"
    return _("%(sign)s%(percent)s %%") % {"sign": sign, "percent": number_format(abs(by), 0, force_grouping=True)}
