const [url, count, seconds] = [process.argv[2], +process.argv[3], +process.argv[4]];
const http = require(url.split(':')[0]);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

const get = (i) => new Promise((done) => {
    const request = http.get(url + i, { agent, timeout: seconds * 1000 }, (answer) => {
        answer.resume();
        answer.on('end', () => setImmediate(done, answer.statusCode));
    });
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.on('error', (error) => done(String(error)));
});

(async () => {
    for (let i = 0; i < count; i++) {
        console.log(await get(i));
    }
    agent.destroy();
})();
