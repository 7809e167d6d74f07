"""What an account has: apps, images, sandboxes, secrets, volumes, tokens. And who may ask."""

import argparse
import base64
import hashlib
import hmac
import json
import os
import secrets
import string
import time

from grpclib import GRPCError, Status

LETTERS = string.digits + string.ascii_letters
ULID = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def name(prefix: str, count: int = 22) -> str:
    return f"{prefix}-" + "".join(secrets.choice(LETTERS) for _ in range(count))


def newer_name(prefix: str) -> str:
    return f"{prefix}-" + "".join(secrets.choice(ULID) for _ in range(26))


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Tokens:
    """Tokens that say when they end, signed so that nobody else makes them."""

    def __init__(self) -> None:
        self.key = secrets.token_bytes(32)

    def sign(self, text: str) -> str:
        return encoded(hmac.new(self.key, text.encode(), hashlib.sha256).digest())

    def make(self, seconds: float, **claims: object) -> str:
        parts = [{"alg": "HS256", "typ": "JWT"}, {**claims, "exp": time.time() + seconds}]
        text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
        return f"{text}.{self.sign(text)}"

    def read(self, token: str) -> dict[str, object] | None:
        text, _, signature = token.rpartition(".")
        if not text or not hmac.compare_digest(self.sign(text), signature):
            return None
        claims = text.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        return claims if claims["exp"] > time.time() else None


class Place:
    def __init__(self, chosen: argparse.Namespace, state: str) -> None:
        self.chosen, self.state, self.router = chosen, os.path.abspath(state), ""
        os.makedirs(self.state, exist_ok=True)
        self.calls = open(f"{self.state}/calls.jsonl", "a", buffering=1, encoding="utf-8")
        self.tokens = Tokens()
        self.apps: dict[tuple[str, str], str] = {}
        self.images: dict[str, object] = {}
        self.layers: dict[bytes, str] = {}
        self.sandboxes: dict[str, object] = {}
        self.tasks: dict[str, object] = {}
        self.secrets: dict[str, dict[str, str]] = {}
        self.secret_names: dict[str, str] = {}
        self.volumes: dict[str, str] = {}

    def record(self, **entry: object) -> None:
        self.calls.write(json.dumps({"at": time.time(), **entry}) + "\n")

    def admit(self, call: str, headers) -> None:
        shown = {key: str(value) for key, value in headers.items() if key.startswith("x-") and "secret" not in key}
        shown.pop("x-modal-auth-token", None)
        self.record(call=call, headers=shown)
        if headers.get("x-modal-client-type") not in ("1", "7", "8", "9") or not headers.get("x-modal-client-version"):
            raise GRPCError(Status.INVALID_ARGUMENT, "the client does not say what it is")
        pair = (headers.get("x-modal-token-id"), headers.get("x-modal-token-secret"))
        if pair != (self.chosen.token_id, self.chosen.token_secret):
            raise GRPCError(Status.UNAUTHENTICATED, "Token ID or secret is invalid")
        if call.endswith("V2") or call in ("SandboxGetCommandRouterAccess", "SandboxSetName"):
            claims = self.tokens.read(headers.get("x-modal-auth-token", ""))
            if not claims or claims.get("kind") != "auth":
                raise GRPCError(Status.UNAUTHENTICATED, "missing or ended auth token")

    def access(self, sandbox) -> tuple[str, str]:
        """Where the router of a sandbox is, and a token for it."""
        url = self.router
        if self.chosen.router and os.path.exists(self.chosen.router):
            with open(self.chosen.router, encoding="utf-8") as file:
                url = file.read().strip()
        return url, self.tokens.make(self.chosen.router_token_seconds, task=sandbox.task, kind="router")

    def sandbox(self, sandbox_id: str):
        if sandbox_id not in self.sandboxes:
            raise GRPCError(Status.NOT_FOUND, f"Sandbox with ID {sandbox_id} not found")
        return self.sandboxes[sandbox_id]

    def image(self, image_id: str):
        if image_id not in self.images:
            raise GRPCError(Status.NOT_FOUND, f"Image with ID {image_id} not found")
        return self.images[image_id]

    def variables(self, ids, sources=()) -> dict[str, str]:
        """What secrets put into the environment."""
        found: dict[str, str] = {}
        for secret in ids:
            if secret not in self.secrets:
                raise GRPCError(Status.NOT_FOUND, f"Secret {secret} not found")
            found |= self.secrets[secret]
        for source in sources:
            if source.WhichOneof("source") == "secret_id":
                found |= self.variables([source.secret_id])
            else:
                found |= dict(source.env.contents)
        return found
