"""Calls URL over HTTP/2 in the clear, on one connection: streams.py URL. Each line that it is told is so many requests at
once; it prints what became of each as it ends, and how long it took, ms."""

import asyncio, sys, time
import httpx


async def one(client, path):
    begun = time.monotonic()
    try:
        said = (await client.get(path)).status_code
    except httpx.HTTPError as error:
        said = type(error).__name__
    print(said, int((time.monotonic() - begun) * 1000), flush=True)


async def main():
    loop = asyncio.get_running_loop()
    running = set()
    async with httpx.AsyncClient(http1=False, http2=True, timeout=60) as client:
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            for _ in range(int(line)):
                running.add(asyncio.ensure_future(one(client, sys.argv[1])))
        await asyncio.gather(*running)


asyncio.run(main())
