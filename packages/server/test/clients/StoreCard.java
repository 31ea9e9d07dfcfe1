import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Posts the second argument as JSON to the first, and prints the answer. */
public class StoreCard {
  public static void main(String[] arguments) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(arguments[0])).POST(HttpRequest.BodyPublishers.ofString(arguments[1])).build();
    HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    System.out.println(answer.body());
    System.exit(answer.statusCode() == 200 ? 0 : 1);
  }
}
