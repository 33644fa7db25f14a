from django.contrib import admin
from django.contrib.auth import views as auth_views
from django.contrib.staticfiles.views import serve
from django.urls import include, path

urlpatterns = [
    path("", include("testproject.shop.urls")),
    path("login/", auth_views.LoginView.as_view(), name="login"),
    path("logout/", auth_views.LogoutView.as_view(), name="logout"),
    path("i18n/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
    path("queue/", include("django_locqueue.urls")),
    # The demo runs without DEBUG, where nobody else would serve admin's own files. A real site has a web server.
    path("static/<path:path>", serve, {"insecure": True}),
]
