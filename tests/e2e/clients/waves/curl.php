<?php // URL COUNT WAVES: so many requests at once, so many times; each tells how it ended.
[, $url, $count, $waves] = $argv;
$multi = curl_multi_init();
for ($wave = 0; $wave < $waves; $wave++) {
    for ($i = 0; $i < $count; $i++) {
        $curl = curl_init("$url$wave");
        curl_setopt_array($curl, [
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_CAINFO => getenv('CURL_CA_BUNDLE'),
            // Without prebreak PHP loads libcurl where no preload reaches, the one that resolves names for the tests neither.
            CURLOPT_RESOLVE => ['acme.test:' . parse_url($url, PHP_URL_PORT) . ':127.0.0.1'],
        ]);
        curl_multi_add_handle($multi, $curl);
    }
    do {
        curl_multi_exec($multi, $running);
        while ($done = curl_multi_info_read($multi)) {
            $curl = $done['handle'];
            echo $done['result'] ? curl_strerror($done['result']) : curl_getinfo($curl, CURLINFO_RESPONSE_CODE), "\n";
            curl_multi_remove_handle($multi, $curl);
        }
        curl_multi_select($multi, 1);
    } while ($running);
}
