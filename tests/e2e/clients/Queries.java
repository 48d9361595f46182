import java.sql.DriverManager;

/** URL COUNT: connects, asks so many queries one after the other, and leaves. */
class Queries {
    public static void main(String[] argv) throws Exception {
        try (var connection = DriverManager.getConnection(argv[0]); var statement = connection.createStatement()) {
            for (int left = Integer.parseInt(argv[1]); left > 0; left--) {
                statement.execute("SELECT 1");
            }
        }
        System.out.println("done");
    }
}
