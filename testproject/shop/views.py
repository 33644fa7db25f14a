"""The pages of the shop."""

import itertools

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from testproject.shop.cart import Cart
from testproject.shop.models import Order, OrderLine, Product
from testproject.shop.tasks import build_report, pack, send_receipt, settle

API_FAILS_EVERY = 25
_api_calls = itertools.count(1)


class CheckoutForm(forms.Form):
    email = forms.EmailField(label="E-mail")


def product_list(request: HttpRequest) -> HttpResponse:
    return render(request, "shop/list.html", {"products": Product.objects.all()})


def product(request: HttpRequest, slug: str) -> HttpResponse:
    return render(request, "shop/product.html", {"product": get_object_or_404(Product, slug=slug)})


def search(request: HttpRequest) -> HttpResponse:
    words = request.GET.get("q", "").replace("\x00", "")[:80].split()
    found = Product.objects.all() if words else Product.objects.none()
    for word in words:
        found = found.filter(Q(name__icontains=word) | Q(description__icontains=word) | Q(category__icontains=word))
    return render(request, "shop/search.html", {"products": found, "query": " ".join(words)})


def about(request: HttpRequest) -> HttpResponse:
    """A page without a query: what is left of its time is Django's and the middleware's."""
    return render(request, "shop/about.html")


def cart(request: HttpRequest) -> HttpResponse:
    lines = list(Cart(request))
    total = sum(line.total for line in lines)
    return render(request, "shop/cart.html", {"lines": lines, "total": total, "form": CheckoutForm()})


@require_POST
def cart_add(request: HttpRequest, slug: str) -> HttpResponse:
    Cart(request).add(get_object_or_404(Product, slug=slug))
    return redirect("shop:cart")


@require_POST
def cart_remove(request: HttpRequest, slug: str) -> HttpResponse:
    Cart(request).remove(get_object_or_404(Product, slug=slug))
    return redirect("shop:cart")


@require_POST
def checkout(request: HttpRequest) -> HttpResponse:
    cart = Cart(request)
    lines = list(cart)
    form = CheckoutForm(request.POST)
    if not lines or not form.is_valid():
        messages.error(request, "Put something into the cart and give an e-mail address.")
        return redirect("shop:cart")
    # The order and what is to be done with it are stored together, or neither is.
    with transaction.atomic():
        order = Order.objects.create(email=form.cleaned_data["email"], total=sum(line.total for line in lines))
        OrderLine.objects.bulk_create(
            OrderLine(order=order, product=line.product, quantity=line.quantity, price=line.product.price)
            for line in lines
        )
        send_receipt.enqueue(order.pk)
        settle.enqueue(order.pk)
        pack.enqueue(order.pk)
    cart.clear()
    request.session["orders"] = [*request.session.get("orders", []), order.pk][-20:]
    return redirect("shop:order", order.pk)


def order(request: HttpRequest, order_id: int) -> HttpResponse:
    if order_id not in request.session.get("orders", []):
        return render(request, "404.html", status=404)  # other people's orders do not exist
    return render(request, "shop/order.html", {"order": get_object_or_404(Order, pk=order_id)})


@login_required
@require_POST
def report(request: HttpRequest) -> HttpResponse:
    result = build_report.enqueue()
    messages.success(request, f"The report is being built: task {result.id}.")
    return redirect("shop:list")


def api_order(request: HttpRequest, order_id: int) -> JsonResponse:
    """The state of an order, for the tracker on its page. Fails now and then, as things do."""
    if next(_api_calls) % API_FAILS_EVERY == 0:
        raise RuntimeError("the tracking service did not answer")
    order = get_object_or_404(Order, pk=order_id)
    return JsonResponse(
        {
            "order": order.pk,
            "payment": order.payment,
            "receipt_sent": order.receipt_sent_at is not None,
            "packed": order.packed_at is not None,
        }
    )


def health(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})
