require 'net/http'

uri, count, seconds = URI(ARGV[0]), ARGV[1].to_i, ARGV[2].to_f
http = Net::HTTP.new(uri.host, uri.port)
http.open_timeout = http.read_timeout = seconds
http.use_ssl = uri.scheme == 'https'
http.max_retries = 0
count.times do |i|
  http.start unless http.started?
  puts http.get("/#{i}").code
rescue SystemCallError, IOError, Timeout::Error => error
  http.finish if http.started?
  puts error.inspect
end
