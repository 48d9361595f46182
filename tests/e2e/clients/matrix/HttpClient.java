import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;

class HttpClient {
    public static void main(String[] argv) throws Exception {
        int count = Integer.parseInt(argv[1]);
        var timeout = Duration.ofMillis((long) (Double.parseDouble(argv[2]) * 1000));
        var version = System.getenv("HTTP2") == null ? java.net.http.HttpClient.Version.HTTP_1_1 : java.net.http.HttpClient.Version.HTTP_2;
        var client = java.net.http.HttpClient.newBuilder().version(version).build();
        for (int i = 0; i < count; i++) {
            try {
                var request = HttpRequest.newBuilder(URI.create(argv[0] + i)).timeout(timeout).build();
                System.out.println(client.send(request, BodyHandlers.ofString()).statusCode());
            } catch (IOException error) {
                System.out.println(error);
            }
        }
    }
}
