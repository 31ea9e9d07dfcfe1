<?php

// As benjamin sends: raw JSON with explicit nulls, items as an object, upper-case country; later requests by GET.

function call(string $path, ?array $body, array $query = []): array
{
    $curl = curl_init("https://sandbox.ebanx.com/ws/$path" . ($query === [] ? "" : "?" . http_build_query($query)));
    curl_setopt_array($curl, [
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_HTTPHEADER => ["Content-Type: application/json", "X-Ebanx-Client-User-Agent: SDK-PHP/1.29.0"],
    ] + ($body === null ? [] : [CURLOPT_POST => true, CURLOPT_POSTFIELDS => json_encode($body)]));
    $answer = curl_exec($curl);
    if ($answer === false) {
        fwrite(STDERR, curl_error($curl) . "\n");
        exit(1);
    }
    return json_decode($answer, true);
}

$key = getenv("COFRE_INTEGRATION_KEY");
$payment = json_decode(file_get_contents("payment.json"), true);
$payment["country"] = strtoupper($payment["country"]);
$payment["payment_type_code"] = "visa";
$payment["creditcard"] += ["auto_capture" => true, "token" => null];
$payment += [
    "redirect_url" => null,
    "document_type" => null,
    "person_type" => "personal",
    "create_token" => false,
    "instalments" => 1,
    "items" => (object) [["name" => "Cup", "unit_price" => 50.0, "quantity" => 2, "type" => "sku"]],
    "manual_review" => null,
];
$request = [
    "integration_key" => $key,
    "operation" => "request",
    "mode" => "full",
    "metadata" => ["risk" => ["profile_id" => null]],
    "payment" => $payment,
];
$charged = call("direct", $request);
$asked = call("query", null, ["integration_key" => $key, "hash" => $charged["payment"]["hash"]]);
echo $asked["payment"]["status"], "\n";
