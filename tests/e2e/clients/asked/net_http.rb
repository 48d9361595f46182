require 'net/http'

$stdout.sync = true
uri, kept = URI(ARGV[0]), ARGV[1] == 'kept'
http = Net::HTTP.new(uri.host, uri.port)
http.open_timeout = http.read_timeout = 20
http.use_ssl = uri.scheme == 'https'
http.max_retries = 0
http.keep_alive_timeout = 60
STDIN.each_line do |line|
  http.start unless http.started?
  puts http.get("/#{line.strip}").code
  http.finish unless kept
rescue SystemCallError, IOError, Timeout::Error, OpenSSL::SSL::SSLError => error
  http.finish if http.started?
  puts error.inspect
end
