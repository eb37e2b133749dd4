"""Local HTTP servers that speak providers' wire formats, for the real SDKs to talk to."""

from tests.fakes.server import FakeServer, Reply, Request, error

__all__ = ["FakeServer", "Reply", "Request", "error"]
