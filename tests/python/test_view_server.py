"""The viewer's server among strangers: who is let in, what is heard, what remains when they have gone."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import taut
from browser import until

pytest.importorskip("viser", reason="viser is not installed: pip install 'taut[view]'")
sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))

import viser
import websockets.asyncio.server
from frames import answered, camera, drag, frame, hostile_connections, open_page, pack, request, sets
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from taut.view import Page, guard, messages
from viewing import COMMAND, cube, quadruped

HERE = "127.0.0.1"
TOKEN = "a-token-for-the-tests-0123456789"
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.fixture
def page():
    with Page(cube(), port=0) as opened:
        yield opened


@pytest.fixture
def locked():
    """A page with a token."""
    with Page(cube(), port=0, token=TOKEN) as opened:
        yield opened


def ask(port: int, path: str = "/", host: str = HERE, upgrade: bool = False, **headers) -> tuple[int, dict, bytes]:
    """Status, headers and the body."""
    with socket.create_connection((host, port), 30) as sock:
        sock.sendall(request(host, port, path, upgrade, **headers))
        answer = answered(sock)
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        status, found = int(first.split()[1]), dict(line.split(": ", 1) for line in lines)
        while status != 101 and len(body) < int(found.get("Content-Length", 0)):
            body += sock.recv(1 << 16)
    return status, found, body


def status(port: int, path: str = "/", **options) -> int:
    return ask(port, path, **options)[0]


def is_gone(sock: socket.socket, timeout: float = 30.0) -> bool:
    """The server has closed it."""
    sock.settimeout(timeout)
    with contextlib.suppress(ConnectionError):
        while sock.recv(1 << 16):
            pass
    return True


def works(page: Page) -> None:
    """A page opens, is told of the scene, and its button plays."""
    player = page.player
    player.pause()
    with look(page) as client:
        client.send(pack(camera()))
        until(lambda: page.server.get_clients(), 30, "a client")
        begun = player.frame.t
        client.send(pack(sets(uuid(page.panel.play), value=True)))
        until(lambda: player.frame.t > begun, 30, "time")
        player.pause()
    until(lambda: not page.server.get_clients(), 30, "nobody")


def uuid(control) -> str:
    """By which a page names it."""
    return control._impl.uuid


def look(page: Page):
    url = f"ws://{HERE}:{page.port}"
    return connect(url, subprotocols=[f"viser-v{viser.__version__}"], max_size=None, open_timeout=30)


# --- whose pages


def test_pages_of_other_sites_are_refused(page):
    """Also those of other servers of this machine, and pages without a site."""
    for site in ("http://evil.example", f"http://localhost:{page.port + 1}", "http://localhost", "null", "file://", ""):
        assert status(page.port, upgrade=True, Origin=site) == 403, site
        assert status(page.port, Origin=site) == 403, site
    assert status(page.port, upgrade=True) == 101
    tunnel = {"Host": "localhost:9000", "Origin": "http://localhost:9000"}  # ssh -L 9000:localhost:...
    assert status(page.port, upgrade=True, **tunnel) == 101


def test_programs_that_are_no_browsers_come_in(page):
    assert status(page.port, upgrade=True, Origin=None) == 101


def test_names_of_others_that_lead_here_are_refused(page):
    """DNS rebinding: the page's own origin, and an address of ours."""
    for name in ("evil.example", f"evil.example:{page.port}", "localhost.evil.example", "10.0.0.1"):
        for upgrade in (True, False):
            assert status(page.port, upgrade=upgrade, Host=name, Origin=f"http://{name}") == 403, name
    for name in ("", "a b", "[", "user@localhost", "localhost:x", None):
        assert status(page.port, Host=name) == 400, name
    for name in ("localhost", f"LOCALHOST:{page.port}", "127.0.0.1", "[::1]:80", "127.0.0.9"):
        assert status(page.port, Host=name) == 200, name


def test_two_hosts_are_none(page):
    with socket.create_connection((HERE, page.port), 30) as sock:
        sock.sendall(request(HERE, page.port, upgrade=False)[:-2] + b"Host: evil.example\r\n\r\n")
        assert b" 400 " in answered(sock).split(b"\r\n")[0]


def test_only_its_own_files_are_served(page):
    paths = (
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/..%5c..",
        "/%00",
        "/C:/x",
        "/_infra.py",
    )
    for path in paths:
        assert status(page.port, path) == 404, path
    found, headers, body = ask(page.port)
    assert found == 200
    assert b"</html>" in body
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]


