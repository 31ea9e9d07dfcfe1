<?php

$payment = [
    "merchant_payment_code" => getenv("ORDER"),
    "amount_total" => "100.00",
    "currency_code" => "PEN",
    "country" => "pe",
    "name" => "Ana Lima",
    "email" => "ana.lima@example.com",
    "phone_number" => "51987654321",
    "payment_type_code" => "creditcard",
    "creditcard" => [
        "card_number" => "4111111111111111",
        "card_name" => "Ana Lima",
        "card_due_date" => "12/2060",
        "card_cvv" => "123",
    ],
];
$request = ["integration_key" => getenv("COFRE_INTEGRATION_KEY"), "operation" => "request", "payment" => $payment];
$curl = curl_init("https://sandbox.ebanx.com/ws/direct");
curl_setopt_array($curl, [
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_POSTFIELDS => http_build_query(["request_body" => json_encode($request)]),
]);
$answer = curl_exec($curl);
if ($answer === false) {
    fwrite(STDERR, curl_error($curl) . "\n");
    exit(1);
}
$status = json_decode($answer, true)["payment"]["status"];
echo $status, "\n";
exit($status === getenv("EXPECTED") ? 0 : 1);
