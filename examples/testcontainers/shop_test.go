// go get github.com/testcontainers/testcontainers-go, then: go test
package shop

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

const key = "test_ik_k3v9q7w2x8"
const request = `{"integration_key":"` + key + `","payment":{"merchant_payment_code":"order-1",
 "amount_total":"100.00","currency_code":"PEN","country":"pe","name":"Ana Lima",
 "email":"ana.lima@example.com","phone_number":"51987654321","creditcard":{"card_number":"4111111111111111",
 "card_name":"Ana Lima","card_due_date":"12/2060","card_cvv":"123"}}}`

func TestACustomerPays(t *testing.T) {
	cofre, err := testcontainers.Run(t.Context(), "cofre:0.1.0",
		testcontainers.WithEnv(map[string]string{"COFRE_DATA_DIR": ":memory:", "COFRE_SANDBOX_INTEGRATION_KEY": key}),
		testcontainers.WithExposedPorts("8787/tcp"),
		testcontainers.WithWaitStrategy(wait.ForHTTP("/readyz").WithPort("8787/tcp")),
	)
	testcontainers.CleanupContainer(t, cofre)
	if err != nil {
		t.Fatal(err)
	}
	url, err := cofre.PortEndpoint(t.Context(), "8787/tcp", "http")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(url+"/ws/direct", "application/json", strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body struct{ Payment struct{ Status string } }
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	if body.Payment.Status != "CO" {
		t.Errorf("the status is %q", body.Payment.Status)
	}
}
