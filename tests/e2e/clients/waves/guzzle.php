<?php // URL COUNT WAVES: so many requests at once, so many times; each tells how it ended.
require '/usr/share/php/GuzzleHttp/autoload.php';
[, $url, $count, $waves] = $argv;
$client = new GuzzleHttp\Client([
    'http_errors' => false,
    'verify' => getenv('CURL_CA_BUNDLE'),
    // Without prebreak PHP loads libcurl where no preload reaches, so the one that resolves names for the tests neither.
    'curl' => [CURLOPT_RESOLVE => ['acme.test:' . parse_url($url, PHP_URL_PORT) . ':127.0.0.1']],
]);
$tell = fn ($answer) => print($answer->getStatusCode() . "\n");
$fail = fn ($error) => print($error->getMessage() . "\n");
for ($wave = 0; $wave < $waves; $wave++) {
    $requests = array_map(fn () => $client->getAsync("$url$wave")->then($tell, $fail), range(1, $count));
    GuzzleHttp\Promise\Utils::settle($requests)->wait();
}