def test_a_link_cannot_have_the_page_talk_to_another_server(page):
    """viser's page takes the address of a server from its own: what that says would be of our origin."""
    for query in (
        "websocket=ws://evil.example",
        "%77ebsocket=ws://evil.example",
        "a=b&playbackPath=http://evil.example/x",
    ):
        found, headers, _ = ask(page.port, f"/?fixedDpr=2&{query}")
        assert (found, headers["Location"]) == (303, "/?fixedDpr=2")
    assert status(page.port, "/?" + "a=b&" * 1000 + "websocket=ws://evil.example") == 414
    assert status(page.port, "/?fixedDpr=2") == 200


# --- tokens


def test_a_page_for_others_has_a_token_at_random():
    with Page(cube(), host="0.0.0.0", port=0) as one, Page(cube(), host="0.0.0.0", port=0) as other:
        tokens = [re.fullmatch(r"http://localhost:\d+/\?token=([\w-]{32})", page.url)[1] for page in (one, other)]
        assert tokens[0] != tokens[1]
        assert status(one.port) == 403
        assert status(one.port, upgrade=True) == 403
        assert status(one.port, f"/?token={tokens[1]}") == 403
        assert status(one.port, f"/?token={tokens[0]}", upgrade=True) == 101


def test_without_the_token_nothing_is_told(locked):
    assert locked.url == f"http://localhost:{locked.port}/?token={TOKEN}"
    cookie = f"taut_view_{locked.port}"
    for upgrade in (True, False):
        assert status(locked.port, upgrade=upgrade) == 403
        for wrong in ("", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "%00"):
            assert status(locked.port, f"/?token={wrong}", upgrade=upgrade) == 403, wrong
            assert status(locked.port, upgrade=upgrade, Cookie=f"{cookie}={wrong}") == 403, wrong
        assert status(locked.port, upgrade=upgrade, Cookie=f"taut_view_1={TOKEN}") == 403
    assert status(locked.port, f"/?token={TOKEN}", upgrade=True, Origin="http://evil.example") == 403


def test_the_token_leaves_the_address_for_a_cookie(locked):
    """So that it is in no bookmark, no title and no Referer."""
    found, headers, _ = ask(locked.port, f"/?token={TOKEN}&fixedDpr=2")
    assert (found, headers["Location"], headers["Referrer-Policy"]) == (303, "/?fixedDpr=2", "no-referrer")
    cookie, *attributes = headers["Set-Cookie"].split("; ")
    assert set(attributes) == {"Path=/", "HttpOnly", "SameSite=Lax"}
    assert status(locked.port, "/?fixedDpr=2", Cookie=f"other=1; {cookie}") == 200
    assert status(locked.port, upgrade=True, Cookie=cookie) == 101


def test_a_token_lets_the_page_have_other_names(locked):
    """Of a proxy, say; the origin has to be the same all the same."""
    assert status(locked.port, f"/?token={TOKEN}", upgrade=True, Host="robots.lab", Origin="http://robots.lab") == 101
    assert status(locked.port, f"/?token={TOKEN}", upgrade=True, Host="robots.lab", Origin="http://evil.example") == 403


def test_tokens_that_are_none_are_named():
    for token in ("short", "x" * 200, "with spaces in between", "semicolon;-0123456789"):
        with pytest.raises(ValueError, match="token"):
            Page(cube(), port=0, token=token)


def test_the_environment_may_give_the_token(monkeypatch):
    monkeypatch.setenv("TAUT_VIEW_TOKEN", TOKEN)
    with Page(cube(), port=0) as page:
        assert page.url.endswith(f"?token={TOKEN}")
        assert status(page.port) == 403


