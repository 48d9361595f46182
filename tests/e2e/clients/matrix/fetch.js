const [url, count, seconds] = [process.argv[2], +process.argv[3], +process.argv[4]];

(async () => {
    for (let i = 0; i < count; i++) {
        try {
            const answer = await fetch(url + i, { signal: AbortSignal.timeout(seconds * 1000) });
            await answer.text();
            console.log(answer.status);
            await new Promise(setImmediate); // the connection is given back a moment after its last byte
        } catch (error) {
            console.log(String(error), String(error.cause));
        }
    }
    process.exit();
})();
