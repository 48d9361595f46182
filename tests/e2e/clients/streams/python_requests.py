import requests, sys

session = requests.Session()
for line in sys.stdin:
    leave, seen, how = line.strip() == "leave", 0, "whole"
    try:
        with session.get(sys.argv[1], stream=True, timeout=20) as answer:
            for text in answer.iter_lines():
                seen += text.startswith(b"data:")
                if leave and seen:
                    how = "left"
                    break
            how = how if answer.status_code == 200 else answer.status_code
    except requests.RequestException as error:
        how = "refused" if "Connection refused" in str(error) or not seen else "cut"
    print(seen, how, flush=True)
