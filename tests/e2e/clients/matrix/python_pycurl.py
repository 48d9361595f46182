import os, pycurl, sys

url, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
curl = pycurl.Curl()
curl.setopt(pycurl.TIMEOUT_MS, int(seconds * 1000))
if "CURL_CA_BUNDLE" in os.environ:
    curl.setopt(pycurl.CAINFO, os.environ["CURL_CA_BUNDLE"])
curl.setopt(pycurl.WRITEFUNCTION, lambda data: None)
for i in range(count):
    curl.setopt(pycurl.URL, f"{url}{i}")
    try:
        curl.perform()
        print(curl.getinfo(pycurl.RESPONSE_CODE))
    except pycurl.error as error:
        print(error)
