# pip install testcontainers requests, then: python3 shop.py
import requests
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy

KEY = "test_ik_k3v9q7w2x8"
CARD = {
    "card_number": "4111111111111111",
    "card_name": "Ana Lima",
    "card_due_date": "12/2060",
    "card_cvv": "123",
}
PAYMENT = {
    "merchant_payment_code": "order-1",
    "amount_total": "100.00",
    "currency_code": "PEN",
    "country": "pe",
    "name": "Ana Lima",
    "email": "ana.lima@example.com",
    "phone_number": "51987654321",
    "creditcard": CARD,
}

container = (
    DockerContainer("cofre:0.1.0")
    .with_env("COFRE_DATA_DIR", ":memory:")
    .with_env("COFRE_SANDBOX_INTEGRATION_KEY", KEY)
    .with_exposed_ports(8787)
    .waiting_for(HttpWaitStrategy(8787, "/readyz"))
)
with container as cofre:
    url = f"http://{cofre.get_container_host_ip()}:{cofre.get_exposed_port(8787)}"
    request = {"integration_key": KEY, "payment": PAYMENT}
    answer = requests.post(f"{url}/ws/direct", json=request, timeout=30)
    print(answer.json()["payment"]["status"])
