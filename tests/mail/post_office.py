"""A mail server for the tests: aiosmtpd, which takes messages, or answers as a test wants."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

USER, PASSWORD = "gate", "a p@ss/word%"


class PostOffice:
    """Messages that arrived, and the replies to the next commands.

    replies  (command, reply): the next `RCPT` or `DATA` gets it instead of being carried out
    logins   (user, password) of each login
    offered  number of recipients that were offered
    """

    def __init__(self) -> None:
        self.port = 0
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forgets what arrived, and how a test wanted it to answer."""
        self.messages: list[EmailMessage] = []
        self.envelopes: list[Any] = []
        self.replies: list[tuple[str, str]] = []
        self.logins: list[tuple[str, str]] = []
        self.encrypted: list[bool] = []
        self.offered = 0

    def texts(self) -> list[str]:
        return [message.get_content().replace("\r\n", "\n") for message in self.messages]

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        self.offered += 1
        if (reply := self._reply("RCPT")) is not None:
            return reply
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if (reply := self._reply("DATA")) is not None:
            return reply
        self.encrypted.append(server.transport.get_extra_info("cipher") is not None)
        self.envelopes.append(envelope)
        self.messages.append(message_from_bytes(envelope.content, policy=policy.SMTPUTF8))
        return "250 OK"

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        self.logins.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=self.logins[-1] == (USER, PASSWORD), handled=False)

    def _reply(self, command: str) -> str | None:
        if self.replies and self.replies[0][0] == command:
            return self.replies.pop(0)[1]
        return None


@contextmanager
def post_office(*, tls: ssl.SSLContext | None = None, at_once: bool = False, login: bool = False,
                **options: Any) -> Iterator[PostOffice]:
    """Serves on a free port of 127.0.0.1. `tls` offers STARTTLS, or `at_once` encrypts from the first byte."""
    office, loop = PostOffice(), asyncio.new_event_loop()
    if login:
        options |= {"authenticator": office.authenticate, "auth_required": not at_once, "auth_require_tls": not at_once}
    if tls is not None and not at_once:
        options["tls_context"] = tls

    async def start() -> asyncio.Server:
        return await loop.create_server(lambda: SMTP(office, hostname="post.example", loop=loop, **options),
                                        "127.0.0.1", 0, ssl=tls if at_once else None)

    async def stop(server: asyncio.Server) -> None:
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    office.port = server.sockets[0].getsockname()[1]
    try:
        yield office
    finally:
        asyncio.run_coroutine_threadsafe(stop(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def certificate(folder: Path, host: str = "localhost") -> tuple[ssl.SSLContext, Path]:
    """Returns the context of a server, and the file with its certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    at = datetime.now(UTC)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(1).not_valid_before(at - timedelta(days=1)).not_valid_after(at + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256()))
    public, private = folder / f"{host}.pem", folder / f"{host}.key"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                          serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return context, public
