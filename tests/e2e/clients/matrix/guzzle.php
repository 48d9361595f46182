<?php
require '/usr/share/php/GuzzleHttp/autoload.php';
[, $url, $count, $seconds] = $argv;
$client = new GuzzleHttp\Client([
    'timeout' => (float)$seconds,
    'http_errors' => false,
    'verify' => getenv('CURL_CA_BUNDLE') ?: true,
    // Without prebreak PHP loads libcurl where no preload reaches, so the one that resolves names for the tests neither.
    'curl' => [CURLOPT_RESOLVE => ['acme.test:' . parse_url($url, PHP_URL_PORT) . ':' . getenv('ADDRESSES')]],
]);
for ($i = 0; $i < $count; $i++) {
    try {
        echo $client->get("$url$i")->getStatusCode(), "\n";
    } catch (GuzzleHttp\Exception\TransferException $error) {
        echo strtok($error->getMessage(), "\n"), "\n";
    }
}
