"""Where the token goes, by which ways, and where it never goes."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
import urllib.parse
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from huggingface_hub import constants
from jobs_kit import SERVE, drive, faults, hub, remote_hub, serve_quick

from uocr_nb.errors import EndpointError
from uocr_nb.serving import start
from uocr_nb.serving.hosts.hf_jobs import JobHost
from uocr_nb.serving.hub import ending
from uocr_nb.serving.hub.client import HubClient
from uocr_nb.serving.hub.token import find_token
from uocr_nb.support.net import Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jobs_kit import Hub, RemoteHub

__all__ = ["drive", "hub", "remote_hub"]


# ------------------------------------------------------------------ the token
def test_token_and_its_place(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_TOKEN", f"  {hub.token}\n")
    found = find_token()
    assert found is not None
    assert (found.secret.reveal(), found.source) == (hub.token, "HF_TOKEN")
    assert hub.token not in repr(found)
    monkeypatch.delenv("HF_TOKEN")
    assert find_token() is None
    (tmp_path / "token").write_text("hf_other\n")
    found = find_token()
    assert found is not None
    assert (found.secret.reveal(), found.source) == ("hf_other", "the token file")
    (tmp_path / "token").write_text("hf_newer")
    newer = find_token()
    assert newer is not None
    assert newer.secret.reveal() == "hf_newer"


def test_token_that_no_header_can_carry(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_öne")
    with pytest.raises(EndpointError) as caught:
        serve_quick()
    assert "hf_ö" not in str(caught.value)
    assert hub.records() == []


def test_token_crosses_no_open_network() -> None:
    with pytest.raises(EndpointError, match="is not sent to"):
        HubClient(Secret("hf_x"), "http://hub.example")
    assert "hf_x" not in repr(HubClient(Secret("hf_x"), "https://hub.example"))


def test_prices_are_asked_for_without_it(hub: Hub) -> None:
    start.describe_plan("vllm")
    assert [(record.route, record.auth) for record in hub.records() if record.route != "unknown"] == [
        ("hardware", "none")
    ]


def test_forward_token_is_a_secret_of_the_job_alone(hub: Hub) -> None:
    serve_quick(forward_token=True)
    assert hub.posts()[0].token_in == ("secrets",)
    assert hub.infos()[0]["secrets"] == ["HF_TOKEN"]
    assert all(record.token_in == () for record in hub.records() if record.route != "run")


def test_newer_token_of_the_file_is_taken_up(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, until: Callable[..., Any]
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    file = tmp_path / "token"
    file.write_text(hub.token)
    endpoint = serve_quick()
    newer = hub.add_token()
    file.write_text(newer)
    assert until(lambda: endpoint.credential() == newer)
    hub.revoke(hub.token)
    assert endpoint.openai().models.list().data
    endpoint.stop()
    assert len(hub.cancels(accepted=True)) == 1


@pytest.mark.parametrize(
    ("urls", "good"),
    [
        ([], "https://abc--8000.hf.jobs"),
        (["https://abc--8000.eu.hf.jobs/"], "https://abc--8000.eu.hf.jobs"),
        (["http://127.0.0.1:5/abc--8000"], "http://127.0.0.1:5/abc--8000"),
        (["http://abc--8000.hf.jobs"], None),
        (["https://evil.example/abc--8000."], None),
        (["https://abc--8000.@evil.example"], None),
    ],
)
def test_addresses_that_are_trusted(urls: list[str], good: str | None) -> None:
    plan = SimpleNamespace(job_port=8000)
    host = JobHost(SimpleNamespace(plan=plan, name="vllm"))  # type: ignore[arg-type]
    host._keeper = SimpleNamespace(id="abc", job={"status": {"exposeUrls": urls}})  # type: ignore[assignment]
    if good:
        assert host._address() == good
    else:
        with pytest.raises(EndpointError, match="not trusted"):
            host._address()


def test_address_that_refuses_the_token(hub: Hub) -> None:
    hub.add(faults.Answer(route="proxy", status=401, times=None))
    with pytest.raises(EndpointError, match="refuses the token") as caught:
        serve_quick()
    assert "is cancelled" in caught.value.why
    assert len(hub.cancels(accepted=True)) == 1


def test_a_login_page_is_not_an_engine(hub: Hub) -> None:
    hub.add(faults.Answer(route="proxy", status=200, body="<html>log in</html>", times=3))
    assert serve_quick().state == "ready"


# ------------------------------------------------------------------ calls
def test_watchdogs_caller_takes_the_next_token_and_follows_nothing(hub: Hub) -> None:
    caller = ending.PlainCaller(hub.endpoint, ["hf_old", hub.token])
    assert caller.ask("GET", "/api/whoami-v2").data["name"] == "alice"
    assert caller.tokens[0] == hub.token
    hub.add(faults.Answer(route="whoami", status=307, headers={"Location": f"{hub.endpoint}/elsewhere"}))
    assert caller.ask("GET", "/api/whoami-v2").status == 307
    assert not [record for record in hub.records() if record.path == "/elsewhere"]
    assert hub.token not in repr(caller)


def test_silence_and_loss_are_told_apart(hub: Hub) -> None:
    client = HubClient(Secret(hub.token))
    hub.add(faults.Silent(route="whoami"), faults.Hangup(route="whoami"))
    assert client.ask("GET", "/api/whoami-v2", timeout=0.2).lost == "timeout"
    assert client.ask("GET", "/api/whoami-v2").lost == "broken"
    hub.down()
    assert client.ask("GET", "/api/whoami-v2").lost == "unsent"
    hub.up()


def test_offline(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert HubClient(Secret(hub.token)).ask("GET", "/api/whoami-v2").lost == "offline"


# ------------------------------------------------------------------ a company's network
def _pump(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := one.recv(65536):
            other.sendall(piece)
    for side in (one, other):
        with contextlib.suppress(OSError):
            side.shutdown(socket.SHUT_RDWR)


class Network:
    """A CONNECT proxy, and behind it the Hub under a name that only the proxy knows, with a CA of its own."""

    def __init__(self, hub_port: int, folder: Path) -> None:
        self.hub_port, self.asked = hub_port, []
        self.ca = folder / "ca.pem"
        key = folder / "key.pem"
        words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=hub.test"]
        words += ["-addext", "subjectAltName=DNS:hub.test", "-keyout", str(key), "-out", str(self.ca)]
        subprocess.run(words, check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.ca, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._one, args=(client,), daemon=True).start()

    def _one(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(4096)
            self.asked.append(head.split(b"\r\n")[0].decode())
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            inside = self.context.wrap_socket(client, server_side=True)
            upstream = socket.create_connection(("127.0.0.1", self.hub_port))
            threading.Thread(target=_pump, args=(inside, upstream), daemon=True).start()
            _pump(upstream, inside)
            inside.close()
            upstream.close()


@pytest.fixture
def network(remote_hub: RemoteHub, tmp_path: Path) -> Iterator[Any]:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    made = Network(urllib.parse.urlsplit(remote_hub.endpoint).port or 0, tmp_path)
    yield made
    made.listener.close()


def test_behind_a_proxy_with_its_own_certificates(remote_hub: RemoteHub, drive: Any, network: Network) -> None:
    proxy = f"http://127.0.0.1:{network.port}"
    driver = drive(
        remote_hub,
        SERVE + "sys.stdin.read()\n",
        HF_ENDPOINT="https://hub.test",
        HTTPS_PROXY=proxy,
        NO_PROXY="127.0.0.1,localhost",
        SSL_CERT_FILE=str(network.ca),
    )
    driver.until("READY")
    before = len(network.asked)
    driver.process.kill()
    remote_hub.wait(lambda: remote_hub.cancels(accepted=True), 10)
    remote_hub.wait(lambda: not remote_hub.alive(), 5)
    assert len(remote_hub.cancels()) == 1
    assert {line.split()[1] for line in network.asked} == {"hub.test:443"}
    assert len(network.asked) > before
