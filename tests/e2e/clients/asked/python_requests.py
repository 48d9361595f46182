import requests, sys, urllib.parse

url, kept = sys.argv[1], sys.argv[2] == "kept"
session = requests.Session()
for line in sys.stdin:
    try:
        print((session if kept else requests).get(urllib.parse.urljoin(url, line.strip()), timeout=20).status_code, flush=True)
    except requests.RequestException as error:
        print(repr(error), flush=True)
