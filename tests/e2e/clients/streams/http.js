const http = require('http')
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
const url = process.argv[2]

function call(leave) {
  return new Promise(resolve => {
    let seen = 0
    const request = http.get(url, { agent, timeout: 20000 }, answer => {
      let rest = ''
      answer.on('data', bytes => {
        const lines = (rest + bytes).split('\n')
        rest = lines.pop()
        seen += lines.filter(line => line.startsWith('data:')).length
        if (leave && seen) {
          resolve(`${seen} left`)
          request.destroy()
        }
      })
      answer.on('end', () => resolve(`${seen} ${answer.statusCode === 200 ? 'whole' : answer.statusCode}`))
      answer.on('error', () => resolve(`${seen} cut`))
    })
    request.on('error', () => resolve(`${seen} ${seen ? 'cut' : 'refused'}`))
  })
}

require('readline').createInterface({ input: process.stdin }).on('line', async line => {
  console.log(await call(line === 'leave'))
})
