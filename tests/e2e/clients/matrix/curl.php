<?php
[, $url, $count, $seconds] = $argv;
$curl = curl_init();
curl_setopt_array($curl, [
    CURLOPT_TIMEOUT_MS => (int)($seconds * 1000),
    CURLOPT_RETURNTRANSFER => true,
    // Without prebreak PHP loads libcurl where no preload reaches, so the one that resolves names for the tests neither.
    CURLOPT_RESOLVE => ['acme.test:' . parse_url($url, PHP_URL_PORT) . ':' . getenv('ADDRESSES')],
]);
if (getenv('CURL_CA_BUNDLE')) {
    curl_setopt($curl, CURLOPT_CAINFO, getenv('CURL_CA_BUNDLE'));
}
for ($i = 0; $i < $count; $i++) {
    curl_setopt($curl, CURLOPT_URL, "$url$i");
    echo curl_exec($curl) === false ? curl_error($curl) : curl_getinfo($curl, CURLINFO_RESPONSE_CODE), "\n";
}
