import aiohttp, asyncio, sys, urllib.parse


async def main(url, kept):
    def make():
        return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20))

    session = make()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            async with session.get(urllib.parse.urljoin(url, line.strip())) as answer:
                await answer.read()
                print(answer.status, flush=True)
        except (aiohttp.ClientError, asyncio.TimeoutError) as error:
            print(repr(error), flush=True)
        if not kept:
            await session.close()
            session = make()
    await session.close()


asyncio.run(main(sys.argv[1], sys.argv[2] == "kept"))
