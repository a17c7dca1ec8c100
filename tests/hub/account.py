"""Who asks: the account behind the fake token, and what it may do."""

from __future__ import annotations

import hashlib
import secrets
import string
from dataclasses import dataclass, field
from typing import Any

_LETTERS = string.ascii_letters + string.digits


def new_token() -> str:
    """Make a fake token in the form of a real one, so that what hides tokens can be tried."""
    return "hf_" + "".join(secrets.choice(_LETTERS) for _ in range(34))


def _id(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:24]


@dataclass
class Account:
    """A user with namespaces. Change the fields while the Hub runs.

    Parameters
    ----------
    name : str
        The user's own namespace.
    can_pay : bool
        Whether a Job of the user is paid for; without it a POST is answered by 402.
    role : str
        ``write``, ``read`` or ``fineGrained`` (which may start Jobs with ``job.write`` among its `rights`).
    orgs : dict[str, bool]
        Organisations, and whether they can pay.
    tokens : dict[str, str]
        Valid tokens, with their own role where it is not empty.
    """

    name: str = "alice"
    can_pay: bool = True
    role: str = "write"
    rights: list[str] = field(default_factory=list)
    orgs: dict[str, bool] = field(default_factory=lambda: {"acme": True})
    pro: bool = False
    tokens: dict[str, str] = field(default_factory=dict)

    def knows(self, header: str | None) -> str:
        """Judge an Authorization header: ``ok``, ``wrong`` or ``none``."""
        if not header:
            return "none"
        return "ok" if header.removeprefix("Bearer ") in self.tokens else "wrong"

    def role_of(self, header: str | None) -> str:
        """Tell the role of the token that came."""
        return self.tokens.get((header or "").removeprefix("Bearer "), "") or self.role

    def may_write(self, header: str | None) -> bool:
        """Whether the token that came may start and manage Jobs."""
        role = self.role_of(header)
        return role == "write" or (role == "fineGrained" and "job.write" in self.rights)

    def pays(self, namespace: str) -> bool | None:
        """Whether a namespace can pay; None when the user has no such namespace."""
        return self.can_pay if namespace == self.name else self.orgs.get(namespace)

    def author(self) -> dict[str, Any]:
        """Describe the user, as in ``createdBy``."""
        return {"id": _id(self.name), "name": self.name}

    def owner(self, namespace: str) -> dict[str, Any]:
        """Describe a namespace, as in ``owner``."""
        kind = "user" if namespace == self.name else "org"
        return {"id": _id(namespace), "name": namespace, "type": kind, "avatarUrl": f"/avatars/{namespace}.svg"}

    def whoami(self, header: str | None) -> dict[str, Any]:
        """Answer ``whoami-v2``."""
        token: dict[str, Any] = {
            "displayName": "tests",
            "role": self.role_of(header),
            "createdAt": "2026-01-01T00:00:00.000Z",
        }
        if token["role"] == "fineGrained":
            entity = {"_id": _id(self.name), "type": "user", "name": self.name}
            token["fineGrained"] = {"global": [], "scoped": [{"entity": entity, "permissions": self.rights}]}
        orgs = [
            {"type": "org", "id": _id(name), "name": name, "fullname": name, "canPay": pays, "roleInOrg": "write"}
            for name, pays in self.orgs.items()
        ]
        return {
            "type": "user",
            **self.author(),
            "fullname": self.name.title(),
            "canPay": self.can_pay,
            "isPro": self.pro,
            "orgs": orgs,
            "auth": {"type": "access_token", "accessToken": token},
        }
