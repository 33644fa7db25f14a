"""The work that the shop does after it has answered."""

import asyncio
from decimal import Decimal
from typing import Any

from django.db.models import Count, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from django_locqueue import Cancel, Snooze, task
from testproject.shop.models import Order

CARD_LIMIT = Decimal(500)


def wait_a_little(error: BaseException, result: Any) -> float:
    """Return the seconds before the next attempt: the mail server is never busy for long."""
    return 0.5


@task(queue_name="mail", priority=10, max_attempts=5, backoff=wait_a_little, takes_context=True)
def send_receipt(context: Any, order_id: int) -> str:
    """Send the receipt. The mail server is busy for every fourth order, and takes it at the second attempt."""
    order = Order.objects.get(pk=order_id)
    if order_id % 4 == 0 and context.attempt == 1:
        raise ConnectionError("421 the mail server is busy, try again later")
    order.receipt_sent_at = timezone.now()
    order.save(update_fields=["receipt_sent_at"])
    return f"receipt for order {order_id} sent to {order.email}"


@task(atomic=True)
def settle(order_id: int) -> str:
    """Book the payment, once: the booking and the task's end are one transaction."""
    order = Order.objects.select_for_update().get(pk=order_id)
    if order.payment == Order.Payment.SETTLED:
        raise Cancel("it was settled before")
    if order.total > CARD_LIMIT:
        raise ValueError(f"the card was refused: {order.total} is over its limit of {CARD_LIMIT}")
    order.payment = Order.Payment.SETTLED
    order.save(update_fields=["payment"])
    return str(order.total)


@task(queue_name="warehouse")
async def pack(order_id: int) -> None:
    """Tell the warehouse, whose service is asked asynchronously."""
    await asyncio.sleep(0.02)
    await Order.objects.filter(pk=order_id).aupdate(packed_at=timezone.now())


@task(priority=-10)
def build_report() -> list[dict[str, Any]]:
    """Return the turnover of each day. Waits while receipts are still on their way."""
    if Order.objects.filter(receipt_sent_at=None).count() > 500:
        raise Snooze(5)
    days = Order.objects.annotate(day=TruncDate("created_at")).values("day").order_by("day")
    return [
        {"day": row["day"].isoformat(), "orders": row["orders"], "turnover": str(row["turnover"])}
        for row in days.annotate(orders=Count("id"), turnover=Sum("total"))
    ]
