"""Tags of our admin templates."""

from typing import Any

import django
from django import template
from django.utils.html import format_html

from django_locqueue.policies import legible

# Nothing of our admin is imported here: Django loads all tags with the first template, and django-unfold renders one
# while it is imported. Our pages, which are made of its classes, would come too early.

register = template.Library()

# Django 6.1 lays breadcrumbs out as a list inside a nav of its own.
BREADCRUMBS_ARE_A_LIST = django.VERSION >= (6, 1)


@register.simple_tag
def lq_breadcrumbs_are_a_list() -> bool:
    return BREADCRUMBS_ARE_A_LIST


@register.simple_tag(takes_context=True)
def lq_nonce(context: Any) -> Any:
    """Print the nonce attribute, where the project's content security policy asks for one."""
    nonce = context.get("csp_nonce")
    return format_html(' nonce="{}"', nonce) if nonce else ""


@register.simple_tag
def lq_search_others(changelist: Any) -> list[tuple[str, str]]:
    """Return what a search leaves as it is in the address."""
    from django_locqueue.admin import filters

    return filters.others_of(changelist, (filters.SEARCH, filters.BEHIND))


@register.filter
def lq_line(text: Any) -> str:
    return legible.line(str(text))


@register.filter
def lq_moment(moment: Any) -> Any:
    from django_locqueue.admin import moments

    return moments.time_tag(moment)


@register.filter
def lq_state(task: Any) -> Any:
    from django_locqueue.admin import badges

    return badges.state_badge(task)


@register.tag("lq_region")
def lq_region(parser: Any, token: Any) -> "RegionNode":
    """``{% lq_region "name" %}…{% end_lq_region %}``: a part of the page that is refreshed in the browser."""
    parts = token.split_contents()
    if len(parts) != 2:
        raise template.TemplateSyntaxError(f"{parts[0]} takes the region's name, got {len(parts) - 1} arguments.")
    nodes = parser.parse(("end_lq_region",))
    parser.delete_first_token()
    return RegionNode(parser.compile_filter(parts[1]), nodes)


class RegionNode(template.Node):
    def __init__(self, name: Any, nodelist: Any) -> None:
        self.name = name
        self.nodelist = nodelist

    def render(self, context: Any) -> Any:
        from django_locqueue.admin import live

        return live.region(context.request, self.name.resolve(context), self.nodelist.render(context))
