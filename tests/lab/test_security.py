"""What the server refuses, with which status, and the headers of every answer."""

import json

import pytest

from firstlight.lab._app import ROOMS
from firstlight.lab._errors import LabError
from firstlight.lab._security import LARGEST_BODY
from tests.lab.conftest import HEADERS

CHANGES = sorted(path for room in ROOMS for path in room.CHANGES)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8765", "", "127.0.0.1:x", "0.0.0.0"]
)
def test_a_wrong_host_is_refused(browser, host):
    answer = browser.get("/grok", headers={"host": host})
    assert answer.status_code == 421
    assert "127.0.0.1" in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "localhost:9999", "127.0.0.1", "[::1]:8765"])
def test_loopback_is_answered_at_any_port_as_behind_a_tunnel(browser, host):
    assert browser.get("/grok", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": None}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:9"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://[half"}, 403),
        ({"x-firstlight-token": None}, 403),
        ({"x-firstlight-token": "wrong"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-length": "99999999"}, 413),
    ],
)
@pytest.mark.parametrize("path", CHANGES)
def test_a_change_needs_origin_token_and_json(browser, path, headers, status):
    given = {name: value for name, value in (HEADERS | headers).items() if value is not None}
    assert browser.post(path, content="{}", headers=given).status_code == status


def test_a_tunnel_posts_from_its_own_port(browser):
    given = HEADERS | {"host": "localhost:9999", "origin": "http://localhost:9999"}
    assert browser.post("/api/runs", content='{"form": {}}', headers=given).status_code == 422


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '"x"', "\xff", "[" * 100_000, "9" * 5000])
@pytest.mark.parametrize("path", CHANGES)
def test_a_malformed_body_is_refused(browser, path, content):
    answer = browser.post(path, content=content.encode("latin-1"), headers=HEADERS)
    assert answer.status_code == 400
    assert "error" in answer.json()


def test_a_body_without_length_is_counted(browser):
    def chunks():
        for _ in range(LARGEST_BODY // 100_000 + 2):
            yield b" " * 100_000

    assert browser.post("/api/runs", content=chunks(), headers=HEADERS).status_code == 413


@pytest.mark.parametrize(
    "path",
    ["/static/../_app.py", "/static/%2e%2e/_app.py", "/static//etc/passwd", "/static/%2Fetc%2Fpasswd",
     "/static/lab.js%00", "/static/..%5c_app.py", "/api/charts/../../x", "/nowhere"],
)  # fmt: skip
def test_no_path_leads_out(browser, path):
    assert browser.get(path).status_code == 404


def test_other_methods_and_long_addresses_are_refused(browser):
    assert browser.delete("/api/runs").status_code == 405
    assert browser.put("/api/runs", content="{}").status_code == 405
    assert browser.get("/grok?" + "x" * 9000).status_code == 414


def test_another_site_can_link_but_not_read(browser):
    cross = {"sec-fetch-site": "cross-site"}
    assert browser.get("/grok", headers=cross | {"sec-fetch-mode": "navigate"}).status_code == 200
    for mode in ("cors", "no-cors", "same-origin"):
        assert browser.get("/token", headers=cross | {"sec-fetch-mode": mode}).status_code == 403


@pytest.mark.parametrize("path", ["/grok", "/static/lab.js", "/static/bokeh.min.js", "/nowhere", "/api/setting"])
def test_every_answer_carries_the_policy(browser, path):
    headers = browser.get(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


def test_the_page_has_no_inline_script_and_names_are_text(browser):
    page = browser.get(
        "/grok", params={"group": '"><script>alert(1)</script>', "activation": "<img src=x onerror=y>"}
    ).text
    assert "<script>" not in page
    assert "<img" not in page
    assert "onerror=y" in page  # as text
    assert "&lt;script&gt;" in page


def test_a_message_stands_beside_its_control(browser):
    answer = browser.post("/api/runs", content=json.dumps({"form": {"group": "Q7"}}), headers=HEADERS)
    assert answer.status_code == 422
    assert answer.json()["problems"] == {"group": "unknown group Q7"}


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "paste a table"), ("0 1\n1", "row 1 has 1"), ("a b\nb a", "whole numbers"), ("0 1\n1 1", "table"),
     ("\n".join(["0"] * 400), "up to order 300"), (None, "paste a table"), ("0 1 2\n1 0 2\n2 1 0", "table")],
)  # fmt: skip
def test_a_table_that_is_no_group_is_refused_beside_its_field(browser, text, words):
    answer = browser.post("/api/tables", content=json.dumps({"name": "x", "text": text}), headers=HEADERS)
    assert answer.status_code == 422
    assert "table" in answer.json()["problems"]
    assert words in answer.json()["problems"]["table"] or words == "table"


def test_a_table_is_stored_under_its_digest_whatever_its_name(browser, places):
    body = json.dumps({"name": "../../etc/<b>x", "text": "0 1 2\n1 2 0\n2 0 1"})
    answer = browser.post("/api/tables", content=body, headers=HEADERS).json()
    assert (answer["group"], answer["order"]) == ("etcbx", 3)
    assert [path.name for path in places.tables.iterdir()] == [answer["table"]]


def test_errors_of_the_recorder_and_the_store_are_said(browser):
    assert browser.get("/api/setting?group=broken").status_code == 409
    assert browser.get(f"/api/runs/{'a' * 64}/result").status_code == 404
    assert browser.post("/api/jobs", content='{"id": "x", "action": "stop"}', headers=HEADERS).status_code == 409
    assert browser.post("/api/jobs", content='{"id": "x", "action": "rm"}', headers=HEADERS).status_code == 409
    assert browser.get("/events?run=../x").status_code == 400


def test_the_server_listens_on_loopback_only():
    from firstlight.lab._serve import _listen

    listener = _listen(0)
    assert listener.getsockname()[0] == "127.0.0.1"
    listener.listen()
    with pytest.raises(LabError, match="--port"):
        _listen(listener.getsockname()[1])
    listener.close()
