import asyncio, httpx, ssl, sys, urllib.parse

# Its transport keeps the errno to itself.
WORDS = {httpx.ConnectError: "connection refused", httpx.ReadError: "connection reset", httpx.WriteError: "connection reset"}


async def main(url, kept, http2):
    context = ssl.create_default_context()

    def make():
        return httpx.AsyncClient(http2=http2, verify=context, timeout=20)

    client = make()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            answer = await client.get(urllib.parse.urljoin(url, line.strip()))
            print(answer.status_code, flush=True)
        except httpx.HTTPError as error:
            print(WORDS.get(type(error), repr(error)), flush=True)
        if not kept:
            await client.aclose()
            client = make()
    await client.aclose()


asyncio.run(main(sys.argv[1], sys.argv[2] == "kept", len(sys.argv) > 3))
