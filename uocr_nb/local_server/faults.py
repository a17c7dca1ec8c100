"""Refusals in OpenAI's error shape."""

from __future__ import annotations

from starlette.responses import JSONResponse

__all__ = ["Fault"]

_KINDS = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    405: "MethodNotAllowedError",
    413: "RequestEntityTooLargeError",
    500: "InternalServerError",
    503: "ServiceUnavailableError",
}


class Fault(Exception):  # noqa: N818 - an answer to a client, not a failure of ours
    """A request that is refused.

    Parameters
    ----------
    status : int
        HTTP status.
    message : str
        For the client; the same words as the GPU engines where they have them.
    param : str, optional
        The field of the request that is wrong.
    retry_after : int, optional
        Seconds after which to try again.
    """

    def __init__(self, status: int, message: str, *, param: str | None = None, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.retry_after = retry_after

    def body(self) -> dict[str, object]:
        """The error as OpenAI's clients read it."""
        kind = _KINDS.get(self.status, "BadRequestError")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.status}}

    def response(self) -> JSONResponse:
        """The refusal as an HTTP response."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return JSONResponse(self.body(), status_code=self.status, headers=headers)
