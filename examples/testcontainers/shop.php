<?php
// composer require testcontainers/testcontainers, then: php shop.php

require "vendor/autoload.php";

use Testcontainers\Container\GenericContainer;
use Testcontainers\Wait\WaitForHttp;

$key = "test_ik_k3v9q7w2x8";
$cofre = (new GenericContainer("cofre:0.1.0"))
    ->withEnvironment(["COFRE_DATA_DIR" => ":memory:", "COFRE_SANDBOX_INTEGRATION_KEY" => $key])
    ->withExposedPorts(8787)
    ->withWait((new WaitForHttp(8787))->withPath("/readyz"))
    ->start();

$card = [
    "card_number" => "4111111111111111",
    "card_name" => "Ana Lima",
    "card_due_date" => "12/2060",
    "card_cvv" => "123",
];
$payment = [
    "merchant_payment_code" => "order-1",
    "amount_total" => "100.00",
    "currency_code" => "PEN",
    "country" => "pe",
    "name" => "Ana Lima",
    "email" => "ana.lima@example.com",
    "phone_number" => "51987654321",
    "creditcard" => $card,
];
$curl = curl_init("http://{$cofre->getHost()}:{$cofre->getMappedPort(8787)}/ws/direct");
curl_setopt_array($curl, [
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_POSTFIELDS => json_encode(["integration_key" => $key, "payment" => $payment]),
]);
echo json_decode(curl_exec($curl), true)["payment"]["status"], "\n";
$cofre->stop();
