import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;

class UrlConnection {
    public static void main(String[] argv) throws Exception {
        int count = Integer.parseInt(argv[1]), milliseconds = (int) (Double.parseDouble(argv[2]) * 1000);
        for (int i = 0; i < count; i++) {
            var connection = (HttpURLConnection) URI.create(argv[0] + i).toURL().openConnection();
            connection.setConnectTimeout(milliseconds);
            connection.setReadTimeout(milliseconds);
            try {
                int status = connection.getResponseCode();
                try (InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
                    if (body != null) {
                        body.readAllBytes();
                    }
                }
                System.out.println(status);
            } catch (IOException error) {
                System.out.println(error);
            }
        }
    }
}
