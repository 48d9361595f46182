import os, pycurl, sys, urllib.parse

url, kept = sys.argv[1], sys.argv[2] == "kept"


def make():
    curl = pycurl.Curl()
    curl.setopt(pycurl.TIMEOUT, 20)
    curl.setopt(pycurl.CAINFO, os.environ["CURL_CA_BUNDLE"])
    curl.setopt(pycurl.WRITEFUNCTION, lambda data: None)
    return curl


curl = make()
for line in sys.stdin:
    curl.setopt(pycurl.URL, urllib.parse.urljoin(url, line.strip()))
    try:
        curl.perform()
        print(curl.getinfo(pycurl.RESPONSE_CODE), flush=True)
    except pycurl.error as error:
        print(error, flush=True)
    if not kept:
        curl = make()