def test_the_command_tells_the_token_once_and_logs_it_nowhere():
    command = [sys.executable, "-c", "import logging; logging.basicConfig(level=0)\n" + COMMAND]
    command += ["view", "ball", "--no-browser", "--port", "0", "--host", "0.0.0.0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        port, token = re.search(r"http://localhost:(\d+)/\?token=([\w-]+)", process.stdout.readline()).groups()
        assert status(int(port), f"/?token={token}") == 303
        assert status(int(port), f"/?token={token}", upgrade=True) == 101
        process.terminate()
        out, err = process.communicate(timeout=30)
    assert token not in out
    told = [line for line in err.splitlines() if token in line]
    assert len(told) <= 2  # to whom it may concern: the other names of this machine, in lines of a terminal's width
    assert "DEBUG" not in "".join(told)


def test_a_watched_loop_has_its_token():
    with taut.Simulator(taut.scenes.make("ball")).view(port=0, token=TOKEN) as watch:
        port = int(re.search(r":(\d+)/", watch.url)[1])
        assert watch.url.endswith(f"?token={TOKEN}")
        assert status(port) == 403
    with pytest.raises(ValueError, match="token"):
        taut.Simulator(taut.scenes.make("ball")).view(port=0, token="short")


def test_a_page_with_a_token_works_in_a_browser(browser, locked):
    browser.open(locked.url)
    browser.find("//*[normalize-space(text())='Step']")
    browser.click("Step")
    until(lambda: locked.player.frame.t > 0, 30, "a step")
    assert "token" not in browser.driver.current_url
    assert browser.errors() == []
    locked.server._websock_server.disconnect_all_clients()  # it comes again by its cookie
    until(lambda: not locked.server.get_clients(), 30, "nobody")
    until(lambda: locked.server.get_clients(), 60, "the page again")


def test_a_page_of_another_site_cannot_drive_the_robot(browser, page, tmp_path):
    """In a real browser, from a page that is opened as a file."""
    (tmp_path / "evil.html").write_text(
        f"<script>const socket = new WebSocket('ws://localhost:{page.port}', ['viser-v{viser.__version__}']);"
        "socket.onopen = () => document.title = 'open'; socket.onclose = () => document.title = 'refused';</script>"
    )
    browser.open(f"file://{tmp_path}/evil.html")
    assert until(lambda: browser.driver.title in ("open", "refused") and browser.driver.title, 30) == "refused"


# --- how many


def test_a_page_opens_among_idle_connections(page):
    idle = [socket.create_connection((HERE, page.port), 30) for _ in range(300)]
    try:
        works(page)
        begun = time.monotonic()
        assert all(map(is_gone, idle))  # within seconds, not a minute
        assert time.monotonic() - begun < 30
    finally:
        for sock in idle:
            sock.close()


def test_a_page_opens_among_idle_pages(page):
    """Which have shaken hands, and nothing more."""
    with contextlib.ExitStack() as stack:
        for _ in range(101):
            with contextlib.suppress(ConnectionRefusedError):
                stack.enter_context(open_page(HERE, page.port))
        assert len(page.server.guard.clients) == guard.CLIENTS
        until(lambda: status(page.port, upgrade=True) == 101, 30, "room")
        works(page)


def test_slow_requests_end_in_seconds(page):
    """A header a second would hold a connection for two minutes."""
    with socket.create_connection((HERE, page.port), 30) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\n")
        begun = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() < begun + 60:
                sock.sendall(b"X: y\r\n")
                time.sleep(0.2)
        assert time.monotonic() - begun < 30


def test_pages_have_a_number_and_the_next_one_is_told(page):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(open_page(HERE, page.port)) for _ in range(guard.CLIENTS)]
        for client in clients:
            client.sendall(frame(pack(camera())))
        until(lambda: len(page.server.get_clients()) == guard.CLIENTS, 30, "all pages")
        found, _, body = ask(page.port, upgrade=True)
        assert found == 503
        assert b"32 pages are open" in body
        assert status(page.port) == 200  # it can say so
        clients[0].close()
        until(lambda: status(page.port, upgrade=True) == 101, 30, "room")


def test_another_machine_has_a_share_of_them():
    made = guard.Guard("0.0.0.0", "0.0.0.0", 1, TOKEN)

    class Someone:
        def __init__(self, address):
            self.address = address

    made.clients = {Someone("192.0.2.1"): None for _ in range(guard.PER_ADDRESS)}
    assert made._no_room(Someone("192.0.2.1"))[0] == 503
    assert made._no_room(Someone("192.0.2.2")) is None
    made.clients = {Someone(HERE): None for _ in range(guard.PER_ADDRESS)}
    assert made._no_room(Someone(HERE)) is None


def test_who_comes_and_goes_leaves_nothing(page):
    with look(page):
        pass
    time.sleep(0.5)
    before = len(os.listdir("/proc/self/fd")) if sys.platform.startswith("linux") else 0
    for number in range(300):
        with open_page(HERE, page.port) as sock:
            sock.sendall(frame(pack(camera())))
            if number % 2:  # in the middle of a word, without a goodbye
                sock.sendall(frame(pack(camera()))[:10])
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    held = page.server.guard
    until(lambda: not (held.clients or held.answered or held.waiting), 30, "nobody")
    until(lambda: not page.server.get_clients(), 30, "no clients")
    web = page.server._websock_server
    assert not web._client_state_from_id
    assert not web._broadcast_buffer.generator_cursors
    if before:
        until(lambda: len(os.listdir("/proc/self/fd")) <= before, 30, "as many files as before")
    works(page)


