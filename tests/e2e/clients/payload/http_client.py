import http.client, sys, urllib.parse
from pieces import digest, pieces

url, file = sys.argv[1:]
scheme, netloc = urllib.parse.urlsplit(url)[:2]
connection = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}[scheme](netloc, timeout=100)
connection.request("POST", "/", pieces(file), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
print(digest(connection.getresponse().read))
