from django.contrib import admin

from testproject.shop.models import Order, OrderLine, Product


@admin.register(Product)
class ProductAdmin(admin.ModelAdmin):
    list_display = ["symbol", "name", "category", "price"]
    list_display_links = ["name"]
    search_fields = ["name"]


class OrderLineInline(admin.TabularInline):
    model = OrderLine
    extra = 0


@admin.register(Order)
class OrderAdmin(admin.ModelAdmin):
    list_display = ["id", "email", "total", "payment", "receipt_sent_at", "created_at"]
    list_filter = ["payment"]
    inlines = [OrderLineInline]
