import hashlib, httpx, ssl, sys
from pieces import pieces

url, file = sys.argv[1:]
with httpx.Client(http1=url.startswith("https"), http2=True, verify=ssl.create_default_context(), timeout=100) as client:
    with client.stream("POST", url, content=pieces(file)) as answer:
        assert answer.http_version == "HTTP/2"
        whole = hashlib.sha256()
        for piece in answer.iter_raw():
            whole.update(piece)
        print(whole.hexdigest())
