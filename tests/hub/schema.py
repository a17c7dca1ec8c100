"""The limits that the service's own schema sets on a Job."""

from __future__ import annotations

import re
from typing import Any

from tests.hub.hardware import FLAVORS

_LABEL_KEY = re.compile(r"[A-Za-z0-9._-]{1,100}")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9._-]{0,100}")
_ENVIRONMENT = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
_SECRET = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_GROUP = re.compile(r"[0-9a-f]{24}")


def job_error(body: Any) -> str | None:
    """Say what the schema refuses in the body of a new Job; None when nothing."""
    if not isinstance(body, dict):
        return "Invalid input: expected object"
    checks = (
        _command_error(body),
        _image_error(body),
        _timeout_error(body),
        labels_error(body.get("labels", {})),
        _names_error("environment", body.get("environment", {}), _ENVIRONMENT),
        _names_error("secrets", body.get("secrets", {}), _SECRET),
        expose_error(body.get("expose", {})),
        _group_error(body.get("resourceGroupId")),
    )
    return next((error for error in checks if error), None)


def _command_error(body: dict[str, Any]) -> str | None:
    command = body.get("command")
    if not isinstance(command, list) or not command:
        return "command: Array must contain at least 1 element(s)"
    if not all(isinstance(part, str) and part for part in command):
        return "command: String must contain at least 1 character(s)"
    arguments = body.get("arguments", [])
    if not isinstance(arguments, list) or not all(isinstance(part, str) for part in arguments):
        return "arguments: Expected array of strings"
    return None


def _image_error(body: dict[str, Any]) -> str | None:
    images = [body[name] for name in ("dockerImage", "spaceId") if body.get(name)]
    if len(images) != 1 or not isinstance(images[0], str):
        return "Exactly one of dockerImage and spaceId is needed"
    if body.get("flavor") not in FLAVORS:
        return f"flavor: Invalid enum value, received {str(body.get('flavor'))[:40]!r}"
    return None


def _timeout_error(body: dict[str, Any]) -> str | None:
    timeout = body.get("timeoutSeconds", 1800)
    if isinstance(timeout, bool) or not isinstance(timeout, int) or timeout <= 0:
        return "timeoutSeconds: Number must be an integer greater than 0"
    return None


def labels_error(labels: Any) -> str | None:
    """Say what the schema refuses in labels."""
    if not isinstance(labels, dict):
        return "labels: Expected object"
    for key, value in labels.items():
        if not _LABEL_KEY.fullmatch(key):
            return f"labels: Invalid key {key[:40]!r}"
        if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value):
            return f"labels.{key}: Invalid value"
    return None


def _names_error(what: str, values: Any, pattern: re.Pattern[str]) -> str | None:
    if not isinstance(values, dict):
        return f"{what}: Expected object"
    for name, value in values.items():
        if not pattern.fullmatch(name):
            return f"{what}: Invalid name {name[:40]!r}"
        if not isinstance(value, str):
            return f"{what}.{name}: Expected string"
    return None


def expose_error(expose: Any) -> str | None:
    """Say what the schema refuses in the exposed ports."""
    if not isinstance(expose, dict):
        return "expose: Expected object"
    for name in ("ports", "portsPublic"):
        ports = expose.get(name, [])
        if not isinstance(ports, list) or len(ports) > 20:
            return f"expose.{name}: Array must contain at most 20 element(s)"
        if not all(isinstance(port, int) and not isinstance(port, bool) and 1 <= port <= 65535 for port in ports):
            return f"expose.{name}: Number must be between 1 and 65535"
    return None


def _group_error(group: Any) -> str | None:
    if group is not None and not (isinstance(group, str) and _GROUP.fullmatch(group)):
        return "resourceGroupId: Invalid ObjectId"
    return None
