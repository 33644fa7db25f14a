"""The list says how many requests are missing in it."""

import datetime

import pytest
from django.utils import timezone

from django_locqueue.accesslog.losses import record_loss
from tests.accesslog.pages.rows import LIST, html_of

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]


def lose(hours_ago=1, dropped=0, refused=0, errors=0):
    time = (timezone.now() - datetime.timedelta(hours=hours_ago)).timestamp()
    record_loss.func(loss_id=str(time), time=time, dropped=dropped, refused=refused, errors=errors)


def test_requests_that_a_full_buffer_dropped_are_told(viewer):
    lose(dropped=1000)
    lose(dropped=204)
    assert "1,204 requests of the last 24 hours were not logged (buffer full)." in html_of(viewer, LIST)


def test_requests_that_failed_are_told_apart(viewer):
    lose(refused=1)
    html = html_of(viewer, LIST)
    assert "1 request of the last 24 hours could not be logged; the site's log says why." in html
    assert "buffer full" not in html


def test_a_log_that_is_whole_says_nothing(viewer):
    lose(hours_ago=25, dropped=1204)
    assert "of the last 24 hours" not in html_of(viewer, LIST)


def test_it_is_told_in_chinese(viewer):
    lose(dropped=1204)
    html = viewer.get(LIST, headers={"accept-language": "zh-hans"}).content.decode()
    assert "最近 24 小时有 1204 个请求未被记录（缓冲区已满）。" in html  # Chinese groups by four digits
