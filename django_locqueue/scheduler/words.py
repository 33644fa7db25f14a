"""A rule as people say it, in the language that is active."""

from django.utils import translation
from django.utils.dates import MONTHS, WEEKDAYS
from django.utils.translation import get_language, ngettext

CHINESE = {"zh-hans": "zh_CN", "zh-cn": "zh_CN", "zh": "zh_CN"}


def words(cron: str, every: int | None) -> str:
    """Return ``At 03:00 AM`` or ``Every 10 seconds``; the rule itself where nobody knows words for it."""
    if every is not None:
        return _every(every)
    from cron_descriptor import Options, get_description  # slow to import, and only pages need it

    options = Options()
    options.use_24hour_time_format = True
    options.locale_code = CHINESE.get(get_language() or "", "en_US")
    try:
        text = str(get_description(cron, options))
        return text if options.locale_code == "en_US" else _with_names(text)
    except Exception:  # of a row edited by hand, whatever it raises
        return cron


def _with_names(text: str) -> str:
    """Name days and months: the library takes their names from the process's locale, which is none."""
    with translation.override(None):
        names = {str(name): name for name in (*WEEKDAYS.values(), *MONTHS.values())}
    for english, name in names.items():
        text = text.replace(english, str(name))
    return text


def _every(seconds: int) -> str:
    if seconds % 86_400 == 0:
        days = seconds // 86_400
        return ngettext("Every day", "Every %(count)s days", days) % {"count": days}
    if seconds % 3_600 == 0:
        hours = seconds // 3_600
        return ngettext("Every hour", "Every %(count)s hours", hours) % {"count": hours}
    if seconds % 60 == 0:
        minutes = seconds // 60
        return ngettext("Every minute", "Every %(count)s minutes", minutes) % {"count": minutes}
    return ngettext("Every second", "Every %(count)s seconds", seconds) % {"count": seconds}
