"""The shop's pages, and what they leave in the queue."""

import pytest
from django.test import Client

from django_locqueue.models import Task
from testproject.shop.models import Order, Product

pytestmark = [pytest.mark.django_db, pytest.mark.urls("testproject.urls")]


@pytest.fixture
def shop(settings):
    settings.TEMPLATES = [
        {
            **settings.TEMPLATES[0],
            "DIRS": ["testproject/templates"],
            "OPTIONS": {
                "context_processors": [
                    *settings.TEMPLATES[0]["OPTIONS"]["context_processors"],
                    "testproject.shop.cart.context",
                ]
            },
        }
    ]
    # The pages are the subject here; what is recorded of them has tests of its own.
    settings.LOGIN_URL = "login"
    settings.MIDDLEWARE = settings.MIDDLEWARE[1:]
    return Client()


def names():
    return sorted(task.name for task in Task.objects.all())


def test_there_is_something_to_buy():
    assert Product.objects.count() >= 20


@pytest.mark.parametrize(
    "path", ["/", "/products/atlas/", "/search/?q=tea", "/search/?q=%00", "/about/", "/cart/", "/login/"]
)
def test_a_page_opens(shop, path):
    assert shop.get(path).status_code == 200


def test_health_answers_in_json(shop):
    assert shop.get("/health/").json() == {"status": "ok"}
    assert shop.get("/queue/health/").status_code == 401  # it has no token yet


def test_an_order_leaves_three_tasks(shop):
    shop.post("/cart/add/atlas/")
    answer = shop.post("/checkout/", {"email": "ada@example.com"})
    order = Order.objects.get()
    assert answer.headers["Location"] == f"/orders/{order.pk}/"
    assert names() == ["pack", "send_receipt", "settle"]


def test_an_empty_cart_leaves_none(shop):
    shop.post("/checkout/", {"email": "ada@example.com"})
    assert names() == []


def test_an_order_that_fails_leaves_none(shop, monkeypatch):
    def fail(order_id):
        raise RuntimeError("the queue of the warehouse is away")

    monkeypatch.setattr("testproject.shop.views.pack", type("Broken", (), {"enqueue": staticmethod(fail)}))
    shop.post("/cart/add/atlas/")
    with pytest.raises(RuntimeError):
        shop.post("/checkout/", {"email": "ada@example.com"})
    assert (Order.objects.count(), names()) == (0, [])


def test_other_peoples_orders_do_not_exist(shop):
    order = Order.objects.create(email="ada@example.com", total=1)
    assert shop.get(f"/orders/{order.pk}/").status_code == 404


def test_a_report_needs_a_login(shop):
    assert shop.post("/report/").headers["Location"].startswith("/login/")
    assert names() == []
