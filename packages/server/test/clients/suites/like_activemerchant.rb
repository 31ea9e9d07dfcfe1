require "json"
require "net/http"

# As ActiveMerchant sends: a form whose JSON is not encoded, except the value of the e-mail; no proxy.

KEY = ENV.fetch("COFRE_INTEGRATION_KEY")
payment = JSON.parse(File.read("payment.json"))
payment["amount_total"] = "100.00"
payment["email"] = URI.encode_www_form_component(payment["email"])
payment["creditcard"]["card_due_date"] = "9/2060"
request = { payment: payment, integration_key: KEY, operation: "request", metadata: {} }
headers = {
  "Content-Type" => "application/x-www-form-urlencoded",
  "X-Ebanx-Client-User-Agent" => "ActiveMerchant/1.137.0",
  "Connection" => "close"
}
direct = URI("#{ENV.fetch("COFRE_URL")}/ws/direct")
charged = JSON.parse(Net::HTTP.post(direct, "request_body=#{JSON.generate(request)}", headers).body)

# Without encoding of the values.
query = URI("#{ENV.fetch("COFRE_URL")}/ws/query?integration_key=#{KEY}&hash=#{charged.dig("payment", "hash")}")
puts JSON.parse(Net::HTTP.get(query, headers)).dig("payment", "status")
