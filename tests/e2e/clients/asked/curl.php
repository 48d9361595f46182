<?php
[, $url, $mode] = $argv;

function make(string $url): CurlHandle
{
    $curl = curl_init();
    curl_setopt_array($curl, [
        CURLOPT_TIMEOUT => 20,
        CURLOPT_RETURNTRANSFER => true,
        // Without prebreak PHP loads libcurl where no preload reaches, so the one that resolves names for the tests neither.
        CURLOPT_RESOLVE => [parse_url($url, PHP_URL_HOST) . ':' . parse_url($url, PHP_URL_PORT) . ':' . getenv('ADDRESS')],
        CURLOPT_CAINFO => getenv('CURL_CA_BUNDLE'),
    ]);
    return $curl;
}

$curl = make($url);
while (($line = fgets(STDIN)) !== false) {
    curl_setopt($curl, CURLOPT_URL, $url . trim($line));
    echo curl_exec($curl) === false ? curl_error($curl) : curl_getinfo($curl, CURLINFO_RESPONSE_CODE), "\n";
    if ($mode !== 'kept') {
        $curl = make($url);
    }
}
