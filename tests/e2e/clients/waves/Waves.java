import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/** VERSION URL COUNT WAVES: so many requests at once, so many times; each tells how it ended. */
class Waves {
    public static void main(String[] argv) {
        int count = Integer.parseInt(argv[2]), waves = Integer.parseInt(argv[3]);
        var client = HttpClient.newBuilder().version(HttpClient.Version.valueOf(argv[0])).build();
        for (int wave = 0; wave < waves; wave++) {
            var request = HttpRequest.newBuilder(URI.create(argv[1] + wave)).build();
            CompletableFuture.allOf(IntStream.range(0, count)
                    .mapToObj(each -> client.sendAsync(request, BodyHandlers.ofString())
                            .handle((answer, error) -> error != null ? error.toString() : "" + answer.statusCode())
                            .thenAccept(System.out::println))
                    .toArray(CompletableFuture[]::new)).join();
        }
    }
}
