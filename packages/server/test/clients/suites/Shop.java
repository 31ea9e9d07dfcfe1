import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** A customer pays; fails unless the answer has the expected status. */
public class Shop {
  public static void main(String[] arguments) throws Exception {
    String request =
        """
        {"integration_key":"%s","operation":"request","payment":{"merchant_payment_code":"%s",
         "amount_total":"100.00","currency_code":"PEN","country":"pe","name":"Ana Lima",
         "email":"ana.lima@example.com","phone_number":"51987654321","payment_type_code":"creditcard",
         "creditcard":{"card_number":"4111111111111111","card_name":"Ana Lima","card_due_date":"12/2060",
         "card_cvv":"123"}}}
        """
            .formatted(System.getenv("COFRE_INTEGRATION_KEY"), System.getenv("ORDER"));
    HttpRequest post =
        HttpRequest.newBuilder(URI.create("https://sandbox.ebanx.com/ws/direct"))
            .POST(HttpRequest.BodyPublishers.ofString(request))
            .build();
    String answer = HttpClient.newHttpClient().send(post, HttpResponse.BodyHandlers.ofString()).body();
    if (!answer.contains("\"status\":\"" + System.getenv("EXPECTED") + "\"")) {
      System.err.println(answer);
      System.exit(1);
    }
  }
}
