// URL COUNT WAVES: so many requests at once, so many times; each tells how it ended.
const [url, count, waves] = [process.argv[2], +process.argv[3], +process.argv[4]];

async function request(wave) {
    try {
        const answer = await fetch(`${url}${wave}`);
        await answer.text();
        console.log(answer.status);
    } catch (error) {
        console.log(String(error), String(error.cause));
    }
}

(async () => {
    for (let wave = 0; wave < waves; wave++) {
        await Promise.all(Array.from({ length: count }, () => request(wave)));
    }
})();
