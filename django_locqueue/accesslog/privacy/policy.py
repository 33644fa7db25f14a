"""What of a request may be kept: the settings of privacy, compiled once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django_locqueue.accesslog.conf import access_log, until_settings_change
from django_locqueue.accesslog.privacy.query import AllowedParameters

FULL, TRUNCATE, HASH, NONE = "full", "truncate", "hash", "none"
IP_STORAGE = (FULL, TRUNCATE, HASH, NONE)
ROUTE = "route"
PATH = (FULL, ROUTE)

GPC = "HTTP_SEC_GPC"
DNT = "HTTP_DNT"
NO_PARAMETERS = AllowedParameters()


@dataclass(frozen=True, slots=True)
class PrivacyPolicy:
    """``opt_outs``: the META keys of the headers by which a visitor may ask not to be known."""

    ip_storage: str = FULL
    prefix_v4: int = 24
    prefix_v6: int = 48
    path_is_route: bool = False
    parameters: AllowedParameters = NO_PARAMETERS
    opt_outs: tuple[str, ...] = (GPC,)

    def is_opted_out(self, meta: Mapping[str, Any]) -> bool:
        """Whether the visitor asks not to be known. Only the text "1" does (Global Privacy Control, section 3.2)."""
        for key in self.opt_outs:  # noqa: SIM110 - each request pays for it, and any() takes four times as long
            if meta.get(key) == "1":
                return True
        return False


@until_settings_change
def current_policy() -> PrivacyPolicy:
    """Return the policy of the present settings. A word that it does not know means the most private one."""
    entries = access_log.QUERY_PARAMS
    opt_outs = [GPC] if access_log.RESPECT_GPC else []
    if access_log.RESPECT_DNT:
        opt_outs.append(DNT)
    return PrivacyPolicy(
        ip_storage=access_log.IP_STORAGE if access_log.IP_STORAGE in IP_STORAGE else NONE,
        prefix_v4=int(access_log.PREFIX_V4),
        prefix_v6=int(access_log.PREFIX_V6),
        path_is_route=access_log.PATH != FULL,
        parameters=AllowedParameters.parse([entries] if isinstance(entries, str) else entries or ()),
        opt_outs=tuple(opt_outs),
    )
