from django.urls import path

from testproject.shop import views

app_name = "shop"
urlpatterns = [
    path("", views.product_list, name="list"),
    path("products/<slug:slug>/", views.product, name="product"),
    path("search/", views.search, name="search"),
    path("about/", views.about, name="about"),
    path("cart/", views.cart, name="cart"),
    path("cart/add/<slug:slug>/", views.cart_add, name="cart-add"),
    path("cart/remove/<slug:slug>/", views.cart_remove, name="cart-remove"),
    path("checkout/", views.checkout, name="checkout"),
    path("orders/<int:order_id>/", views.order, name="order"),
    path("report/", views.report, name="report"),
    path("api/orders/<int:order_id>/", views.api_order, name="api-order"),
    path("health/", views.health, name="health"),
]
