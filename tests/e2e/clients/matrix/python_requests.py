import requests, sys

url, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with requests.Session() as session:
    for i in range(count):
        try:
            print(session.get(f"{url}{i}", timeout=seconds).status_code)
        except requests.RequestException as error:
            print(repr(error))
