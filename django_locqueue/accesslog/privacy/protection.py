"""Makes of a hit what may leave the process: be an argument of a task, a line of a spool, a row."""

from collections.abc import Collection
from typing import Any
from urllib.parse import unquote

from django_locqueue.accesslog import hit as limits
from django_locqueue.accesslog.bots import is_bot
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.prefix import network_prefix
from django_locqueue.accesslog.privacy.own_site import is_own
from django_locqueue.accesslog.privacy.paths import Secret, mask_path, own_path, route_path
from django_locqueue.accesslog.privacy.policy import FULL, HASH, NONE, PrivacyPolicy
from django_locqueue.accesslog.privacy.pseudonym import pseudonym, visitor
from django_locqueue.accesslog.privacy.visitor_keys import visitor_keys


def protect(
    hit: Hit,
    policy: PrivacyPolicy,
    *,
    query: str = "",
    secrets: Collection[Secret] = (),
    opted_out: bool = False,
    sensitive: bool = False,
) -> Hit:
    """Return the hit as the policy allows it to be kept. Asks no database.

    ``query``: the query string as it came; ``secrets``: the parts of the path that are masked; ``opted_out``: the
    visitor asked not to be known; ``sensitive``: the view says that no visit to it is to be known of anybody.
    """
    changes: dict[str, Any] = {}
    if sensitive:
        changes.update(path=route_path(hit.route), referer="")
    else:
        if secrets:
            changes["path"] = mask_path(hit.path, hit.route, secrets)
        if query:
            changes["query"] = limits.text(policy.parameters.kept(query), limits.QUERY_LENGTH)
        if hit.referer:
            changes["referer"] = shown_referer(hit.referer, hit.host)
    if opted_out or sensitive:
        # Nobody's: it only counts. That it was a bot's is still known. Its id is not the request's: tasks and log lines
        # that say whose it was have that.
        changes.update(ip=None, user_id=None, user_agent="", is_bot=is_bot(hit.user_agent))
        changes.update(id=limits.new_id(), task_ids="")
    elif hit.ip is not None:
        changes.update(shown_address(hit, hit.ip, policy))
    return hit._replace(**changes) if changes else hit


def shown_address(hit: Hit, ip: str, policy: PrivacyPolicy) -> dict[str, Any]:
    """Return the fields of the hit that are made of its address, as ``IP_STORAGE`` has them."""
    if policy.ip_storage == NONE:
        return {"ip": None}
    key = visitor_keys.of(hit.time)
    known = visitor(ip, hit.user_agent, key)
    if policy.ip_storage == FULL:
        return {"visitor": known}
    if policy.ip_storage == HASH:
        return {"visitor": known, "ip": pseudonym(ip, key)}
    return {"visitor": known, "ip": network_prefix(ip, policy.prefix_v4, policy.prefix_v6).partition("/")[0]}


def shown_referer(referer: str, host: str) -> str:
    """Return a page of this site as its path, without secrets; another site's as it is."""
    _scheme, separator, rest = referer.partition("://")
    site, _slash, path = rest.partition("/")
    if not separator or not is_own(site, host):
        return referer
    return limits.text(own_path()(f"/{unquote(path)}"), limits.REFERER_LENGTH)
