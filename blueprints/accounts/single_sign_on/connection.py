"""One HTTP request to an identity provider, with bounds: address, time, size; no redirect, no proxy, no repetition.

A provider is named by an administrator, but its documents name further URLs. So each request resolves the host, refuses
addresses of private networks (unless the setting `private` is on), and connects to an address that was checked.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from threading import Timer
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson

from settings.providers import Provider

LARGEST = 2**18  # bytes of an answer
_PORTS = {"https": 443, "http": 80}


class ProviderError(Exception):
    """Error of a request to a provider, or of its answer. The text is for the operator, and has no secret.

    code  the `error` of an answer of the token endpoint, such as `invalid_grant`
    """

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


def get(provider: Provider, url: str, token: str = "") -> dict[str, Any]:
    """Returns the JSON object at a URL. `token` is sent as a bearer. Raises `ProviderError`."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return _object(url, *_answer(provider, "GET", url, headers, None))


def post(provider: Provider, url: str, values: Mapping[str, str], headers: Mapping[str, str]) -> dict[str, Any]:
    """Sends a form and returns the JSON object of the answer. Raises `ProviderError`."""
    form = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    return _object(url, *_answer(provider, "POST", url, form, urlencode(values).encode()))


def allowed_url(provider: Provider, url: object) -> bool:
    """True for an https URL, or also an http URL of a private provider."""
    if not isinstance(url, str) or len(url) > 2000 or not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return (parts.scheme == "https" or (parts.scheme == "http" and provider.private)) and bool(
        parts.hostname) and port != 0 and parts.username is None and not parts.fragment


def _answer(provider: Provider, method: str, url: str, headers: Mapping[str, str], body: bytes | None
            ) -> tuple[int, bytes]:
    """Returns status and body. Raises `ProviderError`."""
    if not allowed_url(provider, url):
        raise ProviderError(f"{_place(url)} is no URL that may be used: it must begin with https://")
    parts = urlsplit(url)
    host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    client = http.client.HTTPConnection(host, port, timeout=provider.timeout)
    # The timeout is for one step: a server that sends one byte at a time would otherwise go on forever.
    sockets: list[socket.socket] = []
    end = Timer(2 * provider.timeout, _interrupt, (sockets,))
    end.daemon = True
    end.start()
    try:
        client.sock = _connected(provider, parts.scheme, host, port, sockets)
        client.request(method, target, body, {"Host": parts.netloc, "Accept": "application/json",
                                              "Connection": "close", **headers})
        response = client.getresponse()
        content = response.read(LARGEST + 1)
        if response.length and len(content) <= LARGEST:
            raise http.client.IncompleteRead(content, response.length)
    except TimeoutError:
        raise ProviderError(f"{_place(url)} does not answer in time") from None
    except ssl.SSLError as error:
        raise ProviderError(f"{_place(url)}: the connection cannot be encrypted: {error.reason or error}") from None
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise ProviderError(f"{_place(url)} cannot be reached, or closed the connection ({type(error).__name__})"
                            ) from None
    finally:
        end.cancel()
        client.close()
        for each in sockets:
            each.close()
    if len(content) > LARGEST:
        raise ProviderError(f"{_place(url)} answers with more than {LARGEST} bytes")
    return response.status, content


def _connected(provider: Provider, scheme: str, host: str, port: int, sockets: list[socket.socket]) -> socket.socket:
    """Returns a connection to the first address that answers, and adds it to `sockets`.

    Raises `ProviderError`, OSError.
    """
    last: OSError = OSError("no address")
    addresses = list(dict.fromkeys(str(found[4][0]) for found in socket.getaddrinfo(host, port,
                                                                                     type=socket.SOCK_STREAM)))
    if not provider.private and (hidden := [each for each in addresses if not is_public(each)]):
        raise ProviderError(f"{host} has the address {hidden[0]}, which is not public: turn on "
                            f"oidc.{provider.name}.private if that is right")
    for address in addresses[:4]:
        try:
            connection = socket.create_connection((address, port), provider.timeout)
        except OSError as error:
            last = error
            continue
        sockets.append(connection)
        if scheme == "https":
            sockets.append(ssl.create_default_context().wrap_socket(connection, server_hostname=host))
        return sockets[-1]
    raise last


def is_public(address: str) -> bool:
    """True if an address is reachable on the internet, also the one that it embeds."""
    return all(each.is_global and not each.is_multicast for each in _embedded(ipaddress.ip_address(address)))


def _embedded(address: ipaddress.IPv4Address | ipaddress.IPv6Address
              ) -> Iterator[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    if not isinstance(address, ipaddress.IPv6Address):
        yield address
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
        return
    yield address
    if address.sixtofour is not None:
        yield address.sixtofour
    if address in _NAT64:
        yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def _interrupt(sockets: list[socket.socket]) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _object(url: str, status: int, content: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(content)
    except ValueError:
        value = None
    if status != 200:
        code = value.get("error") if isinstance(value, dict) else None
        # A client could have chosen a longer text, by its code.
        shown = code if isinstance(code, str) and code.isascii() and code.isprintable() and len(code) <= 60 else ""
        raise ProviderError(f"{_place(url)} answers {status}{f' {shown}' if shown else ''}", shown)
    if not isinstance(value, dict):
        raise ProviderError(f"{_place(url)} does not answer with a JSON object")
    return value


def _place(url: object) -> str:
    """Returns a URL for a message, without its query."""
    text = str(url).partition("?")[0][:200]
    return "".join(each if each.isprintable() else "?" for each in text)
