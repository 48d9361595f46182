<?php
[, $url] = $argv;
while (($line = fgets(STDIN)) !== false) {
    $seen = 0;
    $http_response_header = null;
    $stream = @fopen($url, 'r', false, stream_context_create(['http' => ['timeout' => 20.0, 'ignore_errors' => true]]));
    if (!$stream) {
        echo "0 refused\n";
        continue;
    }
    $how = 'whole';
    while (($text = fgets($stream)) !== false) {
        $seen += str_starts_with($text, 'data:');
        if (trim($line) === 'leave' && $seen) {
            $how = 'left';
            break;
        }
    }
    // PHP does not tell an end from a cut
    fclose($stream);
    $status = explode(' ', $http_response_header[0])[1];
    echo $seen, ' ', $status === '200' ? $how : $status, "\n";
}
