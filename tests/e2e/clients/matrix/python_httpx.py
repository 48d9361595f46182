import httpx, os, sys

url, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with httpx.Client(http2="HTTP2" in os.environ, timeout=seconds) as client:
    for i in range(count):
        try:
            print(client.get(f"{url}{i}").status_code)
        except httpx.HTTPError as error:
            print(repr(error))