def test_closing_leaves_no_thread_and_no_port(page):
    """Whoever is there, and says nothing."""
    before = set(threading.enumerate())
    opened = Page(cube(), port=0)
    sockets = [socket.create_connection((HERE, opened.port), 30) for _ in range(20)]
    sockets += [open_page(HERE, opened.port) for _ in range(10)]
    for sock in sockets[10:20]:
        sock.sendall(b"GET / HTTP")
    until(lambda: len(opened.server.guard.clients) == 10, 30, "ten pages")
    begun = time.monotonic()
    opened.close()
    assert time.monotonic() - begun < 5  # and not until they have timed out
    until(lambda: set(threading.enumerate()) <= before, 30, "the threads from before")
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((HERE, opened.port))
    for sock in sockets:
        assert is_gone(sock)
        sock.close()


# --- what they say


@pytest.mark.parametrize(
    ("what", "pieces"),
    {
        "noise": [frame(b"\xc1\xff\0hello")],
        "a text": [frame(b"hello", opcode=1)],
        "an unknown type": [frame(pack({"type": "nothing"}))],
        "a type of viser's that is not for us": [frame(pack({"type": "ShareUrlRequest"}))],
        "an attribute of a control": [frame(pack(sets("x", update_cb=1)))],
        "a field more": [frame(pack(camera(more=1)))],
        "a word for a number": [frame(pack(camera(fov="wide")))],
        "a large message": [frame(bytes(1 << 17))],
        "fragments without end": [frame(b"", final=False), frame(b"", opcode=0, final=False) * 200],
        "pings without end": [frame(b"", opcode=9) * 3000],
        "a list in a list": [frame(b"\x91" * 60000 + b"\xc0")],
    }.items(),
)
def test_who_is_no_page_has_to_go(page, what, pieces):
    with open_page(HERE, page.port) as sock:
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                sock.sendall(piece)
        assert is_gone(sock)
    works(page)


def test_values_that_make_no_sense_stay_outside(page):
    """They reach neither the control nor other pages, and their sender may stay: a control may just have changed."""
    panel, player = page.panel, page.player
    force, before = page.panel.push.sliders[1], float(page.panel.push.sliders[1].value)
    heard = []
    for handle in (force, panel.time, page.panel.joints.kp if page.panel.joints.joints else panel.time):
        handle.on_update(lambda event: heard.append(event.target.value) if event.client else None)
    with look(page) as client:
        client.send(pack(camera()))
        until(lambda: page.server.get_clients(), 30, "a client")
        for value in (float("nan"), float("inf"), -float("inf"), "1", True, None):
            client.send(pack(sets(uuid(force), value=value)))
            client.send(pack(sets(uuid(panel.time), value=value)))
        client.send(pack(sets("no-such-control", value=1.0)))
        client.send(pack(camera(fov=float("nan"))))
        client.send(pack(sets(uuid(force), value=1e300)))  # beyond its end is its end
        until(lambda: player.force[1] != 0, 30, "a force")
    assert before == 0.0
    assert player.force[1] == force.max
    assert set(heard) == {force.max}
    assert np.isfinite(player.frame.q).all()


def test_drags_that_make_no_sense_pull_nothing(page):
    player = page.player
    name = page.stage.meshes[-1][1].name
    with look(page) as client:
        client.send(pack(camera()))
        until(lambda: page.server.get_clients(), 30, "a client")
        for wrong in (float("nan"), float("inf"), 1e30, 1e8):
            client.send(pack(drag(name, end_position=[wrong, 0.0, 0.0])))
            client.send(pack(drag(name, start_position=[0.0, wrong, 0.0])))
        client.send(pack(drag("/no/such/body")))
        client.send(pack(sets(uuid(page.panel.push.sliders[0]), value=1.0)))  # heard in order
        until(lambda: player.force[0] != 0, 30, "what was sent after them")
        assert player.grip is None
        client.send(pack(drag(name, end_position=[0.5, 0.0, 0.0])))
        until(lambda: player.grip is not None, 30, "a grip")
        assert np.abs(player.pulled_to).max() < 10
    until(lambda: player.grip is None, 30, "let go by who vanished")


