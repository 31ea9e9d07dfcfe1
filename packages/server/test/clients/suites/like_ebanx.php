<?php

// As ebanx-php sends: a form with the JSON and the key in a second field, later ones as query strings.

function call(string $method, string $path, array $fields): array
{
    $curl = curl_init("https://sandbox.ebanx.com/ws/$path" . ($method === "GET" ? "?" . http_build_query($fields) : ""));
    curl_setopt_array($curl, [
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_HTTPHEADER => ["X-Ebanx-Client-User-Agent: SDK-PHP-LEGACY/1.12.0"],
    ] + ($method === "GET" ? [] : [CURLOPT_POST => true, CURLOPT_POSTFIELDS => http_build_query($fields)]));
    $answer = curl_exec($curl);
    if ($answer === false || curl_getinfo($curl, CURLINFO_RESPONSE_CODE) !== 200) {
        fwrite(STDERR, curl_error($curl) . "\n");
        exit(1);
    }
    return json_decode($answer, true);
}

$key = getenv("COFRE_INTEGRATION_KEY");
$payment = json_decode(file_get_contents("payment.json"), true);
$request = ["operation" => "request", "mode" => "full", "payment" => $payment, "integration_key" => $key];
$charged = call("POST", "direct", ["request_body" => json_encode($request), "integration_key" => $key]);
$asked = call("GET", "query", ["hash" => $charged["payment"]["hash"], "integration_key" => $key]);
echo $asked["payment"]["status"], "\n";
