import http.client, sys, urllib.parse

url, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
scheme, netloc = urllib.parse.urlsplit(url)[:2]
connection = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}[scheme](netloc, timeout=seconds)
for i in range(count):
    try:
        connection.request("GET", f"/{i}")
        answer = connection.getresponse()
        answer.read()
        print(answer.status)
    except OSError as error:
        connection.close()
        print(repr(error))
