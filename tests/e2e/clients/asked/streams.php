<?php
[, $url, $mode] = $argv;
$parts = parse_url($url);
$server = null;

// PHP's own http:// makes a connection for each request.
function fresh(string $url): string
{
    $context = stream_context_create(['http' => ['timeout' => 20.0, 'ignore_errors' => true]]);
    $http_response_header = null;
    @file_get_contents($url, false, $context);
    return $http_response_header ? explode(' ', $http_response_header[0])[1] : error_get_last()['message'];
}

// What keeps one does it by hand, over a stream.
function kept(array $parts, string $path): string
{
    global $server;
    if (!$server) {
        $scheme = $parts['scheme'] === 'https' ? 'tls' : 'tcp';
        $server = @stream_socket_client("$scheme://{$parts['host']}:{$parts['port']}", $code, $text, 20);
        if (!$server) {
            return $text ?: error_get_last()['message'];
        }
    }
    @fwrite($server, "GET /$path HTTP/1.1\r\nHost: {$parts['host']}\r\n\r\n");
    $first = @fgets($server);
    if ($first === false) {
        @fclose($server);
        $server = null;
        return error_get_last()['message'] ?? 'closed';
    }
    $length = 0;
    while (($line = rtrim(fgets($server))) !== '') {
        if (stripos($line, 'Content-Length:') === 0) {
            $length = (int)substr($line, 15);
        }
    }
    stream_get_contents($server, $length);
    return explode(' ', $first)[1];
}

while (($line = fgets(STDIN)) !== false) {
    error_clear_last();
    $line = trim($line);
    echo $mode === 'kept' ? kept($parts, $line) : fresh(str_contains($line, '://') ? $line : $url . $line), "\n";
}
