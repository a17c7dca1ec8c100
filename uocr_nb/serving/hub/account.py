"""Before anything is paid: what it costs, who pays, and whether it may be started."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uocr_nb.errors import EndpointError, OptionError
from uocr_nb.serving.hub.client import Cached, HubClient
from uocr_nb.serving.hub.refusals import Asked, billing_page, refusal
from uocr_nb.support.durations import show_seconds

if TYPE_CHECKING:
    from uocr_nb.serving.hub.token import Token
    from uocr_nb.serving.plan import Plan

PORT_PRICE = 0.01
"""US dollars an hour for an exposed port (the Hub's pricing page, 2026)."""

_HOURS = {"second": 3600.0, "minute": 60.0, "hour": 1.0}
_PRICE_SECONDS = 600.0
_prices = Cached(_PRICE_SECONDS)
_people = Cached(math.inf)


# ------------------------------------------------------------------ what it costs
@dataclass(frozen=True, slots=True)
class Price:
    """What a Job on one flavor costs.

    Attributes
    ----------
    hour : float or None
        US dollars an hour for the hardware; None when it could not be read.
    known : tuple of str
        Names of all flavors, empty when they could not be read.
    hardware : str
        The hardware in words.
    """

    hour: float | None
    known: tuple[str, ...] = ()
    hardware: str = ""

    @property
    def total(self) -> float | None:
        """US dollars an hour with the exposed port."""
        return None if self.hour is None else self.hour + PORT_PRICE

    def most(self, seconds: float) -> float | None:
        """Most US dollars that so many seconds can cost."""
        return None if self.total is None else self.total * seconds / 3600

    def line(self, seconds: float) -> str:
        """Write the price and the most it can cost, as in ``$0.80/h, at most $0.41``."""
        most = self.most(seconds)
        if self.hour is None or most is None:
            return "price unknown"
        return f"${self.hour:.2f}/h, at most ${dollars_up(most):.2f}"


def dollars_up(amount: float) -> float:
    """Round up to whole cents; "at most" must hold."""
    return math.ceil(round(amount * 100, 6)) / 100


def hardware_rows(hub: HubClient) -> list[dict[str, Any]]:
    """Read the flavors and their prices; no token is sent. Empty when they could not be read."""
    kept = _prices.get(hub.endpoint)
    if kept is not None:
        return list(kept)
    answer = HubClient(endpoint=hub.endpoint).ask("GET", "/api/jobs/hardware", timeout=8.0)
    rows = [row for row in answer.data if isinstance(row, dict)] if isinstance(answer.data, list) and answer.ok else []
    return list(_prices.put(hub.endpoint, rows)) if rows else []


def price_of(flavor: str, rows: list[dict[str, Any]]) -> Price:
    """Find what a flavor costs."""
    names = tuple(str(row.get("name")) for row in rows)
    for row in rows:
        if row.get("name") == flavor:
            unit, cost = _HOURS.get(str(row.get("unitLabel"))), row.get("unitCostUSD")
            good = unit is not None and isinstance(cost, (int, float)) and cost >= 0
            hour = round(float(cost) * unit, 3) if good and unit is not None and cost is not None else None
            return Price(hour, names, str(row.get("prettyName") or ""))
    return Price(None, names)


def check_price(plan: Plan, price: Price) -> None:
    """Refuse a flavor that is not there, and a start that could cost more than the cap.

    Raises
    ------
    OptionError
        For an unknown flavor.
    EndpointError
        When it could cost too much, or what it costs could not be read.
    """
    if price.known and plan.flavor not in price.known:
        import difflib  # noqa: PLC0415 - rarely needed

        near = difflib.get_close_matches(plan.flavor, price.known, n=3, cutoff=0.3)
        raise OptionError(
            f"There is no hardware {plan.flavor!r}.",
            f"The Hub has {', '.join(price.known)}.",
            f"--flavor {near[0] if near else 'l4x1'}",
        )
    if plan.max_cost is None:
        return
    most = price.most(plan.timeout)
    if most is None:
        raise EndpointError(
            f"{plan.title} was not started: its price is unknown.",
            f"The Hub's price list could not be read, and the cap is ${plan.max_cost:.2f} a start. "
            "Nothing was started and nothing is charged.",
            "Run the cell again, or lift the cap: --max-cost none",
        )
    if most > plan.max_cost:
        raise EndpointError(
            f"{plan.title} was not started: it could cost ${dollars_up(most):.2f}.",
            f"{plan.flavor} costs ${price.hour:.2f}/h, for {show_seconds(plan.timeout)}; "
            f"the cap is ${plan.max_cost:.2f} a start. Nothing was started and nothing is charged.",
            f"--timeout shorter, a smaller --flavor, or --max-cost {math.ceil(most)}",
        )


# ------------------------------------------------------------------ who pays
@dataclass(frozen=True, slots=True)
class Payer:
    """The account that a Job is billed to.

    Attributes
    ----------
    namespace : str
        The account.
    role : str
        The token's role, empty when unknown.
    user : str
        Who the token belongs to.
    """

    namespace: str
    role: str
    user: str


def who_am_i(hub: HubClient, token: Token) -> dict[str, Any]:
    """Ask once a session whom the token belongs to.

    Raises
    ------
    EndpointError
        When the Hub does not tell.
    """
    key = (hub.endpoint, hash(token.secret.reveal()))
    known = _people.get(key)
    if known is None:
        answer = hub.ask("GET", "/api/whoami-v2", timeout=15.0)
        if not answer.ok or not isinstance(answer.data, dict) or not answer.data.get("name"):
            asked = Asked("The Hub did not say whose token this is.", hub.endpoint, source=token.source)
            raise refusal(answer, asked)
        known = _people.put(key, answer.data)
    return dict(known)


def check_payer(plan: Plan, hub: HubClient, token: Token) -> Payer:
    """Find who pays, and refuse where the Hub says beforehand that it will not do it.

    Raises
    ------
    OptionError
        For an account that the token's owner is not in.
    EndpointError
        When the account cannot pay, or the token may only read.
    """
    me = who_am_i(hub, token)
    user = str(me["name"])
    namespace = plan.namespace or user
    login = (me.get("auth") or {}).get("accessToken") or {}
    payer = Payer(namespace, str(login.get("role") or ""), user)
    orgs = {str(org.get("name")): org for org in me.get("orgs") or () if isinstance(org, dict)}
    if namespace != user and namespace not in orgs:
        known = ", ".join([user, *orgs])
        raise OptionError(f"{namespace!r} is not an account of {user}.", f"There are {known}.", f"--namespace {user}")
    what = f"{plan.title} was not started."
    pays = me.get("canPay") if namespace == user else orgs[namespace].get("canPay")
    if pays is False:
        asked = Asked(what, hub.endpoint, namespace)
        raise EndpointError(
            what,
            f"{namespace} has no credit, and Jobs are paid beforehand. Nothing was started and nothing is charged.",
            f"{billing_page(asked, user)}   add credit, then run the cell again",
        )
    if payer.role == "read":
        raise EndpointError(
            what,
            f"The token from {token.source} may only read. Nothing was started and nothing is charged.",
            f"{hub.endpoint}/settings/tokens   make a token of role write, or fine-grained with job.write",
        )
    return payer


def forget() -> None:
    """Forget prices and people; for a new session."""
    _prices.clear()
    _people.clear()
