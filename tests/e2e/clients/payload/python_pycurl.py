import hashlib, os, pycurl, random, sys
from pieces import SIZES

url, file, version = sys.argv[1:]
whole, source = hashlib.sha256(), open(file, "rb")
curl = pycurl.Curl()
curl.setopt(pycurl.URL, url)
curl.setopt(pycurl.HTTP_VERSION, {"1": pycurl.CURL_HTTP_VERSION_1_1, "2": pycurl.CURL_HTTP_VERSION_2TLS}[version])
curl.setopt(pycurl.CAINFO, os.environ["CURL_CA_BUNDLE"])
curl.setopt(pycurl.POST, 1)
curl.setopt(pycurl.HTTPHEADER, ["Transfer-Encoding: chunked", "Expect:"])
curl.setopt(pycurl.READFUNCTION, lambda room: source.read(min(room, random.choice(SIZES))))
curl.setopt(pycurl.WRITEFUNCTION, whole.update)
curl.perform()
assert curl.getinfo(pycurl.INFO_HTTP_VERSION) == {"1": pycurl.CURL_HTTP_VERSION_1_1, "2": pycurl.CURL_HTTP_VERSION_2_0}[version]
print(whole.hexdigest())
