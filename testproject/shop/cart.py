"""What a visitor means to buy, kept in the session: ``{slug: quantity}``."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.http import HttpRequest

from testproject.shop.models import Product

KEY = "cart"
MOST = 99  # of one product


@dataclass(frozen=True)
class Line:
    product: Product
    quantity: int

    @property
    def total(self) -> Decimal:
        return self.product.price * self.quantity


class Cart:
    def __init__(self, request: HttpRequest) -> None:
        self.session = request.session
        self.quantities: dict[str, int] = self.session.get(KEY, {})

    def __iter__(self) -> Iterator[Line]:
        for product in Product.objects.filter(slug__in=self.quantities):
            yield Line(product, self.quantities[product.slug])

    def __len__(self) -> int:
        return sum(self.quantities.values())

    def add(self, product: Product) -> None:
        self._save({**self.quantities, product.slug: min(self.quantities.get(product.slug, 0) + 1, MOST)})

    def remove(self, product: Product) -> None:
        self._save({slug: quantity for slug, quantity in self.quantities.items() if slug != product.slug})

    def clear(self) -> None:
        self._save({})

    def _save(self, quantities: dict[str, int]) -> None:
        self.session[KEY] = self.quantities = quantities


def context(request: HttpRequest) -> dict[str, Any]:
    """Give every page the cart, read only where a template asks for it."""
    return {"cart_size": lambda: len(Cart(request))}
