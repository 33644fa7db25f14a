"""The example of docs/accesslog.md runs as it stands."""

import re
from pathlib import Path

import pytest
from django.utils import timezone

from django_locqueue.accesslog.analytics.tasks import count_stale_hours
from django_locqueue.accesslog.models import StaleHour
from tests.accesslog.analytics.rows import located, log, logged

DOCS = Path(__file__).parents[3].joinpath("docs/accesslog.md").read_text()


@pytest.mark.django_db
def test_the_example_of_analytics_prints_provinces(capsys):
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    located()
    located("8.8.8.0/24", country_code="US", country="美国")
    log(logged(hour=hour), logged(hour=hour), logged(hour=hour, ip="8.8.8.8"))
    StaleHour.objects.create(hour=hour)
    count_stale_hours()
    section = DOCS.partition("\n## Analytics\n")[2].partition("\n## ")[0]
    [text] = re.findall(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    names = {}
    exec(compile(text, "docs/accesslog.md", "exec"), names)
    assert names["now"].totals.figures.hits == 3
    assert capsys.readouterr().out == "江苏 2 100%\n"
