"""What the overview page stands for in admin, which lists models. It has no table."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Overview(models.Model):
    class Meta:
        managed = False
        default_permissions = ()  # its page asks for those of tasks
        verbose_name = _("overview")
        verbose_name_plural = _("Overview")
