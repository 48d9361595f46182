"""Real clients over TLS: libcurl's transfers are seen with their status, of all others each connection."""

import subprocess

import pytest

from matrix import HTTP_CLIENTS
from test_clients import RULE, clients, compiled, counted  # noqa: F401 (a fixture)
from test_tls import SecureProvider


@pytest.fixture(scope="session")
def trusted(tmp_path_factory):
    """A provider, and the environment in which every client trusts it."""
    directory = tmp_path_factory.mktemp("secure")
    provider = SecureProvider(directory)
    certificate, store, wgetrc = directory / "cert.pem", directory / "trust.p12", directory / "wgetrc"
    variables = "SSL_CERT_FILE CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS PERL_LWP_SSL_CA_FILE GIT_SSL_CAINFO"
    environment = dict.fromkeys(variables.split(), certificate)
    wgetrc.write_text(f"ca_certificate={certificate}\n")
    environment["WGETRC"] = wgetrc
    words = ["keytool", "-importcert", "-noprompt", "-file", certificate, "-keystore", store, "-storepass", "changeit"]
    try:
        subprocess.run([*words, "-storetype", "PKCS12"], capture_output=True, check=True)
        environment["JAVA_TOOL_OPTIONS"] = f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword=changeit"
    except FileNotFoundError:
        pass  # then there is no Java either
    yield provider, environment
    provider.close()


@pytest.mark.parametrize("status", [200, 503])
@clients(HTTP_CLIENTS)
def test_client_server_and_status_agree_over_tls(guest, trusted, compiled, client, status):  # noqa: F811
    command = compiled(client)
    if not client.secure:
        pytest.skip(f"{client.name} has no TLS")
    provider, environment = trusted
    provider.status, provider.requests = status, 0
    guest.names = {"acme.test": ["127.0.0.1"]}
    guest.settings["PREBREAK_PROVIDERS"] = RULE

    done = guest.run(*command, f"https://acme.test:{provider.port}/", 3, 5, timeout=30, ADDRESSES="127.0.0.1", **environment)

    assert provider.requests >= 3, done.stdout + done.stderr
    if client.name != "git" or status != 200:  # git finds an empty answer good, and says nothing
        assert done.stdout.splitlines() == [str(status)] * 3, done.stdout + done.stderr
    if client.secure == "transfer" and status == 503:
        counted(guest, 3, "failed", "status")
    elif client.secure == "transfer":
        counted(guest, 3, "ok", None)
    else:
        counted(guest, 1 if client.keeps else 3, "ok", None)
