<?php
[, $url, $count, $seconds] = $argv;
$context = stream_context_create(['http' => ['timeout' => (float)$seconds, 'ignore_errors' => true]]);
for ($i = 0; $i < $count; $i++) {
    $http_response_header = null;
    $begun = microtime(true);
    $body = @file_get_contents("$url$i", false, $context);
    $late = microtime(true) - $begun >= $seconds; // it has no words of its own for that
    echo $http_response_header ? explode(' ', $http_response_header[0])[1] : ($late ? 'timed out' : error_get_last()['message']), "\n";
    error_clear_last();
}