def test_what_a_control_takes():
    with Page(quadruped(), port=0) as page:
        takes = messages.value_for
        panel = page.panel
        assert takes(panel.play, "anything") is True
        assert takes(panel.joints.hold, True) is True
        assert takes(panel.joints.hold, 1) is None
        assert takes(panel.joints.kp, -1.0) == 0.0
        assert takes(panel.joints.kp, 1e300) == messages.FAR
        assert takes(panel.joints.kp, float("nan")) is None
        slider = next(iter(panel.joints.sliders.values()))
        assert takes(slider, -1e9) == slider.min
        assert takes(slider, 1 << 60) == slider.max
        assert takes(slider, "0") is None
        assert takes(panel.said, "<script>") is None
        assert takes(None, 1) is None
        control = page.server.guard.control
        every = map(control, page.server.gui._gui_input_handle_from_uuid)
        menus = [found for found in every if isinstance(found, viser.GuiDropdownHandle)]
        assert menus
        for menu in menus:
            assert takes(menu, menu.options[-1]) == menu.options[-1]
            assert takes(menu, "no-such-option") is None
            assert takes(menu, 3) is None


def test_who_acts_faster_than_it_is_done_waits(page):
    """The work of clients does not pile up."""
    done = threading.Semaphore(0)
    page.panel.push.sliders[0].on_update(lambda event: done.acquire(timeout=60) if event.client else None)
    pool = page.server._thread_executor
    slider = page.panel.push.sliders[0]
    with look(page) as client:
        client.send(pack(camera()))
        until(lambda: page.server.get_clients(), 30, "a client")
        stop = time.monotonic() + 2
        with contextlib.suppress(TimeoutError, ConnectionClosed):
            for number in itertools.count():
                client.send(pack(sets(uuid(slider), value=slider.max * (number % 7) / 7)))
                time.sleep(0.002)
                if time.monotonic() > stop:
                    break
        assert pool._work_queue.qsize() < 200
        for _ in range(10000):
            done.release()
    until(lambda: pool._work_queue.qsize() == 0, 30, "nothing left to do")


# --- thousands


@linux
def test_thousands_of_hostile_connections_leave_it_as_it_was(capfd):
    with Page(cube(), port=0) as page:
        uuids = list(page.server.gui._gui_input_handle_from_uuid)
        attacks = hostile_connections(7, uuids)

        def strike(count: int) -> None:
            with ThreadPoolExecutor(16) as strangers:
                list(strangers.map(lambda one: one[1](HERE, page.port), list(itertools.islice(attacks, count))))

        strike(300)  # what is made once
        works(page)
        before, files = _resident(), len(os.listdir("/proc/self/fd"))
        strike(1000)
        works(page)
        held = page.server.guard
        until(lambda: not (held.clients or held.answered or held.waiting), 60, "nobody")
        assert _resident() < 1.1 * before + 10
        until(lambda: len(os.listdir("/proc/self/fd")) <= files, 30, "as many files as before")
        assert page.panel.error is None
        assert np.isfinite(page.player.frame.q).all()
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def _resident() -> float:
    """MB of this process."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


@linux
def test_who_never_reads_costs_no_more_memory_than_what_is_on_its_way(page):
    """And is not waited for by those who do."""
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            sock = stack.enter_context(open_page(HERE, page.port))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        before = _resident()
        text = itertools.count()
        stop = time.monotonic() + 3
        while time.monotonic() < stop:
            page.panel.said.content = f"{next(text)}" * 3000
            time.sleep(0.005)
        works(page)
        assert _resident() < before + 50


# --- that it is so


def test_a_server_that_cannot_be_guarded_is_not_opened(monkeypatch):
    """If viser comes to open its server in another way: better none than one without a guard."""
    monkeypatch.setattr(guard.Guard, "serve", lambda self, serve, handler, **options: serve(handler, **options))
    with pytest.raises(RuntimeError, match="cannot be guarded"):
        Page(cube(), port=0)


def test_servers_of_others_in_this_process_are_left_alone(page):
    assert websockets.asyncio.server.serve.__module__ == "websockets.asyncio.server"
    other = viser.ViserServer(host=HERE, port=0, verbose=False)
    try:
        assert status(other.get_port(), Host="robots.lab") == 200
    finally:
        other.stop()
