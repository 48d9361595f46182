#include "suite.h"
#include "http1_trace.h"

/* ---- requests ------------------------------------------------------------------------------------------------- */

START_TEST(request_tells_method_host_and_end)
{
    static const struct vector vectors[] = {
        {"GET /v1 HTTP/1.1\r\nHost: api.openai.com\r\nAccept: */*\r\n\r\n",
         " begin@0 head[GET api.openai.com:0 keep]@55 end@55"},
        {"HEAD / HTTP/1.1\r\nhost:API.Example.COM.:8443 \t\r\n\r\n",
         " begin@0 head[HEAD api.example.com:8443 keep]@49 end@49"},
        {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", " begin@0 head[OTHER a:0 keep]@31 end@31"},
        {"get / HTTP/1.1\r\nHost: a\r\n\r\n", " begin@0 head[OTHER a:0 keep]@27 end@27"},
        {"GET / HTTP/1.1\nHost: a\n\n", " begin@0 head[GET a:0 keep]@24 end@24"},
        {"GET /\xc3\xa9 HTTP/1.1\r\n\r\n", " begin@0 head[GET :0 keep]@20 end@20"},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: b", " begin@0 cut"},
        {"GET / HTTP/1.1\r\nX: one\r\n two\r\nHost: a\r\n\r\n", " begin@0 head[GET a:0 keep]@41 end@41"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(blank_lines_before_a_request_are_passed_over)
{
    static const struct vector vectors[] = {
        {"\r\n\r\nGET / HTTP/1.0\r\n\r\n", " begin@4 head[GET :0]@22 end@22"},
        {"\n\rGET / HTTP/1.0\r\n\r\n\r\n", " begin@2 head[GET :0]@20 end@20"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(absolute_uri_and_connect_line_win_over_host)
{
    static const struct vector vectors[] = {
        {"GET http://API.example.com/x HTTP/1.1\r\nHost: proxy\r\n\r\n",
         " begin@0 head[GET abs api.example.com:80 keep]@54 end@54"},
        {"GET https://u:p@s@a.b.:8443?q HTTP/1.1\r\nHost: b\r\nHost: c\r\n\r\n",
         " begin@0 head[GET abs a.b:8443 keep]@60 end@60"},
        {"GET https://a#f HTTP/1.1\r\n\r\n", " begin@0 head[GET abs a:443 keep]@28 end@28"},
        {"GET ftp://a HTTP/1.1\r\n\r\n", " begin@0 head[GET abs a:21 keep]@24 end@24"},
        {"GET x-y://a/ HTTP/1.1\r\n\r\n", " begin@0 head[GET abs a:0 keep]@25 end@25"},
        {"GET http://[::1]:80/ HTTP/1.1\r\nHost: b\r\n\r\n", " begin@0 head[GET abs :0 keep]@42 end@42"},
        {"GET http:///x HTTP/1.1\r\nHost: b\r\n\r\n", " begin@0 head[GET abs :0 keep]@35 end@35"},
        {"GET http:/x HTTP/1.1\r\nHost: b\r\n\r\n", " begin@0 head[GET b:0 keep]@33 end@33"},
        {"GET urn:x HTTP/1.1\r\nHost: b\r\n\r\n", " begin@0 head[GET b:0 keep]@31 end@31"},
        {"CONNECT api.stripe.com:443 HTTP/1.1\r\nHost: evil:1\r\n\r\n",
         " begin@0 head[CONNECT abs api.stripe.com:443 keep]@53 end@53"},
        {"CONNECT a:443/x HTTP/1.1\r\n\r\n", " begin@0 head[CONNECT abs :0 keep]@28 end@28"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(host_that_is_no_name_or_comes_twice_is_none)
{
    static const struct vector vectors[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", " begin@0 head[GET :0 keep]@36 end@36"},
        {"GET / HTTP/1.1\r\nHost: a:1\r\nHost: a:1\r\n\r\n", " begin@0 head[GET :0 keep]@40 end@40"},
        {"GET / HTTP/1.1\r\nHost: a\r\nhost:\r\nHOST: c\r\n\r\n", " begin@0 head[GET :0 keep]@43 end@43"},
        {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", " begin@0 head[GET :0 keep]@29 end@29"},
        {"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", " begin@0 head[GET :0 keep]@29 end@29"},
        {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", " begin@0 head[GET :0 keep]@29 end@29"},
        {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", " begin@0 head[GET :0 keep]@34 end@34"},
        {"GET / HTTP/1.1\r\nHost: a:x\r\n\r\n", " begin@0 head[GET :0 keep]@29 end@29"},
        {"GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", " begin@0 head[GET :0 keep]@33 end@33"},
        {"GET / HTTP/1.1\r\nHost: a:65535\r\n\r\n", " begin@0 head[GET a:65535 keep]@33 end@33"},
        {"GET / HTTP/1.1\r\nHost: a:\r\n\r\n", " begin@0 head[GET a:0 keep]@28 end@28"},
        {"GET / HTTP/1.1\r\nHost: :80\r\n\r\n", " begin@0 head[GET :0 keep]@29 end@29"},
        {"GET / HTTP/1.1\r\nHost: .\r\n\r\n", " begin@0 head[GET :0 keep]@27 end@27"},
        {"GET / HTTP/1.1\r\nHost: \xc3\xa9.fr\r\n\r\n", " begin@0 head[GET :0 keep]@31 end@31"},
        {"GET / HTTP/1.1\r\nHost: xn--9ca.fr\r\n\r\n", " begin@0 head[GET xn--9ca.fr:0 keep]@36 end@36"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(host_of_253_bytes_is_a_name_and_of_254_none)
{
    char request[600], name[300];
    struct trace trace;

    memset(name, 'a', sizeof name);
    snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %.253s\r\n\r\n", name);
    run(REQUEST, HTTP1_GET, request, strlen(request), SIZE_MAX, &trace);
    ck_assert_ptr_nonnull(strstr(trace.text, "aaaa"));

    snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %.254s\r\n\r\n", name);
    run(REQUEST, HTTP1_GET, request, strlen(request), SIZE_MAX, &trace);
    ck_assert_ptr_null(strstr(trace.text, "aaaa"));
    ck_assert_ptr_nonnull(strstr(trace.text, "end@"));
}
END_TEST

START_TEST(request_bodies_are_passed_over_to_the_next_request)
{
    static const struct vector vectors[] = {
        {"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nGET /GET / HTTP/1.1\r\n\r\n",
         " begin@0 head[OTHER :0 keep]@38 end@43 begin@43 head[GET :0 keep]@61 end@61"},
        {"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
         " begin@0 head[OTHER :0 keep]@38 end@38 begin@38 head[GET :0 keep]@56 end@56"},
        {"POST / HTTP/1.1\r\nContent-Length: 5\r\ncontent-length:5\r\n\r\n12345\r\n",
         " begin@0 head[OTHER :0 keep]@56 end@61"},
        {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
         " begin@0 head[OTHER :0 keep]@47 end@60 begin@60 head[GET :0 keep]@78 end@78"},
        {"GET /1 HTTP/1.1\r\n\r\nHEAD /2 HTTP/1.1\r\n\r\nGET /3",
         " begin@0 head[GET :0 keep]@19 end@19 begin@19 head[HEAD :0 keep]@39 end@39 begin@39 cut"},
        {"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n1234", " begin@0 head[OTHER :0 keep]@38 cut"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(version_and_connection_tell_whether_it_is_kept)
{
    static const struct vector vectors[] = {
        {"GET / HTTP/1.0\r\n\r\n", " begin@0 head[GET :0]@18 end@18"},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", " begin@0 head[GET :0 keep]@42 end@42"},
        {"GET / HTTP/1.1\r\nConnection: x , CLOSE,\r\n\r\n", " begin@0 head[GET :0]@42 end@42"},
        {"GET / HTTP/1.1\r\nConnection: closed\r\n\r\n", " begin@0 head[GET :0 keep]@38 end@38"},
        {"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", " begin@0 head[GET :0 keep]@59 end@59"},
        {"GET / HTTP/1.1\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", " begin@0 head[GET :0]@61 end@61"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(what_is_no_request_is_opaque)
{
    static const struct vector vectors[] = {
        {"\x16\x03\x01\x02", " begin@0 opaque"},
        {"*1\r\n$4\r\nPING\r\n", " begin@0 opaque"},
        {"PING\r\n", " begin@0 opaque"},
        {"get key\r\n", " begin@0 opaque"},
        {"EHLO here.example\r\n", " begin@0 opaque"},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", " begin@0 opaque"},
        {"GET /\r\n", " begin@0 opaque"},
        {"GET  / HTTP/1.1\r\n", " begin@0 opaque"},
        {"GET / HTTP/1.1 \r\n", " begin@0 opaque"},
        {"GET / HTTP/1.10\r\n", " begin@0 opaque"},
        {"GET / http/1.1\r\n", " begin@0 opaque"},
        {"GET / HTTP/1.1\rX", " begin@0 opaque"},
        {"GET /a\x01 HTTP/1.1\r\n", " begin@0 opaque"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXY / HTTP/1.1\r\n", " begin@0 opaque"},
        {" GET / HTTP/1.1\r\n", " begin@0 opaque"},
    };
    check_requests(vectors, COUNT(vectors));
    check_vector(REQUEST, HTTP1_GET, "\0\0\0\10\4\322\26/", 8, " begin@0 opaque");
}
END_TEST

START_TEST(request_of_doubtful_framing_tells_its_method_no_host_and_ends_opaque)
{
    static const char *const lines[] = {
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 5",
        "Content-Length: +5",
        "Content-Length: -1",
        "Content-Length:",
        "Content-Length: 5 5",
        "Content-Length: 0x5",
        "Content-Length: 9223372036854775808",
        "Content-Length: 18446744073709551617",
        "Content-Length: 0000000000000000000000000000000000000000000000005",
        "Content-Length: 5\r\n 6",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 0",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked;x=1",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\n\t",
        "Content-Length : 5",
        "no colon",
        ": no name",
        "a b: c",
        "X: a\rb",
        "\x01: c",
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        char request[300], expected[100];
        int length = snprintf(request, sizeof request, "POST / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", lines[i]);

        snprintf(expected, sizeof expected, " begin@0 head[OTHER :0]@%d opaque", length);
        check_vector(REQUEST, HTTP1_GET, request, (size_t)length, expected);
    }
    static const struct vector vectors[] = {
        {"GET / HTTP/1.1\r\n folded\r\nHost: a\r\n\r\n", " begin@0 head[GET :0]@36 opaque"},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", " begin@0 head[OTHER :0]@47 opaque"},
        {"CONNECT a:1 HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345", " begin@0 head[CONNECT abs :0]@43 opaque"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        request_tells_method_host_and_end,
        blank_lines_before_a_request_are_passed_over,
        absolute_uri_and_connect_line_win_over_host,
        host_that_is_no_name_or_comes_twice_is_none,
        host_of_253_bytes_is_a_name_and_of_254_none,
        request_bodies_are_passed_over_to_the_next_request,
        version_and_connection_tell_whether_it_is_kept,
        what_is_no_request_is_opaque,
        request_of_doubtful_framing_tells_its_method_no_host_and_ends_opaque,
    };
    Suite *suite = suite_create("http1 requests");
    TCase *tcase = tcase_create("http1 requests");

    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
