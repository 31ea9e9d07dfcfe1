require "json"
require "minitest/autorun"
require "net/http"

class PaymentTest < Minitest::Test
  PAYMENT = {
    merchant_payment_code: ENV.fetch("ORDER"),
    amount_total: "100.00",
    currency_code: "PEN",
    country: "pe",
    name: "Ana Lima",
    email: "ana.lima@example.com",
    phone_number: "51987654321",
    payment_type_code: "creditcard",
    creditcard: {
      card_number: "4111111111111111", card_name: "Ana Lima", card_due_date: "12/2060", card_cvv: "123"
    }
  }.freeze

  def test_a_customer_pays
    request = { integration_key: ENV.fetch("COFRE_INTEGRATION_KEY"), operation: "request", payment: PAYMENT }
    answer = Net::HTTP.post_form(URI("https://sandbox.ebanx.com/ws/direct"), request_body: JSON.generate(request))
    assert_equal ENV.fetch("EXPECTED"), JSON.parse(answer.body).dig("payment", "status")
  end
end
