require "json"
require "net/http"

# As the gem ebanx sends: a form with the JSON, and a GET with a header named Headers.

KEY = ENV.fetch("COFRE_INTEGRATION_KEY")
payment = JSON.parse(File.read("payment.json"))
payment["merchant_payment_code"] = payment["merchant_payment_code"].to_i
request = { payment: payment, integration_key: KEY, operation: "request", mode: "full" }
form = { request_body: JSON.generate(request) }
charged = JSON.parse(Net::HTTP.post_form(URI("https://sandbox.ebanx.com/ws/direct"), form).body)

query = URI("https://sandbox.ebanx.com/ws/query")
query.query = URI.encode_www_form(hash: charged.dig("payment", "hash"), integration_key: KEY)
headers = { "Headers" => '{"X-Ebanx-Client-User-Agent"=>"SDK-RUBY/1.6.2"}' }
puts JSON.parse(Net::HTTP.get(query, headers)).dig("payment", "status")
