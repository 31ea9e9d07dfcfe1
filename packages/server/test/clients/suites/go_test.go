package shop

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"testing"
)

func TestACustomerPays(t *testing.T) {
	card := map[string]string{
		"card_number": "4111111111111111", "card_name": "Ana Lima", "card_due_date": "12/2060", "card_cvv": "123",
	}
	payment := map[string]any{
		"merchant_payment_code": os.Getenv("ORDER"), "amount_total": "100.00", "currency_code": "PEN",
		"country": "pe", "name": "Ana Lima", "email": "ana.lima@example.com", "phone_number": "51987654321",
		"payment_type_code": "creditcard", "creditcard": card,
	}
	request, _ := json.Marshal(map[string]any{
		"integration_key": os.Getenv("COFRE_INTEGRATION_KEY"), "operation": "request", "payment": payment,
	})
	answer, err := http.PostForm("https://sandbox.ebanx.com/ws/direct", url.Values{"request_body": {string(request)}})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body struct{ Payment struct{ Status string } }
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	if body.Payment.Status != os.Getenv("EXPECTED") {
		t.Errorf("the status is %s", body.Payment.Status)
	}
}
