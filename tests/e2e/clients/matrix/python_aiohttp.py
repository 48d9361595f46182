import aiohttp, asyncio, sys


async def main(url, count, seconds):
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as session:
        for i in range(count):
            try:
                async with session.get(f"{url}{i}") as answer:
                    await answer.read()
                    print(answer.status)
            except (aiohttp.ClientError, asyncio.TimeoutError) as error:
                print(repr(error))


asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
