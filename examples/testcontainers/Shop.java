// With org.testcontainers:testcontainers in the class path: java Shop.java
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

class Shop {
  static final String KEY = "test_ik_k3v9q7w2x8";
  static final String REQUEST =
      """
      {"integration_key":"%s","payment":{"merchant_payment_code":"order-1","amount_total":"100.00",
       "currency_code":"PEN","country":"pe","name":"Ana Lima","email":"ana.lima@example.com",
       "phone_number":"51987654321","creditcard":{"card_number":"4111111111111111",
       "card_name":"Ana Lima","card_due_date":"12/2060","card_cvv":"123"}}}
      """
          .formatted(KEY);

  public static void main(String[] arguments) throws Exception {
    var image = DockerImageName.parse("cofre:0.1.0");
    var settings = Map.of("COFRE_DATA_DIR", ":memory:", "COFRE_SANDBOX_INTEGRATION_KEY", KEY);
    try (var cofre = new GenericContainer<>(image)) {
      cofre.withEnv(settings).withExposedPorts(8787).waitingFor(Wait.forHttp("/readyz")).start();
      String url = "http://" + cofre.getHost() + ":" + cofre.getMappedPort(8787);
      HttpRequest post =
          HttpRequest.newBuilder(URI.create(url + "/ws/direct"))
              .POST(HttpRequest.BodyPublishers.ofString(REQUEST))
              .build();
      String answer =
          HttpClient.newHttpClient().send(post, HttpResponse.BodyHandlers.ofString()).body();
      System.out.println(answer.replaceFirst(".*?\"status\":\"(\\w+)\".*", "$1"));
    }
  }
}
