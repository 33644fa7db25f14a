"""What the shop sells, and to whom."""

from django.db import models
from django.urls import reverse


class Product(models.Model):
    name = models.CharField(max_length=80)
    slug = models.SlugField(unique=True)
    category = models.CharField(max_length=40)
    symbol = models.CharField(max_length=8)  # an emoji in the place of a photograph
    description = models.TextField()
    price = models.DecimalField(max_digits=8, decimal_places=2)

    class Meta:
        ordering = ["category", "name"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("shop:product", args=[self.slug])


class Order(models.Model):
    class Payment(models.TextChoices):
        OPEN = "open"
        SETTLED = "settled"

    email = models.EmailField()
    created_at = models.DateTimeField(auto_now_add=True)
    total = models.DecimalField(max_digits=10, decimal_places=2)
    payment = models.CharField(max_length=10, choices=Payment, default=Payment.OPEN)
    receipt_sent_at = models.DateTimeField(null=True, blank=True)
    packed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"order {self.pk}"


class OrderLine(models.Model):
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, on_delete=models.PROTECT)
    quantity = models.PositiveSmallIntegerField()
    price = models.DecimalField(max_digits=8, decimal_places=2)

    def __str__(self) -> str:
        return f"{self.quantity} × {self.product}"
