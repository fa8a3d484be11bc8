"""The check for known vulnerabilities, against a service of the test's own."""

import http.server
import json
import shutil
import socketserver
import subprocess
import sys
import threading

import pytest

from conftest import ROOT

# A Rust and a Python package of the lock files.
ADVISORIES = {
    "RUSTSEC-1": {"on": "serde", "aliases": ["CVE-1"], "affected": [{}], "summary": "Reads beyond the end"},
    "PYSEC-1": {"on": "numpy", "affected": [{}], "summary": "Runs code"},
    "RUSTSEC-2": {
        "on": "serde",
        "affected": [{"database_specific": {"informational": "unmaintained"}}],
        "summary": "Nobody maintains it",
    },
}


@pytest.fixture
def service():
    """A service that has the advisories `listed`, on the second page of its answers; or that answers what it `says`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, value):
            self.send_response(200)
            self.end_headers()
            self.wfile.write((server.says or json.dumps(value)).encode())

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            self.answer({"results": [self.result(query) for query in asked]})

        def result(self, query):
            if "page_token" not in query:
                return {"next_page_token": "second"}
            on = query["package"]["name"]
            return {"vulns": [{"id": name} for name in server.listed if ADVISORIES[name]["on"] == on]}

        def do_GET(self):
            name = self.path.rpartition("/")[2]
            self.answer({"id": name} | ADVISORIES[name])

        def log_message(self, *_):
            pass

    # Not an HTTPServer, which asks for the name of its address.
    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        server.listed, server.says = [], None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def checkout(tmp_path):
    """The files of the checkout that the check reads."""
    for name in ("Cargo.lock", "deny.toml", "requirements.lock", "requirements-test.lock"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def check(checkout, url):
    command = [sys.executable, ROOT / ".ci" / "advisories.py", "--root", checkout, "--service", url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def at(service):
    return f"http://127.0.0.1:{service.server_address[1]}"


def test_without_an_advisory_the_check_passes_and_counts_packages(service, checkout):
    status, (line,) = check(checkout, at(service))
    assert status == 0
    assert line.endswith(" packages, 0 known vulnerabilities")
    assert int(line.split()[1]) > 100


@pytest.mark.parametrize(("name", "package"), [("RUSTSEC-1", "serde 1."), ("PYSEC-1", "numpy ")])
def test_a_vulnerability_of_either_language_fails_the_check(service, checkout, name, package):
    service.listed = [name]
    status, (first, *_, last) = check(checkout, at(service))
    assert status == 1
    assert first.startswith(package)
    assert name in first
    assert first.endswith(ADVISORIES[name]["summary"])
    assert not last.endswith(" 0 known vulnerabilities")


def test_a_notice_is_reported_and_does_not_fail_the_check(service, checkout):
    service.listed = ["RUSTSEC-2"]
    status, (first, *_) = check(checkout, at(service))
    assert status == 0
    assert "notice RUSTSEC-2" in first


@pytest.mark.parametrize("name", ["RUSTSEC-1", "CVE-1"])
def test_an_advisory_that_is_ignored_with_a_reason_is_not_reported(service, checkout, name):
    service.listed = ["RUSTSEC-1"]
    text = (checkout / "deny.toml").read_text("utf-8")
    assert text.count("ignore = []") == 1
    ignored = text.replace("ignore = []", f'ignore = [{{ id = "{name}", reason = "not called" }}]')
    (checkout / "deny.toml").write_text(ignored, "utf-8")
    status, (line,) = check(checkout, at(service))
    assert status == 0
    assert line.endswith(" 0 known vulnerabilities")


def test_without_a_service_the_check_is_skipped_and_says_so(service, checkout):
    service.shutdown()
    service.server_close()
    status, (line,) = check(checkout, at(service))
    assert status == 0
    assert line.startswith(f"SKIPPED advisories: {at(service)} cannot be asked")


@pytest.mark.parametrize("says", ["<html>", "{}", '{"results": []}', "[]"])
def test_without_an_answer_to_the_question_the_check_is_skipped_and_says_so(service, checkout, says):
    service.says = says
    status, (line,) = check(checkout, at(service))
    assert status == 0
    assert line.startswith("SKIPPED advisories: ")
