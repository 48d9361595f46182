import httpx, ssl, sys, urllib.parse

url, kept, http2 = sys.argv[1], sys.argv[2] == "kept", len(sys.argv) > 3
context = ssl.create_default_context()


def make():
    return httpx.Client(http2=http2, verify=context, timeout=20)


client = make()
for line in sys.stdin:
    try:
        answer = client.get(urllib.parse.urljoin(url, line.strip()))
        assert answer.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
        print(answer.status_code, flush=True)
    except httpx.HTTPError as error:
        print(repr(error), flush=True)
    if not kept:
        client.close()
        client = make()
