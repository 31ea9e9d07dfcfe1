import json
import os
import unittest
import urllib.parse
import urllib.request

PAYMENT = {
    "merchant_payment_code": os.environ["ORDER"],
    "amount_total": "100.00",
    "currency_code": "PEN",
    "country": "pe",
    "name": "Ana Lima",
    "email": "ana.lima@example.com",
    "phone_number": "51987654321",
    "payment_type_code": "creditcard",
    "creditcard": {
        "card_number": "4111111111111111",
        "card_name": "Ana Lima",
        "card_due_date": "12/2060",
        "card_cvv": "123",
    },
}
REQUEST = json.dumps({"integration_key": os.environ["COFRE_INTEGRATION_KEY"], "operation": "request", "payment": PAYMENT})


class Payments(unittest.TestCase):
    def test_a_customer_pays(self):
        body = urllib.parse.urlencode({"request_body": REQUEST}).encode()
        with urllib.request.urlopen("https://sandbox.ebanx.com/ws/direct", body) as answer:
            status = json.load(answer)["payment"]["status"]
        self.assertEqual(status, os.environ["EXPECTED"])

    def test_the_same_with_requests(self):
        try:
            import requests
        except ImportError:
            self.skipTest("requests is not installed")
        query = {"integration_key": os.environ["COFRE_INTEGRATION_KEY"], "currency_code": "USD"}
        answer = requests.post("https://sandbox.ebanx.com/ws/exchange", data=query, timeout=30)
        self.assertEqual(answer.json()["status"], "SUCCESS")


if __name__ == "__main__":
    unittest.main()
